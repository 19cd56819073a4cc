//! Arguments: borrowed, copied, kept, taken apart, and used in keys.

use super::*;
use std::borrow::Cow;
use std::sync::Arc;

#[test]
fn functions_in_keys_that_are_arguments() {
    #[retry(base = "1ms", when = judge, until = done, consecutive = values, notify = hook, keep(hook))]
    fn owned(
        flaky: &Flaky,
        judge: impl Fn(&Error) -> bool,
        done: impl Fn(&u32) -> bool,
        values: u32,
        mut hook: impl FnMut(&Event<'_, Error>),
    ) -> Result<u32, Error> {
        Ok(flaky.call()?)
    }
    #[retry(base = "1ms", when = judge, notify = hook)]
    async fn borrowed(
        flaky: &Flaky,
        judge: &(dyn Fn(&Error) -> bool + Sync),
        hook: &mut (dyn FnMut(&Event<'_, Error>) + Send),
    ) -> Result<u32, Error> {
        Ok(flaky.call()?)
    }
    struct Fields {
        judge: Box<dyn Fn(&ApiError) -> bool>,
    }
    impl Fields {
        #[retry(base = "1ms", when = self.judge)]
        fn get(&self, flaky: &Flaky) -> Result<u32, ApiError> {
            flaky.call()
        }
    }
    let (mut heard, captured) = (0, "captured".to_owned());
    let judge = |error: &Error| *error == BUSY && captured.len() == 8;
    let hook = &mut |_: &Event<'_, Error>| heard += 1;
    assert_eq!(run(borrowed(&Flaky::failing(2), &judge, hook)), Ok(3));
    let done = |call: &u32| *call != 3;
    let got = owned(&Flaky::failing(1), judge, done, 2, |_| heard += 1);
    // Two waits and a success, three waits and a success.
    assert_eq!((got, heard), (Ok(5), 3 + 4 + 1));
    let judge = Box::new(|error: &ApiError| error.0 == 503);
    assert_eq!(Fields { judge }.get(&Flaky::failing(2)), Ok(3));
}

alike! { function_that_is_called_once [base = "1ms", clone(make)] |flaky| {
        let name = "name".to_owned();
        run(f(flaky, move || name))
    } =>
    pub(super) async fn f(flaky: &Flaky, make: impl FnOnce() -> String + Clone) -> Result<String, ApiError> {
        let made = make();
        flaky.call()?;
        Ok(made)
    }
}

pub(super) struct Marker;

pub(super) struct Page {
    size: u32,
    tags: (Vec<u8>, &'static str),
}

alike! { patterns_and_conversions [base = "1ms"] |flaky| {
        let page = Page { size: 1, tags: (vec![2], "three") };
        let pair = ("four".to_owned(), 5);
        run(f(flaky, page, [6, 7, 8, 9], &pair, "ten", "eleven".into(), 0, Marker))
    } =>
    pub(super) async fn f(
        flaky: &Flaky,
        Page { size, tags: (ref tags, name) }: Page,
        [first, .., last]: [u32; 4],
        &(ref a, b): &(String, u32),
        text: impl Into<String> + Clone,
        cow: Cow<'_, str>,
        _: u8,
        Marker: Marker,
    ) -> Result<String, ApiError> {
        flaky.call()?;
        let (text, Marker): (String, _) = (text.clone().into(), Marker);
        Ok(format!("{size}{tags:?}{name}{first}{last}{a}{b}{text}{cow}"))
    }
}

#[test]
fn self_in_a_pointer() {
    struct Reader(Vec<u8>);
    impl Reader {
        // What is given back is borrowed from another argument.
        #[retry(base = "1ms")]
        async fn fill<'a>(&mut self, flaky: &'a Flaky) -> Result<(Vec<u8>, &'a Flaky), ApiError> {
            self.0.push(1);
            flaky.call()?;
            Ok((std::mem::take(&mut self.0), flaky))
        }
        #[retry(base = "1ms")]
        async fn shared(self: Arc<Self>, flaky: &Flaky) -> Result<usize, ApiError> {
            flaky.call().map(|_| self.0.len())
        }
    }
    let (mut reader, flaky) = (Reader(Vec::new()), Flaky::failing(2));
    let got = run(reader.fill(&flaky)).map(|(seen, flaky)| (seen, flaky.calls()));
    assert_eq!(got, Ok((vec![1, 1, 1], 3)));
    assert_eq!(run(Arc::new(reader).shared(&Flaky::failing(2))), Ok(0));
}

/// Each attempt begins with what the caller gave. Letters say nothing about a name.
#[test]
#[allow(non_snake_case)]
fn copies() {
    #[retry(base = "1ms", clone(Seen, mut 数, name))]
    fn fresh(
        flaky: &Flaky,
        #[cfg(any())] mut Seen: String,
        #[cfg(not(any()))] mut Seen: Vec<u32>,
        #[cfg(test)] mut 数: Vec<u32>,
        (name, at): (String, usize),
    ) -> Result<(Vec<u32>, Box<[u32]>, String), ApiError> {
        Seen.push(flaky.calls());
        数.push(1);
        flaky.call()?;
        assert_eq!(at, 7);
        Ok((Seen, 数.into_boxed_slice(), name))
    }
    // A copy that is not `Sync` travels into the attempt, as the argument does in the plain function.
    #[retry(base = "1ms", clone(cell))]
    async fn not_sync(flaky: &Flaky, cell: Cell<u32>) -> Result<u32, ApiError> {
        cell.set(cell.get() + 1);
        flaky.call()?;
        tokio::task::yield_now().await;
        Ok(cell.get())
    }
    let name = || "four".to_owned();
    let got = fresh(&Flaky::failing(2), vec![0], vec![], (name(), 7));
    assert_eq!(got, Ok((vec![0, 2], [1].into(), name())));
    assert_eq!(run(sent(not_sync(&Flaky::failing(2), Cell::new(1)))), Ok(2));
}

/// The next attempt sees the changes.
#[test]
#[allow(non_snake_case)]
fn kept_arguments() {
    #[retry(base = "1ms", keep(seen, Whole))]
    async fn kept(
        flaky: &Flaky,
        mut seen: Vec<u32>,
        (mut Whole @ 0.., _): (u32, u8),
    ) -> Result<(Vec<u32>, u32), ApiError> {
        seen.push(flaky.calls());
        Whole += 1;
        flaky.call()?;
        Ok((std::mem::take(&mut seen), Whole))
    }
    let got = run(kept(&Flaky::failing(2), vec![], (0, 0)));
    assert_eq!(got, Ok((vec![0, 1, 2], 3)));
}

/// What the messages advise.
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
            flaky.call().map(|_| seen.0.len())
        }
        #[retry(base = "1ms")]
        fn copied(self, flaky: &Flaky) -> Result<usize, ApiError> {
            let Self(seen) = Self(self.0.clone());
            flaky.call().map(|_| seen.len())
        }
    }
    let mut seen = run(Seen::default().given(&Flaky::failing(2))).unwrap();
    assert_eq!(seen, Seen(vec![1; 3]));
    assert_eq!(Pin::new(&mut seen).pinned(&Flaky::failing(2)), Ok(6));
    assert_eq!(seen.copied(&Flaky::failing(2)), Ok(6));
}

/// Patterns that take nothing from their value.
#[test]
fn taken_apart_but_not_consumed() {
    enum Limit {
        Of(u32, &'static str),
        Named(String),
    }
    #[retry(base = "1ms")]
    async fn f(
        flaky: &Flaky,
        limit: Limit,
        more: Option<u32>,
        Page { size, .. }: Page,
    ) -> Result<u32, ApiError> {
        flaky.call()?;
        let more = if let Some(more) = more { more } else { 0 };
        match limit {
            Limit::Of(limit, name) => Ok(limit + more + size + name.len() as u32),
            Limit::Named(ref name) => Ok(name.len() as u32),
        }
    }
    let named = Limit::Named("abc".to_owned());
    for (limit, expected) in [(Limit::Of(1, "ab"), 8), (named, 3)] {
        let (size, tags) = (4, (vec![], ""));
        let page = Page { size, tags };
        let got = run(f(&Flaky::failing(2), limit, Some(1), page));
        assert_eq!(got, Ok(expected));
    }
}
