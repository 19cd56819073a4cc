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

    #[test]
    fn names_that_could_lead_elsewhere_are_refused() {
        let empty = "an empty segment";
        let dots = "the segment `.` or `..`";
        let control = "a control character";
        let victim = "would lead to another resource: write the whole name";
        for (resource, says) in [
            ("", "is empty: write one such as `projects/my-project`"),
            ("/", "an empty segment: write no slash at its beginning"),
            ("/projects/p", empty),
            ("projects/p/", empty),
            ("projects//p", empty),
            ("https://elsewhere.example", empty),
            (".", dots),
            ("..", dots),
            ("projects/mine/../victim", victim),
            ("projects/./p", dots),
            ("projects/p/..", dots),
            ("projects/p\n", "a control character: remove it"),
            ("projects/.\t./p", control),
            ("projects/p\0", control),
            ("projects/p\u{85}", control),
            ("a:getIamPolicy?x=", "the verb `:getIamPolicy`: remove it"),
            ("projects/p:SETIAMPOLICY", "the verb `:setIamPolicy`"),
            ("a:testIamPermissions", "the verb `:testIamPermissions`"),
            ("projects/p:setIamPolicy/q", "the verb `:setIamPolicy`"),
        ] {
            let refusal = check(resource).expect_err(resource);
            assert!(refusal.contains(says), "{resource}: {refusal}");
        }
    }

    #[cfg(feature = "google-cloud-iam-v1")]
    #[test]
    fn more_is_refused_where_the_name_is_not_encoded() {
        let dots = "the segment `.` or `..`";
        for (resource, says) in [
            ("projects/p", None),
            ("projects/example.com:p", None),
            ("projects/_/buckets/b", None),
            ("b/c%20d", None),
            ("b/c?d#e", None),
            ("a\\..\\b", Some("has `\\`, which a URL takes for `/`")),
            ("projects/%2e%2E/secrets/s", Some(dots)),
            ("projects/.%2e/secrets/s", Some(dots)),
            ("projects/../secrets/s", Some(dots)),
            ("a:getIamPolicy?x=", Some("the verb `:getIamPolicy`")),
        ] {
            let refusal = check_raw(resource).err();
            assert_eq!(refusal.is_some(), says.is_some(), "{resource}");
            let refusal = refusal.unwrap_or_default();
            assert!(refusal.contains(says.unwrap_or_default()), "{refusal}");
        }
    }
}
