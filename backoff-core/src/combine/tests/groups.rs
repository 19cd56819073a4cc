//! Which callers are in a group, and when they get which outcome.

use super::{story::*, *};

#[test]
fn who_is_in_a_group_and_what_it_is_told() {
    let early = adds(7).at(20).unchanged().until(25);
    let late = || adds(7).at(23).unchanged().until(30);
    run([
        story("a group is all who wait when the read returns, in the order of the first poll")
            .callers([adds(1), adds(4).at(4), adds(2).at(3), adds(3).at(6)])
            .ends([1, 2, 4, 3], 2, 2),
        // The late caller comes during the first read, which has not seen the next event.
        story("a caller gets `Unchanged` at once only for a value that was read after its call")
            .callers([adds(7), early, late()])
            .ends([7], 3, 1),
        story("a caller gets no `Unchanged` for a value that was not written")
            .failing([], [fails(404)])
            .callers([adds(7).refused(404), adds(7).refused(404)])
            .ends([], 1, 1),
        story("a caller gets `Unchanged` for a value that its group has written")
            .callers([adds(7), adds(7).unchanged().until(10)])
            .ends([7], 1, 1),
        story("the write of a group proves to a late caller what was read")
            .callers([adds(7), adds(1).at(20), late()])
            .ends([7, 1], 2, 2),
        story("a failed read binds only those who were there when it began")
            .failing([fails(403)], [])
            .callers([adds(1).refused(403), adds(2).at(3)])
            .ends([2], 2, 1),
        story("resources do not wait for one another")
            .failing([Fate::Hang], [])
            .callers([adds(1).leaves(100), adds(1).on(1).at(1).until(11)])
            .ends([], 2, 1),
        story("a reply may report a conflict")
            .combined(|policy, server| {
                combine_with!(policy, server, .conflict_if(|version| *version == 1))
            })
            .callers([adds(1).unchanged()])
            .ends([1], 2, 1),
    ]);
}

#[tokio::test(start_paused = true)]
async fn an_idle_resource_leaves_nothing_behind() {
    let server = Arc::new(Server::new(5));
    let combined = combine(AT_ONCE, &server);
    let (kept, dropped) = (combined.update(0, add(1)), combined.update(1, add(1)));
    assert_eq!(combined.busy(), 0, "nothing happens before the first poll");
    let (kept, dropped) = (polled(kept), polled(dropped));
    assert_eq!(combined.busy(), 2);
    drop(dropped);
    tokio::task::yield_now().await;
    assert_eq!(combined.busy(), 1);
    assert!(written(&kept.await));
    assert_eq!((combined.busy(), Arc::strong_count(&server)), (0, 3));
    assert_eq!(Arc::strong_count(&combined.0), 1);
}
