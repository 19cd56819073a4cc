//! The meaning of the reasons that Google's services name beside the code of an error, for the clients of gRPC and for
//! `backoff-cloud`.

use super::{aws::kind_in, fault::FaultKind, grpc::GrpcCode};

/// Reasons in lower case. The first row is of limits that are soon over, which services send with 400, 403 and 429; the
/// second row of quotas that are used up for long, and of an API that is not switched on.
const KINDS: [(FaultKind, &str); 2] = [
    (
        FaultKind::Throttled,
        "ratelimitexceeded userratelimitexceeded jobratelimitexceeded concurrentlimitexceeded \
         concurrentoperationsquotaexceeded servinglimitexceeded",
    ),
    (
        FaultKind::Permanent,
        "dailylimitexceeded quotaexceeded accessnotconfigured",
    ),
];

/// Parts of the names of quotas for a day: `Queries per day`, `ReadsPerDay`, `1/d/{project}`, `CLIENT_PROJECT-1d`. Upper
/// and lower case differ, because an `ErrorInfo` also names projects: `my-project-1d2f3` and `superday` are no quotas.
const DAILY: [&str; 7] = [
    " per day",
    " Per Day",
    "_per_day",
    "PER_DAY",
    "PerDay",
    "1/d/{",
    "PROJECT-1d",
];

/// What the reasons of an error say together: nothing; throttled; or permanent, which outranks the others.
///
/// Sources: <https://developers.google.com/calendar/api/guides/errors>,
/// <https://cloud.google.com/bigquery/docs/error-messages>,
/// <https://docs.cloud.google.com/docs/quotas/troubleshoot>, and `google/rpc/error_details.proto`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Reasons(Option<FaultKind>);

impl Reasons {
    /// Adds a text: a reason of `error.errors[]` in a JSON body or of a `google.rpc.ErrorInfo`, or the whole text of an
    /// `ErrorInfo` or a `google.rpc.QuotaFailure`. Old services write `rateLimitExceeded` and new ones
    /// `RATE_LIMIT_EXCEEDED`. A quota for a day is permanent: no call waits so long.
    #[must_use]
    #[inline]
    pub fn and(self, text: &str) -> Self {
        let reason = text.to_ascii_lowercase().replace([' ', '_'], "");
        Reasons(match DAILY.iter().any(|part| text.contains(part)) {
            true => Some(FaultKind::Permanent),
            false => self.kind().or(kind_in(&KINDS, &reason)).or(self.0),
        })
    }

    /// The code that counts, if the service has sent this one: a limit is `RESOURCE_EXHAUSTED`, whatever the service
    /// has sent with it. So each policy decides as it does about a 429.
    #[must_use]
    pub fn code(self, sent: Option<GrpcCode>) -> Option<GrpcCode> {
        match self.0 {
            // A policy may retry `UNAVAILABLE` and no limit: a reason must not make such a failure final.
            Some(FaultKind::Throttled) if sent != Some(GrpcCode::Unavailable) => {
                Some(GrpcCode::ResourceExhausted)
            }
            _ => sent,
        }
    }

    /// Permanent, if no call waits so long.
    #[must_use]
    pub fn kind(self) -> Option<FaultKind> {
        self.0.filter(|kind| *kind == FaultKind::Permanent)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use FaultKind::{Permanent, Throttled};

    #[test]
    fn a_reason_is_a_limit_or_a_quota_or_nothing() {
        let limits = "rateLimitExceeded RATE_LIMIT_EXCEEDED USER_RATE_LIMIT_EXCEEDED \
                      CONCURRENT_OPERATIONS_QUOTA_EXCEEDED";
        let quotas = "quotaExceeded QUOTA_EXCEEDED DAILY_LIMIT_EXCEEDED accessNotConfigured";
        let others = "forbidden notRateLimitExceeded ";
        for (reasons, kind) in [
            (limits, Some(Throttled)),
            (quotas, Some(Permanent)),
            (others, None),
        ] {
            for reason in reasons.split(' ') {
                assert_eq!(Reasons::default().and(reason).0, kind, "{reason}");
            }
        }
    }

    #[test]
    fn what_no_call_waits_for_outranks_a_limit() {
        let limit = Reasons::default().and("rateLimitExceeded");
        let daily = r#"GenerateRequestsPerDayPerProjectPerModel|Queries per day|QUERIES_PER_DAY|
                       googleapis.com/reads_per_day_per_project|{"quota_unit": "1/d/{project}"}|
                       AnalyticsDefaultGroupCLIENT_PROJECT-1d"#;
        // Four of them are names of projects and of other resources.
        let others = r#"AnalyticsDefaultGroupCLIENT_PROJECT-100s|{"quota_unit": "1/min/{project}"}|
                        ReadRequestsPerMinutePerProject|{"consumer": "projects/my-project-1d2f3"}|
                        {"consumer": "projects/superday-prod"}|{"resource": "users/1/d/7"}|
                        {"resource": "tables/developer_day"}|"#;
        for (quotas, kind) in [(daily, Permanent), (others, Throttled)] {
            for quota in quotas.split('|').map(str::trim) {
                assert_eq!(limit.and(quota).0, Some(kind), "{quota}");
            }
        }
        let used_up = Reasons::default()
            .and("quotaExceeded")
            .and("rateLimitExceeded");
        assert_eq!(used_up.kind(), Some(Permanent));
        let denied = Some(GrpcCode::PermissionDenied);
        assert_eq!((used_up.code(denied), limit.kind()), (denied, None));
        assert_eq!(limit.code(denied), Some(GrpcCode::ResourceExhausted));
        let unavailable = Some(GrpcCode::Unavailable);
        assert_eq!(limit.code(unavailable), unavailable);
    }
}
