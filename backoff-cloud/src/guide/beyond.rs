//! What is not a retry: circuit breakers, hedging, queues.
