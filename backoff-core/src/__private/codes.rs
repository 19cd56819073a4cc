//! What stands in `codes![..]` and is no literal.

use crate::facts::codes::Codes;

/// A constant of type `Codes`: nothing else is one.
#[diagnostic::on_unimplemented(
    message = "a list of codes holds numbers and constants of type `Codes`, and no `{Self}`",
    label = "this is `{Self}`",
    note = "a status is written as its number, such as `429`; a gRPC code as `Codes::ABORTED`",
    note = "in the attribute, a variant whose name is in capitals is written with braces: `Error::BUSY {{ .. }}`"
)]
pub trait IsCodes: Sized {
    /// Never called.
    fn of_a_list(self) {}
}

#[diagnostic::do_not_recommend]
impl IsCodes for Codes {}

/// Anything else, so that [`IsCodes`] alone says what is wrong with it.
pub trait NoCodes: Sized {
    /// Never called.
    fn __backoff_codes(self) -> Codes {
        Codes::NONE
    }
}

impl<T> NoCodes for T {}
