//! The names that the arguments bind.

use proc_macro2::Ident;
use syn::{Attribute, FnArg, Pat, PatIdent, Signature, Token, Type};

use crate::groups::inside;
use crate::patterns::each_name;
use crate::shape::Function;
use crate::shape::async_trait::rebound;

/// A name that an argument binds.
pub(crate) struct Binding {
    pub(crate) name: Ident,
    /// The `mut` of a name that owns its value.
    pub(crate) mutable: Option<Token![mut]>,
    /// Whether the type of the whole argument begins with `&`.
    pub(crate) is_reference: bool,
    /// Whether that type begins with `&mut` or `&'a mut`.
    pub(crate) is_mut_reference: bool,
    /// The `#[cfg(..)]` of the argument: if its condition is false, the name does not exist.
    pub(crate) cfgs: Vec<Attribute>,
}

/// All names that the arguments bind, except `self`. `#[async_trait]` has moved their `mut` into the
/// body.
pub(crate) fn of(function: &mut Function) -> Vec<Binding> {
    let mut bound = of_signature(&function.item.sig);
    for pat in rebound(function) {
        let mut moved = bound.iter_mut().filter(|binding| binding.name == pat.ident);
        if let Some(binding) = moved.next() {
            binding.mutable = pat.mutability.or(binding.mutable);
        }
    }
    bound
}

fn of_signature(sig: &Signature) -> Vec<Binding> {
    let mut found = Vec::new();
    for input in &sig.inputs {
        let FnArg::Typed(typed) = input else { continue };
        let reference = match (inside(&typed.ty), &*typed.pat) {
            (Type::Reference(reference), Pat::Ident(_)) => Some(reference),
            _ => None,
        };
        let cfgs = cfgs(&typed.attrs);
        each_name(&mut typed.pat.clone(), &mut |name| {
            found.push(Binding {
                mutable: name.mutability,
                name: name.ident.clone(),
                is_reference: reference.is_some(),
                is_mut_reference: reference.is_some_and(|it| it.mutability.is_some()),
                cfgs: cfgs.clone(),
            });
        });
    }
    found
}

/// The `#[cfg(..)]` among the attributes.
pub(crate) fn cfgs(attrs: &[Attribute]) -> Vec<Attribute> {
    let cfgs = attrs.iter().filter(|it| it.path().is_ident("cfg"));
    cfgs.cloned().collect()
}

/// The argument of this name.
pub(crate) fn named<'a>(bound: &'a [Binding], name: &Ident) -> Option<&'a Binding> {
    bound.iter().find(|binding| binding.name == *name)
}

/// Whether a name is, by its letters, a variable, a function or a primitive type.
pub(crate) fn is_small(name: &(impl ToString + ?Sized)) -> bool {
    let name = name.to_string();
    let name = name.trim_start_matches("r#").trim_start_matches('_');
    !name.starts_with(char::is_uppercase)
}

/// The arguments without the `mut` before these names.
pub(crate) fn without_mut(function: &mut Function, names: &[Ident]) {
    let drop_mut = &mut |name: &mut PatIdent| {
        if names.contains(&name.ident) {
            name.mutability = None;
        }
    };
    for input in &mut function.item.sig.inputs {
        if let FnArg::Typed(typed) = input {
            each_name(&mut typed.pat, drop_mut);
        }
    }
    rebound(function).into_iter().for_each(drop_mut);
}
