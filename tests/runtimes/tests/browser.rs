//! In a browser, or in Node: `.ci/targets`.
#![cfg(target_family = "wasm")]

use wasm_bindgen_test::{console_log, wasm_bindgen_test};

#[wasm_bindgen_test]
async fn calls_need_no_runtime_of_ones_own() {
    runtimes::the_attribute_waits().await;
    runtimes::a_call_is_cut().await;
    runtimes::a_long_wait_is_long().await;
    runtimes::a_change_is_combined().await;
    runtimes::headers_are_read().await;
}

/// `.ci/targets` compares the printed ids: no two runs draw the same.
#[wasm_bindgen_test]
fn each_page_has_other_ids() {
    let ids = runtimes::ids();
    console_log!("ids {ids:?}");
    assert_ne!(ids[0], ids[1]);
}
