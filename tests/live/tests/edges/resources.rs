//! Names of resources that are more than a name.
