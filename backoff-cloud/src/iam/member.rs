//! The spelling of members of roles.
//!
//! <https://cloud.google.com/iam/docs/principal-identifiers> lists the identifiers. IAM ignores the case of the
//! part after the type, except for the types below. Terraform's provider does the same
//! (`normalizeIamMemberCasing`,
//! <https://github.com/hashicorp/terraform-provider-google/blob/main/google/tpgiamresource/iam.go>).

/// The prefix of a deleted member, before its type.
const DELETED: &str = "deleted:";

/// Types whose values are identifiers of other systems, in which case matters.
const EXACT: [&str; 3] = ["principal", "principalSet", "principalHierarchy"];

/// Splits a member into the part that must be spelled exactly (the type with its colon) and the part in
/// which case does not matter. A name without a type, such as `allUsers`, must be spelled exactly.
fn split(member: &str) -> (&str, &str) {
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

/// Whether these are the same member. A group of changes compares each of its members with each member of
/// the role, so this allocates only if a name contains a capital sigma.
pub(super) fn is_same(one: &str, other: &str) -> bool {
    // Most members differ here already. ASCII letters have lower cases of their own.
    let mut bytes = one.bytes().zip(other.bytes());
    if let Some((one, other)) = bytes.find(|(one, other)| one != other)
        && (one | other).is_ascii()
        && !one.eq_ignore_ascii_case(&other)
    {
        return false;
    }
    let ((kind, value), (other_kind, other)) = (split(one), split(other));
    kind == other_kind && is_same_in_lower_case(value, other)
}

/// Whether [`str::to_lowercase`] makes these equal.
fn is_same_in_lower_case(one: &str, other: &str) -> bool {
    if one.is_ascii() && other.is_ascii() {
        return one.eq_ignore_ascii_case(other);
    }
    const SIGMA: char = 'Σ';
    if one.contains(SIGMA) || other.contains(SIGMA) {
        // The only letter whose lower case depends on the letters around it.
        return one.to_lowercase() == other.to_lowercase();
    }
    let one = one.chars().flat_map(char::to_lowercase);
    one.eq(other.chars().flat_map(char::to_lowercase))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// A simple implementation to compare with.
    fn is_same_plainly(one: &str, other: &str) -> bool {
        let ((kind, value), (other_kind, other)) = (split(one), split(other));
        kind == other_kind && value.to_lowercase() == other.to_lowercase()
    }

    /// Names that often differ in case only, with letters whose lower case is longer, is ASCII, or depends
    /// on the letters around it.
    fn members() -> impl Strategy<Value = (String, String)> {
        let any = "(deleted:|Deleted:)?(user:|USER:|principal:|allUsers|:)?[a-cA-C@.:σςΣİiıIKkÄäßẞ 本]{0,6}";
        let cases = prop::collection::vec(0..4_u8, 12);
        let changed = (any, cases).prop_map(|(one, cases)| {
            let change = |(letter, case): (char, &u8)| match case {
                0 => letter.to_uppercase().collect::<String>(),
                1 => letter.to_lowercase().collect(),
                _ => letter.to_string(),
            };
            let other = one.chars().zip(cases.iter().cycle()).map(change);
            let other = other.collect();
            (one, other)
        });
        prop_oneof![3 => changed, 1 => (any, any)]
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(4_096))]
        #[test]
        fn members_are_the_same_where_their_lower_cases_are((one, other) in members()) {
            prop_assert_eq!(is_same(&one, &other), is_same_plainly(&one, &other));
            prop_assert!(is_same(&one, &one));
        }
    }

    #[test]
    fn a_capital_sigma_is_compared_as_it_ends_a_word() {
        assert!(is_same("user:ΟΔΟΣ", "user:οδος"));
        assert!(!is_same("user:ΟΔΟΣ", "user:οδοσ"));
        assert!(is_same("user:\u{212a}", "user:k"), "the sign of Kelvin");
    }

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
