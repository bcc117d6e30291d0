import { describe, expect, it, test } from 'vitest';

test('passes', () => {});
