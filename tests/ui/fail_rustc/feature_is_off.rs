//! Names that need a feature which is off: rustc says which one.

use backoff_cloud::testing::VirtualTime;
use backoff_cloud::{PolicySettings, hint, http, tower};

fn main() {
    backoff_cloud::testing::instant();
}
