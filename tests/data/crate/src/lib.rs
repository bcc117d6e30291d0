#[cfg(test)]
mod tests {
    #[test]
    fn adds() { assert_eq!(1 + 1, 2); }
    #[test]
    fn prints_and_passes() { println!("seen by nobody"); }
    #[test]
    fn differs() { println!("before"); eprintln!("to stderr"); assert_eq!(1, 2, "one is not two"); }
    #[test]
    fn fails_quietly() -> Result<(), String> { Err("no".into()) }
    #[test]
    #[ignore]
    fn ignored_plainly() {}
    #[test]
    #[ignore = "needs a network"]
    fn ignored_with_reason() {}
    #[test]
    #[should_panic]
    fn panics() { panic!("as it should"); }
    #[test]
    #[should_panic(expected = "this")]
    fn panics_otherwise() { panic!("that"); }
    #[test]
    #[should_panic]
    fn does_not_panic() { print!("no newline at end"); }
    #[test]
    #[ignore = "later"]
    #[should_panic]
    fn ignored_should_panic() { }
}
