//! The ways by name.

use backoff_cloud::iam::Members;

use crate::client::Client;
use crate::ways;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Way {
    NoRetry,
    WriteAlone,
    WithoutJitter,
    WithBackon,
    ReadModifyWrite,
    Combined,
    Documented,
    Paced,
}

impl Way {
    /// On a bad day of the service.
    pub(crate) const SIDE_BY_SIDE: [Self; 6] = [
        Self::NoRetry,
        Self::WriteAlone,
        Self::WithoutJitter,
        Self::WithBackon,
        Self::ReadModifyWrite,
        Self::Combined,
    ];

    /// In a crowd.
    pub(crate) const CROWD: [Self; 4] = [
        Self::Documented,
        Self::ReadModifyWrite,
        Self::Paced,
        Self::Combined,
    ];

    pub(crate) fn title(self) -> &'static str {
        match self {
            Self::NoRetry => "no retry",
            Self::WriteAlone => "the write alone is retried",
            Self::WithoutJitter => "the whole function, without jitter",
            Self::WithBackon => "the whole function, another library with jitter (backon)",
            Self::ReadModifyWrite => "the whole function, iam::READ_MODIFY_WRITE",
            Self::Combined => "combined, iam::Members with iam::READ_MODIFY_WRITE",
            Self::Documented => "the loop of Google's guide",
            Self::Paced => "paced, .update(..).version(..)",
        }
    }

    /// Adds the member, by the writer's own client or by what all writers share; whether the writer
    /// was told that it was added.
    pub(crate) async fn grant(
        self,
        client: &Client,
        members: &Members<Client>,
        member: &str,
    ) -> bool {
        match self {
            Self::NoRetry => ways::no_retry(client, member).await.is_ok(),
            Self::WriteAlone => ways::write_alone(client, member).await.is_ok(),
            Self::WithoutJitter => ways::without_jitter(client, member).await.is_ok(),
            Self::WithBackon => ways::with_backon(client, member).await.is_ok(),
            Self::ReadModifyWrite => ways::read_modify_write(client, member).await.is_ok(),
            Self::Combined => ways::combined(members, member).await.is_ok(),
            Self::Documented => ways::documented(client, member).await.is_ok(),
            Self::Paced => ways::paced(client, member).await.is_ok(),
        }
    }
}
