"""How the tests that failed end with the code and the tests of another commit. It never changes a verdict."""
