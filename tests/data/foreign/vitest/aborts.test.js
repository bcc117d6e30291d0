import { test } from 'vitest';

test('first', () => {});
test('aborts', () => { process.abort(); });
