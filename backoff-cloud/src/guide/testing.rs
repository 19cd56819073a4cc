//! How to test code that retries.
