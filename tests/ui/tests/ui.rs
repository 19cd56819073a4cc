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

/// The macros cannot ask the core, so they have a list of their own.
#[test]
fn the_macros_know_the_grpc_codes_of_the_core() {
    let core = include_str!("../../../backoff-core/src/facts/codes.rs");
    let macros = include_str!("../../../backoff-macros/src/args/misread.rs");
    let (_, core) = core.split_once("\ngrpc_sets! {").unwrap();
    let (core, _) = core.split_once("\n}").unwrap();
    let core: Vec<&str> = core
        .lines()
        .filter_map(|line| Some(line.split_once('=')?.0.trim()))
        .collect();
    let (_, macros) = macros.split_once("\nconst GRPC: [&str; ").unwrap();
    let (macros, _) = macros.split_once("];").unwrap();
    let macros: Vec<&str> = macros.split('"').skip(1).step_by(2).collect();
    assert_eq!(macros, core);
    let names = backoff_core::GrpcCode::ALL.map(|code| code.to_string());
    assert_eq!(macros, names);
}
