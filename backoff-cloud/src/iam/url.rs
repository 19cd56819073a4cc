//! The URL of a resource's policy, from a name that may come from an untrusted source.

use super::resource::check;
use backoff_core::__private::Loggable;
use reqwest::Url;

/// The URL of this verb: the segments of `base`, the encoded segments of the resource, and the verb. If the
/// name could lead to another resource or another verb, the error says what to write.
pub(super) fn url(base: &str, resource: &str, verb: &str) -> Result<Url, String> {
    check(resource)?;
    let mut url = Url::parse(base)
        .map_err(|error| format!("`{}` is not the URL of a service: {error}", Loggable(base)))?;
    if url.query().is_some() || url.fragment().is_some() {
        return Err(format!(
            "write the URL of the service without a query and a fragment, not `{}`",
            Loggable(base)
        ));
    }
    let Ok(mut path) = url.path_segments_mut() else {
        let base = Loggable(base);
        return Err(format!(
            "`{base}` is not the URL of a service: it has no path"
        ));
    };
    path.pop_if_empty();
    let named = format!("{resource}:{verb}");
    path.extend(named.split('/'));
    drop(path);
    Ok(url)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const BASE: &str = "https://example.com/v1";

    fn path(resource: &str) -> String {
        let url = url(BASE, resource, "getIamPolicy").unwrap();
        let rest = url.as_str().strip_prefix("https://example.com/v1/");
        let resource = rest.and_then(|rest| rest.strip_suffix(":getIamPolicy"));
        resource.expect("base and verb stay").to_owned()
    }

    #[test]
    fn names_are_encoded_segment_by_segment() {
        for (resource, expected) in [
            ("projects/p", "projects/p"),
            ("projects/example.com:p", "projects/example.com:p"),
            ("projects/_/buckets/b", "projects/_/buckets/b"),
            ("p/serviceAccounts/a@b.c", "p/serviceAccounts/a@b.c"),
            ("b/my bucket", "b/my%20bucket"),
            ("b/größe/好", "b/gr%C3%B6%C3%9Fe/%E5%A5%BD"),
            ("b/%2e%2e/c", "b/%252e%252e/c"),
            ("b/.%2E", "b/.%252E"),
            ("b/c%2Fd", "b/c%252Fd"),
            ("b/c?d=e", "b/c%3Fd=e"),
            ("b/c#d", "b/c%23d"),
            ("b\\..\\c", "b%5C..%5Cc"),
            ("b/...", "b/..."),
            ("b/..c", "b/..c"),
            ("b/\"<>`{}", "b/%22%3C%3E%60%7B%7D"),
        ] {
            assert_eq!(path(resource), expected, "{resource}");
        }
    }

    #[test]
    fn the_base_keeps_its_segments() {
        for (base, expected) in [
            ("http://a", Ok("http://a/b/c:setIamPolicy")),
            ("http://a/", Ok("http://a/b/c:setIamPolicy")),
            ("http://a/v1", Ok("http://a/v1/b/c:setIamPolicy")),
            ("http://a/x/v1/", Ok("http://a/x/v1/b/c:setIamPolicy")),
            ("http://a/v1?key=1", Err("a fragment, not `http://a/v1?…`")),
            ("http://a/v1#b", Err("without a query and a fragment")),
            ("example", Err("is not the URL of a service")),
            ("data:a", Err("it has no path")),
        ] {
            match (url(base, "b/c", "setIamPolicy"), expected) {
                (Ok(url), Ok(expected)) => assert_eq!(url.as_str(), expected),
                (Err(refusal), Err(says)) => assert!(refusal.contains(says), "{refusal}"),
                (found, _) => panic!("{base}: {found:?}"),
            }
        }
    }

    /// The segments as a server reads them.
    fn decoded(segment: &str) -> String {
        let mut parts = segment.split('%');
        let mut read = parts.next().unwrap().as_bytes().to_vec();
        for part in parts {
            read.push(u8::from_str_radix(&part[..2], 16).unwrap());
            read.extend(part[2..].bytes());
        }
        String::from_utf8(read).unwrap()
    }

    proptest! {
        #[test]
        fn an_accepted_name_leads_to_its_resource_only(
            resource in prop_oneof![
                "\\PC{0,20}",
                "([a-z]|/|\\.|\\.\\.|%2e|%2F|\\?|#|\\\\|:|@| |:getIamPolicy|\\n|\u{e9}){0,12}",
                "[a-z:.%?#\\\\ ]{1,5}(/[a-z:.%?#\\\\ ]{1,5}){0,4}",
            ],
            base in "(/[a-z0-9]{1,4}){0,3}/?",
        ) {
            let whole = format!("https://example.com{base}");
            if let Ok(url) = url(&whole, &resource, "setIamPolicy") {
                prop_assert_eq!(url.host_str(), Some("example.com"));
                prop_assert_eq!((url.query(), url.fragment()), (None, None));
                prop_assert_eq!((url.username(), url.password()), ("", None));
                // The URL as a client sends it, parsed again.
                let again = Url::parse(url.as_str()).unwrap();
                prop_assert_eq!(&again, &url);
                let path = url.path().strip_prefix('/').unwrap();
                let path = path.strip_suffix(":setIamPolicy").unwrap();
                let read: Vec<_> = path.split('/').map(decoded).collect();
                let base = base.split('/').filter(|segment| !segment.is_empty());
                let expected: Vec<_> = base.chain(resource.split('/')).collect();
                prop_assert_eq!(read, expected);
            }
        }
    }
}
