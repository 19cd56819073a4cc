//! The kind of the function, and the part of its body that is repeated: `ending` finds the future that
//! a function returns, `body` finds the place where other attributes have put the statements.

pub(crate) mod async_trait;
pub(crate) mod body;
pub(crate) mod ending;
mod runtime;

use std::collections::HashSet;

use proc_macro2::TokenStream;
use quote::ToTokens;
use syn::{
    Block, Expr, ExprGroup, ExprParen, GenericArgument, ItemFn, PathArguments, PathSegment,
    ReturnType, Type, TypeParamBound,
};

use crate::groups::{flat, inside, last_name, words};
use ending::{async_inside, value};

/// A function, and its findings from one look at the body.
pub(crate) struct Function {
    pub(crate) item: ItemFn,
    pub(crate) shape: Shape,
    /// The names in the body.
    pub(crate) words: HashSet<String>,
}

impl Function {
    pub(crate) fn of(item: ItemFn) -> Self {
        let words = words(&item.block);
        let shape = Shape::of(&item, &words);
        Self { item, shape, words }
    }

    /// Whether `#[async_trait]` has rewritten the body.
    pub(crate) fn is_of_async_trait(&self) -> bool {
        self.shape == Shape::Future && self.words.contains("__ret")
    }
}

/// How the function runs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Shape {
    /// `async fn`
    Async,
    /// An `async fn` that another attribute has made to start a runtime and to run there.
    InRuntime,
    /// The same, with the body at an unknown place.
    Runtime,
    /// Any other function.
    Blocking,
    /// A function that returns a future, its own or a boxed one.
    Future,
}

impl Shape {
    fn of(function: &ItemFn, words: &HashSet<String>) -> Self {
        if function.sig.asyncness.is_some() {
            Shape::Async
        } else if let ReturnType::Type(_, ty) = &function.sig.output
            && (is_future(ty)
                || matches!(inside(ty), Type::Path(_))
                    && value(&function.block).is_some_and(ends_boxed))
        {
            Shape::Future
        } else if !words.contains(runtime::STARTED) {
            Shape::Blocking
        } else if runtime::has_body(function.block.to_token_stream()) {
            Shape::InRuntime
        } else {
            Shape::Runtime
        }
    }
}

const BOXED: [&str; 2] = ["BoxFuture", "LocalBoxFuture"];

/// Whether a type is a future: `impl Future`, a pinned box of a future, or an alias of such a box.
fn is_future(ty: &Type) -> bool {
    let is_alias =
        matches!(inside(ty), Type::Path(path) if BOXED.contains(&&*last_name(&path.path)));
    is_alias || future(ty).is_some()
}

/// `Future<..>` among the bounds of `impl Future` and of `Pin<Box<dyn Future>>`.
fn future(ty: &Type) -> Option<&PathSegment> {
    let bounds = match inside(ty) {
        Type::ImplTrait(ty) => &ty.bounds,
        Type::TraitObject(ty) => &ty.bounds,
        Type::Path(path) if ["Pin", "Box"].contains(&&*last_name(&path.path)) => {
            return arguments(path.path.segments.last()?).find_map(|it| match it {
                GenericArgument::Type(Type::Reference(ty)) => future(&ty.elem),
                GenericArgument::Type(ty) => future(ty),
                _ => None,
            });
        }
        _ => return None,
    };
    bounds.iter().find_map(|bound| match bound {
        TypeParamBound::Trait(it) => it.path.segments.last().filter(|it| it.ident == "Future"),
        _ => None,
    })
}

fn arguments(segment: &PathSegment) -> impl Iterator<Item = &GenericArgument> {
    let arguments = match &segment.arguments {
        PathArguments::AngleBracketed(arguments) => Some(&arguments.args),
        _ => None,
    };
    arguments.into_iter().flatten()
}

/// Whether nothing is known about the type.
pub(crate) fn is_hole(ty: &TokenStream) -> bool {
    flat(ty.clone()).to_string() == "_"
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
pub(crate) fn output(ty: &Type) -> Option<TokenStream> {
    arguments(future(ty)?).find_map(|it| match it {
        GenericArgument::AssocType(it) if it.ident == "Output" => Some(it.ty.to_token_stream()),
        _ => None,
    })
}
