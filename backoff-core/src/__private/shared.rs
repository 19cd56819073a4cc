//! Values that all attempts of an annotated function, or of a block, need.
//!
//! Whether passing a value on consumes it depends on its type: a `Copy` type is copied, and a `&mut` is
//! borrowed again. As in `outcomes`, methods that exist only for some types decide this.

use core::{marker::PhantomData, ops::Deref};

/// A value that is passed on. Every attempt has it if its type is `Copy`.
pub struct HandedOver<'a, T>(Reborrowed<'a, T>);

/// Every attempt has the value if its type is `&mut`.
pub struct Reborrowed<'a, T>(Taken<'a, T>);

/// The first attempt takes the value.
pub struct Taken<'a, T>(PhantomData<&'a T>);

impl<'a, T> HandedOver<'a, T> {
    /// The value.
    pub const fn of(_: &'a T) -> Self {
        HandedOver(Reborrowed(Taken(PhantomData)))
    }
}

impl<T: Copy> HandedOver<'_, T> {
    /// Nothing is taken.
    pub const fn __backoff_taken(&self) {}
}

impl<'a, T> Deref for HandedOver<'a, T> {
    type Target = Reborrowed<'a, T>;

    fn deref(&self) -> &Self::Target {
        &self.0
    }
}

impl<T: ?Sized> Reborrowed<'_, &mut T> {
    /// Nothing is taken.
    pub const fn __backoff_taken(&self) {}
}

impl<'a, T> Deref for Reborrowed<'a, T> {
    type Target = Taken<'a, T>;

    fn deref(&self) -> &Self::Target {
        &self.0
    }
}

impl<T> Taken<'_, T> {
    /// The value is taken.
    pub const fn __backoff_taken(&self) -> Consumed {
        Consumed
    }
}

/// A value that only the first attempt has. The type is not named: for a type with a parameter the
/// compiler would advise to require a hidden trait.
pub struct Consumed;

/// A value that all attempts have, although each attempt passes it on.
#[diagnostic::on_unimplemented(
    message = "the first attempt consumes this value, and the next attempt needs it too",
    label = "its type is not `Copy`: add the key `clone(..)` with the name of this variable",
    note = "with `clone(..)` each attempt gets its own copy; if the type is not `Clone`, or if an attempt only reads the value, pass `&name`"
)]
pub trait Shared: Sized {
    /// Never called.
    fn by_all_attempts(self) {}
}

#[diagnostic::do_not_recommend]
impl Shared for () {}

/// As [`Shared`], for `self`.
#[diagnostic::on_unimplemented(
    message = "the first attempt consumes `self`, and the next attempt needs it too",
    label = "its type is not `Copy`: begin the body with `let this = self.clone();`, and pass `this`",
    note = "if the type is not `Clone`, or if an attempt only reads `self`, take `&self`"
)]
pub trait SharedSelf: Sized {
    /// Never called.
    fn by_all_attempts(self) {}
}

#[diagnostic::do_not_recommend]
impl SharedSelf for () {}
