//! Finds the parts of a JSON text, each as the bytes in which it was written.
//!
//! A JSON parser refuses a whole text because of one bad part: a number that is too large, an invalid
//! escape, a text that ends too early. The functions here find only where a part begins and ends, so a bad
//! part does not hide the others.

/// The names and values of the fields of an object; empty for everything else. Reading ends at the first
/// mistake. An object or a list that ends too early is given up to its end; any other value that ends too
/// early is left out.
pub(super) fn fields(object: &[u8]) -> impl Iterator<Item = (Name<'_>, &[u8])> {
    parts(object, b'{', |rest| Some((rest.name()?, rest.value()?)))
}

/// The elements of a list, with the rules of [`fields`].
pub(super) fn elements(list: &[u8]) -> impl Iterator<Item = &[u8]> {
    parts(list, b'[', Rest::value)
}

fn parts<'a, T>(
    whole: &'a [u8],
    opening: u8,
    part: impl Fn(&mut Rest<'a>) -> Option<T>,
) -> impl Iterator<Item = T> {
    let mut rest = Rest(whole);
    let mut goes_on = rest.take(opening);
    std::iter::from_fn(move || {
        let next = goes_on.then(|| part(&mut rest)).flatten();
        goes_on = next.is_some() && rest.take(b',');
        next
    })
}

/// The name of a field, with its quotes.
#[derive(Clone, Copy)]
pub(super) struct Name<'a>(&'a [u8]);

impl Name<'_> {
    pub(super) fn is(self, name: &str) -> bool {
        let written = &self.0[1..self.0.len() - 1];
        // A name may be written with escapes: `"\u0065rror"`.
        written == name.as_bytes()
            || written.contains(&b'\\')
                && serde_json::from_slice(self.0).is_ok_and(|read: String| read == name)
    }
}

/// The rest of a text.
#[derive(Clone, Copy)]
pub(super) struct Rest<'a>(pub(super) &'a [u8]);

impl<'a> Rest<'a> {
    /// Takes this character if it is the next one after white space.
    pub(super) fn take(&mut self, c: u8) -> bool {
        let is_next = self.begins_with(c);
        if is_next {
            self.0 = &self.0[1..];
        }
        is_next
    }

    /// Whether this character is the next one after white space. The white space is skipped.
    pub(super) fn begins_with(&mut self, c: u8) -> bool {
        self.0 = self.0.trim_ascii_start();
        self.0.first() == Some(&c)
    }

    pub(super) fn is_at_end(&mut self) -> bool {
        self.0.trim_ascii_start().is_empty()
    }

    /// Takes the name of a field and the colon.
    pub(super) fn name(&mut self) -> Option<Name<'a>> {
        if !self.begins_with(b'"') {
            return None;
        }
        let end = end_of_text(self.0)?;
        let name = self.split(end);
        self.take(b':').then_some(Name(name))
    }

    /// Takes a value.
    pub(super) fn value(&mut self) -> Option<&'a [u8]> {
        self.0 = self.0.trim_ascii_start();
        let end = match self.0.first()? {
            b'"' => end_of_text(self.0)?,
            b'{' | b'[' => end_of_nested(self.0).unwrap_or(self.0.len()),
            // A value at the end of the text may be incomplete: 50 may be half of 503.
            _ => self.0.iter().position(|&c| !may_be_word(c))?,
        };
        (end > 0).then(|| self.split(end))
    }

    fn split(&mut self, end: usize) -> &'a [u8] {
        let (part, rest) = self.0.split_at(end);
        self.0 = rest;
        part
    }
}

/// Whether the character can be in a number, or in `true`, `false` or `null`.
fn may_be_word(c: u8) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, b'+' | b'-' | b'.')
}

/// The end of the quoted text at the beginning.
fn end_of_text(written: &[u8]) -> Option<usize> {
    let mut end = 1;
    loop {
        end += written
            .get(end..)?
            .iter()
            .position(|c| matches!(c, b'"' | b'\\'))?;
        match written[end] {
            b'"' => return Some(end + 1),
            // The character after a backslash does not end the text.
            _ => end += 2,
        }
    }
}

/// The end of the object or list at the beginning. The kinds of the brackets are not compared.
fn end_of_nested(written: &[u8]) -> Option<usize> {
    let (mut end, mut depth) = (0, 0_usize);
    loop {
        match written.get(end)? {
            b'"' => {
                end += end_of_text(&written[end..])?;
                continue;
            }
            b'{' | b'[' => depth += 1,
            b'}' | b']' => depth -= 1,
            _ => {}
        }
        end += 1;
        if depth == 0 {
            return Some(end);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(part: &[u8]) -> &str {
        str::from_utf8(part).unwrap()
    }

    fn fields_of(text: &str) -> Vec<(&str, &str)> {
        let fields = fields(text.as_bytes());
        fields
            .map(|(name, value)| (shown(name.0), shown(value)))
            .collect()
    }

    fn elements_of(text: &str) -> Vec<&str> {
        elements(text.as_bytes()).map(shown).collect()
    }

    #[test]
    fn each_part_is_given_as_it_was_written() {
        assert_eq!(
            fields_of(r#" { "a" : 1e999 , "\ud800":"\ud800\"","b":{"}": ["]"]} } rest"#),
            [
                ("\"a\"", "1e999"),
                ("\"\\ud800\"", "\"\\ud800\\\"\""),
                ("\"b\"", r#"{"}": ["]"]}"#)
            ]
        );
        assert_eq!(
            elements_of(r#"[null,-1.5, "," ,[],{}]"#),
            ["null", "-1.5", "\",\"", "[]", "{}"]
        );
        assert!(fields_of("[1]").is_empty() && elements_of("{\"a\": 1}").is_empty());
    }

    #[test]
    fn parts_end_at_the_first_mistake() {
        for text in [
            r#"{"a":1"#,
            r#"{"a":"1"#,
            r#"{"a":"1\"#,
            r#"{"a":"1\""#,
            r#"{"a""#,
            r#"{"a\"#,
            r#"{"a":,"b":1}"#,
            r#"{,"b":1}"#,
            r#"{a:1}"#,
            "{}",
            "{",
            "",
        ] {
            assert!(fields_of(text).is_empty(), "{text}");
        }
        assert_eq!(fields_of(r#"{"a": 1 "b": 2}"#), [("\"a\"", "1")]);
        assert_eq!(elements_of("[1, 2"), ["1"]);
        assert_eq!(elements_of(r#"[1, {"a": [2"#), ["1", r#"{"a": [2"#]);
        assert_eq!(elements_of("[1}, 2]"), ["1"]);
    }

    #[test]
    fn a_name_may_be_written_with_escapes() {
        let is_error = |text: &str| fields(text.as_bytes()).next().unwrap().0.is("error");
        assert!(is_error(r#"{"error": 1}"#) && is_error(r#"{"\u0065rror": 1}"#));
        assert!(!is_error(r#"{"\ud800": 1}"#) && !is_error(r#"{"errors": 1}"#));
    }
}
