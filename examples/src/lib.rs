//! Examples, each of which does one real thing and shows it.
//!
//! | Command | What it shows |
//! |---|---|
//! | `cargo run -p examples --example iam` | Sixteen writers change one IAM policy at the same time, over real HTTP, while the service throttles, fails and conflicts: without retries, with the wrong retries, and with one attribute. Prints a table and draws a picture. |
