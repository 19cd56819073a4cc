//! Wrong uses of the macro. `TRYBUILD=overwrite` writes the expected messages again.

#[test]
fn wrong_use_says_what_to_write() {
    trybuild::TestCases::new().compile_fail("fail/*.rs");
}

#[test]
#[ignore = "the compiler's own wording moves: run this on the version that wrote it (1.95)"]
fn type_errors_point_at_the_users_code() {
    trybuild::TestCases::new().compile_fail("fail_rustc/*.rs");
}
