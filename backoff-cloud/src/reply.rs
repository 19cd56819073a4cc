//! What the presets' tests judge: a status, and the gRPC code that its body names.

use backoff_core::{Fault, GrpcCode};

pub(crate) struct Reply(pub(crate) u16, pub(crate) Option<GrpcCode>);

impl Fault for Reply {
    fn status(&self) -> Option<u16> {
        Some(self.0)
    }

    fn grpc_code(&self) -> Option<GrpcCode> {
        self.1
    }
}
