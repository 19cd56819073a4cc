//! Executors other than tokio.
