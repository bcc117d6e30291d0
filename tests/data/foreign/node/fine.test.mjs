import { describe, it, test } from 'node:test';

test('passes', () => {});
describe('a group', () => { it('passes', () => {}); });
