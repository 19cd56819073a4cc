//! Everything that works in edition 2024 works in edition 2021.

#[test]
fn right_use_compiles_and_repeats() {
    trybuild::TestCases::new().pass("../ui/pass/*.rs");
}
