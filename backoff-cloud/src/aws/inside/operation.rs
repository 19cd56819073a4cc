//! What events and metrics call an operation of a client: `S3.GetObject`.

use aws_smithy_runtime_api_1::client::orchestrator::Metadata;
use aws_smithy_types_1::config_bag::ConfigBag;
use std::{
    collections::BTreeSet,
    sync::{Mutex, PoisonError},
};

/// The name of an operation if the client gives none.
pub(super) const UNNAMED: &str = "aws_smithy_runtime";

/// The highest number of names; a client has fewer operations.
const MOST: usize = 4096;

/// The name of the operation that this configuration is for.
///
/// Labels of metrics live as long as the program, and so do these names: each is kept once.
pub(super) fn name(cfg: &ConfigBag) -> &'static str {
    static NAMES: Mutex<BTreeSet<&'static str>> = Mutex::new(BTreeSet::new());
    let Some(metadata) = cfg.load::<Metadata>() else {
        return UNNAMED;
    };
    let name = format!("{}.{}", metadata.service(), metadata.name());
    let mut names = NAMES.lock().unwrap_or_else(PoisonError::into_inner);
    match names.get(name.as_str()) {
        Some(name) => name,
        None if names.len() >= MOST => UNNAMED,
        None => {
            let name: &'static str = name.leak();
            names.insert(name);
            name
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use aws_smithy_types_1::config_bag::Layer;

    #[test]
    fn an_operation_has_one_name_for_ever() {
        let named = |operation: &str| {
            let mut layer = Layer::new("test");
            layer.store_put(Metadata::new(operation.to_owned(), "Sqs"));
            name(&ConfigBag::of_layers(vec![layer]))
        };
        let first = named("SendMessage");
        assert_eq!(first, "Sqs.SendMessage");
        assert!(std::ptr::eq(first, named("SendMessage")));
        assert_eq!(named("Purge"), "Sqs.Purge");
        assert_eq!(name(&ConfigBag::base()), UNNAMED);
    }
}
