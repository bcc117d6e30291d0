import { describe, expect, it, test } from 'vitest';

test('first', () => {});
test('exits', () => { process.exit(0); });
test('last', () => {});
