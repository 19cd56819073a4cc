//! The expansion in a crate with a renamed library, and the message if the name is missing.

#[test]
fn another_name_is_written_once() {
    let cases = trybuild::TestCases::new();
    cases.pass("pass/*.rs");
    cases.compile_fail("fail/*.rs");
}
