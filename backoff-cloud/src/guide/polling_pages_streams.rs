//! polling_pages_streams
