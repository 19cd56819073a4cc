//! What a reply says of quotas: how much of each remains, and when the quota is full again.

use std::time::Duration;
#[cfg(feature = "http-1")]
use {
    super::hint::{
        headers::{Header, beginning, is_quota, remainders, sent, text},
        time,
    },
    std::time::SystemTime,
};

#[cfg(feature = "http-1")]
pub(crate) use super::hint::headers::pairs as header_pairs;

/// One quota of a service, as a reply states it.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Quota {
    pub(crate) name: String,
    /// How much the full quota holds, if the reply says so.
    pub(crate) limit: Option<f64>,
    pub(crate) left: f64,
    /// When the quota is full again.
    pub(crate) resets_in: Duration,
    /// Whether the quota is refilled steadily. If not, the quota is refilled at once when its window ends.
    pub(crate) is_steady: bool,
    /// Whether the quota counts tokens. If not, the quota counts requests.
    pub(crate) counts_tokens: bool,
}

/// The quotas that a reply with these headers states, and the first header that makes no sense.
///
/// The names are those of [`in_headers`](super::in_headers). A quota is refilled steadily if its name says `requests` or
/// `tokens`, as the names of OpenAI and Anthropic do: its reset is the time until the quota is full. The quotas of GitHub
/// and of the IETF's `RateLimit` have windows.
#[cfg(feature = "http-1")]
pub(crate) fn quotas<'h, H: Iterator<Item = Header<'h>>>(
    headers: impl Fn() -> H,
    client: SystemTime,
) -> (Vec<Quota>, Option<Header<'h>>) {
    /// A quota whose reset is further away is none: the queue would be closed for too long.
    const LONGEST: Duration = Duration::from_secs(3_660);
    let headers = || beginning(headers());
    let (mut quotas, mut bad) = (Vec::new(), None);
    // A number without a sign.
    let number = |text: &str| {
        let text = text.split(';').next()?.trim_ascii();
        Some(time::billionths(text)? as f64 / 1e9)
    };
    let resource = headers().find(|it| it.0 == "x-ratelimit-resource");
    let resource = resource.map_or("", |it| text(it.1));
    let mut reply = None;
    for it in remainders(&headers, is_quota) {
        let reply = *reply.get_or_insert_with(|| sent(&headers, client));
        let counts_tokens = it.header.0.contains("tokens");
        let is_steady = counts_tokens || it.header.0.contains("requests");
        let (left, limit) = (number(it.left), number(it.limit));
        let resets_in = time::longest(it.reset, "s", reply);
        if it.limit.is_empty() && is_steady {
            continue;
        }
        let is_sound = |left: &f64| match limit {
            Some(limit) => limit > 0.0 && *left <= limit,
            None => it.limit.is_empty(),
        };
        let Some(left) = left.filter(is_sound) else {
            bad = bad.or(Some(it.header));
            continue;
        };
        // The field `RateLimit` may leave the reset out.
        if it.reset.is_empty() {
            continue;
        }
        match resets_in.filter(|it| *it <= LONGEST) {
            Some(resets_in) if limit == Some(left) || !time::is_past(it.reset, reply) => quotas
                .push(Quota {
                    name: format!("{} {}{resource}", it.header.0, it.name),
                    limit,
                    left,
                    resets_in,
                    is_steady,
                    counts_tokens,
                }),
            _ => bad = bad.or(Some(it.refill)),
        }
    }
    (quotas, bad)
}

#[cfg(all(test, feature = "http-1"))]
mod tests {
    use super::*;
    use std::time::Duration;

    /// 1 May 2025, 22:01:18.
    const NOW: u64 = 1_746_136_878;

    fn read(lines: &str) -> (Vec<Quota>, Option<String>) {
        let headers = || {
            let lines = lines.split('|').filter_map(|line| line.split_once(": "));
            lines.map(|(name, value)| (name, value.as_bytes()))
        };
        let now = SystemTime::UNIX_EPOCH + Duration::from_secs(NOW);
        let (quotas, bad) = quotas(headers, now);
        (quotas, bad.map(|(name, _)| name.to_owned()))
    }

    /// Rows: headers as services send them, and each quota: what remains, of how much, the seconds until the reset, and
    /// what the quota counts.
    #[test]
    fn each_service_states_its_quotas() {
        let openai = "x-ratelimit-limit-requests: 500|x-ratelimit-limit-tokens: 80000|\
            x-ratelimit-remaining-requests: 499|x-ratelimit-remaining-tokens: 79850|\
            x-ratelimit-reset-requests: 120ms|x-ratelimit-reset-tokens: 112ms";
        let groq = "x-ratelimit-limit-requests: 14400|x-ratelimit-limit-tokens: 18000|\
            x-ratelimit-remaining-requests: 14370|x-ratelimit-remaining-tokens: 17997|\
            x-ratelimit-reset-requests: 2m59.56s|x-ratelimit-reset-tokens: 7.66ms";
        let azure = "x-ratelimit-remaining-requests: 119|x-ratelimit-remaining-tokens: 119000";
        let anthropic = "anthropic-ratelimit-requests-limit: 50|anthropic-ratelimit-requests-remaining: 49|\
            anthropic-ratelimit-requests-reset: 2025-05-01T22:01:20Z|\
            anthropic-ratelimit-input-tokens-limit: 40000|anthropic-ratelimit-input-tokens-remaining: 40000|\
            anthropic-ratelimit-input-tokens-reset: 2025-05-01T22:01:10Z|\
            anthropic-ratelimit-output-tokens-limit: 8000|anthropic-ratelimit-output-tokens-remaining: 4000|\
            anthropic-ratelimit-output-tokens-reset: 2025-05-01T22:01:48Z";
        let github = "x-ratelimit-limit: 5000|x-ratelimit-remaining: 4987|x-ratelimit-reset: 1746138878|\
            x-ratelimit-used: 13|x-ratelimit-resource: core";
        let cloudflare = "ratelimit: \"default\";r=50;t=30|ratelimit-policy: \"burst\";q=9;w=1, \"default\";q=1200;w=300";
        let express = "ratelimit: limit=5, remaining=0, reset=30";
        let draft = "ratelimit-limit: 100, 100;w=60|ratelimit-remaining: 3|ratelimit-reset: 12";
        let alone = "ratelimit: \"default\";r=50;t=30";
        for (headers, expected) in [
            (
                openai,
                "499 of 500 in 0.12, steady; 79850 of 80000 in 0.112, steady, tokens",
            ),
            (
                groq,
                "14370 of 14400 in 179.56, steady; 17997 of 18000 in 0.00766, steady, tokens",
            ),
            (azure, ""),
            (
                anthropic,
                "49 of 50 in 3, steady; 40000 of 40000 in 0, steady, tokens; 4000 of 8000 in 31, steady, tokens",
            ),
            (github, "4987 of 5000 in 2001"),
            (cloudflare, "50 of 1200 in 30"),
            (express, "0 of 5 in 30"),
            (draft, "3 of 100 in 12"),
            (alone, "50 of ? in 30"),
            ("retry-after: 3", ""),
        ] {
            let (quotas, bad) = read(headers);
            let shown = quotas.iter().map(|quota| {
                let limit = quota
                    .limit
                    .map_or("?".to_owned(), |limit| limit.to_string());
                let steady = if quota.is_steady { ", steady" } else { "" };
                let tokens = if quota.counts_tokens { ", tokens" } else { "" };
                let seconds = quota.resets_in.as_secs_f64();
                format!("{} of {limit} in {seconds}{steady}{tokens}", quota.left)
            });
            let shown: Vec<_> = shown.collect();
            assert_eq!(
                (shown.join("; ").as_str(), bad),
                (expected, None),
                "{headers}"
            );
        }
    }

    /// Rows: what remains, the limit, the reset, and the header that makes no sense.
    #[test]
    fn a_header_that_makes_no_sense_changes_nothing() {
        let (left, reset) = ("x-ratelimit-remaining", "x-ratelimit-reset");
        for (remaining, limit, time, bad) in [
            ("5", "60", "30", None),
            ("60", "60", "30", None),
            ("0.0", "60", "30", None),
            // A moment that has just passed: senders cut parts of a second off.
            ("5", "60", "1746136876", None),
            ("5", "60", "0", None),
            ("5", "60", "3600", None),
            ("five", "60", "30", Some(left)),
            ("", "60", "30", Some(left)),
            ("-1", "60", "30", Some(left)),
            ("61", "60", "30", Some(left)),
            ("5", "0", "30", Some(left)),
            ("0", "0", "30", Some(left)),
            ("5", "many", "30", Some(left)),
            ("5", "-60", "30", Some(left)),
            ("5", "60", "3660", None),
            ("5", "60", "3661", Some(reset)),
            ("5", "60", "soon", Some(reset)),
            ("5", "60", "-30", Some(reset)),
            ("5", "60", "1746136278", Some(reset)),
            ("5", "60", "1746540478", Some(reset)),
            ("5", "60", "2025-05-01T21:01:48Z", Some(reset)),
            ("5", "60", "99999999999999999999999", Some(reset)),
        ] {
            let (quotas, found) = read(&format!(
                "{left}: {remaining}|x-ratelimit-limit: {limit}|{reset}: {time}"
            ));
            assert_eq!(found.as_deref(), bad, "{remaining} of {limit}, {time}");
            assert_eq!(
                quotas.len(),
                usize::from(bad.is_none()),
                "{remaining} of {limit}, {time}"
            );
        }
    }

    /// The quotas of GitHub's resources are different quotas.
    #[test]
    fn a_quota_has_the_name_of_its_resource() {
        let of = |resource: &str| {
            let one = "x-ratelimit-remaining: 5|x-ratelimit-limit: 60|x-ratelimit-reset: 30";
            read(&format!("{one}|x-ratelimit-resource: {resource}"))
                .0
                .remove(0)
                .name
        };
        assert_eq!(of("core"), of("core"));
        assert_ne!(of("core"), of("search"));
    }
}
