#[test]
fn a_first() {}

#[test]
fn b_aborts() {
    std::process::abort();
}
