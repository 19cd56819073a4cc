//! What a crowd costs, and what a lone change does.

use super::*;
use tokio::time::Instant;

#[tokio::test(start_paused = true)]
async fn a_lone_change_is_one_read_and_one_write_and_waits_for_nothing() {
    let server = Server::new(5);
    let combined = combine(Policy::exponential(), &server);
    let start = Instant::now();
    assert!(written(&combined.update(0, add(1)).await));
    assert_eq!(start.elapsed(), Duration::from_millis(10));
    assert_eq!(server.calls(), (1, 1));

    let server = Server::new(0);
    let combined = combine(Policy::exponential(), &server);
    assert!(
        poll(&mut combined.update(0, add(1))).is_ready(),
        "in one poll"
    );
    assert!(poll(&mut combined.update(0, add(1))).is_ready());
    assert_eq!(server.calls(), (2, 1));
}

#[tokio::test(start_paused = true)]
async fn a_hundred_tasks_are_one_read_and_one_write() {
    let server = Server::new(5);
    let combined = combine(Policy::exponential(), &server);
    let start = Instant::now();
    let tasks: Vec<_> = (0..100)
        .map(|name| tokio::spawn(combined.update(0, add(name))))
        .collect();
    for task in tasks {
        assert!(written(&task.await.unwrap()));
    }
    assert_eq!(start.elapsed(), Duration::from_millis(10));
    assert_eq!(server.calls(), (1, 1));
    assert_eq!(server.get(0).names, (0..100).collect::<Vec<_>>());
}

#[tokio::test(start_paused = true)]
async fn a_thousand_resources_cost_a_read_and_a_write_each() {
    let server = Server::new(5);
    let combined = combine(Policy::exponential(), &server);
    let start = Instant::now();
    let tasks: Vec<_> = (0..3_000)
        .map(|n| tokio::spawn(combined.update(n % 1_000, add(n))))
        .collect();
    for task in tasks {
        assert!(written(&task.await.unwrap()));
    }
    assert_eq!(start.elapsed(), Duration::from_millis(10));
    assert_eq!((server.calls(), combined.busy()), ((1_000, 1_000), 0));
}

#[test]
fn what_is_made_of_it_can_be_sent_and_shared() {
    fn is_sent<T: Send + 'static>(_: &T) {}
    fn is_shared<T: Send + Sync + Clone + 'static>(_: &T) {}
    let combined = combine(AT_ONCE, &Server::new(0));
    is_shared(&combined);
    is_sent(&combined.update(0, append(1)));
    is_sent(
        &combined
            .update(0, |_: &mut Members| Ok::<(), Failure>(()))
            .reported(),
    );
}
