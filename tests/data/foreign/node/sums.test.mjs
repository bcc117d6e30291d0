import assert from 'node:assert';
import { describe, it, test } from 'node:test';

test('passes', () => {});
test('fails', () => assert.strictEqual(1 + 1, 3));
test('throws # not a directive', () => { throw new TypeError('no\ndatabase'); });
test('skipped', { skip: 'not today' }, () => {});
test('todo that fails', { todo: 'later' }, () => { throw new Error('as known'); });
test('todo that passes', { todo: true }, () => {});
test('prints', () => { console.log('ok 1 - a lie on stdout'); console.error('to stderr'); });
test('with subtests', async (t) => {
  await t.test('inner passes', () => {});
  await t.test('inner fails', () => assert.deepStrictEqual({ a: 1 }, { a: 2 }));
});
test('times out', { timeout: 20 }, () => new Promise((done) => setTimeout(done, 2000)));
describe('a group', () => {
  it('adds <&>', () => {});
  it('is skipped', { skip: true }, () => {});
  describe('deeper', () => { it('subtracts', () => {}); });
});
