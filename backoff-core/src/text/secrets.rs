//! Writes a text without the secrets in it. At each character, what stands before it says whether a secret begins there.

use super::MOST;
use core::fmt::{self, Write};

/// A value is secret if its name ends like one of these. The last ones are fields in the `Debug` of `url::Url`.
const NAMES: &str = "key|token|secret|signature|sig|password|passwd|pwd|code|authorization|key provided|\
                     false, username|\", query|none, fragment|\"), fragment";

/// How tokens of well-known services begin.
const TOKENS: &str = "sk-|sk_|rk_|ghp_|gho_|ghu_|ghs_|ghr_|github_|glpat-|xox|xapp-|AKIA|ASIA|AIza|ya29.|\
                      eyJ|SG.|hf_|npm_|whsec_|shpat_|dop_v1_";

/// The whole path behind one of these is secret.
const HOOKS: &str = "hooks.slack.com|api/webhooks|v10/webhooks|v9/webhooks";

/// The characters at which a word ends, and a URL. Other white space can stand in a URL.
const WORD: &[u8] = b" \"<>";

/// The characters at which the host of a URL ends, or a segment of a path.
const HOST: &[u8] = b" \"<>/?#";

/// Punctuation that often follows a URL, as in `(see http://a)`.
const CLOSING: &[u8] = b")]},;.:'`";

/// The entities of HTML by which a URL, a name or a value can be hidden.
const ENTITIES: &str =
    "amp;&|quot;'|apos;'|lt;'|gt;'|colon;:|sol;/|commat;@|quest;?|num;#|equals;=";

/// What stands for `…` where a text is read.
const CUT: u8 = 0xff;

/// How the value of the header `authorization` begins.
const SCHEMES: &str = "bearer|basic";

/// Writes the text up to the byte `shown`, and `…` for the rest, which is only read: a secret may end there. If `is_cut`,
/// the text is only a beginning. It has at most [`MOST`] characters.
pub(super) fn write(f: &mut impl Write, raw: &str, shown: usize, is_cut: bool) -> fmt::Result {
    let (mut plain, mut ends, mut length, mut rest) = ([0; MOST], [0; MOST], 0, raw);
    while let Some(mut c) = rest.chars().next() {
        rest = &rest[c.len_utf8()..];
        while let Some(read) = unescaped(c, rest) {
            (c, rest) = read;
        }
        plain[length] = match c {
            '\\' => b'/',
            '…' => CUT,
            c => u8::try_from(c).ok().filter(u8::is_ascii).unwrap_or(0x80),
        };
        ends[length] = (raw.len() - rest.len()) as u16;
        length += 1;
    }
    let plain = &plain[..length];
    let text = Text {
        raw,
        plain,
        ends: &ends,
        is_cut,
    };
    let (mut at, mut word, mut is_left_out) = (0, 0, false);
    while at < length && text.byte(at) < shown {
        let secret = text.secret(word, at).filter(|it| it.0 < it.1);
        let (from, to) = secret.unwrap_or((at + 1, at + 1));
        f.write_str(&raw[text.byte(at)..text.byte(from)])?;
        is_left_out = from < to;
        if is_left_out {
            f.write_char('…')?;
        } else if WORD.contains(&plain[at]) {
            word = to;
        }
        at = to;
    }
    match shown < raw.len() && !is_left_out {
        true => f.write_char('…'),
        false => Ok(()),
    }
}

/// The character for which an escape of JSON, Rust, URLs or HTML stands, and the text after it. An escaped space, quote,
/// `<` or `>` ends no word, so it becomes a `+` or a `'`.
fn unescaped(mark: char, rest: &str) -> Option<(char, &str)> {
    let rest = rest.trim_start_matches(|c| mark == '\\' && c == '\\');
    let within = |open: &str, close| rest.strip_prefix(open)?.split_once(close);
    let after = |open, length| rest.strip_prefix(open)?.split_at_checked(length);
    let (number, radix) = match mark {
        '\\' if rest.starts_with(['/', '"', '\'']) => {
            return Some((rest.chars().next()?, &rest[1..]));
        }
        '\\' => (within("u{", '}').or(after("u", 4)).or(after("x", 2)), 16),
        '%' => (after("", 2), 16),
        '&' if rest.starts_with("#x") || rest.starts_with("#X") => (within(&rest[..2], ';'), 16),
        '&' if rest.starts_with('#') => (within("#", ';'), 10),
        '&' => {
            return ENTITIES.split('|').find_map(|it| {
                let (name, c) = it.split_at(it.len() - 1);
                Some((c.chars().next()?, rest.strip_prefix(name)?))
            });
        }
        _ => return None,
    };
    let (number, rest) = number?;
    match char::from_u32(u32::from_str_radix(number, radix).ok()?)? {
        ' ' => Some(('+', rest)),
        '"' | '<' | '>' => Some(('\'', rest)),
        c => Some((c, rest)),
    }
}

/// A text, and the same as it is read: without its escapes, a backslash as a slash (as browsers do), `…` as [`CUT`], and
/// any other character that is not ASCII as 0x80.
struct Text<'a> {
    raw: &'a str,
    plain: &'a [u8],
    /// Where each character ends in the raw text.
    ends: &'a [u16],
    is_cut: bool,
}

impl Text<'_> {
    /// Where the character begins in the raw text.
    fn byte(&self, at: usize) -> usize {
        at.checked_sub(1).map_or(0, |last| self.ends[last].into())
    }

    /// The beginning and the end of the secret that stands here, perhaps behind something that is shown. The word around
    /// it begins at `start`.
    fn secret(&self, start: usize, at: usize) -> Option<(usize, usize)> {
        let (before, rest) = self.plain.split_at(at);
        let (opened, word, host) = (&before[start..], upto(rest, WORD), upto(rest, HOST));
        let slashes = opened.windows(2).rposition(|it| it == b"//");
        let url = slashes.map(|slashes| &opened[slashes + 2..]);
        let in_host = url.is_some_and(|url| upto(url, HOST) == url);
        let segment = trimmed(host);
        let length = match before.last() {
            Some(b'/') if in_host => self.user(at),
            Some(b':') if in_host && !is_port(host) && !host.contains(&b']') => host.len(),
            Some(b'/') if is_hook(opened) || is_random(segment) || is_odd(segment) => segment.len(),
            Some(b'?') if opened.contains(&b'/') || word.contains(&b'=') => trimmed(word).len(),
            Some(b'#') if url.is_some() => trimmed(word).len(),
            _ => 0,
        };
        match length.max(token(before, rest)) {
            0 => self.named(at, in_host),
            length => Some((at, at + length)),
        }
    }

    /// The length of the user and the password at the beginning of a URL's host. A password can contain any character. The
    /// host at the end of a text that was cut may be the beginning of a user.
    fn user(&self, at: usize) -> usize {
        let rest = &self.plain[at..];
        let (word, host) = (upto(rest, WORD), upto(rest, HOST));
        let last = |text: &[u8]| text.iter().rposition(|c| *c == b'@');
        let after_address = host.rsplit(|c| *c == b']').next().unwrap_or(host);
        let port = after_address.splitn(2, |c| *c == b':').nth(1);
        let has_password = port.is_some_and(|it| !is_port(it) && it != [CUT]);
        let raw = &self.raw[self.byte(at)..self.byte(at + word.len())];
        let raw = &raw[..raw.find(['/', '\\', '?', '#']).unwrap_or(raw.len())];
        if !has_password && !raw.contains('@') && last(host).is_none() {
            let is_cut = self.is_cut && host.len() == rest.len() || host.ends_with(&[CUT]);
            return host.len() * usize::from(is_cut && port != Some(&[CUT]));
        }
        if let Some(length) = last(upto(word, b"?#")).or(last(word).map(|_| word.len())) {
            return length;
        }
        // The password contains a character that ends a word.
        match rest.iter().position(|c| *c == b'@') {
            Some(at) if !rest[..at].windows(2).any(|it| it == b"//") => {
                at + last(upto(&rest[at..], HOST)).unwrap_or(0)
            }
            _ if self.is_cut && word.len() < rest.len() => rest.len(),
            _ => 0,
        }
    }

    /// The value that follows a name, or `Bearer`.
    fn named(&self, at: usize, in_host: bool) -> Option<(usize, usize)> {
        let (before, rest) = self.plain.split_at(at);
        let (last, next) = (*before.last()?, rest[0]);
        let name = &before[..=before.iter().rposition(|c| !b" +:=\"'`[]".contains(c))?];
        if name.len() < at && ends_with(name, SCHEMES) {
            let (from, to, value) = self.value(at);
            return (!is_word(value)).then_some((from, to));
        }
        if next != b'=' && (next != b':' || in_host) || !ends_with(name, NAMES) {
            return None;
        }
        let is_spaced = last == b' ' || next == b':';
        let is_sign = |c| b"=:>".contains(&c) || is_spaced && c == b' ';
        let first = at + rest.iter().position(|c| !is_sign(*c))?;
        let (from, to, value) = self.value(first);
        let is_quoted = from > first || value.contains(&b'"');
        let is_word = ends_with(value, SCHEMES) || next == b':' && is_word(value);
        let in_form = self.plain[from..to].contains(&b'&') || ends_with(name, "&code|?code");
        let is_code = ends_with(name, "code") && is_code(value) && !in_form;
        (!is_code && (is_quoted || !is_word)).then_some((from, to))
    }

    /// The beginning and the end of a value, which may be in quotes, and the value up to a comma.
    fn value(&self, at: usize) -> (usize, usize, &[u8]) {
        let rest = &self.plain[at..];
        let stop = at + upto(rest, b" \"<>'`,;&").len();
        let quote = |at: usize| (self.plain[at], self.byte(at + 1) - self.byte(at));
        let closing = (stop + 1..self.plain.len()).find(|it| quote(*it) == quote(stop));
        let is_quoted = self.plain.get(stop).is_some_and(|c| b"\"'`".contains(c));
        if is_quoted && (closing.is_some() || stop == at) {
            let from = at + usize::from(stop == at);
            let to = closing.unwrap_or(self.plain.len());
            return (from, to, &self.plain[from..to]);
        }
        let to = at + trimmed(upto(rest, WORD)).len();
        (at, to, trimmed(&self.plain[at..stop]))
    }
}

/// The length of the token that begins here.
fn token(before: &[u8], rest: &[u8]) -> usize {
    if before.last().is_some_and(u8::is_ascii_alphanumeric) {
        return 0;
    }
    let in_token = |c: &u8| c.is_ascii_alphanumeric() || b"_-.~+*".contains(c);
    let length = rest.iter().position(|c| !in_token(c)).unwrap_or(rest.len());
    let token = trimmed(&rest[..length]);
    let is_known = TOKENS.split('|').any(|it| token.starts_with(it.as_bytes()));
    let is_long = token.len() > 15 && has(token, u8::is_ascii_digit);
    let mut runs = token.split(|c| !c.is_ascii_alphanumeric());
    let run = runs.next().unwrap_or(token);
    let is_mixed = has(run, u8::is_ascii_uppercase) && has(run, u8::is_ascii_lowercase);
    let is_token = is_known && is_long || is_mixed && is_secret(run);
    token.len() * usize::from(is_token)
}

/// The text before the first of these characters.
fn upto<'a>(text: &'a [u8], stops: &[u8]) -> &'a [u8] {
    let end = text.iter().position(|c| stops.contains(c));
    &text[..end.unwrap_or(text.len())]
}

/// The text without the punctuation after it.
fn trimmed(text: &[u8]) -> &[u8] {
    let last = text.iter().rposition(|c| !CLOSING.contains(c));
    &text[..last.map_or(0, |last| last + 1)]
}

fn has(text: &[u8], is: fn(&u8) -> bool) -> bool {
    text.iter().any(is)
}

/// Whether the text ends with one of these, in any case.
fn ends_with(text: &[u8], list: &str) -> bool {
    list.split('|').any(|end| {
        let from = text.len().checked_sub(end.len());
        from.is_some_and(|from| text[from..].eq_ignore_ascii_case(end.as_bytes()))
    })
}

/// Whether this is a port, perhaps with the text's punctuation after it, or empty.
fn is_port(text: &[u8]) -> bool {
    let port = trimmed(text);
    port.len() <= 5 && port.iter().all(u8::is_ascii_digit)
}

fn is_hook(opened: &[u8]) -> bool {
    (0..=opened.len()).any(|end| ends_with(&opened[..end], HOOKS))
}

/// Whether the text has 20 letters and digits in a row, with at least one of each.
fn is_random(text: &[u8]) -> bool {
    let mut runs = text.split(|c| !c.is_ascii_alphanumeric());
    runs.any(|it| it.len() >= 20 && has(it, u8::is_ascii_digit) && has(it, u8::is_ascii_alphabetic))
}

/// Whether a segment of a path has a colon that is not followed by the name of a method (`:setIamPolicy`), or by
/// numbers (`main.rs:12:5`).
fn is_odd(segment: &[u8]) -> bool {
    let after = segment.splitn(2, |c| *c == b':').nth(1).unwrap_or_default();
    let begins_small = after.first().is_some_and(u8::is_ascii_lowercase);
    let is_method = begins_small && after.iter().all(u8::is_ascii_alphabetic);
    !is_method && !after.iter().all(|c| b"0123456789.:".contains(c))
}

/// Whether this is random and not made of words, as `EC2ThrottledException` is.
pub fn is_secret(code: impl AsRef<[u8]>) -> bool {
    let code = code.as_ref();
    let mut small = code.split(|c| !c.is_ascii_lowercase());
    let mut other = code.split(u8::is_ascii_lowercase);
    is_random(code)
        && !(small.all(|it| it.len() != 1 && it.len() != 2) && other.all(|it| it.len() < 6))
}

/// Whether this is a word of a text, such as `expected`, `NoSuchKey`, `YES`: only letters, and no two capitals in a row and
/// none at the end, unless there are at most three letters.
fn is_word(text: &[u8]) -> bool {
    let is_lower = |at| text.get(at).is_some_and(u8::is_ascii_lowercase);
    text.iter().all(u8::is_ascii_alphabetic)
        && (text.len() < 4 || (0..text.len()).all(|at| is_lower(at) || is_lower(at + 1)))
}

/// Whether this is the code of an error, such as `14`, `ABORTED`, `0x80070005`.
fn is_code(text: &[u8]) -> bool {
    text.len() <= 12 || !has(text, u8::is_ascii_digit) || !has(text, u8::is_ascii_alphabetic)
}

#[cfg(test)]
mod tests;
