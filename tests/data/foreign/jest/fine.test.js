
test('passes', () => {});
