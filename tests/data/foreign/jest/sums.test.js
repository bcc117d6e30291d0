
test('passes', () => {});
test('fails', () => { console.log('to stdout'); expect(1 + 1).toBe(3); });
test('throws', () => { throw new TypeError('no\ndatabase'); });
test.skip('skipped', () => {});
test.todo('todo');
test.failing('fails as it should', () => { expect(1).toBe(2); });
describe('a group', () => {
  it('adds <&>', () => {});
  describe('deeper', () => { it('subtracts', () => { expect([1, 2]).toEqual([1, 3]); }); });
});
