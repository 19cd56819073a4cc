//! What is written, and what is said where it is not.

#[test]
fn another_name_is_written_once() {
    let cases = trybuild::TestCases::new();
    cases.pass("pass/*.rs");
    cases.compile_fail("fail/*.rs");
}
