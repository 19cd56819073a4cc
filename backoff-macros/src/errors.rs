//! Collects all mistakes in one use of a macro, so that they are reported at once.

use proc_macro2::TokenStream;
use quote::ToTokens;

/// The mistakes found so far.
#[derive(Default)]
pub(crate) struct Errors(Option<syn::Error>);

impl Errors {
    /// Adds a mistake with the place of `tokens`.
    pub(crate) fn at(&mut self, tokens: impl ToTokens, message: impl Into<String>) {
        let (tokens, message) = (tokens.into_token_stream(), message.into());
        self.push(syn::Error::new_spanned(tokens, message));
    }

    /// Adds a mistake that already has its place.
    pub(crate) fn push(&mut self, error: syn::Error) {
        match &mut self.0 {
            Some(all) => all.combine(error),
            None => self.0 = Some(error),
        }
    }

    /// The value. An error is added to the mistakes, and then there is no value.
    pub(crate) fn take<T>(&mut self, result: syn::Result<T>) -> Option<T> {
        result.map_err(|error| self.push(error)).ok()
    }

    /// One `compile_error!` for each mistake, or `None` without a mistake.
    pub(crate) fn into_compile_errors(self) -> Option<TokenStream> {
        self.0.map(syn::Error::into_compile_error)
    }

    /// All mistakes as one error, or `None` without a mistake.
    pub(crate) fn into_error(self) -> Option<syn::Error> {
        self.0
    }

    /// The messages, in the order they were found.
    #[cfg(test)]
    pub(crate) fn messages(self) -> Vec<String> {
        self.0
            .into_iter()
            .flatten()
            .map(|error| error.to_string())
            .collect()
    }
}

/// The names in backticks, with commas between them.
pub(crate) fn listed<'a>(names: impl Iterator<Item = &'a str>) -> String {
    let names: Vec<String> = names.map(|name| format!("`{name}`")).collect();
    names.join(", ")
}

/// Tokens as a user would write them: without the blanks between them.
pub(crate) fn show(tokens: impl ToTokens) -> String {
    shown(tokens.to_token_stream().to_string())
}

fn shown(mut shown: String) -> String {
    for (from, to) in [
        (" ..= ", "..="),
        (" .. ", ".."),
        (" :: ", "::"),
        (" . ", "."),
        (" ,", ","),
        (" ()", "()"),
        (" (", "("),
        ("& ", "&"),
        ("&&", "&& "),
        ("{..", "{ .."),
        (",..", ", .."),
        ("..}", ".. }"),
    ] {
        shown = shown.replace(from, to);
    }
    // The arguments of a closure.
    match shown
        .strip_prefix("| ")
        .and_then(|closure| closure.split_once(" |"))
    {
        Some((arguments, body)) => format!("|{arguments}|{body}"),
        None => shown,
    }
}

/// A type as a user would write it.
pub(crate) fn show_type(ty: impl ToTokens) -> String {
    let shown = show(ty).replace(" <", "<").replace("< ", "<");
    shown.replace(" >", ">")
}

/// The candidate that `word` most likely means: at most one mistake in three letters.
pub(crate) fn did_you_mean<'a>(
    word: &str,
    candidates: impl IntoIterator<Item = &'a str>,
) -> Option<&'a str> {
    candidates
        .into_iter()
        .map(|candidate| (distance(word, candidate), candidate))
        .filter(|&(distance, candidate)| distance * 3 <= candidate.len().max(3))
        .min_by_key(|&(distance, _)| distance)
        .map(|(_, candidate)| candidate)
}

/// The number of letters to insert, drop, replace or swap with their neighbour to turn `a` into `b`.
fn distance(a: &str, b: &str) -> usize {
    let (a, b): (Vec<char>, Vec<char>) = (a.chars().collect(), b.chars().collect());
    let mut table = vec![vec![0; b.len() + 1]; a.len() + 1];
    for i in 0..=a.len() {
        for j in 0..=b.len() {
            table[i][j] = if i == 0 || j == 0 {
                i + j
            } else {
                let replaced = table[i - 1][j - 1] + usize::from(a[i - 1] != b[j - 1]);
                let best = replaced.min(table[i - 1][j] + 1).min(table[i][j - 1] + 1);
                let swapped = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
                if swapped {
                    best.min(table[i - 2][j - 2] + 1)
                } else {
                    best
                }
            };
        }
    }
    table[a.len()][b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_are_shown_as_they_are_written() {
        for written in ["|e| e.is(a::B, 500..=504)", "call(\"\", &x) && f()"] {
            let tokens: TokenStream = written.parse().unwrap();
            assert_eq!(show(tokens), written);
        }
    }

    #[test]
    fn finds_the_word_that_was_meant() {
        let keys = ["base", "deadline", "max_attempts", "on"];
        assert_eq!(did_you_mean("dedline", keys), Some("deadline"));
        assert_eq!(did_you_mean("bsae", keys), Some("base"));
        assert_eq!(did_you_mean("max_atempts", keys), Some("max_attempts"));
        assert_eq!(did_you_mean("colour", keys), None);
        assert_eq!(did_you_mean("", keys), None);
    }

    #[test]
    fn a_swap_of_neighbours_is_one_mistake() {
        assert_eq!(distance("abcd", "abdc"), 1);
        assert_eq!(distance("abcd", "bcd"), 1);
        assert_eq!(distance("", "abc"), 3);
    }
}
