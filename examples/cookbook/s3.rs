//! A change of an object in S3 that others change too. The write has `If-Match`: after a 412 the object is read again.
//!
//! ```toml
//! [dependencies]
//! backoff-cloud = { version = "0.1", features = ["object-store-014"] }
//! object_store = { version = "0.14", features = ["aws"] }
//! tokio = { version = "1", features = ["macros", "rt-multi-thread"] }
//! ```

use backoff_cloud::s3;
use object_store::{
    Error, ObjectStore, ObjectStoreExt as _, PutMode, RetryConfig, UpdateVersion,
    aws::AmazonS3Builder, path::Path,
};
use std::{collections::BTreeSet, env, time::Duration};

/// Adds a name to a list of names, one a line, unless it is there.
pub async fn add(store: &impl ObjectStore, list: &Path, name: &str) -> Result<(), Error> {
    let read = async || {
        let got = store.get(list).await?;
        let (e_tag, version) = (got.meta.e_tag.clone(), got.meta.version.clone());
        let text = String::from_utf8_lossy(&got.bytes().await?).into_owned();
        let names: BTreeSet<_> = text.lines().map(str::to_owned).collect();
        Ok((names, UpdateVersion { e_tag, version }))
    };
    let write = async |(names, version): (BTreeSet<_>, _)| {
        let text: String = names.into_iter().map(|name| name + "\n").collect();
        store
            .put_opts(list, text.into(), PutMode::Update(version).into())
            .await
    };
    s3::READ_MODIFY_WRITE
        .update(read, |(names, _)| names.insert(name.to_owned()), write)
        .attempt_timeout(Duration::from_secs(30))
        .timeout(Duration::from_secs(120))
        .await?;
    Ok(())
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let [_, bucket, list, name] = &env::args().collect::<Vec<_>>()[..] else {
        return Err("usage: s3 BUCKET LIST NAME".into());
    };
    // Otherwise object_store retries ten times in each attempt.
    let once = RetryConfig {
        max_retries: 0,
        ..RetryConfig::default()
    };
    let store = AmazonS3Builder::from_env()
        .with_bucket_name(bucket)
        .with_retry(once)
        .build()?;
    Ok(add(&store, &Path::from(list.as_str()), name).await?)
}
