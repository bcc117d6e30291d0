import { test } from 'node:test';

test('first', () => {});
test('aborts', () => process.abort());
