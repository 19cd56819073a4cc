//! Splits Rust source into words and signs, without comments, character literals and lifetimes.

#[derive(Clone, Debug)]
pub(crate) struct Token {
    /// A name, a number, a string with its quotes, `::`, or a single sign.
    pub(crate) text: String,
    pub(crate) line: usize,
}

pub(crate) fn tokens(source: &str) -> Vec<Token> {
    let (mut rest, mut line, mut tokens) = (source, 1, Vec::new());
    while let Some(first) = rest.chars().next() {
        let (length, kept) = length(rest, first);
        let (text, tail) = rest.split_at(length);
        if kept {
            let text = text.to_owned();
            tokens.push(Token { text, line });
        }
        line += text.matches('\n').count();
        rest = tail;
    }
    tokens
}

/// How long what stands first is, and whether it says anything.
fn length(rest: &str, first: char) -> (usize, bool) {
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    let word = |text: &str| text.find(|c| !is_word(c)).unwrap_or(text.len());
    // b"..", c"..", r"..", br#".."#.
    let prefix = rest.find(|c| !"bcr".contains(c)).unwrap_or(0);
    let marks = rest[prefix..].len() - rest[prefix..].trim_start_matches('#').len();
    if rest.starts_with("//") {
        (rest.find('\n').unwrap_or(rest.len()), false)
    } else if rest.starts_with("/*") {
        (block_comment(rest), false)
    } else if rest[..prefix].contains('r') && rest[prefix + marks..].starts_with('"') {
        let body = prefix + marks + 1;
        let end = format!("\"{}", "#".repeat(marks));
        let length = rest[body..]
            .find(&end)
            .unwrap_or(rest.len() - body - end.len());
        (body + length + end.len(), true)
    } else if rest[prefix..].starts_with('"') {
        (prefix + until(&rest[prefix..], '"'), true)
    } else if first == '\'' {
        let mut after = rest[1..].chars();
        let is_char = matches!(
            (after.next(), after.next()),
            (Some('\\'), _) | (_, Some('\''))
        );
        let lifetime = 1 + word(&rest[1..]);
        (if is_char { until(rest, '\'') } else { lifetime }, false)
    } else if is_word(first) {
        (word(rest), true)
    } else if rest.starts_with("::") {
        (2, true)
    } else {
        (first.len_utf8(), !first.is_whitespace())
    }
}

/// How long a literal is that begins and ends with the same quote.
fn until(text: &str, quote: char) -> usize {
    let mut is_escaped = false;
    for (i, c) in text.char_indices().skip(1) {
        if c == quote && !is_escaped {
            return i + 1;
        }
        is_escaped = c == '\\' && !is_escaped;
    }
    text.len()
}

fn block_comment(text: &str) -> usize {
    let (mut depth, mut at) = (0, 0);
    loop {
        let rest = &text[at..];
        let Some(next) = rest.find(['/', '*']) else {
            return text.len();
        };
        let step = match &rest[next..] {
            mark if mark.starts_with("/*") => 1,
            mark if mark.starts_with("*/") => -1,
            _ => 0,
        };
        depth += step;
        at += next + if step == 0 { 1 } else { 2 };
        if depth == 0 {
            return at;
        }
    }
}

#[test]
fn comments_and_quotes_hide_what_is_in_them() {
    let source = r####"
        /// crate::doc
        a::b // crate::c "
        /* crate::d /* nested */ " */ "crate::e \" //" r#"f " /*"# 'g' '\'' b'"' &'h i
    "####;
    let found = tokens(source);
    let text: Vec<_> = found.iter().map(|token| token.text.as_str()).collect();
    let strings = [r#""crate::e \" //""#, r###"r#"f " /*"#"###];
    let expected = ["a", "::", "b", strings[0], strings[1], "b", "&", "i"];
    assert_eq!(text, expected);
    assert_eq!((found[0].line, found[3].line), (3, 4));
}
