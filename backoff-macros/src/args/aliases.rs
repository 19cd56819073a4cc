//! What to write instead of an unknown key.

use proc_macro2::{Ident, Literal, Span, TokenStream};
use quote::{ToTokens, quote};
use syn::{Expr, Lit};

use super::key_names::{find, list, names};
use super::key_value::Form;
use super::names::{RETRIES, meanings, snake, split_unit};
use super::table::Key;
use crate::bindings::is_small;
use crate::errors::{did_you_mean, show};
use crate::groups::last_name;

/// A longer value is left out of a message.
const LONGEST: usize = 40;

/// The reader of an argument with a known key.
type Reads<'a> = &'a dyn Fn(TokenStream) -> syn::Result<()>;

/// The message about an unknown key. All keys are listed only if there is no better hint.
pub(super) fn unknown(key: &Ident, value: Option<TokenStream>, reads: Reads<'_>) -> syn::Error {
    let word = key.to_string();
    let hint = instead(&word, value, reads)
        .or_else(|| did_you_mean(&word, names()).map(|meant| format!("write `{meant}`")))
        .unwrap_or_else(list);
    syn::Error::new(key.span(), format!("unknown key `{word}`: {hint}"))
}

/// The end of the sentence that says what to write instead of the unknown key `word`.
fn instead(word: &str, value: Option<TokenStream>, reads: Reads<'_>) -> Option<String> {
    let name = snake(word);
    // `stop = stop_after_attempt(3)`
    if ["retry", "stop", "wait"].contains(&&*name)
        && let Some(value) = &value
        && let Ok(Expr::Call(call)) = syn::parse2(value.clone())
        && let Expr::Path(path) = &*call.func
        && let Some(function) = path.path.get_ident()
        && let Some(instead) = instead(
            &function.to_string(),
            Some(call.args.to_token_stream()),
            reads,
        )
    {
        return Some(instead);
    }
    if let Some(meant) = meaning(&name) {
        return Some(match find(meant) {
            Some(key) => renamed(key, value, reads),
            None if meant == RETRIES => one_more(value),
            None => meant.to_owned(),
        });
    }
    let (stem, unit) = split_unit(&name)?;
    let key = find(meaning(stem)?).filter(|key| key.takes_time())?;
    let value = Literal::string(&format!("{}{unit}", value?));
    Some(renamed(key, Some(quote!(#value)), reads))
}

fn meaning(name: &str) -> Option<&str> {
    let other = meanings(name).map(|[meant, _]| meant);
    other.or(find(name).map(|own| own.name))
}

/// The key with the value, or with the mistake in the value.
fn renamed(key: &Key, value: Option<TokenStream>, reads: Reads<'_>) -> String {
    let Some(value) = value else {
        return format!("write it like `{}`", key.usage);
    };
    // A name in small letters is a function, which judges errors.
    let is_judge = match syn::parse2(value.clone()) {
        Ok(Expr::Closure(_)) => true,
        Ok(Expr::Path(path)) => is_small(&last_name(&path.path)),
        _ => false,
    };
    let key = if key.form == Form::On && is_judge {
        "when"
    } else {
        key.name
    };
    let ident = Ident::new(key, Span::call_site());
    match (reads(quote!(#ident = #value)), show(value)) {
        (Ok(()), shown) if shown.len() <= LONGEST => format!("write `{key} = {shown}`"),
        (Ok(()), _) => format!("write `{key}`"),
        (Err(error), _) => format!("the key is `{key}`, and {error}"),
    }
}

fn one_more(retries: Option<TokenStream>) -> String {
    let more = match retries.map(syn::parse2) {
        Some(Ok(Expr::Lit(literal))) => match literal.lit {
            Lit::Int(retries) => retries.base10_parse::<u32>().ok(),
            _ => None,
        }
        .map(|retries| retries.saturating_add(1).to_string()),
        Some(Ok(Expr::Path(path))) => Some(format!("{} + 1", show(path))),
        _ => None,
    };
    let more = more.unwrap_or_else(|| "..".to_owned());
    format!("write `max_attempts = {more}`, which counts the first call too")
}

#[cfg(test)]
mod tests {
    use super::super::names::all;
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn each_name_stands_once_and_means_a_key_that_there_is() {
        let mut seen = HashSet::new();
        for (name, [meant, _]) in all() {
            assert!(seen.insert(name), "`{name}` stands here twice");
            assert!(find(name).is_none(), "`{name}` is a key");
            let is_sentence = meant.contains(' ') || meant == RETRIES;
            assert!(is_sentence || find(meant).is_some(), "`{meant}` is no key");
        }
        assert!(seen.len() > 150, "{}", seen.len());
    }
}
