//! Programs that were changed to use this library.
