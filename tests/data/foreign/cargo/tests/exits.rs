#[test]
fn a_first() {}

#[test]
fn b_exits() {
    std::process::exit(0);
}

#[test]
fn c_last() {}
