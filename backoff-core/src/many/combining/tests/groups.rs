//! Which callers are in a group, and when they get which outcome.

use super::*;

#[tokio::test(start_paused = true)]
async fn a_group_is_whoever_waits_when_the_read_returns_in_the_order_of_the_first_poll() {
    let server = Server::new(5);
    let combined = combine(AT_ONCE, &server);
    let mut first = combined.update(0, add(1));
    let mut last = combined.update(0, add(4));
    let mut second = combined.update(0, add(2));
    assert!(poll(&mut first).is_pending());
    pass(4).await;
    assert!(poll(&mut second).is_pending());
    assert!(poll(&mut last).is_pending());
    pass(2).await;
    // The read has returned; the write begins with this poll.
    assert!(poll(&mut second).is_pending());
    let late = tokio::spawn(combined.update(0, add(3)));
    let (first, last, second) = tokio::join!(first, last, second);
    assert!(written(&first) && written(&second) && written(&last));
    assert_eq!(
        (&server.get(0).names[..], server.get(0).version),
        (&[1, 2, 4][..], 1)
    );
    assert!(written(&late.await.unwrap()));
    assert_eq!(server.get(0).names, [1, 2, 4, 3]);
    assert_eq!(server.calls(), (2, 2));
}

#[tokio::test(start_paused = true)]
async fn unchanged_is_told_at_once_only_of_what_was_read_after_the_call() {
    let server = Server::new(5);
    server.set(0, &[7]);
    let combined = combine(AT_ONCE, &server);
    let mut early = combined.update(0, add(7));
    assert!(poll(&mut early).is_pending());
    pass(3).await;
    // This caller comes during the read, which has not seen the next event.
    let mut late = combined.update(0, add(7));
    assert!(poll(&mut late).is_pending());
    let (early, late) = tokio::join!(early, late);
    assert!(unchanged(&early) && unchanged(&late));
    assert_eq!(server.calls(), (2, 0), "the late one had a read of its own");
}

#[tokio::test(start_paused = true)]
async fn unchanged_is_told_of_what_the_group_changed_only_after_its_write() {
    let server = Server::new(5);
    let combined = combine(AT_ONCE, &server);
    server.on_write([Fate::Fail(Failure::Status(404))]);
    let (adds, too) = tokio::join!(combined.update(0, add(7)), combined.update(0, add(7)));
    assert_eq!(
        shared(&adds),
        (Failure::Status(404), StopReason::Permanent, false)
    );
    assert_eq!(shared(&too), shared(&adds), "not told that it was there");
    let (adds, too) = tokio::join!(combined.update(0, add(7)), combined.update(0, add(7)));
    assert!(written(&adds));
    let Ok(Updated::Unchanged(seen)) = too else {
        panic!("{too:?}")
    };
    assert_eq!(seen.names, [7]);
    assert_eq!(server.calls(), (2, 2));
}

#[tokio::test(start_paused = true)]
async fn unchanged_of_a_late_caller_is_told_after_the_write_of_its_group() {
    let server = Server::new(5);
    server.set(0, &[7]);
    let combined = combine(AT_ONCE, &server);
    let mut writer = combined.update(0, add(1));
    assert!(poll(&mut writer).is_pending());
    pass(3).await;
    let late = combined.update(0, add(7));
    let start = tokio::time::Instant::now();
    let late = async { (late.await, start.elapsed()) };
    let (writer, (late, after)) = tokio::join!(writer, late);
    assert!(written(&writer) && unchanged(&late));
    assert_eq!(
        after,
        Duration::from_millis(7),
        "the write proves what was read"
    );
    assert_eq!(server.calls(), (1, 1));
}

#[tokio::test(start_paused = true)]
async fn a_failed_read_binds_only_those_who_were_there_when_it_began() {
    let server = Server::new(5);
    server.on_read([Fate::Fail(Failure::Status(403))]);
    let combined = combine(AT_ONCE, &server);
    let (mut one, mut two) = (combined.update(0, add(1)), combined.update(0, add(2)));
    assert!(poll(&mut one).is_pending());
    pass(3).await;
    assert!(poll(&mut two).is_pending());
    let (one, two) = tokio::join!(one, two);
    assert_eq!(
        shared(&one),
        (Failure::Status(403), StopReason::Permanent, false)
    );
    assert!(written(&two));
    assert_eq!(server.get(0).names, [2]);
}

#[tokio::test(start_paused = true)]
async fn resources_do_not_wait_for_one_another() {
    let server = Server::new(5);
    server.on_read([Fate::Hang]);
    let combined = combine(AT_ONCE, &server);
    let mut hangs = combined.update(0, add(1));
    assert!(poll(&mut hangs).is_pending());
    let start = tokio::time::Instant::now();
    assert!(written(&combined.update(1, add(1)).await));
    assert_eq!(start.elapsed(), Duration::from_millis(10));
    assert!(poll(&mut hangs).is_pending());
}

#[tokio::test(start_paused = true)]
async fn an_idle_resource_leaves_nothing_behind() {
    let server = Server::new(5);
    let combined = combine(AT_ONCE, &server);
    let mut kept = combined.update(0, add(1));
    let dropped = combined.update(1, add(1));
    assert_eq!(combined.busy(), 0, "nothing happens before the first poll");
    assert!(poll(&mut kept).is_pending());
    let mut dropped = dropped;
    assert!(poll(&mut dropped).is_pending());
    assert_eq!(combined.busy(), 2);
    drop(dropped);
    assert_eq!(combined.busy(), 1);
    assert!(written(&kept.await));
    assert_eq!((combined.busy(), Arc::strong_count(&server)), (0, 3));
    assert_eq!(Arc::strong_count(&combined.shared), 1);
}

#[tokio::test(start_paused = true)]
async fn a_reply_may_tell_a_conflict() {
    let server = Server::new(5);
    let combined = combine(AT_ONCE, &server).conflict_if(|version| *version == 1);
    let told = combined.update(0, add(1)).await;
    assert!(unchanged(&told), "read again, and found: {told:?}");
    assert_eq!(server.calls(), (2, 1));
}

#[cfg(feature = "testing")]
#[test]
fn a_runtime_of_ones_own_needs_no_tokio() {
    use crate::testing::VirtualTime;
    let (server, time) = (Server::new(0), VirtualTime::new());
    server.on_read([Fate::Fail(Failure::Status(503))]);
    let combined = combine(Policy::exponential(), &server).runtime(time.clone());
    let mut update = combined.update(0, add(1)).reported();
    let Poll::Ready(Ok((Updated::Written(1), report))) = poll(&mut update) else {
        panic!("no wait lasts")
    };
    assert_eq!(time.waits(), [Duration::from_secs(1)]);
    assert_eq!((report.attempts, report.slept), (2, Duration::from_secs(1)));
}
