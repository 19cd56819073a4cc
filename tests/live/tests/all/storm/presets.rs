//! Every preset.

use backoff_cloud::{
    aip194, aws, azure, dynamodb, firestore, iam, memorystore, plain_http, postgres, pubsub,
    spanner, storage,
};
use backoff_core::Policy;

macro_rules! presets {
    ($($preset:path),+ $(,)?) => {
        pub(crate) const ALL: &[(&str, Policy)] = &[$((stringify!($preset), $preset)),+];
    };
}

presets![
    aip194::REQUEST,
    aip194::NOT_IDEMPOTENT,
    aws::STANDARD,
    azure::REQUEST,
    azure::STORAGE,
    azure::READ_MODIFY_WRITE,
    dynamodb::REQUEST,
    dynamodb::READ_MODIFY_WRITE,
    firestore::TRANSACTION,
    iam::REQUEST,
    iam::NOT_IDEMPOTENT,
    iam::READ_MODIFY_WRITE,
    iam::AFTER_GRANT,
    memorystore::REQUEST,
    memorystore::OPERATION,
    memorystore::DATA,
    plain_http::BY_METHOD,
    plain_http::IDEMPOTENT,
    plain_http::NOT_IDEMPOTENT,
    postgres::TRANSACTION,
    pubsub::PUBLISH,
    pubsub::TOPIC_READ,
    pubsub::TOPIC_WRITE,
    pubsub::PULL,
    pubsub::SUBSCRIPTION_READ,
    pubsub::SUBSCRIPTION_WRITE,
    pubsub::STREAMING_PULL,
    spanner::TRANSACTION,
    storage::REQUEST,
    storage::NOT_IDEMPOTENT,
    storage::READ_MODIFY_WRITE,
];
