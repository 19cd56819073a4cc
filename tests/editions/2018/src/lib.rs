//! Nothing: what is tested stands in `tests`.
