//! With the feature `smol` and without `tokio`.

use std::{future::Future, io::Write as _, net::TcpListener, thread};

include!("../../../backoff-cloud/src/guide/examples/smol.rs");

/// On smol, and on an executor that has no timer and does not know of smol's.
fn everywhere<F: Future>(run: impl Fn() -> F) {
    smol::block_on(run());
    smol::future::block_on(run());
}

#[test]
fn calls_need_no_runtime_of_ones_own() {
    everywhere(runtimes::the_attribute_waits);
    everywhere(runtimes::a_call_is_cut);
    everywhere(runtimes::a_long_wait_is_long);
    everywhere(runtimes::a_change_is_combined);
    everywhere(runtimes::headers_are_read);
    let [one, other] = runtimes::ids();
    assert_ne!(one, other);
}

/// The function of the page. Two connections end without a greeting.
#[test]
fn the_page_connects_again() {
    let server = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = server.local_addr().unwrap().to_string();
    let served = thread::spawn(move || {
        for greeting in ["", "hel", "hello"] {
            server
                .accept()
                .unwrap()
                .0
                .write_all(greeting.as_bytes())
                .unwrap();
        }
    });
    assert_eq!(smol::block_on(greeting(&address)).unwrap(), *b"hello");
    served.join().unwrap();
}
