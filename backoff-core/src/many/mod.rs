//! Many writers of one resource: waits that follow from how busy it is.

mod versions;

pub use versions::Versions;
