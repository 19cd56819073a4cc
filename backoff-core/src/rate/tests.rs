//! The queue in every order, and callers that leave it.
