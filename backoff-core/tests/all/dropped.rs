//! A call that is dropped does nothing more, in every form. If no attempt follows a wait, the budget gets the
//! wait's tokens back.
use crate::common::forms::{PLAIN, call, check};

#[test]
fn a_dropped_call_drops_its_attempt_and_makes_no_other_and_gets_its_tokens_back() {
    let table = "
        in an attempt     | dropped_at 5    | hangs               | 0; dropped at 5
        in a wait         | dropped_at 10.5 | error 503 taking 10 | 0; dropped at 10.5
        in a retry        | dropped_at 15   | error 503 taking 10 | 0 11; dropped at 15
        limited           | attempt_timeout 60, dropped_at 5    | hangs               | 0; dropped at 5
        limited, a wait   | attempt_timeout 60, dropped_at 10.5 | error 503 taking 10 | 0; dropped at 10.5
        limited, a retry  | attempt_timeout 60, dropped_at 15   | error 503 taking 10 | 0 11; dropped at 15
        a failure         | dropped_at 0.5, budget aws            | error 503 | 0; dropped at 0.5 [486 500]
        called too often  | dropped_at 0.5, budget aws            | error 429 | 0; dropped at 0.5 [495 500]
        a response        | dropped_at 0.5, budget aws, responses | 503       | 0; dropped at 0.5 [486 500]
        a limit           | dropped_at 0.5, budget aws, timeout 60 | error 503 | 0; dropped at 0.5 [486 500]
        a share of the successes | dropped_at 0.5, budget ratio 0.2 10 | error 503 | 0; dropped at 0.5 [9 10]
        gRPC's: the failure costs, not the retry | dropped_at 0.5, budget grpc 10 0.1 | error 503 | 0; dropped at 0.5 [9 9]
        retries that were begun  | dropped_at 10, budget aws | error 503, error 503, hangs | 0 1 3; dropped at 10 [486 472 472]
    ";
    check(call(PLAIN), table);
}

// Without a limit, an async call makes the attempt. When a hook panics, the wait has taken tokens.
#[test]
fn a_retry_without_time_and_a_hook_that_panics_cost_no_token() {
    let table = "
        a late timer  | late 60, timeout 5 | error 503 | 0; at 61 deadline: error cut after 0ns, last 503 [486 500 500]
        late, a limit of each attempt | late 60, deadline 5, attempt_timeout 1 | error 503 | 0; at 61 deadline: error cut after 0ns, last 503 [486 500 500]
        late, a deadline  | late 60, deadline 5 | error 503 | 0 61; at 61 deadline: error 503 [486 486 486]
        but blocking | 0; at 61 deadline: error 503 [486 500 500]
        late, a response  | late 60, deadline 5, responses | 503 | 0 61; at 61 deadline: 503 [486 486 486]
        but blocking | 0; at 61 deadline: 503 [486 500 500]
        a panic when a wait begins    | panicking_at 1 | error 503 | 0; dropped at 0 [486 500]
        a panic when a wait is ended  | stop_on 0.5, panicking_at 2 | error 503 | 0; dropped at 0.5 stopped [486 500 500]
        a panic when the time is over | timeout 5, late 60, panicking_at 2 | error 503 | 0; dropped at 61 deadline [486 500 500]
    ";
    check(call(PLAIN).budget("aws"), table);
}
