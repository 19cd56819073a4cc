//! From tokens to tokens: the attribute and the block.

use crate::{
    args::{self, block::AroundBlock, renamed_self::with_self},
    check::{self, signature::signature},
    errors, expand, groups, hints,
    shape::{Function, async_trait::renamed_self},
};
use proc_macro2::{Ident, Span, TokenStream, TokenTree};
use quote::{ToTokens, quote, quote_spanned};

/// Parses, checks and expands. If something is wrong, the item itself is still written, so that its
/// uses do not fail too.
pub(crate) fn retry_in(default_crate: &str, args: TokenStream, item: TokenStream) -> TokenStream {
    let mut errors = errors::Errors::default();
    let mut function = errors.take(check::function(item.clone()).map(Function::of));
    let this = function.as_mut().and_then(renamed_self);
    let args = groups::needless(args);
    let given = match this {
        Some(this) => with_self(args, &this),
        None => args,
    };
    let args = args::parse(given.clone(), &mut errors);
    check::arguments(&args, &mut errors);
    if let Some(function) = &mut function {
        signature(function, &args, &mut errors);
        check::tail(&mut function.item);
    }
    let library = path_of(default_crate);
    let errors = errors.into_compile_errors();
    let first = item.clone().into_iter().next();
    let written = match function {
        Some(function) => expand::function(library.clone(), &args, &given, function, errors),
        // The compiler refuses an attribute on a block, and takes no error behind the block.
        None if matches!(&first, Some(TokenTree::Group(_))) => item,
        None => quote!(#item #errors),
    };
    let library = args
        .krate
        .map_or(library, |path| path.value.into_token_stream());
    hints::in_body(&library, given, written)
}

/// The path of the library, unless the user gives another.
pub(crate) fn path_of(default_crate: &str) -> TokenStream {
    let name = Ident::new(default_crate, Span::mixed_site());
    quote_spanned!(name.span()=> ::#name)
}

/// The same for a block: the block is written even if its arguments are wrong.
pub(crate) fn retry_block_in(input: TokenStream) -> TokenStream {
    let mut errors = errors::Errors::default();
    let AroundBlock {
        library,
        args: given,
        block,
    } = AroundBlock::of(groups::needless(input));
    let args = args::parse(given.clone(), &mut errors);
    check::arguments(&args, &mut errors);
    let parsed = errors.take(check::block(block.clone(), &args));
    match (errors.into_compile_errors(), parsed) {
        (None, Some(parsed)) => expand::block(library, &args, parsed),
        (errors, parsed) => {
            let hints = hints::of(&library, given);
            let errors = errors.unwrap_or_default();
            let block = expand::refused_block(library, &args, parsed, block, &errors);
            quote!({ #hints #block })
        }
    }
}
