//! Writes a text without the secrets in it. At each character, what stands before it says whether a secret begins there.

use core::fmt::{self, Write};

/// A value is secret if its name ends like one of these.
const NAMES: &str = "key|token|secret|signature|sig|password|passwd|pwd|authorization|key provided|&code|\
                     username|query|fragment";

/// How the value of the header `authorization` begins.
const SCHEMES: &str = "bearer|basic";

/// The rest of the word behind one of these is secret.
const HOOKS: &str = "hooks.slack.com/|hooks.slack.com:443/|/webhooks/|api.telegram.org/bot";

/// The characters at which a word ends, and a URL. Other white space can stand in a URL.
const WORD: &[char] = &[' ', '"', '<', '>'];

/// The characters at which the host of a URL ends.
const HOST: &[char] = &[' ', '"', '<', '>', '/', '?', '#'];

/// What stands between a name and its value.
const SIGN: &[char] = &[' ', '+', ':', '=', '>'];

const QUOTES: &[char] = &['"', '\'', '`'];

/// Punctuation that often follows a word, as in `(see http://a)`.
const CLOSING: &[char] = &[')', ']', '}', ',', ';', '.', ':', '!', '?', '\'', '`', '\\'];

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
    let opened = before.rsplit(WORD).next().unwrap_or(before);
    let slashes = ["//", r"\\"];
    let in_url = slashes.iter().any(|it| opened.contains(it));
    let is_query = opened.ends_with('?') || opened.ends_with('#') && in_url;
    if is_query || ends_with(opened, HOOKS) {
        return trimmed(upto(rest, WORD)).len();
    }
    let user = match slashes.iter().any(|it| opened.ends_with(it)) {
        true => user(rest, is_cut),
        false => 0,
    };
    user.max(value(before, rest)).max(token(before, rest))
}

/// The length of the user and the password with which a URL begins after its slashes. A password can contain any character.
fn user(url: &str, is_cut: bool) -> usize {
    let (word, host) = (upto(url, WORD), upto(url, HOST));
    let has_password = !is_host(host);
    let place = if has_password {
        upto(word, &['?', '#'])
    } else {
        host
    };
    match (place.rfind('@'), url.find('@')) {
        (Some(at), _) if is_host(upto(&url[at..], HOST)) => at,
        // The host at the end of a text that was cut may be the beginning of a user.
        _ if !has_password && is_cut && host.len() == url.len() => host.len(),
        _ if !has_password && host.ends_with('…') => host.len(),
        _ if !has_password => 0,
        // The password contains a character that ends a word.
        (_, Some(at)) if at > word.len() && !url[..at].contains("//") => at,
        (_, None) if is_cut => url.len(),
        _ => word.len(),
    }
}

/// Whether no password follows the host: what follows its colon is a port, perhaps with punctuation after it, or empty. The
/// colons of an IPv6 address stand in brackets.
fn is_host(host: &str) -> bool {
    let after_address = host.rsplit(']').next().unwrap_or(host);
    let port = after_address.split_once(':').map_or("", |it| trimmed(it.1));
    port.len() <= 5 && port.bytes().all(|c| c.is_ascii_digit())
}

/// The length of the value with which `rest` begins, if `before` ends with a name and a sign. A quoted value is secret with
/// its quotes, and also if something stands before them: `Some("a b")`.
fn value(before: &str, rest: &str) -> usize {
    let named = before.trim_end_matches(SIGN);
    let sign = &before[named.len()..];
    let name = named.trim_end_matches(['"', '\'', '`', ']', '\\']);
    let is_scheme = !sign.is_empty() && ends_with(name, SCHEMES);
    let is_named = sign.contains([':', '=']) && ends_with(name, NAMES);
    let bare = upto(rest, &[' ', '<', '>', '"', '\'', '`', ',', ';', '&']);
    let word = trimmed(bare);
    let is_text = is_word(word) && !sign.contains('=') || ends_with(word, SCHEMES);
    if !is_scheme && !is_named || is_text || rest.starts_with(SIGN) {
        return 0;
    }
    let Some(inner) = rest[bare.len()..].strip_prefix(QUOTES) else {
        return trimmed(upto(rest, WORD)).len();
    };
    let from = rest.len() - inner.len();
    let quote = &rest[bare.trim_end_matches('\\').len()..from];
    // A quote with more backslashes before it is a part of the value.
    let mut closing = inner.match_indices(quote).map(|it| it.0);
    let closing = closing.find(|at| !inner[..*at].ends_with('\\'));
    closing.map_or(rest.len(), |at| from + at + quote.len())
}

/// The length of the token with which `rest` begins, together with what a dot joins to it.
fn token(before: &str, rest: &str) -> usize {
    let token = rest.split(|c| !in_token(c)).next().unwrap_or(rest);
    if before.ends_with(in_token) || !is_secret(token) {
        return 0;
    }
    let end = rest.find(|c| !in_token(c) && !".~+*".contains(c));
    trimmed(&rest[..end.unwrap_or(rest.len())]).len()
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

/// Whether this has at least 20 characters, a letter and a digit among them, and is not made of words, as
/// `EC2ThrottledException` is.
fn is_random(text: &str) -> bool {
    let mut small = text.split(|c: char| !c.is_ascii_lowercase());
    let mut other = text.split(|c: char| c.is_ascii_lowercase());
    let has_words = small.all(|it| it.len() != 1 && it.len() != 2) && other.all(|it| it.len() < 6);
    let has_letter = text.contains(|c: char| c.is_ascii_alphabetic());
    let has_digit = text.contains(|c: char| c.is_ascii_digit());
    text.len() >= 20 && has_letter && has_digit && !has_words
}

/// The text before the first of these characters.
fn upto<'a>(text: &'a str, stops: &[char]) -> &'a str {
    text.split(stops).next().unwrap_or(text)
}

/// The text without the punctuation after it.
fn trimmed(text: &str) -> &str {
    text.trim_end_matches(CLOSING)
}

/// Whether the text ends with one of these, in any case.
fn ends_with(text: &str, list: &str) -> bool {
    list.split('|').any(|end| {
        let from = text.len().saturating_sub(end.len());
        text.as_bytes()[from..].eq_ignore_ascii_case(end.as_bytes())
    })
}

/// Whether this is a word of a text, such as `expected`, `NoSuchKey`, `YES`: two or more letters, and no two capitals in a
/// row and none at the end, unless there are at most three letters.
fn is_word(text: &str) -> bool {
    let is_lower = |at| text.as_bytes().get(at).is_some_and(u8::is_ascii_lowercase);
    text.len() > 1
        && text.bytes().all(|c| c.is_ascii_alphabetic())
        && (text.len() < 4 || (0..text.len()).all(|at| is_lower(at) || is_lower(at + 1)))
}

/// The escape of JSON, Rust, URLs or HTML at the end of a text: where it begins, and the character for which it stands, if
/// that is printable ASCII. What would end a word stays escaped or is replaced: a space with `+`, a quote with `'`. A slash
/// that is escaped in a URL may be a part of the user, so it becomes a backslash.
pub(super) fn unescaped(text: &[u8]) -> Option<(usize, char)> {
    let last = text.len().saturating_sub(12);
    let mark = last + text[last..].iter().rposition(|c| b"\\%&".contains(c))?;
    let (digits, radix) = match &text[mark..] {
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
    let c = match u8::from_str_radix(str::from_utf8(digits).ok()?, radix).ok()? {
        b' ' => '+',
        b'"' => '\'',
        b'/' if text[mark] == b'%' => '\\',
        b'<' | b'>' => return None,
        c => Some(c).filter(u8::is_ascii_graphic)?.into(),
    };
    // An escape that was escaped again has several backslashes.
    let before = text[..mark].iter().rposition(|it| *it != b'\\');
    let start = before.map_or(0, |before| before + 1);
    Some((if text[mark] == b'\\' { start } else { mark }, c))
}

#[cfg(test)]
mod tests;
