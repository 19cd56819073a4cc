//! The list of all presets, from which the page [`presets`](crate::presets), its tests and
//! [`ALL`](crate::presets::ALL) are made.

/// Hands the list to a macro. A row has the preset and what it is for; its waits, their jitter, and when it ends; the
/// HTTP statuses and the gRPC codes that it retries, whether it retries conflicts, and whether it retries after a
/// lost reply.
macro_rules! presets {
    ($macro:ident) => {
        $macro! {
            iam::REQUEST: "a read of Google Cloud IAM, or a write with an etag";
                "min(2ⁿ · 1 s, 64 s)", "+ 1 s", "300 s";
                "500, 502 to 504", "`UNKNOWN`, `DEADLINE_EXCEEDED`, `INTERNAL`, `UNAVAILABLE`", "no", "yes";
            iam::NOT_IDEMPOTENT: "any other write to IAM";
                "min(2ⁿ · 1 s, 64 s)", "+ 1 s", "300 s";
                "none", "none", "no", "no";
            iam::READ_MODIFY_WRITE: "a whole read-modify-write of an allow policy";
                "min(2ⁿ · 1 s, 64 s)", "full", "300 s";
                "429, 500, 502 to 504", "`UNKNOWN`, `DEADLINE_EXCEEDED`, `RESOURCE_EXHAUSTED`, `ABORTED`, `INTERNAL`, `UNAVAILABLE`", "yes", "yes";
            iam::AFTER_GRANT: "a request that needs a role granted a moment ago";
                "min(2ⁿ · 1 s, 32 s)", "+ 1 s", "480 s";
                "403, 429, 500, 502 to 504", "`UNKNOWN`, `DEADLINE_EXCEEDED`, `PERMISSION_DENIED`, `RESOURCE_EXHAUSTED`, `INTERNAL`, `UNAVAILABLE`", "no", "yes";
            memorystore::REQUEST: "a request to the API of Memorystore for Redis";
                "min(2ⁿ · 1 s, 64 s)", "+ 1 s", "10 attempts";
                "429, 500 to 599", "`UNKNOWN`, `DEADLINE_EXCEEDED`, `RESOURCE_EXHAUSTED`, `UNIMPLEMENTED`, `INTERNAL`, `UNAVAILABLE`, `DATA_LOSS`", "no", "yes";
            memorystore::OPERATION: "polling an operation of Memorystore until it is done";
                "min(1.5ⁿ · 5 s, 45 s)", "+ 1 s", "7,200 s";
                "429, 500 to 599", "`UNKNOWN`, `DEADLINE_EXCEEDED`, `RESOURCE_EXHAUSTED`, `UNIMPLEMENTED`, `INTERNAL`, `UNAVAILABLE`, `DATA_LOSS`", "no", "yes";
            memorystore::DATA: "a command to the Redis of an instance";
                "min(2ⁿ · 20 ms, 1 s)", "full", "60 s";
                "429, 500, 502 to 504", "`UNKNOWN`, `DEADLINE_EXCEEDED`, `RESOURCE_EXHAUSTED`, `INTERNAL`, `UNAVAILABLE`", "no", "yes";
            storage::REQUEST: "a read of Cloud Storage, or a write with a precondition";
                "min(2ⁿ · 1 s, 64 s)", "+ 1 s", "300 s";
                "408, 429, 500 to 599", "`UNKNOWN`, `DEADLINE_EXCEEDED`, `RESOURCE_EXHAUSTED`, `UNIMPLEMENTED`, `INTERNAL`, `UNAVAILABLE`", "no", "yes";
            storage::NOT_IDEMPOTENT: "any other write to Cloud Storage";
                "min(2ⁿ · 1 s, 64 s)", "+ 1 s", "300 s";
                "408, 429", "`RESOURCE_EXHAUSTED`", "no", "no";
            storage::READ_MODIFY_WRITE: "a whole read-modify-write of an object";
                "min(2ⁿ · 1 s, 64 s)", "full", "300 s";
                "408, 412, 429, 500 to 599", "`UNKNOWN`, `DEADLINE_EXCEEDED`, `RESOURCE_EXHAUSTED`, `FAILED_PRECONDITION`, `UNIMPLEMENTED`, `INTERNAL`, `UNAVAILABLE`", "yes", "yes";
            pubsub::PUBLISH: "publishing to Pub/Sub";
                "min(4ⁿ · 100 ms, 60 s)", "full", "600 s";
                "429, 499, 500, 502 to 504", "`CANCELLED`, `UNKNOWN`, `DEADLINE_EXCEEDED`, `RESOURCE_EXHAUSTED`, `ABORTED`, `INTERNAL`, `UNAVAILABLE`", "no", "yes";
            pubsub::STREAMING_PULL: "opening a stream of Pub/Sub again";
                "min(4ⁿ · 100 ms, 60 s)", "full", "1,800 s";
                "429, 502 to 504", "`DEADLINE_EXCEEDED`, `RESOURCE_EXHAUSTED`, `ABORTED`, `INTERNAL`, `UNAVAILABLE`", "no", "yes";
            pubsub::TOPIC_READ: "the publisher's reads";
                "min(1.3ⁿ · 100 ms, 60 s)", "full", "600 s";
                "502, 503", "`UNKNOWN`, `ABORTED`, `UNAVAILABLE`", "no", "yes";
            pubsub::TOPIC_WRITE: "the publisher's other calls";
                "min(1.3ⁿ · 100 ms, 60 s)", "full", "600 s";
                "502, 503", "`UNAVAILABLE`", "no", "yes";
            pubsub::PULL: "pulling messages";
                "min(1.3ⁿ · 100 ms, 60 s)", "full", "60 s";
                "500, 502, 503", "`UNKNOWN`, `ABORTED`, `INTERNAL`, `UNAVAILABLE`", "no", "yes";
            pubsub::SUBSCRIPTION_READ: "the subscriber's reads, `CreateSubscription`, `Seek`";
                "min(1.3ⁿ · 100 ms, 60 s)", "full", "60 s";
                "502, 503", "`UNKNOWN`, `ABORTED`, `UNAVAILABLE`", "no", "yes";
            pubsub::SUBSCRIPTION_WRITE: "the subscriber's other calls";
                "min(1.3ⁿ · 100 ms, 60 s)", "full", "60 s";
                "502, 503", "`UNAVAILABLE`", "no", "yes";
            firestore::TRANSACTION: "a whole transaction of Firestore";
                "min(2ⁿ · 1 s, 30 s)", "full", "5 attempts";
                "none", "`ABORTED`", "yes", "no";
            spanner::TRANSACTION: "a whole transaction of Spanner";
                "min(1.3ⁿ · 250 ms, 32 s)", "full", "300 s";
                "none", "`ABORTED`", "yes", "no";
            aip194::REQUEST: "an idempotent request to any Google API";
                "min(2ⁿ · 1 s, 60 s)", "full", "10 attempts or 60 s";
                "503", "`UNAVAILABLE`", "no", "yes";
            aip194::NOT_IDEMPOTENT: "any other request to any Google API";
                "min(2ⁿ · 1 s, 60 s)", "full", "10 attempts or 60 s";
                "none", "none", "no", "no";
            aws::STANDARD: "a request to an AWS service";
                "min(2ⁿ · 50 ms, 20 s), after throttling min(2ⁿ · 1 s, 20 s)", "full", "3 attempts, or when the budget is empty";
                "429, 500, 502 to 504", "`UNKNOWN`, `DEADLINE_EXCEEDED`, `RESOURCE_EXHAUSTED`, `INTERNAL`, `UNAVAILABLE`", "no", "yes";
            dynamodb::REQUEST: "a request to DynamoDB";
                "min(2ⁿ · 25 ms, 20 s), after throttling min(2ⁿ · 1 s, 20 s)", "full", "4 attempts, or when the budget is empty";
                "429, 500, 502 to 504", "`UNKNOWN`, `DEADLINE_EXCEEDED`, `RESOURCE_EXHAUSTED`, `INTERNAL`, `UNAVAILABLE`", "no", "yes";
            dynamodb::READ_MODIFY_WRITE: "a whole read-modify-write with a condition";
                "min(2ⁿ · 25 ms, 20 s), after throttling min(2ⁿ · 1 s, 20 s)", "full", "10 attempts, or when the budget is empty";
                "429, 500, 502 to 504", "`UNKNOWN`, `DEADLINE_EXCEEDED`, `RESOURCE_EXHAUSTED`, `INTERNAL`, `UNAVAILABLE`", "yes", "yes";
            s3::REQUEST: "a request to S3";
                "min(2ⁿ · 50 ms, 20 s), after throttling min(2ⁿ · 1 s, 20 s)", "full", "3 attempts, or when the budget is empty";
                "429, 500, 502 to 504", "`UNKNOWN`, `DEADLINE_EXCEEDED`, `RESOURCE_EXHAUSTED`, `INTERNAL`, `UNAVAILABLE`", "no", "yes";
            s3::READ_MODIFY_WRITE: "a whole read-modify-write with `If-Match`";
                "min(2ⁿ · 50 ms, 20 s), after throttling min(2ⁿ · 1 s, 20 s)", "full", "10 attempts, or when the budget is empty";
                "412, 429, 500, 502 to 504", "`UNKNOWN`, `DEADLINE_EXCEEDED`, `RESOURCE_EXHAUSTED`, `FAILED_PRECONDITION`, `INTERNAL`, `UNAVAILABLE`", "yes", "yes";
            azure::REQUEST: "a request to an Azure service";
                "min(2ⁿ · 800 ms, 60 s)", "± 20 %", "4 attempts";
                "408, 429, 449, 500, 502 to 504", "`UNKNOWN`, `DEADLINE_EXCEEDED`, `RESOURCE_EXHAUSTED`, `INTERNAL`, `UNAVAILABLE`", "no", "yes";
            azure::STORAGE: "a request to Azure Storage";
                "min(2ⁿ · 4 s, 120 s)", "full", "4 attempts";
                "408, 429, 449, 500, 502 to 504", "`UNKNOWN`, `DEADLINE_EXCEEDED`, `RESOURCE_EXHAUSTED`, `INTERNAL`, `UNAVAILABLE`", "no", "yes";
            azure::READ_MODIFY_WRITE: "a whole read-modify-write with `If-Match`";
                "min(2ⁿ · 800 ms, 60 s)", "full", "10 attempts";
                "408, 412, 429, 449, 500, 502 to 504", "`UNKNOWN`, `DEADLINE_EXCEEDED`, `RESOURCE_EXHAUSTED`, `FAILED_PRECONDITION`, `INTERNAL`, `UNAVAILABLE`", "yes", "yes";
            postgres::TRANSACTION: "a whole transaction of PostgreSQL";
                "min(2ⁿ · 10 ms, 1 s), after throttling min(2ⁿ · 100 ms, 1 s)", "full", "30 s";
                "none", "none", "yes", "no";
            mysql::TRANSACTION: "a whole transaction of MySQL or MariaDB";
                "min(2ⁿ · 10 ms, 1 s), after throttling min(2ⁿ · 100 ms, 1 s)", "full", "30 s";
                "none", "none", "yes", "no";
            sqlite::TRANSACTION: "a whole transaction of SQLite";
                "min(2ⁿ · 10 ms, 1 s), after throttling min(2ⁿ · 100 ms, 1 s)", "full", "30 s";
                "none", "none", "yes", "no";
            openai::REQUEST: "a request to OpenAI's API";
                "min(2ⁿ · 437.5 ms, 8 s)", "± 1/7", "3 attempts";
                "408, 409, 429, 500 to 599", "`UNKNOWN`, `DEADLINE_EXCEEDED`, `RESOURCE_EXHAUSTED`, `ABORTED`, `UNIMPLEMENTED`, `INTERNAL`, `UNAVAILABLE`", "no", "yes";
            openai::BATCH: "polling a batch of OpenAI until it has ended";
                "min(1.5ⁿ · 5 s, 60 s)", "+ 1 s", "90,000 s";
                "408, 409, 429, 500 to 599", "`UNKNOWN`, `DEADLINE_EXCEEDED`, `RESOURCE_EXHAUSTED`, `ABORTED`, `UNIMPLEMENTED`, `INTERNAL`, `UNAVAILABLE`", "no", "yes";
            anthropic::REQUEST: "a request to Anthropic's API";
                "min(2ⁿ · 437.5 ms, 8 s)", "± 1/7", "3 attempts";
                "408, 409, 429, 500 to 599", "`UNKNOWN`, `DEADLINE_EXCEEDED`, `RESOURCE_EXHAUSTED`, `ABORTED`, `UNIMPLEMENTED`, `INTERNAL`, `UNAVAILABLE`", "no", "yes";
            anthropic::BATCH: "polling a batch of Anthropic until it has ended";
                "min(1.5ⁿ · 5 s, 60 s)", "+ 1 s", "90,000 s";
                "408, 409, 429, 500 to 599", "`UNKNOWN`, `DEADLINE_EXCEEDED`, `RESOURCE_EXHAUSTED`, `ABORTED`, `UNIMPLEMENTED`, `INTERNAL`, `UNAVAILABLE`", "no", "yes";
            github::REQUEST: "a request to GitHub's REST API";
                "min(2ⁿ · 1 s, 240 s), after throttling min(2ⁿ · 60 s, 240 s)", "+ 1 s", "4 attempts";
                "408, 429, 500, 502 to 504", "`UNKNOWN`, `DEADLINE_EXCEEDED`, `RESOURCE_EXHAUSTED`, `INTERNAL`, `UNAVAILABLE`", "no", "yes";
            kubernetes::REQUEST: "a request to Kubernetes' API server";
                "min(2ⁿ · 1 s, 32 s)", "full", "11 attempts";
                "429, 500, 502 to 504", "`UNKNOWN`, `DEADLINE_EXCEEDED`, `RESOURCE_EXHAUSTED`, `INTERNAL`, `UNAVAILABLE`", "no", "yes";
            kubernetes::UPDATE: "a whole read-modify-write of an object with a few writers";
                "min(1ⁿ · 10.5 ms, 11 ms)", "± 1/21", "5 attempts";
                "409, 429, 500, 502 to 504", "`UNKNOWN`, `DEADLINE_EXCEEDED`, `RESOURCE_EXHAUSTED`, `ABORTED`, `INTERNAL`, `UNAVAILABLE`", "yes", "yes";
            kubernetes::UPDATE_MANAGED: "the same, of an object that a controller writes";
                "min(5ⁿ · 10.5 ms, 1 s)", "± 1/21", "4 attempts";
                "409, 429, 500, 502 to 504", "`UNKNOWN`, `DEADLINE_EXCEEDED`, `RESOURCE_EXHAUSTED`, `ABORTED`, `INTERNAL`, `UNAVAILABLE`", "yes", "yes";
            plain_http::BY_METHOD: "a request that `send` or the layer of tower sends to any HTTP service";
                "min(2ⁿ · 1 s, 64 s)", "full", "5 attempts";
                "408, 425, 429", "`RESOURCE_EXHAUSTED`", "no", "no";
            plain_http::IDEMPOTENT: "a `GET`, `PUT` or `DELETE` to any HTTP service";
                "min(2ⁿ · 1 s, 64 s)", "full", "5 attempts";
                "408, 425, 429, 500, 502 to 504", "`UNKNOWN`, `DEADLINE_EXCEEDED`, `RESOURCE_EXHAUSTED`, `INTERNAL`, `UNAVAILABLE`", "no", "yes";
            plain_http::NOT_IDEMPOTENT: "a `POST` or `PATCH` to any HTTP service";
                "min(2ⁿ · 1 s, 64 s)", "full", "5 attempts";
                "408, 425, 429", "`RESOURCE_EXHAUSTED`", "no", "no";
        }
    };
}

/// The rows of the table of waits and ends. The names are not set as code, because a browser breaks code in a narrow
/// table after any letter.
macro_rules! waits {
    ($($module:ident::$name:ident: $for:literal; $($waits:literal),+; $($failures:literal),+;)+) => {
        concat!($(
            "| [", stringify!($module), "::", stringify!($name), "](crate::", stringify!($module), "::",
            stringify!($name), ") | ", $for, $(" | ", $waits,)+ " |\n",
        )+)
    };
}

/// The rows of the table of retried failures.
macro_rules! failures {
    ($($module:ident::$name:ident: $for:literal; $($waits:literal),+; $($failures:literal),+;)+) => {
        concat!($("| ", stringify!($module), "::", stringify!($name), $(" | ", $failures,)+ " |\n",)+)
    };
}

/// Where the page of a module leads: to the numbers of its presets, to their sources, and to the lab with one of them.
macro_rules! page_of {
    ($module:ident::$name:ident) => {
        concat!(
            "[`presets`](crate::presets) has the numbers; [sources and choices](crate::presets::sources#",
            stringify!($module), ") says where they come from. In a clone of the repository, `cargo run -p examples \
             --example lab` shows what they do, at the address that it prints with `?preset=",
            stringify!($module), "::", stringify!($name), "`."
        )
    };
}
