// The service of the examples on the first page: its first two replies are a 503.
use std::{cell::{Cell, RefCell}, collections::BTreeSet};

#[derive(Clone, Debug, Default)]
struct Instance {
    etag: u32,
    labels: BTreeSet<&'static str>,
}

#[derive(Default)]
struct Client {
    calls: Cell<u32>,
    kept: RefCell<Instance>,
}

impl Client {
    async fn get(&self, _name: &str) -> Result<Instance, ApiError> {
        self.calls.set(self.calls.get() + 1);
        if self.calls.get() < 3 {
            return Err(ApiError { code: 503 });
        }
        Ok(self.kept.borrow().clone())
    }

    async fn put(&self, _name: &str, instance: Instance) -> Result<(), ApiError> {
        let mut kept = self.kept.borrow_mut();
        if instance.etag != kept.etag {
            return Err(ApiError { code: 412 });
        }
        *kept = Instance { etag: kept.etag + 1, ..instance };
        Ok(())
    }
}
