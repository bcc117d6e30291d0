#[test]
fn passes() {}

#[test]
#[ignore = "later"]
fn waits() {}
