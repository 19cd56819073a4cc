//! The order in which an attempt drops what it made is that of the plain function, in each edition.

use super::*;

/// A body whose drops are seen.
macro_rules! body {
    ($flaky:ident) => {{
        let _local = D("local");
        $flaky.call()?;
        D("tail").name()
    }};
}

type Answer = Result<&'static str, ApiError>;

alike! { async_function [base = "1ms"] |flaky| run(f(flaky, D("argument"))) =>
    pub(super) async fn f(flaky: &Flaky, _arg: D) -> Answer { body!(flaky) }
}

alike! { function_that_returns_a_future [base = "1ms"] |flaky| run(f(flaky)) =>
    pub(super) fn f<'a>(flaky: &'a Flaky) -> Pin<Box<dyn Future<Output = Answer> + Send + 'a>> {
        Box::pin(async move { body!(flaky) })
    }
}

#[async_trait::async_trait]
trait Get {
    async fn get(&self, flaky: &Flaky) -> Answer;
}

struct Plain;
struct Retried;

macro_rules! implement {
    ($name:ident $(#[$attr:meta])*) => {
        #[async_trait::async_trait]
        impl Get for $name {
            $(#[$attr])*
            async fn get(&self, flaky: &Flaky) -> Answer {
                let _second = D("second");
                body!(flaky)
            }
        }
    };
}

implement! { Plain }
implement! { Retried #[retry(base = "1ms")] }

#[test]
fn async_trait_method_and_blocks() {
    same(
        |flaky| run(Plain.get(flaky)),
        |flaky| run(Retried.get(flaky)),
    );
    let plain = |flaky: &Flaky| -> Answer { body!(flaky) };
    same(plain, |flaky| {
        run(retry_block!(base = "1ms", async { body!(flaky) }))
    });
    same(plain, |flaky| retry_block!(base = "1ms", { body!(flaky) }));
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
    fn f(flaky: &Flaky, taken: Copied, read: Copied) -> Answer {
        let _local = D("local");
        flaky.call()?;
        let _taken = taken;
        read.0.name().and_then(|_| D("tail").name())
    }
    let run = || f(&Flaky::failing(0), Copied(D("taken")), Copied(D("read")));
    let (_, dropped) = watched(run);
    assert_eq!(dropped, ["tail", "copy", "local", "copy", "read", "taken"]);
}

alike! { statements_that_wait_with_their_drops [base = "1ms"] |flaky| run(f(flaky)) =>
    pub(super) async fn f(flaky: &Flaky) -> Answer {
        let _ = D("ignored");
        let _kept = D("kept");
        if let Ok(_name) = D("condition").name() {
            let _inside = D("inside");
        } else {
            return Err(ApiError(404));
        }
        flaky.call()?;
        let block = {
            let _inner = D("inner");
            D("end of block").name()?
        };
        Ok(block)
    }
}

alike! { one_expression [base = "1ms"] |flaky| f(flaky, D("argument")) =>
    pub(super) fn f(flaky: &Flaky, _arg: D) -> Answer {
        match (D("scrutinee").name(), flaky.call()?) {
            (name, _) => D("tail").name().and(name),
        }
    }
}
