//! Tests of the facts in the errors of ureq, azure_core, object_store and, with the feature `kube`, kube. Each
//! failure is caused on a real socket. `tests/live` tests reqwest, hyper, tonic, redis and h2.
