//! Texts that are almost valid: parts of two samples, with random edits.

use bolero::{TypeGenerator, ValueGenerator, produce};

/// How a text is made. bolero draws one, and makes it smaller when it has found an error.
#[derive(Clone, Debug, TypeGenerator)]
struct Recipe {
    /// The first sample, and how much of it is taken.
    head: (u16, u8),
    /// The second sample, and how much of it is left out.
    tail: (u16, u8),
    /// Nothing is left out of one text in two.
    is_whole: bool,
    edits: [Option<Edit>; 4],
}

#[derive(Clone, Copy, Debug, TypeGenerator)]
enum Edit {
    Insert(u8, u8),
    Replace(u8, u8),
    Remove(u8),
    /// Writes a part again, directly after it.
    Repeat(u8, u8),
    /// Replaces each digit of a number.
    Digit(u8, u8),
}

/// The place of a fraction of 256 within a length.
fn part(of: u8, length: usize) -> usize {
    usize::from(of) * length / 256
}

impl Edit {
    fn apply(self, text: &mut Vec<u8>) {
        let length = text.len();
        match self {
            Edit::Insert(at, byte) => text.insert(part(at, length + 1), byte),
            _ if length == 0 => {}
            Edit::Replace(at, byte) => text[part(at, length)] = byte,
            Edit::Remove(at) => {
                text.remove(part(at, length));
            }
            Edit::Repeat(at, count) => {
                let start = part(at, length);
                let end = length.min(start + usize::from(count % 24));
                let piece = text[start..end].to_vec();
                text.splice(end..end, piece);
            }
            Edit::Digit(at, digit) => {
                let start = part(at, length);
                let digits = text[start..]
                    .iter_mut()
                    .skip_while(|it| !it.is_ascii_digit());
                digits
                    .take_while(|it| it.is_ascii_digit())
                    .for_each(|it| *it = b'0' + digit % 10);
            }
        }
    }
}

impl Recipe {
    fn cook(&self, samples: &[&str]) -> Vec<u8> {
        let sample = |number: u16| samples[usize::from(number) % samples.len()].as_bytes();
        let (head, tail) = (sample(self.head.0), sample(self.tail.0));
        let mut text = if self.is_whole {
            head.to_vec()
        } else {
            [
                &head[..part(self.head.1, head.len())],
                &tail[part(self.tail.1, tail.len())..],
            ]
            .concat()
        };
        self.edits
            .iter()
            .flatten()
            .for_each(|edit| edit.apply(&mut text));
        text
    }
}

/// Bytes that are like the lines of `samples`.
pub(crate) fn bytes(samples: &'static str) -> impl ValueGenerator<Output = Vec<u8>> {
    let samples: Vec<_> = samples.lines().collect();
    produce::<Recipe>().map_gen(move |recipe: Recipe| recipe.cook(&samples))
}

/// Texts that are like the lines of `samples`.
pub(crate) fn texts(samples: &'static str) -> impl ValueGenerator<Output = String> {
    bytes(samples).map_gen(|bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned())
}
