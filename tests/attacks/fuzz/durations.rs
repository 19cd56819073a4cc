//! Durations of up to four parts, which are added.

use bolero::TypeGenerator;
use std::time::Duration;

#[derive(Clone, Debug, TypeGenerator)]
struct Part {
    whole: u32,
    decimals: Option<u16>,
    unit: u8,
    is_spaced: bool,
}

const UNITS: [(&str, u128); 8] = [
    ("ns", 1),
    ("us", 1_000),
    ("µs", 1_000),
    ("ms", 1_000_000),
    ("s", 1_000_000_000),
    ("m", 60_000_000_000),
    ("h", 3_600_000_000_000),
    ("d", 86_400_000_000_000),
];

#[test]
fn parts_are_added() {
    bolero::check!()
        .with_type::<[Option<Part>; 4]>()
        .for_each(|parts| {
            let (mut text, mut sum) = (String::new(), Some(0_u128));
            for part in parts.iter().flatten() {
                let (unit, scale) = UNITS[usize::from(part.unit) % UNITS.len()];
                text += &part.whole.to_string();
                let mut nanos = Some(u128::from(part.whole) * scale);
                if let Some(decimals) = part.decimals {
                    text += &format!(".{decimals:05}");
                    let product = u128::from(decimals) * scale;
                    nanos = nanos
                        .filter(|_| product % 100_000 == 0)
                        .map(|it| it + product / 100_000);
                }
                text += if part.is_spaced { " " } else { "" };
                text += unit;
                sum = sum.zip(nanos).map(|(sum, nanos)| sum + nanos);
            }
            let sum = sum.filter(|_| !text.is_empty());
            let expected = sum
                .map(|it| Duration::new((it / 1_000_000_000) as u64, (it % 1_000_000_000) as u32));
            assert_eq!(corpus::durations::parse(&text).ok(), expected, "{text}");
        });
}
