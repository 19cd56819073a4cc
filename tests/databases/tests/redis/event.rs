//! What befalls two servers behind addresses that stay the same.

use std::time::Duration;

use crate::address::Address;
use crate::server::Server;

/// From the event until the addresses lead to the new primary, where nothing else is awaited.
const NOTICED_AFTER: Duration = Duration::from_millis(300);

/// Something notices the event a while after it.
pub(crate) async fn noticed_soon() -> redis::RedisResult<()> {
    tokio::time::sleep(NOTICED_AFTER).await;
    Ok(())
}

/// In each of them the replica becomes the primary. Nothing that was acknowledged is lost, so that
/// what is missing in the end was lost by the client: writes pause until the replica has them all.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Happening {
    /// The primary crashes, and its connections with it.
    Killed,
    /// The primary hangs; its connections stay open, and nothing comes from them.
    Hung,
    /// The primary hands over by `FAILOVER`; its connections stay open.
    HandedOver,
    /// The primary is made a replica by command; its connections stay open.
    Demoted,
}

impl Happening {
    pub(crate) const ALL: [Self; 4] = [Self::Killed, Self::Hung, Self::HandedOver, Self::Demoted];

    /// The addresses lead to the new primary as soon as `noticed` is ready.
    pub(crate) async fn befall(
        self,
        primary: &mut Server,
        replica: &Server,
        addresses: &[Address],
        noticed: impl Future<Output = redis::RedisResult<()>>,
    ) -> redis::RedisResult<()> {
        if self != Self::HandedOver {
            primary.pause_writes_until_copied_to(replica).await?;
        }
        match self {
            Self::Killed => {
                // Another process may take the port of a server that is gone.
                for address in addresses {
                    address.lead_nowhere();
                }
                primary.kill();
            }
            Self::Hung => primary.signal("STOP")?,
            Self::HandedOver => {
                primary.say("FAILOVER").await?;
                replica.says("INFO replication", "role:master").await?;
                primary.says("INFO replication", "role:slave").await?;
            }
            Self::Demoted => {
                replica.say("REPLICAOF NO ONE").await?;
                let new = format!("REPLICAOF 127.0.0.1 {}", replica.port());
                primary.say(&new).await?;
                primary.say("CLIENT UNPAUSE").await?;
            }
        }
        noticed.await?;
        // Changes nothing where the replica is the primary already.
        replica.say("REPLICAOF NO ONE").await?;
        for address in addresses {
            address.lead_to(replica.port());
        }
        Ok(())
    }
}
