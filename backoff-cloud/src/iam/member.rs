//! How the members of roles are spelled.
//!
//! The identifiers: <https://cloud.google.com/iam/docs/principal-identifiers>. IAM ignores the case
//! of what comes after the type, but for those named here; so does Terraform's provider
//! (`normalizeIamMemberCasing`,
//! <https://github.com/hashicorp/terraform-provider-google/blob/main/google/tpgiamresource/iam.go>).

/// What a deleted member begins with, before its type.
const DELETED: &str = "deleted:";

/// Types whose values are identifiers of somebody else's, in which case matters.
const EXACT: [&str; 3] = ["principal", "principalSet", "principalHierarchy"];

/// What must be spelled exactly so, the type with its colon, and what may be in any case. A name
/// without a type, as `allUsers`, is exact.
pub(crate) fn split(member: &str) -> (&str, &str) {
    let deleted = if member.starts_with(DELETED) {
        DELETED.len()
    } else {
        0
    };
    match member[deleted..].split_once(':') {
        Some((kind, _)) if !EXACT.contains(&kind) => member.split_at(deleted + kind.len() + 1),
        _ => (member, ""),
    }
}

/// Whether these are the same member.
#[cfg(feature = "tokio")]
pub(super) fn is_same(one: &str, other: &str) -> bool {
    let lower = |value: &str| value.to_lowercase();
    let ((kind, value), (other_kind, other)) = (split(one), split(other));
    kind == other_kind && (value == other || lower(value) == lower(other))
}

#[cfg(all(test, feature = "tokio"))]
mod tests {
    use super::*;

    #[test]
    fn case_matters_in_types_and_in_foreign_identifiers_only() {
        for (one, other, same) in [
            ("user:Ann@Example.com", "user:ann@example.com", true),
            ("user:ÄNN@example.com", "user:änn@example.com", true),
            ("group:A@b.c", "group:a@B.C", true),
            ("domain:Example.com", "domain:example.com", true),
            ("projectOwner:P", "projectOwner:p", true),
            ("deleted:user:A@b.c?uid=1", "deleted:user:a@b.c?uid=1", true),
            ("user:ann@example.com", "user:bob@example.com", false),
            ("user:a@b.c", "group:a@b.c", false),
            ("User:a@b.c", "user:a@b.c", false),
            ("user:a@b.c", "deleted:user:a@b.c", false),
            ("Deleted:user:a@b.c", "deleted:user:a@b.c", false),
            ("allUsers", "allusers", false),
            ("allUsers", "allUsers", true),
            ("principal://x/subject/A", "principal://x/subject/a", false),
            ("principalSet://x/A", "principalSet://x/a", false),
            ("principalHierarchy://A", "principalHierarchy://a", false),
            ("deleted:principal://x/A", "deleted:principal://x/a", false),
            ("", "", true),
            ("deleted:", "deleted:", true),
        ] {
            assert_eq!(is_same(one, other), same, "{one} {other}");
        }
    }
}
