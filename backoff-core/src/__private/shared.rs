//! Values that all attempts of an annotated function need.

/// An argument that is handed over by value, and that a later attempt has nevertheless.
#[diagnostic::on_unimplemented(
    message = "the first attempt consumes this argument, and the next one would need it",
    label = "`{Self}` is not `Copy`: write `clone(..)` in the attribute, with the name of this argument",
    note = "with `clone(..)` each attempt gets a copy of its own; where an attempt only reads the argument, write `&name`"
)]
pub trait Shared {
    /// Never called.
    fn by_all_attempts(&self) {}
}

#[diagnostic::do_not_recommend]
impl<T: Copy> Shared for T {}
