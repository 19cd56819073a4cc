//! The written code, as a reader would see it.

use super::*;

fn read(text: &str) -> TokenStream {
    text.parse().unwrap()
}

pub(crate) fn attribute(keys: &str, function: &str) -> TokenStream {
    crate::retry_in("backoff_core", read(keys), read(function))
}

fn block(keys: &str, block: &str) -> TokenStream {
    let written = crate::retry_block_in(read(&format!("(::backoff_core) {keys}, {block}")));
    quote!(fn f() { #written })
}

/// The code as a reader would see it. `p` stands for `__backoff`.
pub(crate) fn shown(written: &TokenStream) -> String {
    let written = written.to_string().replace("__backoff ::", "p ::");
    let file = prettyplease::unparse(&syn::parse2(read(&written)).unwrap());
    let lines: Vec<&str> = file.lines().collect();
    let mut rest = &lines[..];
    let mut text = String::new();
    while let [first, ..] = rest {
        let (count, line) = in_one_line(rest).unwrap_or((1, (*first).to_owned()));
        text += &line;
        text.push('\n');
        rest = &rest[count..];
    }
    text
}

/// A value with the call behind it, or a list, where 120 columns are enough.
fn in_one_line(lines: &[&str]) -> Option<(usize, String)> {
    let indent = |line: &str| line.len() - line.trim_start().len();
    let (first, rest) = lines.split_first()?;
    if let Some(call) = rest.first().filter(|next| next.trim().starts_with('.')) {
        return Some((2, format!("{first}{}", call.trim())));
    }
    let items = rest.iter().take_while(|line| indent(line) > indent(first));
    let items: Vec<&str> = items.map(|line| line.trim()).collect();
    let last = rest.get(items.len())?.trim();
    let list = format!("{first}{}{last}", items.join(" ").trim_end_matches(','));
    let is_list = first.ends_with(['(', '[', '<']) || first.ends_with("Context {");
    (is_list && list.trim().len() <= 120).then_some((items.len() + 2, list))
}

#[test]
fn a_broken_body_survives() {
    let written = attribute("", "async fn f() -> Result<(), E> { let a = ; a. }").to_string();
    assert!(written.starts_with("async fn f"), "{written}");
    for begun in [
        "{ let a = client. }",
        "async { client. }",
        "async move { client.get(,) }",
    ] {
        let written = block("max_attempts = 3", begun).to_string();
        assert!(written.contains("client"), "{written}");
    }
    let written = block("max_attempts = 3", "call(1)").to_string();
    assert!(!written.contains("let _ = call"), "{written}");
}

#[test]
fn impl_trait_becomes_a_hole() {
    let same = "Result<Box<dyn Fn(u8) -> u8>, E>";
    let rows = [
        (
            "Result<impl Iterator<Item = Vec<u8>> + 'a, E>",
            "Result<_, E>",
        ),
        (
            "Result<(u8, impl Fn(u8) -> Vec<u8>), E>",
            "Result<(u8, _), E>",
        ),
        (
            "Result<Vec<impl Into<A> + Send>, impl Error>",
            "Result<Vec<_>, _>",
        ),
        ("impl Outcome", "_"),
        ("Result<[impl Fn(u8) -> u8; 2], E>", "Result<[_; 2], E>"),
        (same, same),
    ];
    let close = |tokens: TokenStream| tokens.to_string().replace(' ', "");
    for (ty, expected) in rows {
        assert_eq!(close(without_impl(read(ty))), close(read(expected)), "{ty}");
    }
}

#[test]
fn the_door_or_a_key_decides_the_path() {
    let rows = [
        ("", "use :: backoff_cloud :: __private as __backoff"),
        ("crate = my::lib", "use my :: lib :: __private as __backoff"),
    ];
    for (keys, path) in rows {
        let function = read("fn f() -> Result<(), E> { g() }");
        let written = crate::retry_in("backoff_cloud", read(keys), function).to_string();
        assert!(written.contains(path), "{written}");
        assert!(!written.contains("backoff_core"), "{written}");
    }
}
