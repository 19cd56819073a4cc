//! The program has its own tests, which run here.

#[path = "../../cookbook/tests_without_waiting.rs"]
#[allow(dead_code, unreachable_pub, reason = "a program of its own")]
mod program;
