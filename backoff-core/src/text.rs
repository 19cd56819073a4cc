//! Text for logs and messages: text from other sources is made safe (one line, limited length, and without
//! the secrets in URLs), and durations are rounded.

use core::{
    fmt::{self, Write},
    time::Duration,
};

/// Displays a duration with at most four digits that count, or in whole seconds from 1000 s on: `455.3ms`,
/// `4.25s`, `86401s`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Rounded(pub Duration);

impl fmt::Display for Rounded {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const SECOND: u128 = 1_000_000_000;
        let nanos = self.0.as_nanos();
        let digits = nanos.checked_ilog10().map_or(1, |log| log + 1);
        let step = 10_u128.pow(digits.saturating_sub(4)).min(SECOND);
        let rounded = (nanos + step / 2) / step * step;
        let seconds = u64::try_from(rounded / SECOND).unwrap_or(u64::MAX);
        write!(f, "{:?}", Duration::new(seconds, (rounded % SECOND) as u32))
    }
}

/// The number of characters shown of a text. The rest is replaced with `…`.
const LONGEST: usize = 500;

/// Displays a value in a form that is safe for logs.
///
/// - Line breaks and tabs become one space; other control characters, and those that change the
///   direction of the text, become `\u{..}`.
/// - After 500 characters, the text ends with `…`.
/// - In a URL (any text with `://`), the user and password, the query and the fragment are left out:
///   `https://ann:pw@example.com/a?key=1` becomes `https://…@example.com/a?…`. A text after the
///   colon of a host that is not a port is left out too, because the end of the URL may have been cut off:
///   `https://ann:pw` becomes `https://ann:…`.
/// - A URL ends at white space and at `"`, `<`, `>`. If a password contains one of these, or a slash, the
///   part after that character is shown as text.
///
/// The value is written with `{}`, or with `{:#}` if `Loggable` is formatted with `{:#}`. Nothing is
/// allocated.
#[derive(Clone, Copy)]
pub struct Loggable<T>(pub T);

impl<T: fmt::Display> fmt::Display for Loggable<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut line = Line::EMPTY;
        // Writing fails where the line is full, and the rest of the text is not needed.
        let written = match f.alternate() {
            true => write!(line, "{:#}", self.0),
            false => write!(line, "{}", self.0),
        };
        let mut rest = line.text();
        while let Some((before, from)) = rest.split_once("://") {
            f.write_str(before)?;
            let (url, after) = from.split_at(from.find(ends_url).unwrap_or(from.len()));
            let (shown, hidden) = url.split_at(url.find(['?', '#']).unwrap_or(url.len()));
            // The path of a URL can contain another URL.
            for part in shown.split("://") {
                let (host, path) = part.split_at(part.find(['/', '\\']).unwrap_or(part.len()));
                // A host at the cut may be the beginning of a name and a password.
                let is_cut = written.is_err() && line.text().ends_with(part) && path.is_empty();
                f.write_str("://")?;
                write_host(f, if is_cut { "" } else { host })?;
                f.write_str(path)?;
            }
            if let Some(mark) = hidden.chars().next() {
                let closing = &hidden[hidden.trim_end_matches(is_closing).len()..];
                write!(f, "{mark}…{closing}")?;
            }
            rest = after;
        }
        f.write_str(rest)?;
        match written.is_err() {
            true => f.write_char('…'),
            false => Ok(()),
        }
    }
}

/// Writes the host and the port, and `…` in place of a part that may be a secret.
fn write_host(f: &mut fmt::Formatter<'_>, authority: &str) -> fmt::Result {
    let host = match authority.rsplit_once('@') {
        Some((_, host)) => {
            f.write_str("…@")?;
            host
        }
        None => authority,
    };
    // An IPv6 address in brackets contains colons.
    let address = host.find(']').unwrap_or(0);
    match host[address..].split_once(':') {
        Some((_, rest)) if !is_port(rest) => {
            write!(f, "{}…", &host[..host.len() - rest.len()])
        }
        // Somebody else has cut the text before the colon or the `@`.
        None if host.ends_with('…') => f.write_char('…'),
        _ => f.write_str(host),
    }
}

/// Whether this is a port, perhaps with the text's punctuation after it, or empty.
fn is_port(rest: &str) -> bool {
    let after = rest.trim_start_matches(|c: char| c.is_ascii_digit());
    rest.len() - after.len() <= 5 && after.chars().all(is_closing)
}

/// Characters that no URL contains: a URL in a text ends at such a character.
fn ends_url(c: char) -> bool {
    c.is_whitespace() || matches!(c, '"' | '<' | '>')
}

/// Punctuation that often follows a URL, as in `(see http://a)`.
fn is_closing(c: char) -> bool {
    matches!(c, ')' | ']' | '}' | ',' | ';' | '.' | ':' | '\'' | '`')
}

/// The beginning of a text on one line.
struct Line {
    bytes: [u8; 4 * LONGEST],
    length: usize,
    /// The number of characters that still fit.
    left: usize,
}

impl Line {
    const EMPTY: Line = Line {
        bytes: [0; 4 * LONGEST],
        length: 0,
        left: LONGEST,
    };

    fn text(&self) -> &str {
        str::from_utf8(&self.bytes[..self.length]).unwrap_or_default()
    }

    fn put(&mut self, c: char) -> fmt::Result {
        self.left = self.left.checked_sub(1).ok_or(fmt::Error)?;
        let end = self.length + c.len_utf8();
        c.encode_utf8(&mut self.bytes[self.length..end]);
        self.length = end;
        Ok(())
    }
}

impl Write for Line {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        text.chars().try_for_each(|c| match c {
            '\t'..='\r' | '\u{85}' | '\u{2028}' | '\u{2029}' => {
                match self.bytes[..self.length].ends_with(b" ") {
                    true => Ok(()),
                    false => self.put(' '),
                }
            }
            // Characters that are invisible or change the direction of the text.
            '\u{61c}'
            | '\u{200e}'
            | '\u{200f}'
            | '\u{202a}'..='\u{202e}'
            | '\u{2066}'..='\u{2069}' => c.escape_unicode().try_for_each(|c| self.put(c)),
            c if c.is_control() => c.escape_unicode().try_for_each(|c| self.put(c)),
            c => self.put(c),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn shown(text: &str) -> String {
        Loggable(text).to_string()
    }

    #[test]
    fn a_duration_has_four_digits_that_count() {
        for (nanos, expected) in [
            (0, "0ns"),
            (67_125, "67.13µs"),
            (455_288_704, "455.3ms"),
            (917_200_000, "917.2ms"),
            (999_960_000, "1s"),
            (4_250_000_000, "4.25s"),
            (59_999_600_000, "60s"),
            (86_400_600_000_000, "86401s"),
        ] {
            assert_eq!(Rounded(Duration::from_nanos(nanos)).to_string(), expected);
        }
        let longest = Rounded(Duration::MAX).to_string();
        assert!(longest.starts_with("18446744073709551615"), "{longest}");
    }

    #[test]
    fn text_stays_on_one_line_and_moves_no_cursor() {
        let plain = "größer — a: b / c? d # e @ f";
        for (text, expected) in [
            (plain, plain),
            ("a\r\nb\tc", "a b c"),
            ("a\u{2028}b\u{85}c", "a b c"),
            ("\u{1b}[2Jred\u{7}", "\\u{1b}[2Jred\\u{7}"),
            ("\u{202e}gpj.exe", "\\u{202e}gpj.exe"),
        ] {
            assert_eq!(shown(text), expected);
        }
        assert_eq!(format!("{:#}", Loggable(format_args!("{}", "a\n"))), "a ");
    }

    #[test]
    fn a_long_text_is_cut() {
        let most = "ä".repeat(LONGEST);
        assert_eq!(shown(&most), most);
        assert_eq!(shown(&format!("{most}b")), format!("{most}…"));
        // The host may be the beginning of a name and a password.
        let before = "a".repeat(LONGEST - 8);
        for (after, cut) in [("ann:password@h", "…"), ("ann/bcdefg", "ann/b…")] {
            let text = shown(&format!("{before}://{after}"));
            assert_eq!(text, format!("{before}://{cut}"));
        }
    }

    #[test]
    fn of_a_url_only_what_is_no_secret() {
        for (text, expected) in [
            ("http://a/b", "http://a/b"),
            ("http://a:80/b?c=d", "http://a:80/b?…"),
            ("https://a#b?c", "https://a#…"),
            ("get (http://a/b?c=d): no", "get (http://a/b?…): no"),
            ("<http://a/?b> \"c://d?e\"?", "<http://a/?…> \"c://d?…\"?"),
            ("http://ann:pw@a/b", "http://…@a/b"),
            ("http://ann:p@w@a:1", "http://…@a:1"),
            ("redis://:pw@a", "redis://…@a"),
            ("http://a/http://ann:pw@b/?c", "http://a/http://…@b/?…"),
            ("a://a/?u=b://ann:pw@b/ c://c/?d", "a://a/?… c://c/?…"),
            ("redis://ann:password…", "redis://ann:…"),
            ("redis://ann:123456", "redis://ann:…"),
            ("https://token…", "https://…"),
            ("http://[::1]:8080/a", "http://[::1]:8080/a"),
            ("http://[::1]:p", "http://[::1]:…"),
            ("(at http://a:65535): b", "(at http://a:65535): b"),
            ("http://", "http://"),
        ] {
            assert_eq!(shown(text), expected, "{text}");
        }
    }

    proptest! {
        #[test]
        fn a_rounded_duration_is_near(seconds in 0..u64::MAX, nanos in 0..1_000_000_000_u32) {
            let exact = Duration::new(seconds, nanos);
            let shown = Rounded(exact).to_string();
            prop_assert!(shown.chars().filter(char::is_ascii_digit).count() <= 20, "{shown}");
            let whole = format!("{}s", exact.as_secs() + u64::from(nanos >= 500_000_000));
            prop_assert!(seconds < 1_000 || shown == whole, "{shown}");
        }

        #[test]
        fn no_secret_and_nothing_long_is_written(
            before in "\\PC{0,520}",
            user in "[A-Za-z:%]{0,5}",
            host in "[a-z.]{1,20}(:[0-9]{1,5})?",
            path in "(/[a-z:@.%-]{0,5}){0,3}",
            query in "[A-Za-z0-9&=%._~+/:@!$(),;?#-]{0,30}",
            after in "\\PC{0,20}",
        ) {
            let url = format!("a://{user}SECRET@{host}{path}?{query}SECRET{query}");
            let shown = shown(&format!("{before}{url}{after}"));
            prop_assert!(!shown.contains("SECRET"), "{shown:?}");
            prop_assert!(shown.chars().count() <= 2 * LONGEST, "{shown:?}");
        }
    }
}
