import { describe, expect, it, test } from 'vitest';
const missing = require('./not-there');

test('never', () => {});
