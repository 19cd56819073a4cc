//! When calls go under the quotas that replies state.

use super::*;
use core::time::Duration;
use proptest::prelude::*;

const SECOND: u64 = 1_000_000_000;
const START: u64 = 1_000 * SECOND;

/// A quota of 60 requests that is refilled steadily, one a second.
fn steady(left: f64) -> Quota {
    Quota {
        name: "requests".into(),
        limit: Some(60.0),
        left,
        resets_in: Duration::from_secs_f64(60.0 - left),
        is_steady: true,
        counts_tokens: false,
    }
}

/// A window of 60 requests that ends so many seconds from now.
fn window(left: f64, ends: u64) -> Quota {
    Quota {
        resets_in: Duration::from_secs(ends),
        is_steady: false,
        ..steady(left)
    }
}

/// 6,000 tokens, 100 a second.
fn of_tokens(left: f64) -> Quota {
    Quota {
        name: "tokens".into(),
        limit: Some(6_000.0),
        left,
        resets_in: Duration::from_secs_f64((6_000.0 - left) / 100.0),
        is_steady: true,
        counts_tokens: true,
    }
}

/// Quotas that so many replies to the first attempts have stated.
fn stated(quota: &Quota, replies: u32) -> Quotas {
    let mut quotas = Quotas::new(0, START);
    for _ in 0..replies {
        quotas.replied(vec![quota.clone()], (0, 0), Share::default(), START);
    }
    quotas
}

/// The seconds from the start until the turn of a call with so many tokens.
fn turn(quotas: &Quotas, tokens: u32) -> f64 {
    let turn = quotas.turn(Share::of(tokens));
    turn.saturating_sub(START) as f64 / 1e9
}

#[test]
fn a_call_goes_when_enough_remains_and_one_reply_closes_for_75_seconds_at_most() {
    // Rows: the quota, the number of replies that have stated the quota, the tokens of the call, and its turn.
    for (quota, replies, tokens, expected) in [
        (steady(60.0), 2, 0, 0.0),
        (steady(9.0), 2, 0, 0.0),
        (steady(0.0), 2, 0, 1.0),
        (steady(0.5), 1, 0, 0.5),
        (window(1.0, 1_000), 2, 0, 0.0),
        (window(0.0, 1_000), 1, 0, 75.0),
        (window(0.0, 1_000), 2, 0, 1_000.0),
        (window(0.0, 30), 1, 0, 30.0),
        (of_tokens(0.0), 2, 0, 0.0),
        (of_tokens(0.0), 2, 250, 2.5),
        // A call that is larger than the whole quota goes when the quota is full.
        (of_tokens(0.0), 2, 9_000, 60.0),
        (of_tokens(6_000.0), 2, 9_000, 0.0),
    ] {
        let case = format!("{quota:?} {replies} {tokens}");
        let mut quotas = stated(&quota, replies);
        assert_eq!(turn(&quotas, tokens), expected, "{case}");
        let is_too_large = quotas.takes(Share::of(tokens), START);
        assert_eq!(is_too_large, tokens > 6_000, "{case}");
    }
}

#[test]
fn what_has_begun_is_subtracted_until_a_reply_counts_it() {
    let mut quotas = stated(&window(2.0, 100), 2);
    let one = Share::of(0);
    quotas.begins(1, START);
    quotas.takes(one, START);
    quotas.takes(one, START);
    assert_eq!(turn(&quotas, 0), 100.0);
    // The reply to one of the two: the service may not have counted the other one.
    quotas.replied(vec![window(1.0, 100)], (1, 1), one, START);
    assert_eq!(turn(&quotas, 0), 100.0);
    // The other one is dropped, but nobody knows whether the service has counted it: the next reply says that.
    quotas.begins(2, START);
    quotas.gives_back(1, 2, one);
    quotas.takes(one, START);
    quotas.replied(vec![window(1.0, 100)], (2, 2), one, START);
    assert_eq!(turn(&quotas, 0), 0.0);
    // A call that has begun after the last used reply gives its share back.
    quotas.begins(3, START);
    quotas.takes(one, START);
    assert_eq!(turn(&quotas, 0), 100.0);
    quotas.gives_back(3, 3, one);
    assert_eq!(turn(&quotas, 0), 0.0);
}

#[test]
fn a_reply_to_an_older_attempt_changes_nothing() {
    let mut quotas = stated(&window(5.0, 100), 2);
    quotas.begins(1, START);
    quotas.replied(vec![window(0.0, 100)], (1, 1), Share::default(), START);
    quotas.replied(vec![window(5.0, 100)], (0, 1), Share::default(), START);
    assert_eq!(turn(&quotas, 0), 100.0);
}

#[test]
fn after_its_reset_a_window_is_full_and_single_calls_try_what_one_reply_has_closed() {
    let mut quotas = stated(&window(0.0, 100), 2);
    let later = START + 100 * SECOND;
    for _ in 0..60 {
        assert!(quotas.turn(Share::of(0)) <= later);
        quotas.takes(Share::of(0), later);
    }
    assert!(quotas.turn(Share::of(0)) > later);

    let mut quotas = stated(&window(0.0, 1_000), 1);
    let tried = START + 75 * SECOND;
    quotas.takes(Share::of(0), tried);
    assert_eq!(turn(&quotas, 0), 150.0);
}

/// Two processes that use the same quota: each goes at its part.
#[test]
fn others_slow_the_calls_down() {
    let mut quotas = stated(&steady(30.0), 2);
    let mut now = START;
    let mut left = 30.0;
    let mut own = 0;
    let mut number = 0;
    for _ in 0..1_000 {
        now += SECOND / 10;
        left = f64::min(left + 0.1, 60.0);
        // The other process uses one in two seconds.
        if (now - START).is_multiple_of(2 * SECOND) && left >= 1.0 {
            left -= 1.0;
        }
        if quotas.turn(Share::of(0)) <= now && left >= 1.0 {
            quotas.takes(Share::of(0), now);
            left -= 1.0;
            own += 1;
            if quotas.replied(
                vec![steady(left.floor())],
                (number, number),
                Share::of(0),
                now,
            ) {
                number += 1;
                quotas.begins(number, now);
            }
        }
    }
    // In 100 s the service admits 130 calls, and the other process uses 50.
    assert!((60..=80).contains(&own), "{own}");
}

proptest! {
    /// Whatever services state and calls do, no call waits longer than until the reset of a quota, and the quotas hold
    /// for a minute after the last reply, or until a reset.
    #[test]
    fn no_turn_is_further_away_than_a_reset(
        steps in prop::collection::vec((0u8..4, 0u32..20_000, 0u64..100 * SECOND, 0.0..=1.0f64, 0u64..3_600), 1..60),
    ) {
        let mut quotas = Quotas::new(0, START);
        let (mut now, mut number, mut reset) = (START, 0u8, START);
        for (step, used, passes, left, seconds) in steps {
            now += passes;
            let share = Share::of(used);
            match step {
                0 => { quotas.takes(share, now); }
                1 => quotas.gives_back(number, number, share),
                _ => {
                    let quota = if step == 2 { of_tokens(left * 6_000.0) } else { window(left * 60.0, seconds) };
                    reset = reset.max(now + nanos(quota.resets_in));
                    if quotas.replied(vec![quota], (number, number), share, now) {
                        number = number.wrapping_add(1);
                        quotas.begins(number, now);
                    }
                }
            }
            // A window may follow another one, and a bucket is full an hour after it was empty.
            let latest = reset.max(now) + 3_600 * SECOND;
            prop_assert!(quotas.turn(share) <= latest, "{quotas:?}");
            prop_assert!(quotas.until() <= latest + FRESH);
        }
    }
}
