//! What do the other forms of a call cost: a read-modify-write, a call on an open connection, an operation
//! that is not inlined, a report, a timeout, a layer of tower, a request that is sent?

use super::Cases;
use crate::{
    contenders::{by_hand, ours, sent, tower_layer},
    drive::{in_place, moved, on_tokio},
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
    cases.call("by hand", "not inlined, in place", |n| {
        in_place(n, by_hand::called)
    });
    cases.call("by hand", "not inlined, moved", |n| {
        moved(n, by_hand::called)
    });
    cases.call("ours, attribute", "not inlined, in place", |n| {
        in_place(n, ours::called::attribute)
    });
    cases.call("ours, attribute", "not inlined, moved", |n| {
        moved(n, ours::called::attribute)
    });
    cases.call("ours, function form", "not inlined, in place", |n| {
        in_place(n, ours::called::function)
    });
    cases.call("ours, function form", "not inlined, moved", |n| {
        moved(n, ours::called::function)
    });
    cases.call("ours", ".version", |n| in_place(n, ours::versioned));
    cases.call("ours", "reported", |n| in_place(n, ours::reported));
    let (with, without) = (
        |n| on_tokio(n, ours::with_timeout),
        |n| on_tokio(n, ours::pending_once),
    );
    cases.each("ours", "timeout, one Pending", 1, with, without);
    let bare = |n| tower_layer::bare(n, 0);
    cases.each(
        "tower",
        "layer, success",
        1,
        |n| tower_layer::theirs(n, 0),
        bare,
    );
    cases.each(
        "ours",
        "layer, success",
        1,
        |n| tower_layer::ours(n, 0),
        bare,
    );
    cases.each(
        "tower",
        "layer, a retry",
        1,
        |n| tower_layer::theirs(n, 1),
        |n| tower_layer::theirs(n, 0),
    );
    cases.each(
        "ours",
        "layer, a retry",
        1,
        |n| tower_layer::ours(n, 1),
        |n| tower_layer::ours(n, 0),
    );
    cases.each("try_clone loop", "send", 1, sent::by_hand, sent::plain);
    cases.each("ours", "send", 1, sent::ours, sent::plain);
    cases
}
