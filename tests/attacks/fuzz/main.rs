//! Fuzz targets for everything that reads text from elsewhere: no input makes it panic, and where another reader of
//! the same text exists, the two agree.
//!
//! Each target begins with the samples of a file in `corpus/`, one in each line: it takes parts of two samples and
//! edits them. A sample that has found an error is added to its file and stays.
//!
//! `CONTRIBUTING.md` has the commands, for ten seconds and for a night.

mod durations;
mod hints;
mod replies;
mod samples;
mod settings;
mod sqlstates;
mod tokens;
