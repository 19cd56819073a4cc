//! Samples of the texts that the library reads, and what must hold for each such text: no text causes a panic, and
//! where another reader of the same text exists, the two agree.
//!
//! The tests of this package check each sample as it stands in `samples/`, one on each line. The package
//! `tests/attacks` makes new texts from the samples at random, and calls the same functions. A text that has found
//! an error is added to its file and stays.

pub mod durations;
pub mod hints;
pub mod replies;
pub mod settings;
#[cfg(feature = "sqlx")]
pub mod sqlstates;
pub mod tokens;
