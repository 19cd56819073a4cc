//! The reader of times of all hints.

use std::time::{Duration, SystemTime};

/// The most items of a list that are read.
pub(in crate::facts) const MOST_ITEMS: usize = 32;

/// The items of a list.
pub(in crate::facts) fn items(list: &str) -> impl Iterator<Item = &str> {
    list.split(',').take(MOST_ITEMS)
}

/// The longest time of a list. A date has a comma too, but can be read without the day before the comma.
pub(in crate::facts) fn longest(list: &str, unit: &str, sent: SystemTime) -> Option<Duration> {
    let read = |text: &str| time(text.trim_ascii(), unit, sent);
    items(list).filter_map(read).max()
}

/// Whether the text names a moment that has been over for three seconds. Senders cut parts of a second off.
#[cfg(all(feature = "rate", feature = "http-1"))]
pub(in crate::facts) fn is_past(text: &str, sent: SystemTime) -> bool {
    const CUT_OFF: Duration = Duration::from_secs(3);
    let from = |moment| longest(text, "s", moment);
    let is_time = || from(SystemTime::UNIX_EPOCH) == Some(Duration::ZERO);
    from(sent - CUT_OFF) == Some(Duration::ZERO) && !is_time()
}

/// The time until the moment that the text names, or the time that the text names. `unit` is the unit of a number that
/// has none.
fn time(text: &str, unit: &str, sent: SystemTime) -> Option<Duration> {
    const YEAR: Duration = Duration::from_secs(365 * 86_400 + 1);
    let Some(number) = billionths(text) else {
        let date = date(text).map(|it| {
            it.duration_since(SystemTime::UNIX_EPOCH)
                .unwrap_or_default()
        });
        return match date {
            // A date that is far away is believed.
            Some(date) => Some(until(date, sent)),
            None => with_units(text),
        };
    };
    let epoch = match number / BILLION {
        0..1_000_000_000 => return span(number, unit),
        1_000_000_000..1_000_000_000_000 => span(number, "s"),
        _ if number == u128::MAX => return Some(Duration::MAX),
        _ => span(number, "ms"),
    };
    let until = until(epoch?, sent);
    (until <= YEAR).then_some(until)
}

/// The time until this moment. Senders cut parts of a second off: a moment without them is the end of its second.
fn until(mut moment: Duration, sent: SystemTime) -> Duration {
    if moment.subsec_nanos() == 0 {
        moment += Duration::from_secs(1);
    }
    let now = sent.duration_since(SystemTime::UNIX_EPOCH);
    moment.saturating_sub(now.unwrap_or_default())
}

const BILLION: u128 = 1_000_000_000;

/// A number of digits with at most one point, in billionths, rounded up. `u128::MAX` if the number is beyond `u64`.
pub(in crate::facts) fn billionths(number: &str) -> Option<u128> {
    let (whole, decimals) = number.split_once('.').unwrap_or((number, ""));
    let mut digits = whole.bytes().chain(decimals.bytes());
    if matches!(number, "" | ".") || !digits.all(|digit| digit.is_ascii_digit()) {
        return None;
    }
    let Ok(whole) = format!("0{whole}").parse::<u64>() else {
        return Some(u128::MAX);
    };
    let (nine, rest) = decimals.split_at(decimals.len().min(9));
    let part: u128 = format!("{nine:0<9}").parse().ok()?;
    let is_more = rest.bytes().any(|digit| digit != b'0');
    Some(u128::from(whole) * BILLION + part + u128::from(is_more))
}

/// So many billionths of a unit, rounded up to nanoseconds.
pub(super) fn span(billionths: u128, unit: &str) -> Option<Duration> {
    let unit = humantime::parse_duration(&format!("1{unit}")).ok()?;
    let nanos = billionths.saturating_mul(unit.as_nanos()).div_ceil(BILLION);
    let (seconds, nanos) = (nanos / BILLION, (nanos % BILLION) as u32);
    Some(u64::try_from(seconds).map_or(Duration::MAX, |it| Duration::new(it, nanos)))
}

/// The sum of numbers with units.
fn with_units(mut text: &str) -> Option<Duration> {
    let mut sum = Duration::ZERO;
    loop {
        let (number, rest) = text.split_at(text.find(char::is_alphabetic)?);
        let end = rest.find(|c: char| !c.is_alphabetic());
        let (unit, rest) = rest.split_at(end.unwrap_or(rest.len()));
        sum = sum.saturating_add(span(billionths(number.trim_ascii())?, unit)?);
        if rest.is_empty() {
            return Some(sum);
        }
        text = rest;
    }
}

/// A moment of RFC 3339, or a date of HTTP in any of its three forms, without the day before the comma.
pub(super) fn date(text: &str) -> Option<SystemTime> {
    const MONTHS: [&str; 12] = [
        "JAN", "FEB", "MAR", "APR", "MAY", "JUN", "JUL", "AUG", "SEP", "OCT", "NOV", "DEC",
    ];
    let text = text.to_ascii_uppercase();
    let parts = text.split([' ', '-']).filter(|part| !part.is_empty());
    let moment = match parts.take(6).collect::<Vec<_>>()[..] {
        _ if !text.starts_with(char::is_alphanumeric) => return None,
        [day, month, year, time, "GMT" | "UTC" | "+0000"]
        | [_, day, month, year, time, "GMT" | "UTC" | "+0000"]
        | [_, month, day, time, year] => {
            let month = MONTHS.iter().position(|it| *it == month)? + 1;
            let century = match year.len() {
                2 if year < "70" => "20",
                2 => "19",
                _ => "",
            };
            format!("{century}{year}-{month:02}-{day:0>2}T{time:0>8}Z")
        }
        _ => text,
    };
    let (local, zone) = moment.split_at(moment.rfind(['Z', '+', '-'])?);
    let zone = zone.replace(':', "");
    let east: i64 = match &*zone {
        "Z" => 0,
        _ => zone.parse().ok().filter(|_| zone.len() == 5)?,
    };
    let seconds = if local.len() == 16 { ":00" } else { "" };
    let local = humantime::parse_rfc3339_weak(&format!("{local}{seconds}")).ok()?;
    let offset = Duration::from_secs((east / 100 * 3_600 + east % 100 * 60).unsigned_abs());
    match east < 0 {
        true => local.checked_add(offset),
        false => local.checked_sub(offset),
    }
}

#[cfg(test)]
mod tests {
    use super::{
        super::{sent::*, *},
        *,
    };

    /// Rows: the seconds, and the texts that mean them.
    #[test]
    fn every_form_of_a_time() {
        // Numbers are rounded up to nanoseconds. Below 10⁹ a number is no epoch.
        let numbers = "
            120 = 120|120.0|0120|120.| 120\t|120s|2m|2m0s|0h2m|120000ms|2 minutes|1min 60sec
            0 = 0|0.0|000|.0|0s|0m0s
            2.5 = 2.5|02.500|2.5s|2s500ms|0m2.5s|2500ms|2500000us|2500000\u{b5}s
            0.5 = .5|0.5|0.5s|.5s|500ms
            12.493 = 12.493
            179.56 = 2m59.56s
            0.000000001 = 0.0000000001|0.000000001|0.0000000001s|0.1ns
            7.66 = 7.6599999999999|7.6599999999999s|7659.9999999999ms
            999999999 = 999999999
            61 = 1746136938|1746136938.0|1746136938000|1746136938000.0
            60.18 = 1746136938.18|1746136938180|1746136938179.9999999
            1 = 1746136878|1746136878000
            0 = 1746136877|1000000000|1000000000000
            31536001 = 1777672878|1777672878000
        ";
        let dates = "
            61 = Thu, 01 May 2025 22:02:18 GMT|Thursday, 01-May-25 22:02:18 GMT|Thu May  1 22:02:18 2025
            61 = Thu, 1 May 2025 22:02:18 GMT|Thu, 01 May 2025 22:02:18 UTC|Thu, 01 May 2025 22:02:18 +0000
            61 = 01 May 2025 22:02:18 GMT|1 May 2025 22:02:18 utc|Thu, 01-May-2025 22:02:18 GMT
            61 = Thu May 1 22:02:18 2025|Mon, 01 May 2025 22:02:18 GMT|thu, 01 may 2025 22:02:18 gmt
            61 = Thu 01 May 2025 22:02:18 GMT
            1 = Thu, 01 May 2025 22:01:18 GMT|2025-05-01T22:01:18Z
            0 = Wed, 30 Apr 2025 23:00:00 GMT|Thu Jan  1 00:00:00 1970
            61 = 2025-05-01T22:02:18Z|2025-05-01T22:02:18.000Z|2025-05-01t22:02:18z|2025-05-01 22:02:18Z
            61 = 2025-05-01T22:02:18+00:00|2025-05-01T22:02:18-0000|2025-05-02T00:02:18+02:00
            61 = 2025-05-01T18:32:18-03:30
            103 = 2025-05-01T22:03Z|2025-05-01T22:03+00:00|2025-05-01T18:03-0400
            1.25 = 2025-05-01T22:01:19.250Z
            0 = 2025-05-01T22:01:17Z|2001-09-09T01:46:40Z
        ";
        // The longest of a list.
        let lists = "
            30 = 5, 30|30,5|30, 30|, 30,|soon, 30|-40, 30|30, 1s
            31 = 1746136908, 5
            61 = Thu, 01 May 2025 22:02:18 GMT, Thu, 01 May 2025 22:01:50 GMT|5, Thu, 01 May 2025 22:02:18 GMT
        ";
        let rows = [numbers, dates, lists].map(str::lines).into_iter();
        for (seconds, texts) in rows.flatten().filter_map(|row| row.split_once(" = ")) {
            let seconds: f64 = seconds.trim().parse().expect(seconds);
            for text in texts.split('|') {
                let read = retry_after(text, at(SENT));
                assert_eq!(read, Some(nanos(seconds)), "{text:?}");
            }
        }
        let rubbish = "| |-1|+1|-0|-1.5|1e3|1E3|0x10|1 2|1_000|inf|Infinity|nan|NaN|soon|.|1.2.3|1..2|\u{661}|\0|s|ms|\
                       -60s|1m-5s|1q|1.s5|60 s s|\"120\"|120;|(5)|,|, ,|1777672879|1777672880001|18446744073709551615";
        let dates = "06 Nov|-01 May 2025 22:02:18 GMT|-Thu May 1 22:02:18 2025|+Thu May 1 22:02:18 2025|Thu, 01 May 2025|Thu, 32 May 2025 22:02:18 GMT|Thu, 31 Apr 2025 22:02:18 GMT|\
                     Thu, 01 May 2025 24:02:18 GMT|Thu, 01 May 2025 22:02:18|Thu, 01 May 2025 22:02:18 CET|\
                     Thu, 01 Mai 2025 22:02:18 GMT|2025-05-01|2025-05-01T22:02:18|2025-13-01T22:02:18Z|\
                     2025-05-01T22Z|2025-05-01T22:02:18+2|2025-05-01T22:02:18+a:bc|2025-05-01T22:02:18Z5";
        for text in rubbish.split('|').chain(dates.split('|')) {
            assert_eq!(retry_after(text, at(SENT)), None, "{text:?}");
            assert_eq!(retry_after_ms(text, at(SENT)), None, "{text:?}");
        }
    }

    #[test]
    fn the_ends_of_what_is_understood() {
        let beyond = "9".repeat(1_000);
        for text in ["18446744073709551616", "{}", "{}.5s", "1s{}h"] {
            let read = retry_after(&text.replace("{}", &beyond), at(0));
            assert_eq!(read, Some(Duration::MAX), "{text}");
        }
        assert_eq!(retry_after_ms(&beyond, at(0)), Some(Duration::MAX));
        let most = format!("{beyond}.5s");
        for (text, seconds, nanos) in [
            ("0s", 0, 0),
            ("0.000000001s", 0, 1),
            ("1.0000000001s", 1, 1),
            ("3.000001s", 3, 1_000),
            ("315576000000.999999999s", 315_576_000_000, 999_999_999),
            (&most, u64::MAX, 999_999_999),
        ] {
            let delay = Some(Duration::new(seconds, nanos));
            assert_eq!(retry_delay(text), delay, "{text}");
        }
        for text in "|s|1|.s|1ms|-0.5s|NaNs|1.5.5s|1m0s| 1s".split('|') {
            assert_eq!(retry_delay(text), None, "{text:?}");
        }
    }
}
