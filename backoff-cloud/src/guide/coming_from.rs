//! coming_from
