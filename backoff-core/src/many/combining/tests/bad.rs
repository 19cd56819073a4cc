//! Changes that fail, and writes that are refused.

use super::*;

/// Updates of all these at once, as tasks.
async fn together(combined: &Combined, names: impl IntoIterator<Item = u32>) -> Vec<Told> {
    let tasks: Vec<_> = names
        .into_iter()
        .map(|name| tokio::spawn(combined.update(0, add(name))))
        .collect();
    let mut all = Vec::new();
    for task in tasks {
        all.push(task.await.unwrap());
    }
    all
}

#[tokio::test(start_paused = true)]
async fn a_changes_own_error_fails_that_change_alone() {
    let server = Server::new(5);
    let combined = combine(AT_ONCE, &server);
    let fails = |members: &mut Members| {
        members.names.push(66);
        Err::<bool, _>(Failure::Own)
    };
    let (one, bad, two) = tokio::join!(
        combined.update(0, add(1)),
        combined.update(0, fails),
        combined.update(0, add(2))
    );
    assert!(written(&one) && written(&two));
    assert!(matches!(
        bad,
        Err(CombineError::Own {
            error: Failure::Own,
            may_be_applied: false
        })
    ));
    assert_eq!(
        server.get(0).names,
        [1, 2],
        "what it had begun is not written"
    );
    assert_eq!(server.calls(), (1, 1));
}

#[tokio::test(start_paused = true)]
async fn a_panic_of_a_change_is_its_callers_alone() {
    let server = Server::new(5);
    let combined = combine(AT_ONCE, &server);
    let panics = |members: &mut Members| -> bool {
        members.names.push(66);
        panic!("the change panics")
    };
    let one = tokio::spawn(combined.update(0, add(1)));
    let bad = tokio::spawn(combined.update(0, panics));
    let two = tokio::spawn(combined.update(0, add(2)));
    assert!(written(&one.await.unwrap()) && written(&two.await.unwrap()));
    let panic = bad.await.unwrap_err().into_panic();
    assert_eq!(panic.downcast_ref(), Some(&"the change panics"));
    assert_eq!(server.get(0).names, [1, 2]);
    assert_eq!((server.calls(), combined.busy()), ((1, 1), 0));
}

#[tokio::test(start_paused = true)]
async fn a_refused_write_is_halved_until_the_bad_change_stands_alone() {
    for n in [2, 3, 5, 8, 33, 100] {
        for bad in [0, n / 2, n - 1] {
            for status in [400, 413, 422] {
                let server = Server::new(5);
                server.refuse([bad], status);
                let combined = combine(AT_ONCE, &server);
                let all = together(&combined, 0..n).await;
                for (name, told) in (0..).zip(&all) {
                    assert_eq!(written(told), name != bad, "{name} of {n}: {told:?}");
                }
                let refused = (Failure::Status(status), StopReason::Permanent, false);
                assert_eq!(shared(&all[bad as usize]), refused);
                let (_, writes) = server.calls();
                assert!(
                    f64::from(writes) <= 2.0 * f64::from(n).log2() + 2.0,
                    "{writes} writes for {bad} of {n}"
                );
                assert_eq!(server.get(0).names.len() as u32, n - 1);
            }
        }
    }
}

#[tokio::test(start_paused = true)]
async fn many_bad_changes_cost_less_than_two_writes_each() {
    for n in [2, 7, 16, 50] {
        let server = Server::new(5);
        server.refuse(0..n, 400);
        let all = together(&combine(AT_ONCE.max_attempts(1), &server), 0..n).await;
        assert!(
            all.iter()
                .all(|told| shared(told).0 == Failure::Status(400))
        );
        assert!(server.calls().1 < 2 * n, "{:?} for {n}", server.calls());
    }
}

#[tokio::test(start_paused = true)]
async fn left_comes_before_right_and_who_comes_meanwhile_waits() {
    let server = Server::new(5);
    server.refuse([3], 400);
    let combined = combine(AT_ONCE, &server);
    let group = async { together(&combined, 0..4).await };
    let late = async {
        pass(12).await;
        combined.update(0, add(9)).await
    };
    let (_, late) = tokio::join!(group, late);
    assert!(written(&late));
    assert_eq!(server.get(0).names, [0, 1, 2, 9]);
}

#[tokio::test(start_paused = true)]
async fn a_conflict_is_no_refused_value() {
    let server = Server::new(5);
    server.on_write([Fate::Fail(Failure::Status(412))]);
    let all = together(&combine(AT_ONCE, &server), 0..8).await;
    assert!(all.iter().all(written));
    assert_eq!(server.calls(), (2, 2));
}

#[tokio::test(start_paused = true)]
async fn what_the_policy_retries_is_not_halved() {
    let server = Server::new(5);
    server.on_write([Fate::Fail(Failure::Status(400))]);
    let policy = AT_ONCE.on(crate::codes![400]);
    let all = together(&combine(policy, &server), 0..8).await;
    assert!(all.iter().all(written));
    assert_eq!(server.calls(), (2, 2));
}

#[tokio::test(start_paused = true)]
async fn other_refusals_are_told_to_all_at_once() {
    for status in [401, 403, 404] {
        let server = Server::new(5);
        let combined = combine(AT_ONCE, &server);
        server.on_write([Fate::Fail(Failure::Status(status))]);
        let refused = (Failure::Status(status), StopReason::Permanent, false);
        for told in together(&combined, 0..8).await {
            assert_eq!(shared(&told), refused);
        }
        assert_eq!(server.calls(), (1, 1));
        // A read that begins when all callers have come.
        server.on_write([Fate::Fail(Failure::Stale)]);
        server.on_read([Fate::Fine, Fate::Fail(Failure::Status(status))]);
        for told in together(&combined, 0..8).await {
            assert_eq!(shared(&told), refused);
        }
        assert_eq!(server.calls(), (3, 2));
    }
}

#[tokio::test(start_paused = true)]
async fn who_found_nothing_to_do_is_no_part_of_what_is_halved() {
    let server = Server::new(5);
    server.refuse([2], 400);
    let combined = combine(AT_ONCE, &server);
    let (one, again, bad) = tokio::join!(
        combined.update(0, add(1)),
        combined.update(0, add(1)),
        combined.update(0, add(2))
    );
    assert!(written(&one) && unchanged(&again));
    assert_eq!(shared(&bad).0, Failure::Status(400));
    assert_eq!(server.calls().1, 3);
}
