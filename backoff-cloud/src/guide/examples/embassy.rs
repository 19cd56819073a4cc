use backoff_core::{Clock, Random, Sleep, TimedOut, retry};
use core::time::Duration;
use embassy_time::{Instant, Timer};

struct Embassy;

impl Clock for Embassy {
    fn now(&self) -> Duration { Duration::from_micros(Instant::now().as_micros()) }
}
impl Sleep for Embassy {
    type Sleep = Timer;
    fn sleep(&self, wait: Duration) -> Timer { Timer::after_micros(wait.as_micros() as u64) }
}

#[retry(base = "50ms", max_attempts = 4, deadline = "5s", runtime = (Embassy, chip))]
async fn temperature(chip: &impl Random) -> Result<i16, TimedOut> {
    Err(TimedOut::new(Duration::ZERO)) // nobody answered
}
