#[test]
fn a_prints() {
    print!("no newline ");
}

#[test]
fn b_prints() {
    println!("test lie ... ok");
}
