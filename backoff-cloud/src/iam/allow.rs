//! What a helper must know of an allow policy, whichever type holds it.

use super::condition::Condition;

/// An allow policy, as far as its bindings are changed.
///
/// Implemented for [`PlainPolicy`](super::PlainPolicy) and for the policy of Google's own clients.
/// Source: <https://cloud.google.com/iam/docs/reference/rest/v1/Policy>.
pub trait AllowPolicy {
    /// A role and who has it.
    type Binding: Binding;

    /// The etag that a write must carry, or somebody else's write is lost; empty if there is none.
    fn etag(&self) -> &[u8];

    /// Whether there is an etag.
    fn has_etag(&self) -> bool {
        !self.etag().is_empty()
    }

    /// Sets the format that it is written in.
    fn set_version(&mut self, version: i32);

    /// The bindings.
    fn bindings(&mut self) -> &mut Vec<Self::Binding>;
}

/// A role, who has it, and under which condition.
pub trait Binding {
    /// A binding without members.
    fn new(role: &str, condition: Option<&Condition>) -> Self;

    /// The role, such as `roles/viewer`.
    fn role(&self) -> &str;

    /// Whether this is its condition; `None` asks whether it has none.
    fn has_condition(&self, condition: Option<&Condition>) -> bool;

    /// Who has the role, such as `user:ann@example.com`.
    fn members(&mut self) -> &mut Vec<String>;
}

/// The format that has conditions. Asked for by every read and said by every write: a read of an
/// older one hides conditions, and a write of an older one drops them.
///
/// Source: <https://cloud.google.com/iam/docs/allow-policies#versions>.
pub const POLICY_VERSION: i32 = 3;
