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

    /// Rows: each quota, with what remains, of how much, the time until the reset and what the quota counts; and headers
    /// as services send them.
    #[test]
    fn each_service_states_its_quotas() {
        let rows = "
            499 of 500 in 120ms, steady; 79850 of 80000 in 112ms, steady, tokens = \
                x-ratelimit-limit-requests: 500|x-ratelimit-limit-tokens: 80000|\
                x-ratelimit-remaining-requests: 499|x-ratelimit-remaining-tokens: 79850|\
                x-ratelimit-reset-requests: 120ms|x-ratelimit-reset-tokens: 112ms
            = x-ratelimit-remaining-requests: 119|x-ratelimit-remaining-tokens: 119000
            49 of 50 in 3s, steady; 40 of 40 in 0ns, steady, tokens; 4 of 8 in 31s, steady, tokens = \
                anthropic-ratelimit-requests-limit: 50|anthropic-ratelimit-requests-remaining: 49|\
                anthropic-ratelimit-requests-reset: 2025-05-01T22:01:20Z|\
                anthropic-ratelimit-input-tokens-limit: 40|anthropic-ratelimit-input-tokens-remaining: 40|\
                anthropic-ratelimit-input-tokens-reset: 2025-05-01T22:01:10Z|\
                anthropic-ratelimit-output-tokens-limit: 8|anthropic-ratelimit-output-tokens-remaining: 4|\
                anthropic-ratelimit-output-tokens-reset: 2025-05-01T22:01:48Z
            4987 of 5000 in 2001s = x-ratelimit-limit: 5000|x-ratelimit-remaining: 4987|\
                x-ratelimit-reset: 1746138878|x-ratelimit-used: 13|x-ratelimit-resource: core
            50 of 1200 in 30s = ratelimit: \"default\";r=50;t=30|\
                ratelimit-policy: \"burst\";q=9;w=1, \"default\";q=1200;w=300
            0 of 5 in 30s = ratelimit: limit=5, remaining=0, reset=30
            3 of 100 in 12s = ratelimit-limit: 100, 100;w=60|ratelimit-remaining: 3|ratelimit-reset: 12
            50 of ? in 30s = ratelimit: \"default\";r=50;t=30
            = retry-after: 3";
        for row in rows.lines().skip(1).map(str::trim_ascii_start) {
            let (expected, headers) = row.split_once("= ").expect(row);
            let (quotas, bad) = read(headers);
            let shown = quotas.iter().map(|quota| {
                let limit = quota.limit.map(|limit| limit.to_string());
                let steady = if quota.is_steady { ", steady" } else { "" };
                let tokens = if quota.counts_tokens { ", tokens" } else { "" };
                let (limit, time) = (limit.unwrap_or("?".to_owned()), quota.resets_in);
                format!("{} of {limit} in {time:?}{steady}{tokens}", quota.left)
            });
            let shown = shown.collect::<Vec<_>>().join("; ");
            assert_eq!((&*shown, bad), (expected.trim_ascii_end(), None), "{row}");
        }
    }

    /// Rows: what remains, the limit and the reset, and the header that makes no sense.
    #[test]
    fn a_header_that_makes_no_sense_changes_nothing() {
        let (left, reset) = ("x-ratelimit-remaining", "x-ratelimit-reset");
        // 1746136876 has just passed: senders cut parts of a second off.
        let fit = "5 60 30|60 60 30|0.0 60 30|5 60 1746136876|5 60 0|5 60 3600|5 60 3660";
        let lefts = "five 60 30| 60 30|-1 60 30|61 60 30|5 0 30|0 0 30|5 many 30|5 -60 30";
        let resets = "5 60 3661|5 60 soon|5 60 -30|5 60 1746136278|5 60 1746540478|\
                      5 60 2025-05-01T21:01:48Z|5 60 99999999999999999999999";
        for (rows, bad) in [(fit, None), (lefts, Some(left)), (resets, Some(reset))] {
            for row in rows.split('|') {
                let values: Vec<_> = row.split(' ').collect();
                let (remaining, limit, time) = (values[0], values[1], values[2]);
                let limit = format!("x-ratelimit-limit: {limit}");
                let (quotas, found) = read(&format!("{left}: {remaining}|{limit}|{reset}: {time}"));
                assert_eq!(found.as_deref(), bad, "{row}");
                assert_eq!(quotas.len(), usize::from(bad.is_none()), "{row}");
            }
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
