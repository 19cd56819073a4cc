//! What an attempt of an annotated function comes to.

/// A value in code that is compiled for its types alone, because an argument is refused.
#[must_use]
pub fn placeholder<T>() -> T {
    loop {
        core::hint::spin_loop();
    }
}

/// What an annotated function returns.
#[diagnostic::on_unimplemented(
    message = "`#[retry]` needs a function that returns `Result`",
    label = "`{Self}` does not say whether the attempt failed",
    note = "write `-> Result<T, E>`",
    note = "a function whose return type is another name for a boxed future ends with `Box::pin(async move {{ .. }})`"
)]
pub trait Outcome {
    /// What a failure gives.
    type Error;

    /// What a success gives.
    type Value;

    /// The error, if it is one.
    fn error(&self) -> Option<&Self::Error>;

    /// The value, if it is one.
    fn value(&self) -> Option<&Self::Value>;
}

#[diagnostic::do_not_recommend]
impl<T, E> Outcome for Result<T, E> {
    type Error = E;
    type Value = T;

    #[inline]
    fn error(&self) -> Option<&E> {
        self.as_ref().err()
    }

    #[inline]
    fn value(&self) -> Option<&T> {
        self.as_ref().ok()
    }
}
