//! The settings of a call, a file for each subject. Only `consecutive` looks for another setting, `until`.

pub(crate) mod judges;
pub(crate) mod limits;
pub(crate) mod notify;
pub(crate) mod report;
#[cfg(feature = "tracing")]
pub(crate) mod spans;
pub(crate) mod until;
pub(crate) mod values;
