//! The outcome of an attempt of an annotated function.

/// A value in code that is compiled only for its types, because an argument is refused.
#[must_use]
pub fn placeholder<T>() -> T {
    loop {
        core::hint::spin_loop();
    }
}

/// The return value of an annotated function.
#[diagnostic::on_unimplemented(
    message = "`#[retry]` needs a function that returns `Result`",
    label = "`{Self}` does not say whether the attempt failed: write `-> Result<T, E>`",
    note = "an `Option` becomes a `Result` by `.ok_or(error)`; a future is `impl Future<Output = Result<T, E>>`",
    note = "a function whose return type is another name for a boxed future ends with `Box::pin(async move {{ .. }})`"
)]
pub trait Outcome {
    /// The error of a failure.
    type Error;

    /// The value of a success.
    type Value;

    /// The outcome of a call without an attempt.
    fn failed(error: Self::Error) -> Self;

    /// The error, if the outcome is an error.
    fn error(&self) -> Option<&Self::Error>;

    /// The value, if the outcome is a success.
    fn value(&self) -> Option<&Self::Value>;
}

#[diagnostic::do_not_recommend]
impl<T, E> Outcome for Result<T, E> {
    type Error = E;
    type Value = T;

    #[inline]
    fn failed(error: E) -> Self {
        Err(error)
    }

    #[inline]
    fn error(&self) -> Option<&E> {
        self.as_ref().err()
    }

    #[inline]
    fn value(&self) -> Option<&T> {
        self.as_ref().ok()
    }
}
