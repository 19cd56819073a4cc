//! Values that all attempts of an annotated function, or of a block, need.
//!
//! Whether passing a value on consumes it depends on its type: a `Copy` type is copied, and a `&mut` is
//! borrowed again. As in `outcomes`, methods that exist only for some types decide this. Whether a method or
//! a pattern consumes a value is asked by a closure around the use: such a closure can be called only once.

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
    pub const fn __backoff_taken(&self) -> Copied {
        Copied
    }
}

impl<'a, T> Deref for HandedOver<'a, T> {
    type Target = Reborrowed<'a, T>;

    fn deref(&self) -> &Self::Target {
        &self.0
    }
}

impl<T: ?Sized> Reborrowed<'_, &mut T> {
    /// Nothing is taken.
    pub const fn __backoff_taken(&self) -> Copied {
        Copied
    }
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

/// A value that is still there after an attempt.
pub struct Copied;

/// A value that only the first attempt has. The type is not named: for a type with a parameter the
/// compiler would advise to require a hidden trait.
pub struct Consumed;

/// Each attempt of a call has the value, although each attempt passes it on. A trait for each message.
macro_rules! shared {
    ($($name:ident: $message:literal, $label:literal, $note:literal;)*) => {$(
        #[doc = $message]
        #[diagnostic::on_unimplemented(message = $message, label = $label, note = $note)]
        pub trait $name: Sized {
            /// Never called.
            fn by_all_attempts(self) {}
        }

        #[diagnostic::do_not_recommend]
        impl $name for Copied {}

        #[diagnostic::do_not_recommend]
        impl<F: FnMut() -> R, R> $name for F {}
    )*};
}

shared! {
    Shared: "the first attempt consumes this value, and the next attempt needs it too",
        "its type is not `Copy`: add the key `clone(..)` with the name of this variable",
        "with `clone(..)` each attempt gets its own copy; if the type is not `Clone`, or if an attempt only reads the value, pass `&name`";
    SharedSelf: "the first attempt consumes `self`, and the next attempt needs it too",
        "its type is not `Copy`: begin the body with `let this = self.clone();`, and pass `this`",
        "if the type is not `Clone`, or if an attempt only reads `self`, take `&self`";
    SharedPin: "`get_mut` consumes this pin, and the next attempt needs it too",
        "write `.as_mut().get_mut()`",
        "`as_mut` needs `mut` before the name in the arguments, and the name in the key `keep(..)`";
    Kept: "an attempt cannot give away what `keep(..)` keeps, because the next attempt needs it too",
        "write `std::mem::take(&mut ..)` with the name of this variable",
        "`take` leaves the default value behind; for another value write `std::mem::replace`";
}
