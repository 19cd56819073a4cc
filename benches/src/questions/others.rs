//! What do the other two loops cost when no attempt fails: a read-modify-write, and a call on an open
//! connection?

use super::Cases;
use crate::{
    contenders::{by_hand, ours},
    drive::in_place,
};

pub(super) fn cases() -> Cases {
    let mut cases = Cases::of("other loops");
    cases.call("by hand", "update", |n| in_place(n, by_hand::update));
    cases.call("ours", "update", |n| in_place(n, ours::update));
    cases.call("by hand", "Reconnect::with", |n| {
        let shared = by_hand::Shared::opened(7);
        in_place(n, |i| shared.with(i));
    });
    cases.call("ours", "Reconnect::with", |n| {
        let connection = ours::opened();
        in_place(n, |i| ours::reconnect_with(&connection, i));
    });
    cases
}
