//! Checks names of resources, which may come from an untrusted source.

use backoff_core::__private::Loggable;

/// IAM's verbs. A name of a resource contains none of them, in upper or lower case.
const VERBS: [&str; 3] = [":getIamPolicy", ":setIamPolicy", ":testIamPermissions"];

/// Refuses an invalid name; the error says what to write. For clients that encode the special characters of
/// a URL.
pub(super) fn check(resource: &str) -> Result<(), String> {
    let has = |found: &dyn Fn(&str) -> bool| resource.split('/').any(found);
    let lower = resource.to_ascii_lowercase();
    let what = if resource.is_empty() {
        "the name of a resource is empty: write one such as `projects/my-project`".to_owned()
    } else if resource.contains(char::is_control) {
        "the name of a resource has a control character: remove it".to_owned()
    } else if let Some(verb) = VERBS
        .iter()
        .find(|verb| lower.contains(&verb.to_ascii_lowercase()))
    {
        format!(
            "the name of a resource contains the verb `{verb}`: remove it, the library adds the verb"
        )
    } else if has(&|segment| segment.is_empty()) {
        "the name of a resource has an empty segment: write no slash at its beginning or its end, and \
         no two slashes in a row"
            .to_owned()
    } else if has(&|segment| matches!(segment, "." | "..")) {
        "the name of a resource has the segment `.` or `..`, which would lead to another resource: \
         write the whole name"
            .to_owned()
    } else {
        return Ok(());
    };
    Err(match resource {
        "" => what,
        _ => format!("{what}: `{}`", Loggable(resource)),
    })
}

/// The same for clients that do not encode `\` and `%`.
#[cfg(feature = "google-cloud-iam-v1")]
pub(super) fn check_raw(resource: &str) -> Result<(), String> {
    check(resource)?;
    if resource.contains('\\') {
        let resource = Loggable(resource);
        return Err(format!(
            "the name of a resource has `\\`, which a URL takes for `/`: remove it: `{resource}`"
        ));
    }
    // A URL takes this for a dot.
    check(&resource.replace("%2e", ".").replace("%2E", "."))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Rows: a part of the refusal, and the names, separated by `|`.
    #[track_caller]
    fn refuses(check: fn(&str) -> Result<(), String>, rows: &[(&str, &str)]) {
        for (says, names) in rows {
            for name in names.split('|') {
                let refusal = check(name).expect_err(name);
                assert!(refusal.contains(says), "{name}: {refusal}");
            }
        }
    }

    const DOTS: &str = "the segment `.` or `..`";

    #[test]
    fn names_that_could_lead_elsewhere_are_refused() {
        let empty = "/projects/p|projects/p/|projects//p|https://elsewhere.example";
        let victim = "would lead to another resource: write the whole name";
        let control = "projects/.\t./p|projects/p\0|projects/p\u{85}";
        let verbs = "projects/p:SETIAMPOLICY|projects/p:setIamPolicy/q";
        let rows = [
            ("is empty: write one such as `projects/my-project`", ""),
            ("an empty segment: write no slash at its beginning", "/"),
            ("an empty segment", empty),
            (DOTS, ".|..|projects/./p|projects/p/.."),
            (victim, "projects/mine/../victim"),
            ("a control character: remove it", "projects/p\n"),
            ("a control character", control),
            ("the verb `:getIamPolicy`: remove it", "a:getIamPolicy?x="),
            ("the verb `:setIamPolicy`", verbs),
            ("the verb `:testIamPermissions`", "a:testIamPermissions"),
        ];
        refuses(check, &rows);
    }

    #[cfg(feature = "google-cloud-iam-v1")]
    #[test]
    fn more_is_refused_where_the_name_is_not_encoded() {
        let plain = "projects/p|projects/example.com:p|projects/_/buckets/b|b/c%20d|b/c?d#e";
        for resource in plain.split('|') {
            assert_eq!(check_raw(resource), Ok(()), "{resource}");
        }
        let dots = "projects/%2e%2E/secrets/s|projects/.%2e/secrets/s|projects/../secrets/s";
        let rows = [
            (DOTS, dots),
            ("has `\\`, which a URL takes for `/`", "a\\..\\b"),
            ("the verb `:getIamPolicy`", "a:getIamPolicy?x="),
        ];
        refuses(check_raw, &rows);
    }
}
