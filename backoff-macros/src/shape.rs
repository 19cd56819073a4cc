//! The kind of the function, and the part of its body that is repeated: `ending` finds the future that
//! a function returns, `body` finds the place where other attributes have put the statements.

pub(crate) mod async_trait;
pub(crate) mod body;
pub(crate) mod ending;
pub(crate) mod runtime;

use proc_macro2::{Delimiter, TokenStream, TokenTree};
use quote::ToTokens;
use syn::{Block, Expr, ExprGroup, ExprParen, ItemFn, ReturnType, Signature, Type};

use crate::groups::{flat, inside, last_name, of_type};
use ending::{async_inside, value};

/// How the function runs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Shape {
    /// `async fn`
    Async,
    /// An `async fn` that another attribute has made to start a runtime and to run there.
    InRuntime,
    /// Any other function.
    Blocking,
    /// A function that returns a future, its own or a boxed one.
    Future,
}

impl Shape {
    pub(crate) fn of(function: &ItemFn) -> Self {
        let sig = &function.sig;
        if sig.asyncness.is_some() {
            Shape::Async
        } else if is_future(flat(sig.output.to_token_stream()))
            || returns_a_name(sig) && value(&function.block).is_some_and(ends_boxed)
        {
            Shape::Future
        } else if runtime::is_known(&statements(&function.block)) {
            Shape::InRuntime
        } else {
            Shape::Blocking
        }
    }
}

fn statements(block: &Block) -> TokenStream {
    block.stmts.iter().map(ToTokens::to_token_stream).collect()
}

const BOXED: [&str; 2] = ["BoxFuture", "LocalBoxFuture"];

/// Whether `-> Type` is a future: `impl Future`, a pinned box of a future, or an alias of such a box.
fn is_future(output: TokenStream) -> bool {
    let mut tokens = output.into_iter().skip_while(|token| {
        matches!(token, TokenTree::Punct(punct) if matches!(punct.as_char(), '-' | '>' | ':'))
    });
    let mut outer = String::new();
    let mut rest = TokenStream::new();
    for token in tokens.by_ref() {
        match &token {
            TokenTree::Ident(word) => {
                outer = word.to_string();
                if matches!(outer.as_str(), "impl" | "dyn") {
                    break;
                }
            }
            TokenTree::Punct(punct) if punct.as_char() == ':' => {}
            _ => {
                rest.extend([token]);
                break;
            }
        }
    }
    rest.extend(tokens);
    match outer.as_str() {
        "impl" => bounds_name_future(rest),
        "Pin" | "Box" => {
            let mut rest = rest.into_iter();
            let is_dyn = rest.any(|token| matches!(&token, TokenTree::Ident(i) if i == "dyn"));
            is_dyn && bounds_name_future(rest.collect())
        }
        name => BOXED.contains(&name),
    }
}

/// Whether `Future<..>` is one of the bounds that come first.
fn bounds_name_future(bounds: TokenStream) -> bool {
    of_type(bounds).any(|(open, token)| {
        open == 0 && matches!(token, TokenTree::Ident(word) if word == "Future")
    })
}

/// Whether nothing is known about the type.
pub(crate) fn is_hole(ty: &TokenStream) -> bool {
    flat(ty.clone()).to_string() == "_"
}

/// Whether a type is surely neither a `Result` nor another name for one.
pub(crate) fn cannot_fail(returns: &TokenStream) -> bool {
    const OTHERS: [&str; 27] = [
        "bool", "char", "str", "u8", "u16", "u32", "u64", "u128", "usize", "i8", "i16", "i32",
        "i64", "i128", "isize", "f32", "f64", "Option", "String", "Vec", "HashMap", "HashSet",
        "BTreeMap", "BTreeSet", "Rc", "Arc", "Bytes",
    ];
    let Ok(returns) = syn::parse2::<Type>(returns.clone()) else {
        return false;
    };
    match inside(&returns) {
        Type::Tuple(_) | Type::Reference(_) | Type::Array(_) | Type::Slice(_) => true,
        Type::Path(path) if path.qself.is_none() => OTHERS.contains(&&*last_name(&path.path)),
        _ => false,
    }
}

fn returns_a_name(sig: &Signature) -> bool {
    matches!(&sig.output, ReturnType::Type(_, ty) if matches!(inside(ty), Type::Path(_)))
}

/// Whether the function returns an `async` block in a box: then the type, whatever its name, is a boxed
/// future.
fn ends_boxed(last: &Expr) -> bool {
    let block = |block: &Block| value(block).is_some_and(ends_boxed);
    match last {
        Expr::If(either) => block(&either.then_branch),
        Expr::Match(one_of) => one_of.arms.iter().any(|arm| ends_boxed(&arm.body)),
        Expr::Block(inner) => block(&inner.block),
        Expr::Group(ExprGroup { expr, .. }) | Expr::Paren(ExprParen { expr, .. }) => {
            ends_boxed(expr)
        }
        Expr::Call(_) | Expr::MethodCall(_) => async_inside(&mut last.clone()).is_some(),
        _ => false,
    }
}

/// The output of the future, `None` if the type does not show it: an alias, whatever its name, may put
/// any type around its arguments.
pub(crate) fn output(sig: &Signature) -> Option<TokenStream> {
    output_in(sig.output.to_token_stream())
}

fn output_in(tokens: TokenStream) -> Option<TokenStream> {
    let tokens: Vec<TokenTree> = tokens.into_iter().collect();
    let is = |at: usize, word: &str| {
        tokens
            .get(at)
            .is_some_and(|token| token.to_string() == word)
    };
    let named = (0..tokens.len()).find(|&at| is(at, "Output") && is(at + 1, "="));
    let Some(named) = named else {
        let groups = tokens.into_iter().filter_map(|token| match token {
            TokenTree::Group(group) if group.delimiter() == Delimiter::None => Some(group),
            _ => None,
        });
        return groups.map(|group| group.stream()).find_map(output_in);
    };
    let ty = of_type(tokens.into_iter().skip(named + 2)).map(|(_, token)| token);
    let ty: TokenStream = ty.collect();
    (!ty.is_empty()).then_some(ty)
}
