/// Adds.
///
/// ```
/// assert_eq!(sums::add(1, 2), 3);
/// ```
///
/// ```should_panic
/// panic!("as expected");
/// ```
pub fn add(a: i32, b: i32) -> i32 {
    a + b
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn passes() {
        assert_eq!(add(2, 2), 4);
    }

    #[test]
    fn fails() {
        println!("before the failure");
        eprintln!("on stderr");
        assert_eq!(add(2, 2), 5, "arithmetic is\nhard");
    }

    #[test]
    fn returns_an_error() -> Result<(), String> {
        Err("no database".into())
    }

    #[test]
    #[ignore]
    fn ignored() {}

    #[test]
    #[ignore = "not today"]
    fn ignored_with_a_reason() {}

    #[test]
    #[should_panic]
    fn panics_as_it_should() {
        panic!("boom");
    }

    #[test]
    #[should_panic(expected = "boom")]
    fn does_not_panic() {}

    #[test]
    fn prints() {
        println!("quiet");
    }
}
