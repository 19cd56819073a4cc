//! The order in which an attempt drops what it made is that of the plain function, in each edition.

use super::*;

#[test]
fn async_function() {
    both! {
        #[retry(base = "1ms")] =>
        pub(super) async fn f(flaky: &Flaky, _arg: D) -> Result<&'static str, ApiError> {
            let _local = D("local");
            flaky.call()?;
            D("tail").name()
        }
    }
    same(
        |flaky| run(plain::f(flaky, D("argument"))),
        |flaky| run(retried::f(flaky, D("argument"))),
    );
}

#[test]
fn blocking_function() {
    both! {
        #[retry(base = "1ms")] =>
        pub(super) fn f(flaky: &Flaky, _arg: D) -> Result<&'static str, ApiError> {
            let _local = D("local");
            flaky.call()?;
            D("tail").name()
        }
    }
    same(
        |flaky| plain::f(flaky, D("argument")),
        |flaky| retried::f(flaky, D("argument")),
    );
}

#[test]
fn function_that_returns_a_future() {
    both! {
        #[retry(base = "1ms")] =>
        pub(super) fn f<'a>(
            flaky: &'a Flaky,
        ) -> Pin<Box<dyn Future<Output = Result<&'static str, ApiError>> + Send + 'a>> {
            Box::pin(async move {
                let _local = D("local");
                flaky.call()?;
                D("tail").name()
            })
        }
    }
    same(|flaky| run(plain::f(flaky)), |flaky| run(retried::f(flaky)));
}

struct Client;

#[async_trait::async_trait]
trait Plain {
    async fn get(&self, flaky: &Flaky) -> Result<&'static str, ApiError>;
}

#[async_trait::async_trait]
trait Retried {
    async fn get(&self, flaky: &Flaky) -> Result<&'static str, ApiError>;
}

macro_rules! implement {
    ($name:ident, $(#[$attr:meta])*) => {
        #[async_trait::async_trait]
        impl $name for Client {
            $(#[$attr])*
            async fn get(&self, flaky: &Flaky) -> Result<&'static str, ApiError> {
                let _first = D("first");
                let _second = D("second");
                flaky.call()?;
                match D("tail").name() {
                    Ok(name) => Ok(name),
                    Err(error) => Err(error),
                }
            }
        }
    };
}

implement!(Plain,);
implement!(Retried, #[retry(base = "1ms")]);

#[test]
fn async_trait_method() {
    same(
        |flaky| run(Plain::get(&Client, flaky)),
        |flaky| run(Retried::get(&Client, flaky)),
    );
}

#[test]
fn async_block() {
    same(
        |flaky| {
            run(async {
                let _local = D("local");
                flaky.call()?;
                D("tail").name()
            })
        },
        |flaky| {
            run(retry_block!(base = "1ms", async {
                let _local = D("local");
                flaky.call()?;
                D("tail").name()
            }))
        },
    );
}

#[test]
fn blocking_block() {
    fn plain(flaky: &Flaky) -> Result<&'static str, ApiError> {
        let _local = D("local");
        flaky.call()?;
        D("tail").name()
    }
    same(plain, |flaky| {
        retry_block!(base = "1ms", {
            let _local = D("local");
            flaky.call()?;
            D("tail").name()
        })
    });
}

struct Copied(D);

impl Clone for Copied {
    fn clone(&self) -> Self {
        Copied(D("copy"))
    }
}

/// The argument itself goes last, after the copy that stands for it in the attempt.
#[test]
fn copies_and_what_they_are_copies_of() {
    #[retry(base = "1ms", clone(taken, read))]
    fn f(flaky: &Flaky, taken: Copied, read: Copied) -> Result<&'static str, ApiError> {
        let _local = D("local");
        flaky.call()?;
        let _taken = taken;
        read.0.name().and_then(|_| D("tail").name())
    }
    let run = || f(&Flaky::failing(0), Copied(D("taken")), Copied(D("read")));
    let (_, dropped) = watched(run);
    assert_eq!(dropped, ["tail", "copy", "local", "copy", "read", "taken"]);
}

#[test]
fn statements_that_wait_with_their_drops() {
    both! {
        #[retry(base = "1ms")] =>
        pub(super) async fn f(flaky: &Flaky) -> Result<&'static str, ApiError> {
            let _ = D("ignored");
            let _kept = D("kept");
            if let Ok(_name) = D("condition").name() {
                let _inside = D("inside");
            } else {
                return Err(ApiError(404));
            }
            flaky.call()?;
            let Some(name) = Some(D("let else")) else {
                return Err(ApiError(404));
            };
            drop(name);
            let block = {
                let _inner = D("inner");
                D("end of block").name()?
            };
            Ok(block)
        }
    }
    same(|flaky| run(plain::f(flaky)), |flaky| run(retried::f(flaky)));
}

#[test]
fn one_expression() {
    both! {
        #[retry(base = "1ms")] =>
        pub(super) fn f(flaky: &Flaky) -> Result<&'static str, ApiError> {
            match (D("scrutinee").name(), flaky.call()?) {
                (name, _) => D("tail").name().and(name),
            }
        }
    }
    same(plain::f, retried::f);
}
