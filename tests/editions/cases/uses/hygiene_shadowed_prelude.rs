//! The prelude, `core` and the names of the expansion mean something else here.

#![allow(
    dead_code,
    unused_macros,
    non_upper_case_globals,
    non_camel_case_types,
    non_snake_case
)]

use backoff_core::retry;

mod std {}
mod core {}

struct Ok;
struct Err;
struct Some;
struct None;
struct Result;
struct Option;
struct Duration;
struct Policy;
struct Step;
struct Wait;
const retry_state: u8 = 0;
const wait: u8 = 0;
static outcome: u8 = 0;

macro_rules! concat {
    ($($t:tt)*) => {
        compile_error!("the user's own")
    };
}

macro_rules! module_path {
    () => {
        compile_error!("the user's own")
    };
}

#[retry(base = "1ms", max_backoff = 64s, deadline = 60s, jitter = none, on = [503])]
async fn get(flaky: &ui::Flaky) -> ::core::result::Result<u32, ui::ApiError> {
    flaky.call()
}

#[retry(base = "1ms", jitter = "1ms")]
fn blocking(flaky: &ui::Flaky) -> ::core::result::Result<u32, ui::ApiError> {
    flaky.call()
}

#[test]
fn works() {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .build()
        .unwrap();
    assert_eq!(runtime.block_on(get(&ui::Flaky::failing(2))).unwrap(), 3);
    assert_eq!(blocking(&ui::Flaky::failing(2)).unwrap(), 3);
}
