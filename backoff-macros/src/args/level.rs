//! Reads the level of a log event.

use syn::{Expr, Lit};

use super::bare::bare;
use super::given::Level;
use crate::errors::did_you_mean;

const NAMES: [(&str, &str); 6] = [
    ("off", "Off"),
    ("error", "Error"),
    ("warn", "Warn"),
    ("info", "Info"),
    ("debug", "Debug"),
    ("trace", "Trace"),
];

pub(super) fn level(value: Expr) -> syn::Result<Level> {
    let value = bare(value);
    let variant = |word: &str| NAMES.iter().find(|(own, _)| *own == word);
    if let Expr::Path(path) = &value
        && let Some(name) = path.path.get_ident()
    {
        let word = name.to_string();
        if let Some((_, variant)) = variant(&word) {
            return Ok(Level::Named(name.clone(), variant));
        }
        let close = did_you_mean(&word.to_lowercase(), NAMES.into_iter().map(|(own, _)| own));
        // A name in capitals is a constant of the user, unless it is a level of the log.
        let is_constant = word.to_uppercase() == word && variant(&word.to_lowercase()).is_none();
        if let Some(own) = close.filter(|_| !is_constant) {
            let message = format!("unknown level `{word}`: write `log_waits = {own}`");
            return Err(syn::Error::new_spanned(name, message));
        }
    }
    let Expr::Lit(literal) = &value else {
        return Ok(Level::Expr(value));
    };
    let message = match &literal.lit {
        Lit::Str(text) if variant(&text.value().to_lowercase()).is_some() => format!(
            "a level has no quotes: write `log_waits = {}`",
            text.value().to_lowercase()
        ),
        Lit::Bool(yes) if !yes.value => {
            "`log_waits` takes a level: write `log_waits = off`".to_owned()
        }
        _ => {
            let names: Vec<String> = NAMES.iter().map(|(own, _)| format!("`{own}`")).collect();
            let names = names.join(", ");
            format!("`log_waits` takes a level, without quotes: {names}, or a `LogLevel`")
        }
    };
    Err(syn::Error::new_spanned(value, message))
}
