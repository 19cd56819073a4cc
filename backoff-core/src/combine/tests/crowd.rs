//! The cost of many changes at once, and the behaviour of a single change.

use super::{story::*, *};

const PLAIN: Policy = Policy::exponential();

#[test]
fn changes_at_the_same_time_are_one_read_and_one_write() {
    run([1, 100].map(|n| {
        story(format!("{n} at the same time"))
            .policy(PLAIN)
            .callers((0..n).map(|name| adds(name).until(10)))
            .ends(0..n, 1, 1)
    }));
    run([
        story("a thousand resources, each with three callers")
            .policy(PLAIN)
            .callers((0..3_000).map(|n| adds(n).on(n % 1_000).until(10)))
            .ends([0, 1_000, 2_000], 1_000, 1_000),
        story("what the server answers at once")
            .policy(PLAIN)
            .server(Server::new(0))
            .callers([adds(1).until(0), adds(1).at(1).unchanged().until(1)])
            .ends([1], 2, 1),
    ]);
}

/// Ten thousand callers find nothing to do, in the value that was read or after the change of another one.
#[tokio::test(start_paused = true)]
async fn callers_who_find_nothing_to_do_share_a_copy() {
    for first in [0, 1] {
        // Each copy of the value has a clone of this.
        let copies = Arc::new(());
        let read = Arc::clone(&copies);
        let combined = PLAIN.combine(
            move |_: u32| {
                let value = (vec![0], Arc::clone(&read));
                async move {
                    pass(5).await;
                    Ok::<_, TestError>(value)
                }
            },
            |_, _: (Vec<u32>, Arc<()>)| async { Ok(()) },
        );
        let callers = (0..10_000).map(|n| {
            let name = if n == 0 { first } else { 0 };
            let update = combined.update(0, move |value: &mut (Vec<u32>, _)| {
                let is_new = !value.0.contains(&name);
                value.0.extend(is_new.then_some(name));
                is_new
            });
            // Drops the own copy of the caller at once.
            tokio::spawn(async {
                match update.await.unwrap() {
                    Updated::Unchanged((_, copies)) => Some(Arc::strong_count(&copies)),
                    Updated::Written(()) => None,
                }
            })
        });
        let mut written = 0;
        for caller in callers.collect::<Vec<_>>() {
            match caller.await.unwrap() {
                Some(alive) => assert!(alive <= 8, "{alive} copies"),
                None => written += 1,
            }
        }
        assert_eq!(written, first);
        assert_eq!((Arc::strong_count(&copies), combined.busy()), (2, 0));
    }
}
