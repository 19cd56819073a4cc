//! Code that the page shows.
