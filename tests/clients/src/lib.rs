//! Tests of what the errors of clients say, each failure made on a real socket: ureq, object_store,
//! azure_core and, with the feature `kube`, kube. Those of reqwest, hyper, tonic, redis and h2 stand in
//! `tests/live`.
