//! Logs, metrics, spans, and ending calls when a program shuts down.
