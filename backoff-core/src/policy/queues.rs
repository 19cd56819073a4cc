//! A policy as the settings of a queue.

use crate::{
    delay::{growth::Growth, jitter::Spread},
    policy::{NEVER, Policy},
};
use core::{fmt, time::Duration};

/// Made by [`Policy::queue_settings`].
struct QueueSettings<'p>(&'p Policy);

impl Policy {
    /// The settings with which Cloud Tasks, Celery, Temporal and Step Functions repeat a job as this policy repeats a
    /// call, and the waits and limits of the policy that they do not have. Times are in seconds, rounded up where a
    /// queue takes whole seconds.
    ///
    /// The fields are those of [`RetryConfig`](https://docs.cloud.google.com/tasks/docs/reference/rest/v2/projects.locations.queues#RetryConfig),
    /// of Celery's [tasks](https://docs.celeryq.dev/en/stable/userguide/tasks.html#retrying), of Temporal's
    /// [retry policies](https://docs.temporal.io/encyclopedia/retry-policies) and of a
    /// [Retrier](https://docs.aws.amazon.com/step-functions/latest/dg/concepts-error-handling.html). The queues name
    /// errors in other ways, so this text does not contain the codes.
    ///
    /// ```
    /// use backoff_core::Policy;
    ///
    /// let settings = Policy::exponential().max_attempts(6).queue_settings().to_string();
    /// assert_eq!(settings, "\
    /// Cloud Tasks: minBackoff 1, maxBackoff 64, maxDoublings 6, maxAttempts 6, maxRetryDuration 0; without the jitter
    /// Celery: retry_backoff 1, retry_backoff_max 64, retry_jitter True, max_retries 5
    /// Temporal: initial_interval 1, backoff_coefficient 2, maximum_interval 64, maximum_attempts 6; without the jitter
    /// Step Functions: IntervalSeconds 1, BackoffRate 2, MaxDelaySeconds 64, JitterStrategy FULL, MaxAttempts 5");
    /// ```
    pub fn queue_settings(&self) -> impl fmt::Display + '_ {
        QueueSettings(self)
    }
}

/// Rounded up.
fn seconds(nanos: u64) -> u64 {
    nanos.div_ceil(1_000_000_000)
}

/// The rules of the policy that a queue does not have: pairs of a rule and whether it is missing.
fn without(f: &mut fmt::Formatter<'_>, policy: &Policy, rules: &[(&str, bool)]) -> fmt::Result {
    let in_no_queue = [
        (
            "the longer wait after throttling",
            policy.throttled_base != NEVER,
        ),
        ("the budget", policy.budget.is_some()),
        ("the rate", policy.shared_rate().is_some()),
    ];
    let mut before = "; without ";
    let rules = rules.iter().chain(&in_no_queue);
    for (rule, _) in rules.filter(|(_, is_missing)| *is_missing) {
        write!(f, "{before}{rule}")?;
        before = ", ";
    }
    Ok(())
}

impl fmt::Display for QueueSettings<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let policy = self.0;
        let base = policy.base.min(policy.max_backoff);
        // A queue multiplies, so a constant wait is a wait that is the longest at once.
        let (factor, max) = match policy.growth {
            Growth::Exponential(factor) => (Some(factor), policy.max_backoff),
            Growth::Constant => (Some(2.0), base),
            _ => (None, policy.max_backoff),
        };
        let (no_growth, no_doubling) = (factor.is_none(), factor != Some(2.0));
        let factor = factor.unwrap_or(2.0);
        let jitter = policy.jitter != Spread::None;
        let other_jitter = !matches!(
            policy.jitter,
            Spread::None | Spread::Full | Spread::WholeSeconds(_)
        );
        let attempts = Some(policy.attempts()).filter(|attempts| *attempts != u32::MAX);
        let retries = attempts.map(|attempts| attempts - 1);
        let has_deadline = policy.deadline != NEVER;
        let (first, longest) = (seconds(base).max(1), seconds(max).max(1));

        let doublings = longest.div_ceil(first).next_power_of_two().ilog2();
        write!(
            f,
            "Cloud Tasks: minBackoff {first}, maxBackoff {longest}, maxDoublings {doublings}, "
        )?;
        // A task ends when both limits are reached. The first attempt reaches a limit of 1, and a time of 0 is none.
        match attempts {
            Some(attempts) => write!(f, "maxAttempts {attempts}, maxRetryDuration 0")?,
            None => write!(
                f,
                "maxAttempts 1, maxRetryDuration {}",
                seconds(policy.deadline)
            )?,
        }
        let second_limit = attempts.is_some() && has_deadline;
        without(
            f,
            policy,
            &[
                (GROWTH, no_doubling),
                (JITTER, jitter),
                (DEADLINE, second_limit),
            ],
        )?;

        write!(
            f,
            "\nCelery: retry_backoff {first}, retry_backoff_max {longest}, retry_jitter "
        )?;
        f.write_str(if jitter { "True" } else { "False" })?;
        match retries {
            Some(retries) => write!(f, ", max_retries {retries}")?,
            None => f.write_str(", max_retries None")?,
        }
        without(
            f,
            policy,
            &[
                (GROWTH, no_doubling),
                (KIND, other_jitter),
                (DEADLINE, has_deadline),
            ],
        )?;

        let [exact_first, exact_longest, deadline] =
            [base, max, policy.deadline].map(|nanos| Duration::from_nanos(nanos).as_secs_f64());
        write!(
            f,
            "\nTemporal: initial_interval {exact_first}, backoff_coefficient {factor}, maximum_interval {exact_longest}, \
             maximum_attempts {}",
            attempts.unwrap_or(0)
        )?;
        if has_deadline {
            write!(f, ", schedule_to_close_timeout {deadline}")?;
        }
        without(f, policy, &[(GROWTH, no_growth), (JITTER, jitter)])?;

        write!(
            f,
            "\nStep Functions: IntervalSeconds {first}, BackoffRate {factor}, MaxDelaySeconds {longest}, \
             JitterStrategy {}, MaxAttempts {}",
            if jitter { "FULL" } else { "NONE" },
            retries.unwrap_or(MOST_RETRIES)
        )?;
        without(
            f,
            policy,
            &[
                (GROWTH, no_growth),
                (KIND, other_jitter),
                (DEADLINE, has_deadline),
            ],
        )
    }
}

const GROWTH: &str = "the growth";
const JITTER: &str = "the jitter";
const KIND: &str = "the kind of jitter";
const DEADLINE: &str = "the deadline";

/// The greatest `MaxAttempts` of a Retrier, whose default is 3.
const MOST_RETRIES: u32 = 99_999_999;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::delay::jitter::Jitter;

    /// Rows: a policy, and the text of each queue.
    #[test]
    fn each_queue_has_its_fields_and_says_what_is_missing() {
        let time = Duration::from_millis;
        let plain = Policy::exponential();
        for (policy, said) in [
            (
                plain.base(time(1500)).factor(3.0).deadline(time(299_500)),
                [
                    "minBackoff 2, maxBackoff 64, maxDoublings 5, maxAttempts 1, maxRetryDuration 300; without the growth, the jitter",
                    "retry_backoff 2, retry_backoff_max 64, retry_jitter True, max_retries None; without the growth, the deadline",
                    "initial_interval 1.5, backoff_coefficient 3, maximum_interval 64, maximum_attempts 0, schedule_to_close_timeout 299.5; without the jitter",
                    "IntervalSeconds 2, BackoffRate 3, MaxDelaySeconds 64, JitterStrategy FULL, MaxAttempts 99999999; without the deadline",
                ],
            ),
            (
                Policy::constant(time(5_000))
                    .jitter(Jitter::None)
                    .max_attempts(3)
                    .deadline(time(60_000)),
                [
                    "minBackoff 5, maxBackoff 5, maxDoublings 0, maxAttempts 3, maxRetryDuration 0; without the deadline",
                    "retry_backoff 5, retry_backoff_max 5, retry_jitter False, max_retries 2; without the deadline",
                    "initial_interval 5, backoff_coefficient 2, maximum_interval 5, maximum_attempts 3, schedule_to_close_timeout 60",
                    "IntervalSeconds 5, BackoffRate 2, MaxDelaySeconds 5, JitterStrategy NONE, MaxAttempts 2; without the deadline",
                ],
            ),
            (
                Policy::linear(time(100), time(100))
                    .jitter(Jitter::Equal)
                    .max_backoff(time(700)),
                [
                    "minBackoff 1, maxBackoff 1, maxDoublings 0, maxAttempts 5, maxRetryDuration 0; without the growth, the jitter",
                    "retry_backoff 1, retry_backoff_max 1, retry_jitter True, max_retries 4; without the growth, the kind of jitter",
                    "initial_interval 0.1, backoff_coefficient 2, maximum_interval 0.7, maximum_attempts 5; without the growth, the jitter",
                    "IntervalSeconds 1, BackoffRate 2, MaxDelaySeconds 1, JitterStrategy FULL, MaxAttempts 4; without the growth, the kind of jitter",
                ],
            ),
        ] {
            let text = policy.queue_settings().to_string();
            let lines = text
                .lines()
                .map(|line| line.split_once(": ").expect("a queue and its fields").1);
            assert_eq!(lines.collect::<Vec<_>>(), said);
        }
        static BUDGET: crate::budget::Budget = crate::budget::Budget::aws();
        let policy = plain.throttled_base(time(9_000)).budget(&BUDGET);
        let text = policy.queue_settings().to_string();
        let missing = "the longer wait after throttling, the budget";
        assert!(text.lines().all(|line| line.ends_with(missing)), "{text}");
        // Celery's own policy is the settings that Celery has.
        let celery = Policy::celery(3).queue_settings().to_string();
        let line =
            "Celery: retry_backoff 3, retry_backoff_max 600, retry_jitter True, max_retries 3";
        assert_eq!(celery.lines().nth(1), Some(line));
    }
}
