//! What may be made twice.
