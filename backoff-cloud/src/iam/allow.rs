//! A trait over the types of allow policies.

use super::condition::Condition;

/// An allow policy whose bindings can be read and changed.
///
/// Implemented for [`PlainPolicy`](super::PlainPolicy) and for the policy of Google's own clients.
/// Source: <https://cloud.google.com/iam/docs/reference/rest/v1/Policy>.
pub trait AllowPolicy {
    /// A role and who has it.
    type Binding: Binding;

    /// The etag of the policy, or an empty slice if it has none. A write must carry the etag; otherwise it
    /// would undo another client's write.
    fn etag(&self) -> &[u8];

    /// Whether there is an etag.
    fn has_etag(&self) -> bool {
        !self.etag().is_empty()
    }

    /// Sets the version of the format in which the policy is written.
    fn set_version(&mut self, version: i32);

    /// The bindings.
    fn bindings(&self) -> &[Self::Binding];

    /// The bindings, to be changed.
    fn bindings_mut(&mut self) -> &mut Vec<Self::Binding>;
}

/// A role, its members and its condition.
pub trait Binding {
    /// A binding without members.
    fn new(role: &str, condition: Option<&Condition>) -> Self;

    /// The role, such as `roles/viewer`.
    fn role(&self) -> &str;

    /// Whether the binding has this condition. `None` asks whether it has no condition.
    fn has_condition(&self, condition: Option<&Condition>) -> bool;

    /// The members that have the role, such as `user:ann@example.com`.
    fn members(&self) -> &[String];

    /// The members, to be changed.
    fn members_mut(&mut self) -> &mut Vec<String>;
}

/// The version of the policy format that supports conditions. Every read asks for it and every write names
/// it. A read of an older version hides conditions, and a write of an older version removes them.
///
/// Source: <https://cloud.google.com/iam/docs/allow-policies#versions>.
pub const POLICY_VERSION: i32 = 3;
