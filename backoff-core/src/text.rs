//! Text for logs and messages: text from other sources is made safe (one line, limited length, and without
//! secrets), and durations are rounded.

mod secrets;

pub use secrets::is_secret;

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

/// The number of characters that are read of a text. The end of a secret may be what shows that it is one.
const MOST: usize = LONGEST + 100;

/// Characters that are invisible or change the direction of the text.
const MARKS: &str = "\u{61c}\u{200e}\u{200f}\u{202a}\u{202b}\u{202c}\u{202d}\u{202e}\u{2066}\u{2067}\u{2068}\u{2069}";

/// Shows a value in a form that is safe for logs.
///
/// - Line breaks and tabs become one space; other control characters, and those that change the
///   direction of the text, become `\u{..}`.
/// - After 500 characters, or fewer if the format has a precision (`{:.200}`), the text ends with `…`.
/// - Escapes of printable ASCII, such as `%3F` and `\u003f`, are undone, because they could hide a secret.
/// - In place of each secret is a `…`. [The page on telemetry](crate::telemetry#secrets) says what counts as a secret.
///
/// The value is written with `{}`, or with `{:#}` if `Loggable` is formatted with `{:#}`. Nothing is
/// allocated.
#[derive(Clone, Copy)]
pub struct Loggable<T>(pub T);

impl<T: fmt::Display> fmt::Display for Loggable<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match f.alternate() {
            true => write_loggable(f, format_args!("{:#}", self.0)),
            false => write_loggable(f, format_args!("{}", self.0)),
        }
    }
}

/// The same of the value's `Debug`, on one line too.
impl<T: fmt::Debug> fmt::Debug for Loggable<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_loggable(f, format_args!("{:?}", self.0))
    }
}

fn write_loggable(f: &mut fmt::Formatter<'_>, value: fmt::Arguments<'_>) -> fmt::Result {
    let mut line = Line::EMPTY;
    // Writing fails where the line is full, and the rest of the text is not needed.
    let is_full = line.write_fmt(value).is_err();
    let text = line.text();
    let most = f.precision().map_or(LONGEST, |most| most.min(LONGEST));
    let shown = text.char_indices().nth(most).map_or(text.len(), |it| it.0);
    secrets::write(f, text, shown, is_full || text.ends_with('…'))
}

/// The beginning of a text on one line.
struct Line {
    bytes: [u8; 4 * MOST],
    length: usize,
    /// The number of characters that still fit.
    left: usize,
}

impl Line {
    const EMPTY: Line = Line {
        bytes: [0; 4 * MOST],
        length: 0,
        left: MOST,
    };

    fn text(&self) -> &str {
        str::from_utf8(&self.bytes[..self.length]).unwrap_or_default()
    }

    /// Adds a character, which may be the end of an escape.
    fn put(&mut self, c: char) -> fmt::Result {
        self.left = self.left.checked_sub(1).ok_or(fmt::Error)?;
        self.length += c.encode_utf8(&mut self.bytes[self.length..]).len();
        let Some((start, c)) = secrets::unescaped(self.text()) else {
            return Ok(());
        };
        self.left += self.length - start;
        self.length = start;
        self.put(c)
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
            c if c.is_control() || MARKS.contains(c) => {
                c.escape_unicode().try_for_each(|c| self.put(c))
            }
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
        let long = "p".repeat(MOST);
        for (after, cut) in [
            ("ann:password@h", "…"),
            (&*long, "…"),
            ("ann/bcdefg", "ann/b…"),
        ] {
            let text = shown(&format!("{before}://{after}"));
            assert_eq!(text, format!("{before}://{cut}"));
        }
        assert_eq!(format!("{:.3}", Loggable("abcd")), "abc…");
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
