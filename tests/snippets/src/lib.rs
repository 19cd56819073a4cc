//! The snippets of README.md and of the guide, compiled as a reader sees them: see `build.rs`.
