//! Creates a Memorystore instance, waits until it is ready, and deletes it, over real HTTP, while the
//! service fails, throttles and loses replies.
//!
//! The functions `life` and `awaited` have the code that a program would contain. The rest runs the
//! demonstration.

mod client;
mod tale;

use std::process::ExitCode;
use std::time::Duration;

use backoff_cloud::http::ApiError;
use backoff_cloud::{Event, codes, memorystore};
use emulator::{Emulator, Faults, Reply};
use examples::terminal::{ended, say};
use rand::rngs::SmallRng;
use rand::{RngExt, SeedableRng};

use crate::client::{Client, Operation, PARENT};
use crate::tale::Tale;

type Error = Box<dyn std::error::Error + Send + Sync>;

/// The name of the instance within its location.
const CACHE: &str = "cache";
/// How long the service takes to create or delete an instance.
const OPERATIONS_TAKE: Duration = Duration::from_secs(150);
/// How long reads do not find a new instance: longer than its creation takes, so that the example
/// shows the 404.
const APPEARS_AFTER: Duration = Duration::from_secs(220);
/// How long the service takes to answer a call.
const LATENCY: Duration = Duration::from_millis(200);
/// The factor for all times.
const SHORTENED: f64 = 0.01;
/// The seed of the random numbers of the service and of the request ids.
const SEED: u64 = 3;
/// How long an operation is polled at most. This is not made shorter, so that the example succeeds on a slow
/// machine too.
const LONGEST: Duration = Duration::from_secs(7200);

/// Creates an instance, waits for it, and deletes it. Each create and delete has a request id, so that a
/// call can be repeated after its reply was lost: the service recognises the id and does nothing twice.
async fn life(client: &Client<'_>, pace: f64, ids: &mut SmallRng) -> Result<(), Error> {
    let request = memorystore::REQUEST.scaled(pace);
    let tell = |event: &Event<'_, ApiError>| client.tale.decided(event);

    let id = uuid(ids);
    let creation = request
        .retry(|| client.create(CACHE, &id))
        .notify(tell)
        .await?;
    awaited(client, pace, &creation).await?;

    // Reads are eventually consistent: for a while, a read may not find a new instance.
    request
        .also_on(codes![404])
        .retry(|| client.instance(CACHE))
        .until(|instance| instance.state == "ACTIVE")
        .notify(tell)
        .await?;
    client.tale.follows("it is ready; delete it");

    let id = uuid(ids);
    let deletion = request
        .retry(|| client.delete(CACHE, &id))
        .notify(tell)
        .await?;
    awaited(client, pace, &deletion).await
}

/// Polls an operation until it is done, and returns whether it succeeded.
async fn awaited(client: &Client<'_>, pace: f64, begun: &Operation) -> Result<(), Error> {
    client
        .tale
        .follows("the operation began; poll it until it is done");
    let operation = memorystore::OPERATION
        .scaled(pace)
        .deadline(LONGEST)
        .retry(|| client.operation(&begun.name))
        .until(|operation| operation.done)
        .notify(|event: &Event<'_, ApiError>| client.tale.decided(event))
        .await?;
    // An operation that is done may have failed.
    let outcome = operation.success();
    client.tale.follows(match outcome {
        Ok(()) => "the operation succeeded",
        Err(_) => "the operation failed",
    });
    Ok(outcome?)
}

#[tokio::main]
async fn main() -> ExitCode {
    ended(run().await)
}

async fn run() -> Result<(), Error> {
    say(&format!(
        "Creates an instance in {PARENT}, waits until it is ready, and deletes it.\n\
         Waits: memorystore::OPERATION between polls, memorystore::REQUEST between other calls.\n\
         Each creation and each deletion takes {} s. Reads do not find a new instance for {} s.\n\
         All times are a hundred times shorter, the waits by Policy::scaled(0.01). The lines show the full\n\
         times.\n\n",
        OPERATIONS_TAKE.as_secs(),
        APPEARS_AFTER.as_secs(),
    ))?;
    let service = service(SEED, SHORTENED)?;
    live(&service, SEED, SHORTENED).await?;
    say(&summary(&service))?;
    Ok(())
}

/// Creates and deletes one instance in this service.
async fn live(service: &Emulator, seed: u64, pace: f64) -> Result<(), Error> {
    let tale = Tale::begin(pace);
    let client = Client {
        http: reqwest::Client::builder()
            .retry(reqwest::retry::never())
            .build()?,
        url: service.url(),
        tale: &tale,
    };
    let mut ids = SmallRng::seed_from_u64(seed);
    life(&client, pace, &mut ids).await
}

/// A service that is slow. Many calls are throttled, lose their connection, or are answered with 503, before or
/// after the service has carried them out.
fn service(seed: u64, pace: f64) -> Result<Emulator, Error> {
    let busy = Reply::status(429).retry_info(format!("{}s", 10.0 * pace));
    let faults = Faults::none()
        .status(503, 0.10)
        .applied_then(503, 0.05)
        .with(Reply::reset().applied(), 0.05)
        .with(busy, 0.05);
    Ok(Emulator::builder()
        .seed(seed)
        .latency(LATENCY.mul_f64(pace))
        .operations_take(OPERATIONS_TAKE.mul_f64(pace))
        .appears_after(APPEARS_AFTER.mul_f64(pace))
        .faults(faults)
        .start()?)
}

/// The calls that the service counted.
fn summary(service: &Emulator) -> String {
    let stats = service.stats();
    format!(
        "\nThe service got {} calls; {} of them got a fault. Operations that it began: {}. Repeated \
         calls that it recognised by their request id: {}.\n",
        stats.calls, stats.faults, stats.writes, stats.recognised,
    )
}

/// A random UUID: version 4, variant 1.
fn uuid(random: &mut SmallRng) -> String {
    let bits: u128 = random.random();
    let bits = bits & !(0xf << 76) & !(0x3 << 62) | (0x4 << 76) | (0x2 << 62);
    let mut id = format!("{bits:032x}");
    for place in [8, 13, 18, 23] {
        id.insert(place, '-');
    }
    id
}

#[cfg(test)]
mod tests {
    use super::*;
    use backoff_cloud::GrpcCode;
    use emulator::Call;

    #[test]
    fn a_request_id_is_a_uuid() {
        let id = uuid(&mut SmallRng::seed_from_u64(1));
        let lengths: Vec<_> = id.split('-').map(str::len).collect();
        assert_eq!(lengths, [8, 4, 4, 4, 12]);
        assert_eq!(&id[14..15], "4");
        assert!("89ab".contains(&id[19..20]), "{id}");
    }

    /// Fast, and still slow enough for a timer that counts milliseconds.
    const PACE: f64 = 0.002;

    /// The life of an instance with these replies of the service, and nothing else that fails.
    async fn lived(
        seed: u64,
        replies: impl IntoIterator<Item = (Call, Vec<Reply>)>,
    ) -> (Result<(), Error>, Emulator) {
        let service = service(seed, PACE).unwrap();
        service.set_faults(Faults::none());
        for (call, replies) in replies {
            service.script(call, replies);
        }
        (live(&service, seed, PACE).await, service)
    }

    #[tokio::test]
    async fn nothing_is_done_twice_on_a_bad_day() {
        // The rates would give other faults at another speed of the machine, so each call gets its own.
        let mut faults = vec![
            Reply::status(503),
            Reply::status(503).applied(),
            Reply::reset().applied(),
            Reply::status(429).retry_info("0.02s"),
        ];
        let calls = [
            Call::CreateInstance,
            Call::GetOperation,
            Call::GetInstance,
            Call::DeleteInstance,
        ];
        for seed in 0..4 {
            let (result, service) = lived(seed, calls.map(|call| (call, faults.clone()))).await;
            result.unwrap();
            faults.rotate_left(1);
            let stats = service.stats();
            assert_eq!((stats.writes, stats.already_exists), (2, 0), "{stats:?}");
            assert_eq!(stats.faults, 16, "{stats:?}");
            assert!(stats.recognised > 0, "{stats:?}");
            let name = format!("{PARENT}/instances/{CACHE}");
            assert_eq!(service.instance(&name), None);
        }
    }

    #[tokio::test]
    async fn a_new_instance_is_asked_for_until_it_appears() {
        // Polling may take so long that it would be found at once.
        let missing = vec![Reply::status(404); 2];
        let (result, service) = lived(3, [(Call::GetInstance, missing)]).await;
        result.unwrap();
        let stats = service.stats();
        assert_eq!(stats.faults, 2, "{stats:?}");
        assert_eq!((stats.writes, stats.recognised), (2, 0), "{stats:?}");
    }

    #[tokio::test]
    async fn an_operation_that_fails_is_told() {
        let full = Reply::failed_operation(GrpcCode::ResourceExhausted, "The zone is full.");
        let (result, _) = lived(3, [(Call::CreateInstance, vec![full])]).await;
        let error = result.unwrap_err().to_string();
        assert_eq!(error, "the operation failed with code 8: The zone is full.");
    }
}
