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

/// Quotas that the reply to attempt 0 has stated, which has ended.
fn stated(quota: &Quota) -> Quotas {
    let mut quotas = Quotas::new(0, 0, 1, Share::default(), START);
    quotas.replied(vec![quota.clone()], 0, START);
    quotas
}

/// The seconds from the start until the turn of a call with so many tokens.
fn turn(quotas: &Quotas, tokens: u32) -> f64 {
    let turn = quotas.turn(Share::of(tokens));
    turn.saturating_sub(START) as f64 / 1e9
}

#[test]
fn a_call_goes_when_enough_remains_and_one_call_tries_a_quota_that_is_used_up_at_once() {
    // Rows: the quota that the first reply states, the tokens of the call, and its turn.
    for (quota, tokens, expected) in [
        (steady(60.0), 0, 0.0),
        (steady(9.0), 0, 0.0),
        (steady(0.0), 0, 1.0),
        (steady(0.5), 0, 0.5),
        (window(1.0, 1_000), 0, 0.0),
        // Nobody expected that.
        (window(0.0, 1_000), 0, 2.0),
        (window(0.0, 1), 0, 1.0),
        (of_tokens(0.0), 0, 0.0),
        (of_tokens(0.0), 150, 1.5),
        (of_tokens(1_000.0), 3_000, 20.0),
        // A call that is larger than the whole quota goes when the quota is full.
        (of_tokens(1_000.0), 9_000, 50.0),
        (of_tokens(6_000.0), 9_000, 0.0),
    ] {
        let case = format!("{quota:?} {tokens}");
        let mut quotas = stated(&quota);
        assert_eq!(turn(&quotas, tokens), expected, "{case}");
        let is_too_large = quotas.takes(Share::of(tokens), 1, START);
        assert_eq!(is_too_large, tokens > 6_000, "{case}");
    }
}

/// A window of 60 requests that attempts 1 to 60 have used.
fn used_up() -> Quotas {
    let mut quotas = stated(&window(60.0, 1_000));
    for number in 1..=60 {
        quotas.takes(Share::of(0), number, START);
    }
    for number in 1..=60 {
        quotas.replied(vec![window(60.0 - f64::from(number), 1_000)], number, START);
    }
    quotas
}

#[test]
fn a_quota_that_calls_have_used_up_is_not_tried() {
    assert_eq!(turn(&used_up(), 0), 1_000.0);
}

/// A gateway's other key: one reply says that nothing is left, and the next that much is.
#[test]
fn any_reply_corrects_what_nobody_expected() {
    let mut quotas = stated(&window(50.0, 1_000));
    for number in 1..=2 {
        quotas.takes(Share::of(0), number, START);
    }
    quotas.replied(vec![window(0.0, 1_000)], 1, START);
    assert_eq!(turn(&quotas, 0), 2.0);
    quotas.replied(vec![window(49.0, 1_000)], 2, START);
    assert_eq!(turn(&quotas, 0), 0.0);
}

#[test]
fn a_call_that_is_admitted_while_nothing_is_left_ends_the_quota_until_something_is_left() {
    let nothing = || vec![window(0.0, 1_000)];
    for (hint, expected) in [(None, 0.0), (Some(0), 1_002.0), (Some(7 * SECOND), 9.0)] {
        let mut quotas = stated(&window(0.0, 1_000));
        let tried = START + 2 * SECOND;
        quotas.takes(Share::of(0), 1, tried);
        // The next one, if this one hangs.
        assert_eq!(turn(&quotas, 0), 62.0);
        quotas.replied(nothing(), 1, tried);
        quotas.judge(hint, 1, tried);
        assert_eq!(turn(&quotas, 0), expected, "{hint:?}");
        // Again and again.
        quotas.takes(Share::of(0), 2, tried);
        quotas.replied(nothing(), 2, tried);
        quotas.judge(hint, 2, tried);
        if hint.is_none() {
            assert_eq!(turn(&quotas, 0), 0.0);
            quotas.takes(Share::of(0), 3, tried);
            quotas.replied(vec![window(60.0, 1_000)], 3, tried);
            quotas.takes(Share::of(0), 4, tried);
            quotas.replied(nothing(), 4, tried);
            assert_eq!(turn(&quotas, 0), 4.0);
        }
    }
}

#[test]
fn the_shorter_of_two_times_counts_that_a_refusal_names() {
    let mut quotas = used_up();
    quotas.judge(Some(SECOND), 60, START);
    assert_eq!(turn(&quotas, 0), 1.0);
    let mut quotas = used_up();
    quotas.judge(Some(999 * SECOND), 60, START);
    assert_eq!(turn(&quotas, 0), 1_000.0);
}

/// Otherwise a service that answers 429s alone, and such headers, would not be slowed down.
#[test]
fn a_quota_whose_end_has_come_explains_no_refusal() {
    for (quota, expected) in [(window(0.0, 60), true), (window(0.0, 0), false)] {
        assert_eq!(stated(&quota).judge(Some(0), 1, START), expected);
    }
}

/// What the program says replaces the estimate of an attempt that runs, and holds until the reply to a later attempt.
#[test]
fn what_is_used_is_subtracted_until_a_reply_states_what_remains() {
    // Rows: what attempt 1 has used of its estimate of 100 tokens, whether its reply has come, and the turn of 600 tokens
    // while 1,000 remain.
    for (used, has_replied, expected) in [
        (0, false, 0.0),
        (100, false, 0.0),
        (500, false, 1.0),
        (0, true, 0.0),
        (500, true, 1.0),
    ] {
        let case = format!("{used} {has_replied}");
        let mut quotas = stated(&of_tokens(1_000.0));
        quotas.takes(Share::of(100), 1, START);
        if has_replied {
            quotas.replied(vec![of_tokens(1_000.0)], 1, START);
        }
        quotas.used(used.into(), Some(1));
        assert_eq!(turn(&quotas, 600), expected, "{case}");
        quotas.takes(Share::of(0), 2, START);
        quotas.replied(vec![of_tokens(1_000.0)], 2, START);
        let still = if has_replied { 0.0 } else { expected };
        assert_eq!(turn(&quotas, 600), still, "{case}");
    }
    // The reply to an attempt that began before does not state it.
    let mut quotas = stated(&of_tokens(1_000.0));
    for number in [1, 2] {
        quotas.takes(Share::of(0), number, START);
    }
    quotas.replied(vec![of_tokens(1_000.0)], 2, START);
    quotas.used(800.0, Some(2));
    for (number, expected) in [(1, 4.0), (3, 0.0)] {
        if number == 3 {
            quotas.takes(Share::of(0), 3, START);
        }
        quotas.replied(vec![of_tokens(1_000.0)], number, START);
        assert_eq!(turn(&quotas, 600), expected, "{number}");
    }
}

#[test]
fn what_runs_is_subtracted() {
    let one = Share::of(0);
    // Of the attempts before the first reply, too.
    let mut quotas = Quotas::new(7, 9, 10, one, START);
    quotas.replied(vec![window(10.0, 100)], 7, START);
    assert_eq!(turn(&quotas, 0), 0.0);
    quotas.takes(one, 17, START);
    assert_eq!(turn(&quotas, 0), 100.0);
    // An attempt that is dropped gives its share back.
    let _ = quotas.ended(17);
    assert_eq!(turn(&quotas, 0), 0.0);
    // The reply to an attempt that ran beside can only lower what is left.
    quotas.takes(one, 18, START);
    quotas.replied(vec![window(60.0, 100)], 18, START);
    quotas.replied(vec![window(60.0, 100)], 8, START);
    quotas.takes(one, 19, START);
    assert_eq!(turn(&quotas, 0), 0.0);
    for (number, left) in [(9, 7.0), (10, 60.0)] {
        quotas.replied(vec![window(left, 100)], number, START);
        assert_eq!(turn(&quotas, 0), 100.0);
    }
}

/// Two slow calls ran while 10,000 others were made. The reply to the first one states a quota.
#[test]
fn what_has_ended_before_the_first_headers_does_not_run() {
    let mut quotas = Quotas::new(0, 10_001, 1, Share::of(0), START);
    quotas.replied(vec![steady(59.0)], 0, START);
    assert_eq!(turn(&quotas, 0), 0.0);
}

#[test]
fn what_began_some_seconds_earlier_is_counted_by_the_service() {
    let mut quotas = stated(&window(10.0, 100));
    for number in 1..=9 {
        quotas.takes(Share::of(0), number, START);
    }
    let later = START + 3 * SECOND;
    quotas.takes(Share::of(0), 10, later);
    quotas.replied(vec![window(1.0, 100)], 10, later);
    assert_eq!(turn(&quotas, 0), 0.0);
    // A reply to an older attempt than those changes nothing.
    quotas.replied(vec![window(0.0, 100)], 9, later);
    assert_eq!(turn(&quotas, 0), 0.0);
}

#[test]
fn after_its_reset_a_window_is_full() {
    let mut quotas = used_up();
    let later = START + 1_000 * SECOND;
    for number in 61..=120 {
        assert!(quotas.turn(Share::of(0)) <= later);
        quotas.takes(Share::of(0), number, later);
    }
    assert!(quotas.turn(Share::of(0)) > later);
}

#[test]
fn quotas_are_over_a_minute_after_their_end_and_after_the_last_reply() {
    let quotas = stated(&window(0.0, 100));
    assert!(!quotas.are_over(START + 160 * SECOND));
    assert!(quotas.are_over(START + 161 * SECOND));
}

/// A window under the name of a steady quota, and the other way round.
#[test]
fn replies_show_whether_a_quota_is_steady() {
    let state = |is_steady: bool, quota: fn(f64, f64) -> f64| {
        let mut quotas = Quotas::new(0, 0, 1, Share::default(), START);
        for n in 0..=60 {
            let now = START + u64::from(n) * SECOND / 10;
            quotas.takes(Share::of(0), n, now);
            let left = 60.0 - f64::from(n);
            let stated = Quota {
                resets_in: Duration::from_secs_f64(quota(left, f64::from(n) / 10.0)),
                is_steady,
                ..steady(left)
            };
            quotas.replied(vec![stated], n, now);
        }
        turn(&quotas, 0).round()
    };
    let ends = |_, seconds| 60.0 - seconds;
    let fills = |left, _| 60.0 - left;
    assert_eq!([state(true, ends), state(false, ends)], [60.0; 2]);
    assert_eq!([state(true, fills), state(false, fills)], [7.0; 2]);
}

/// This process has used 10 of 60, and others have used 38: its part is 10 of 48.
#[test]
fn beside_others_calls_go_at_their_part_of_what_comes_back_or_is_left() {
    let one = Share::of(0);
    for (full, quota, pause) in [
        (steady(60.0), steady(12.0), 4.8),
        (window(60.0, 100), window(12.0, 100), 40.0),
    ] {
        let mut quotas = stated(&full);
        for number in 1..=10 {
            quotas.takes(one, number, START);
            let _ = quotas.ended(number);
        }
        quotas.replied(vec![quota], 10, START);
        assert_eq!(turn(&quotas, 0), 0.0);
        quotas.takes(one, 11, START);
        assert!((turn(&quotas, 0) - pause).abs() < 1e-6, "{quotas:?}");
    }
}

proptest! {
    /// Whatever runs, a call waits at most for the stated end and a second. An end of zero is one within a second.
    #[test]
    fn no_turn_is_later_than_the_stated_end(
        runs in 1u32..20_000,
        used in 0u32..20_000,
        left in 0.0..=60.0f64,
        seconds in 0u64..=3_660,
        is_steady: bool,
    ) {
        let mut quotas = Quotas::new(0, 16_000, runs, Share::of(used), START);
        let quota = Quota { is_steady, ..window(left, seconds) };
        quotas.replied(vec![quota], 0, START);
        prop_assert!(turn(&quotas, used) <= seconds.max(1) as f64 + 1.001, "{quotas:?}");
    }

    /// A service that answers each call, and whose quota nobody else uses: whatever its replies say suddenly of a quota that
    /// is used up, no call waits for more than two seconds.
    #[test]
    fn a_service_that_answers_delays_nobody_for_long(
        replies in prop::collection::vec((any::<bool>(), 0u64..=3_660, 0..5 * SECOND, 0..100 * SECOND), 1..60),
        is_steady: bool,
    ) {
        let mut quotas = Quotas::new(0, 0, 1, Share::of(0), START);
        let (mut now, mut number) = (START, 0);
        for (is_used_up, seconds, takes, passes) in replies {
            let left = if is_used_up { 0.0 } else { 60.0 };
            let quota = Quota { is_steady, ..window(left, seconds) };
            now += takes;
            quotas.replied(vec![quota], number, now);
            quotas.judge(None, number, now);
            now += passes;
            let turn = quotas.turn(Share::of(0)).max(now);
            prop_assert!(turn <= now + 2 * SECOND, "{quotas:?}");
            now = turn;
            number += 1;
            quotas.takes(Share::of(0), number, now);
        }
    }
}
