//! The message in a crate with a renamed library whose name is not said.

#[test]
#[ignore = "it compiles the library once more: `.ci/run` runs it"]
fn the_name_is_asked_for() {
    trybuild::TestCases::new().compile_fail("fail/*.rs");
}
