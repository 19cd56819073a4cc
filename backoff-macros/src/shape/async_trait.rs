//! A method that `#[async_trait]` has rewritten before this attribute saw it:
//!
//! ```text
//! fn get<'a>(&'a self, name: String) -> Pin<Box<dyn Future<Output = T> + Send + 'a>> {
//!     Box::pin(async move {
//!         let __self = self;
//!         let mut name = name;
//!         let __ret: T = { the body, with __self };
//!         __ret
//!     })
//! }
//! ```

use proc_macro2::{TokenStream, TokenTree};
use quote::ToTokens;
use syn::{Expr, Local, LocalInit, Pat, PatIdent, PatType, Stmt};

use crate::groups::{any_deep, is_word};

use super::Function;
use super::ending::last_async;

/// The patterns of `let name = name;` and `let mut name = name;`, which `#[async_trait]` writes for arguments before its
/// `let __ret`. In a block without `let __ret`, the same statements are the user's own.
pub(crate) fn rebound(function: &mut Function) -> Vec<&mut PatIdent> {
    if !function.is_of_async_trait() {
        return Vec::new();
    }
    let Some(block) = last_async(&mut function.item) else {
        return Vec::new();
    };
    let stmts = &mut block.block.stmts;
    let end = stmts.iter().position(is_let_ret).unwrap_or_default();
    let patterns = stmts[..end].iter_mut().filter_map(|stmt| match stmt {
        Stmt::Local(Local {
            pat: Pat::Ident(pat),
            init: Some(LocalInit { expr, .. }),
            ..
        }) => matches!(&**expr, Expr::Path(path) if path.path.is_ident(&pat.ident)).then_some(pat),
        _ => None,
    });
    patterns.collect()
}

fn is_let_ret(stmt: &Stmt) -> bool {
    let Stmt::Local(Local {
        pat: Pat::Type(PatType { pat, .. }),
        ..
    }) = stmt
    else {
        return false;
    };
    matches!(&**pat, Pat::Ident(name) if name.ident == "__ret")
}

/// The name that `#[async_trait]` has given to `self`, if it has rewritten the function.
pub(crate) fn renamed_self(function: &mut Function) -> Option<TokenTree> {
    if !function.is_of_async_trait() || !function.words.contains("__self") {
        return None;
    }
    renamed(last_async(&mut function.item)?.block.to_token_stream())
}

/// `let __self = self;`, at any depth: `#[instrument]` puts it deeper.
fn renamed(tokens: TokenStream) -> Option<TokenTree> {
    let mut found = None;
    any_deep(tokens, &mut |tokens| {
        if let [before @ .., word, ret] = tokens
            && is_word(word, "let")
            && is_word(ret, "__ret")
        {
            let is_it = |pair: &&[TokenTree]| {
                is_word(&pair[1], "__self")
                    && (is_word(&pair[0], "let") || is_word(&pair[0], "mut"))
            };
            found = before.windows(2).find(is_it).map(|pair| pair[1].clone());
        }
        found.is_some()
    });
    found
}
