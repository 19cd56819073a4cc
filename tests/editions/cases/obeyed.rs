//! What the messages advise compiles, and repeats what it should.

use super::*;

#[derive(Debug, PartialEq, Fault)]
enum Reply {
    Api(#[fault(status)] u16),
    #[fault(transient)]
    Busy {
        #[fault(retry_after)]
        wait: Option<Duration>,
    },
}

#[derive(Debug, PartialEq, Fault)]
enum Outer {
    #[fault(forward)]
    Reply(Reply),
    Marked(#[fault(forward)] Reply),
}

#[test]
fn a_forwarded_error_is_judged_by_its_own_facts() {
    #[retry(base = "1ms", on = [503])]
    async fn f(calls: &Cell<u32>, error: fn() -> Outer) -> Result<u32, Outer> {
        calls.set(calls.get() + 1);
        Err(error())
    }
    let calls = |error| {
        let calls = Cell::new(0);
        assert_eq!(run(f(&calls, error)), Err(error()));
        calls.get()
    };
    assert_eq!(calls(|| Outer::Reply(Reply::Api(404))), 1);
    assert_eq!(calls(|| Outer::Reply(Reply::Api(503))), 5);
    assert_eq!(calls(|| Outer::Marked(Reply::Api(404))), 1);
    assert_eq!(calls(|| Outer::Marked(Reply::Busy { wait: None })), 5);
}

#[test]
fn a_kept_value_is_taken_and_a_pin_is_borrowed_again() {
    #[derive(Debug, Default, PartialEq)]
    struct Seen(Vec<u32>);
    impl Seen {
        #[retry(base = "1ms", keep(self))]
        async fn given(mut self, flaky: &Flaky) -> Result<Self, ApiError> {
            self.0.push(1);
            flaky.call()?;
            Ok(std::mem::take(&mut self))
        }
        #[retry(base = "1ms", keep(self))]
        fn pinned(mut self: Pin<&mut Self>, flaky: &Flaky) -> Result<usize, ApiError> {
            let seen = self.as_mut().get_mut();
            seen.0.push(1);
            flaky.call()?;
            Ok(seen.0.len())
        }
        #[retry(base = "1ms")]
        fn copied(self, flaky: &Flaky) -> Result<usize, ApiError> {
            let this = Self(self.0.clone());
            let Self(seen) = this;
            Ok(flaky.call()? as usize + seen.len())
        }
    }
    assert_eq!(
        run(Seen::default().given(&Flaky::failing(2))),
        Ok(Seen(vec![1; 3]))
    );
    assert_eq!(
        Pin::new(&mut Seen::default()).pinned(&Flaky::failing(2)),
        Ok(3)
    );
    assert_eq!(Seen::default().copied(&Flaky::failing(2)), Ok(3));
}

#[test]
fn a_statement_becomes_a_block() {
    fn blocking(flaky: &Flaky) -> Result<u32, ApiError> {
        let call = retry_block!(base = "1ms", { flaky.call() })?;
        Ok(call)
    }
    async fn awaited(flaky: &Flaky) -> Result<u32, ApiError> {
        let call = retry_block!(base = "1ms", async {
            std::future::ready(flaky.call()).await
        })
        .await?;
        Ok(call)
    }
    assert_eq!(blocking(&Flaky::failing(2)), Ok(3));
    assert_eq!(run(awaited(&Flaky::failing(2))), Ok(3));
}
