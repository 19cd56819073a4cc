//! Tasks that change members of roles at once, with Google's own client.

use backoff_cloud::{FaultKind, GrpcCode, StopReason, iam, known_fault};
use emulator::{Call, Emulator, Reply};
use google_cloud_resourcemanager_v3::client::Projects;
use official::client;

const PROJECT: &str = "projects/p";
const ROLE: &str = "roles/viewer";

/// A retry around the call does not multiply the attempts, also where the error is in a box.
#[tokio::test]
async fn a_failed_write_is_shared_and_is_permanent_in_a_box() {
    let emulator = Emulator::start().unwrap();
    let once = iam::READ_MODIFY_WRITE.max_attempts(1);
    let members = iam::Members::new(client!(Projects, emulator.url())).policy(once);
    emulator.script(Call::SetIamPolicy, [Reply::status(503)]);
    let add = |member| members.add(PROJECT, ROLE, member);
    let (first, second) = tokio::join!(add("user:a@example.com"), add("user:b@example.com"));
    for failed in [first, second] {
        let failed = failed.unwrap_err();
        assert_eq!(failed.reason(), StopReason::Attempts);
        assert!(failed.may_be_applied());
        let hidden: Box<dyn std::error::Error + Send + Sync> = failed.into();
        let known = known_fault(&*hidden).unwrap();
        assert_eq!(known.kind(), Some(FaultKind::Permanent));
        assert_eq!(known.grpc_code(), Some(GrpcCode::Unavailable));
    }
    assert_eq!(emulator.stats().calls, 2);
}
