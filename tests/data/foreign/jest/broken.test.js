const missing = require('./not-there');

test('never', () => {});
