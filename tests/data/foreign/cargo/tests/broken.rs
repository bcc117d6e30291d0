#[test]
fn never() {
    missing();
}
