//! Writes a text without the secrets in it. At each character, what stands before it says whether a secret begins there.

use core::fmt::{self, Write};

/// A value is secret if its name ends like one of these.
const NAMES: &str = "key|token|secret|signature|sig|password|passwd|pwd|authorization|key provided";

/// A quoted value is secret behind these too: they are the parts of a URL in its `Debug`.
const PARTS: &str = "username|query|fragment";

/// How tokens of well-known services begin.
const TOKENS: &str =
    "sk-|sk_|rk_|ghp_|gho_|ghs_|github_|glpat-|xox|hf_|AKIA|ASIA|AIza|ya29.|eyJ|SG.";

/// How the value of the header `authorization` begins.
const SCHEMES: &str = "bearer|basic";

/// The rest of the word behind one of these is secret.
const HOOKS: &str = "hooks.slack.com/|hooks.slack.com:443/|/webhooks/";

/// The characters at which a word ends, and a URL. Other white space can stand in a URL.
const WORD: &[char] = &[' ', '"', '<', '>'];

/// The characters at which the host of a URL ends.
const HOST: &[char] = &[' ', '"', '<', '>', '/', '?', '#'];

/// The fewest characters of a token.
const LONG: usize = 20;

/// What stands between a name and its value.
const SIGN: &[char] = &[' ', '+', ':', '=', '>'];

const QUOTES: &[char] = &['"', '\'', '`'];

/// Writes the text up to the byte `shown`, and `…` for the rest, which is only read: a secret may end there. If `is_cut`,
/// the text is only a beginning.
pub(super) fn write(f: &mut impl Write, text: &str, shown: usize, is_cut: bool) -> fmt::Result {
    let (mut at, mut is_left_out) = (0, false);
    while let Some(c) = text[at..].chars().next().filter(|_| at < shown) {
        let length = secret(&text[..at], &text[at..], is_cut);
        is_left_out = length > 0;
        f.write_char(if is_left_out { '…' } else { c })?;
        at += if is_left_out { length } else { c.len_utf8() };
    }
    if shown < text.len() && !is_left_out {
        f.write_char('…')?;
    }
    Ok(())
}

/// The length of the secret with which `rest` begins.
fn secret(before: &str, rest: &str, is_cut: bool) -> usize {
    let url = url(before);
    let is_query = before.ends_with('?') || before.ends_with('#') && url.is_some();
    if is_query || ends_with(before, HOOKS) {
        return trimmed(upto(rest, WORD)).len();
    }
    // The colons of an IPv6 address stand in brackets.
    let host = url.filter(|url| !url.contains(HOST) && url.rfind('[') <= url.rfind(']'));
    let length = match host {
        Some("") => user(rest, is_cut),
        Some(host) if host.ends_with(':') => password(upto(rest, HOST)),
        _ if before.ends_with('/') => segment(trimmed(upto(rest, HOST))),
        _ => value(before, rest),
    };
    length.max(token(before, rest))
}

/// The part of a URL, after its slashes, with which the text ends.
fn url(text: &str) -> Option<&str> {
    let word = text.rsplit(WORD).next()?;
    let is_slash = |c: &u8| b"/\\".contains(c);
    let mut pairs = word.as_bytes().windows(2);
    let slashes = pairs.rposition(|two| two.iter().all(is_slash))?;
    Some(&word[slashes + 2..])
}

/// The length of the user and the password with which a URL begins after its slashes. A password can contain any character.
fn user(url: &str, is_cut: bool) -> usize {
    let (word, host) = (upto(url, WORD), upto(url, HOST));
    let colon = if host.starts_with('[') { "]:" } else { ":" };
    let port = host.split_once(colon).map_or("", |it| it.1);
    let has_password = password(port) > 0;
    let is_last = is_cut && host.len() == url.len() || host.ends_with('…');
    match url.find('@') {
        // The host at the end of a text that was cut may be the beginning of a user.
        _ if !has_password && is_last => host.len(),
        _ if !has_password => host.rfind('@').unwrap_or(0),
        Some(at) if at < word.len() => upto(word, &['?', '#']).rfind('@').unwrap_or(word.len()),
        // The password contains a character that ends a word.
        Some(at) if !url[..at].contains("//") => at,
        None if is_cut && word.len() < url.len() => url.len(),
        _ => 0,
    }
}

/// The length of what follows the colon of a host, if it is not a port, perhaps with punctuation after it.
fn password(text: &str) -> usize {
    let port = trimmed(text);
    let is_port = port.len() <= 5 && port.bytes().all(|c| c.is_ascii_digit());
    if is_port { 0 } else { text.len() }
}

/// The length of this segment of a path, if it has letters and digits of a token, or a colon that is not followed by the
/// name of a method (`:setIamPolicy`), or by numbers (`main.rs:12:5`).
fn segment(text: &str) -> usize {
    let after = text.split_once(':').map_or("", |it| it.1);
    let is_method = after.len() < 25 && is_camel_case(after);
    let is_number = after
        .bytes()
        .all(|c| c.is_ascii_digit() || b".:".contains(&c));
    let mut parts = text.split(|c: char| !c.is_ascii_alphanumeric());
    match (is_method || is_number) && !parts.any(is_mixed) {
        true => 0,
        false => text.len(),
    }
}

/// The length of the value with which `rest` begins, if `before` ends with a name and a sign. A quoted value is secret with
/// its quotes, and also if something stands before them: `Some("a b")`.
fn value(before: &str, rest: &str) -> usize {
    let named = before.trim_end_matches(SIGN);
    let sign = &before[named.len()..];
    let name = named.trim_end_matches(['"', '\'', '`', ']', '\\']);
    let is_scheme = !sign.is_empty() && ends_with(name, SCHEMES);
    let bare = upto(rest, &[' ', '<', '>', '"', '\'', '`', ',', ';', '&']);
    let word = trimmed(bare);
    // A code of up to five characters is that of an error.
    let is_code = sign == "=" && ends_with(name, "code") && word.len() > 5;
    let is_part = rest[bare.len()..].starts_with(QUOTES) && ends_with(name, PARTS);
    let is_named = sign.contains([':', '=']) && (is_code || is_part || ends_with(name, NAMES));
    let is_text = is_word(word) && !sign.contains('=') || ends_with(word, SCHEMES);
    if !is_scheme && !is_named || is_text || rest.starts_with(SIGN) {
        return 0;
    }
    let Some(inner) = rest[bare.len()..].strip_prefix(QUOTES) else {
        return trimmed(upto(rest, WORD)).len();
    };
    let from = rest.len() - inner.len();
    let quote = &rest[bare.trim_end_matches('\\').len()..from];
    let mut quotes = inner.match_indices(quote).map(|it| it.0);
    // A quote with more backslashes before it is a part of the value.
    let closing = quotes.find(|at| !inner[..*at].ends_with('\\'));
    closing.map_or(rest.len(), |at| from + at + quote.len())
}

/// The length of the token with which `rest` begins.
fn token(before: &str, rest: &str) -> usize {
    let run = rest.split(|c| !in_token(c)).next().unwrap_or(rest);
    let known = rest.split(|c| !in_token(c) && c != '.').next();
    let known = trimmed(known.unwrap_or(rest));
    let is_known = TOKENS.split('|').any(|begin| known.starts_with(begin));
    match before.ends_with(in_token) {
        false if is_known && known.len() >= LONG => known.len(),
        false if is_secret(run) => run.len(),
        _ => 0,
    }
}

fn in_token(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '-' || c == '_'
}

/// Whether a part of this is random: letters and digits, and if both capitals and small letters are among them, also `-`
/// and `_`.
pub fn is_secret(text: &str) -> bool {
    text.split(|c| !in_token(c)).any(|token| {
        let has_lower = token.contains(|c: char| c.is_ascii_lowercase());
        let has_upper = token.contains(|c: char| c.is_ascii_uppercase());
        has_lower && has_upper && is_random(token) || token.split(['-', '_']).any(is_random)
    })
}

/// Whether this has a letter, a digit, and as many characters as a token.
fn is_mixed(text: &str) -> bool {
    let has = |is: fn(&u8) -> bool| text.as_bytes().iter().any(is);
    text.len() >= LONG && has(u8::is_ascii_alphabetic) && has(u8::is_ascii_digit)
}

/// Whether this may be a token, and is not made of words, as `EC2ThrottledException` is.
fn is_random(text: &str) -> bool {
    let mut small = text.split(|c: char| !c.is_ascii_lowercase());
    let mut other = text.split(|c: char| c.is_ascii_lowercase());
    let has_words = small.all(|it| it.len() != 1 && it.len() != 2) && other.all(|it| it.len() < 6);
    is_mixed(text) && !has_words
}

/// The text before the first of these characters.
fn upto<'a>(text: &'a str, stops: &[char]) -> &'a str {
    text.split(stops).next().unwrap_or(text)
}

/// The text without the punctuation that often follows a word, as in `(see http://a)`.
fn trimmed(text: &str) -> &str {
    text.trim_end_matches(|c| ")]},;.:!?'`\\".contains(c))
}

/// Whether the text ends with one of these, in any case.
fn ends_with(text: &str, list: &str) -> bool {
    list.split('|').any(|end| {
        let from = text.len().saturating_sub(end.len());
        text.as_bytes()[from..].eq_ignore_ascii_case(end.as_bytes())
    })
}

/// Whether this is a word of a text, such as `expected`, `NoSuchKey`, `YES`.
fn is_word(text: &str) -> bool {
    let is_short = text.len() < 4 && text.bytes().all(|c| c.is_ascii_alphabetic());
    (2..LONG).contains(&text.len()) && (is_short || is_camel_case(text))
}

/// Whether this has only letters, and a small one after each capital.
fn is_camel_case(text: &str) -> bool {
    let mut capitals = text.split(|c: char| c.is_ascii_lowercase());
    text.bytes().all(|c| c.is_ascii_alphabetic())
        && capitals.all(|it| it.len() < 2)
        && text.ends_with(|c: char| c.is_ascii_lowercase())
}

/// The escape of JSON, Rust, URLs or HTML at the end of a text: where it begins, and the character for which it stands, if
/// that is printable ASCII. What would end a word stays escaped or is replaced: a space with `+`, a quote with `'`.
pub(super) fn unescaped(text: &str) -> Option<(usize, char)> {
    let last = text.len().saturating_sub(12);
    let is_mark = |c: &u8| b"\\%&".contains(c);
    let mark = last + text.as_bytes()[last..].iter().rposition(is_mark)?;
    let (before, escape) = text.split_at(mark);
    let (digits, radix) = match escape.as_bytes() {
        b"&amp;" => return Some((mark, '&')),
        b"&quot;" => return Some((mark, '\'')),
        b"\\/" => (&b"2f"[..], 16),
        [b'%', digits @ ..] | [b'\\', b'x', digits @ ..] if digits.len() == 2 => (digits, 16),
        [b'\\', b'u', b'{', digits @ .., b'}'] => (digits, 16),
        [b'\\', b'u', digits @ ..] if digits.len() == 4 => (digits, 16),
        [b'&', b'#', b'x' | b'X', digits @ .., b';'] => (digits, 16),
        [b'&', b'#', digits @ .., b';'] => (digits, 10),
        _ => return None,
    };
    let in_host = url(before).is_some_and(|url| !url.contains(HOST));
    let c = match u8::from_str_radix(str::from_utf8(digits).ok()?, radix).ok()? {
        b' ' => '+',
        b'"' => '\'',
        // A slash that is escaped in a host is a part of the user.
        b'/' if escape.starts_with('%') && in_host => return None,
        b'<' | b'>' => return None,
        c => Some(c).filter(u8::is_ascii_graphic)?.into(),
    };
    // An escape that was escaped again has several backslashes.
    let start = text[..=mark].trim_end_matches('\\').len();
    Some((start.min(mark), c))
}

#[cfg(test)]
mod tests;
