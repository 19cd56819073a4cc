//! The cost of many changes at once.

use super::*;

/// Ten thousand callers find nothing to do, in the value that was read or after the change of another one.
#[tokio::test(start_paused = true)]
async fn callers_who_find_nothing_to_do_share_a_copy() {
    for first in [0, 1] {
        // Each copy of the value has a clone of this.
        let copies = Arc::new(());
        let read = Arc::clone(&copies);
        let combined = AT_ONCE.combine(
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
