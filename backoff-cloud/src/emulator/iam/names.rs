//! The valid names of roles and members.
//!
//! Roles: <https://cloud.google.com/iam/docs/roles-overview#role-id>. Members:
//! <https://cloud.google.com/iam/docs/principal-identifiers#v1>, and for the basic roles of a
//! project <https://cloud.google.com/storage/docs/access-control/iam#projectteam>.

use crate::iam::member::split;

/// Whether this is the name of a predefined role or of a custom one.
pub(super) fn is_role(name: &str) -> bool {
    let segments: Vec<_> = name.split('/').collect();
    let of = match segments[..] {
        ["roles", role] => [role, role],
        ["projects" | "organizations", parent, "roles", role] => [parent, role],
        _ => return false,
    };
    of.iter().all(|segment| is_word(segment))
}

/// Whether this is an identifier of a member.
pub(super) fn is_member(name: &str) -> bool {
    if matches!(name, "allUsers" | "allAuthenticatedUsers") {
        return true;
    }
    let (deleted, living) = match name.strip_prefix("deleted:") {
        Some(living) => (true, living),
        None => (false, name),
    };
    let Some((kind, value)) = living.split_once(':') else {
        return false;
    };
    let value = match (deleted, value.rsplit_once("?uid=")) {
        (true, Some((value, uid))) if is_word(uid) => value,
        (true, _) if !kind.starts_with("principal") => return false,
        _ => value,
    };
    is_word(value)
        && match kind {
            "user" | "group" => is_email(value),
            "serviceAccount" => is_email(value) || is_of_kubernetes(value),
            "principal" | "principalSet" | "principalHierarchy" => value.starts_with("//"),
            "domain" => !deleted && !value.contains('@'),
            "projectOwner" | "projectEditor" | "projectViewer" => !deleted,
            _ => false,
        }
}

/// A member as it is stored: in lower case where IAM ignores case.
pub(super) fn folded(member: &str) -> String {
    let (exact, value) = split(member);
    format!("{exact}{}", value.to_lowercase())
}

fn is_word(text: &str) -> bool {
    !text.is_empty() && !text.contains(|c: char| c.is_whitespace() || c.is_control())
}

fn is_email(text: &str) -> bool {
    matches!(text.split_once('@'), Some((name, domain))
        if !name.is_empty() && !domain.is_empty() && !domain.contains('@'))
}

/// `PROJECT.svc.id.goog[NAMESPACE/ACCOUNT]`
fn is_of_kubernetes(text: &str) -> bool {
    text.contains(".svc.id.goog[") && text.ends_with(']')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn roles_are_predefined_or_custom() {
        for role in [
            "roles/viewer",
            "roles/secretmanager.secretAccessor",
            "projects/p/roles/mine",
            "organizations/12/roles/ours",
        ] {
            assert!(is_role(role), "{role}");
        }
        for nonsense in [
            "",
            "viewer",
            "r",
            "roles/",
            "roles/viewer ",
            "roles/a/b",
            "Roles/viewer",
            "projects//roles/a",
            "folders/1/roles/a",
        ] {
            assert!(!is_role(nonsense), "{nonsense}");
        }
    }

    #[test]
    fn members_have_a_type_and_what_belongs_to_it() {
        for member in [
            "allUsers",
            "allAuthenticatedUsers",
            "user:ann@example.com",
            "group:audit@example.com",
            "serviceAccount:a@p.iam.gserviceaccount.com",
            "serviceAccount:p.svc.id.goog[space/account]",
            "domain:example.com",
            "projectOwner:p",
            "projectEditor:p",
            "projectViewer:p",
            "principal://iam.googleapis.com/locations/global/workforcePools/w/subject/s",
            "principalSet://iam.googleapis.com/locations/global/workforcePools/w/*",
            "deleted:user:ann@example.com?uid=123",
            "deleted:serviceAccount:a@p.iam.gserviceaccount.com?uid=123",
            "deleted:principal://iam.googleapis.com/locations/global/workforcePools/w/subject/s",
        ] {
            assert!(is_member(member), "{member}");
        }
        for nonsense in [
            "",
            "ann@example.com",
            "user:",
            "user:ann",
            "user:@example.com",
            "user:ann@",
            "user:a@b@c",
            "user:ann@example.com ",
            " user:ann@example.com",
            "user: ann@example.com",
            "User:ann@example.com",
            "serviceAccount:a",
            "domain:a@example.com",
            "projectOwner:",
            "allusers",
            "allUsers:",
            "principal:a",
            "deleted:",
            "deleted:user:ann@example.com",
            "deleted:allUsers",
            "deleted:domain:example.com?uid=1",
            "robot:r2@example.com",
        ] {
            assert!(!is_member(nonsense), "{nonsense}");
        }
    }

    #[test]
    fn case_is_folded_where_it_means_nothing() {
        assert_eq!(folded("user:Ann@Example.com"), "user:ann@example.com");
        assert_eq!(folded("principal://x/A"), "principal://x/A");
        assert_eq!(folded("allUsers"), "allUsers");
    }
}
