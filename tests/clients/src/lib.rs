//! Tests of the facts in the errors of ureq and azure_core and, with the features `object-store` and `kube`, of
//! object_store and kube. Each failure is caused on a real socket. `tests/live` tests reqwest, hyper, tonic,
//! redis and h2.
