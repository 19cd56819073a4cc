//! Arguments of odd shapes.

use super::*;
use std::borrow::Cow;
use std::marker::PhantomPinned;
use std::sync::Arc;

#[test]
fn judge_that_is_an_argument() {
    #[retry(base = "1ms", when = judge)]
    async fn by_value(flaky: &Flaky, judge: impl Fn(&ApiError) -> bool) -> Result<u32, ApiError> {
        flaky.call()
    }
    #[retry(base = "1ms", when = judge, until = done, consecutive = values, notify = hook, keep(hook))]
    fn all<J, D, N>(
        flaky: &Flaky,
        judge: J,
        done: D,
        values: u32,
        mut hook: N,
    ) -> Result<u32, Error>
    where
        J: Fn(&Error) -> bool,
        D: Fn(&u32) -> bool,
        N: FnMut(&backoff_core::Event<'_, Error>),
    {
        Ok(flaky.call()?)
    }
    #[retry(base = "1ms", when = judge, notify = hook)]
    async fn by_reference(
        flaky: &Flaky,
        judge: &(dyn Fn(&ApiError) -> bool + Sync),
        hook: &mut (dyn FnMut(&backoff_core::Event<'_, ApiError>) + Send),
    ) -> Result<u32, ApiError> {
        flaky.call()
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
    let captured = "captured".to_owned();
    let judge = move |error: &ApiError| error.0 == 503 && captured.len() == 8;
    assert_eq!(run(by_value(&Flaky::failing(2), judge)), Ok(3));
    let mut heard = 0;
    let judge = |error: &ApiError| error.0 == 503;
    let hook = &mut |_: &backoff_core::Event<'_, ApiError>| heard += 1;
    assert_eq!(run(by_reference(&Flaky::failing(2), &judge, hook)), Ok(3));
    let fields = Fields {
        judge: Box::new(judge),
    };
    assert_eq!(fields.get(&Flaky::failing(2)), Ok(3));
    let owned = "owned".to_owned();
    let judge = move |_: &Error| owned.len() == 5;
    let fails = Flaky::failing(1);
    let done = all(&fails, judge, |call| *call != 3, 2, |_| heard += 1);
    // Two waits and a success, three waits and a success.
    assert_eq!((done.ok(), heard), (Some(5), 8));
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

#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct Nothing;

alike! { nothing_and_much [base = "1ms"] |flaky| run(f(flaky, Nothing, [1; 1024], ())) =>
    pub(super) async fn f(flaky: &Flaky, nothing: Nothing, much: [u64; 1024], unit: ()) -> Result<(Nothing, u64), ApiError> {
        flaky.call()?;
        let () = unit;
        std::future::ready(()).await;
        Ok((nothing, much.iter().sum()))
    }
}

pub(super) struct Stays(u32, PhantomPinned);
impl Stays {
    fn add(self: Pin<&Self>) -> u32 {
        self.0 + 1
    }
    #[retry(base = "1ms")]
    async fn mutable(self: Pin<&mut Self>, flaky: &Flaky) -> Result<u32, ApiError> {
        flaky.call()?;
        Ok(self.as_ref().add())
    }
    #[retry(base = "1ms")]
    fn shared(self: Pin<&Self>, flaky: &Flaky) -> Result<u32, ApiError> {
        flaky.call()?;
        Ok(self.add())
    }
}

alike! { pinned_inside [base = "1ms"] |flaky| run(f(flaky, Stays(1, PhantomPinned))) =>
    pub(super) async fn f(flaky: &Flaky, stays: Stays) -> Result<u32, ApiError> {
        let pinned = std::pin::pin!(async { flaky.call() });
        pinned.await?;
        Ok(stays.0)
    }
}

#[test]
fn pinned() {
    let mut stays = Box::pin(Stays(1, PhantomPinned));
    same(|_| Ok(2), |flaky| stays.as_ref().shared(flaky));
    assert_eq!(run(stays.as_mut().mutable(&Flaky::failing(2))), Ok(2));
}

pub(super) struct Page {
    size: u32,
    tags: (Vec<u8>, &'static str),
}

alike! { patterns_and_conversions [base = "1ms"] |flaky| {
        let page = Page { size: 1, tags: (vec![2], "three") };
        let pair = ("four".to_owned(), 5);
        run(f(flaky, page, [6, 7, 8, 9], &pair, "ten", "eleven".into(), 0))
    } =>
    #[allow(clippy::toplevel_ref_arg)]
    pub(super) async fn f(
        flaky: &Flaky,
        Page { size, tags: (ref tags, name) }: Page,
        [first, .., last]: [u32; 4],
        &(ref a, b): &(String, u32),
        text: impl Into<String> + Clone,
        cow: Cow<'_, str>,
        _: u8,
    ) -> Result<String, ApiError> {
        flaky.call()?;
        let text: String = text.clone().into();
        Ok(format!("{size}{tags:?}{name}{first}{last}{a}{b}{text}{cow}"))
    }
}

#[test]
fn mutable_self_gives_back_what_is_owned() {
    struct Reader {
        buffer: Vec<u8>,
    }
    impl Reader {
        #[retry(base = "1ms")]
        async fn fill(&mut self, flaky: &Flaky) -> Result<Vec<u8>, ApiError> {
            self.buffer.push(1);
            flaky.call()?;
            Ok(std::mem::take(&mut self.buffer))
        }
        #[retry(base = "1ms")]
        async fn filled(&self, flaky: &Flaky) -> Result<&[u8], ApiError> {
            flaky.call()?;
            Ok(&self.buffer)
        }
        #[retry(base = "1ms")]
        fn other<'a>(&mut self, flaky: &'a Flaky, text: &'a str) -> Result<&'a str, ApiError> {
            self.buffer.push(1);
            flaky.call()?;
            Ok(text)
        }
    }
    let mut reader = Reader { buffer: Vec::new() };
    assert_eq!(run(reader.fill(&Flaky::failing(2))), Ok(vec![1, 1, 1]));
    assert_eq!(run(reader.filled(&Flaky::failing(2))), Ok(&[][..]));
    assert_eq!(reader.other(&Flaky::failing(2), "text"), Ok("text"));
    assert_eq!(reader.buffer.len(), 3);
}

/// Each attempt begins with what the caller gave.
#[test]
fn copies() {
    #[retry(base = "1ms", clone(seen, name))]
    async fn fresh(
        flaky: &Flaky,
        mut seen: Vec<u32>,
        (name, at): (String, usize),
    ) -> Result<(Vec<u32>, String), ApiError> {
        seen.push(flaky.calls());
        let call = flaky.call()?;
        assert_eq!(at, 7);
        seen.push(call);
        Ok((seen, name))
    }
    // Both may say `mut`.
    #[retry(base = "1ms", clone(mut body, name))]
    fn blocking(flaky: &Flaky, mut body: Vec<u8>, name: String) -> Result<usize, ApiError> {
        body.push(1);
        flaky.call()?;
        Ok(body.len() + name.into_bytes().len())
    }
    #[retry(base = "1ms", clone(mut body))]
    async fn changed(flaky: &Flaky, body: Vec<u8>) -> Result<Box<[u8]>, ApiError> {
        body.push(1);
        let body = body.into();
        flaky.call().map(|_| body)
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
    let got = run(sent(fresh(&Flaky::failing(2), vec![0], (name(), 7))));
    assert_eq!(got, Ok((vec![0, 2, 3], name())));
    same(|_| Ok(5), |flaky| blocking(flaky, vec![], name()));
    same(|_| Ok([1].into()), |flaky| run(changed(flaky, vec![])));
    same(|_| Ok(2), |flaky| run(sent(not_sync(flaky, Cell::new(1)))));
}

/// A pattern that takes nothing from its value, a name that the body binds again, and a kept value that is taken.
#[test]
fn taken_apart_but_not_consumed() {
    enum Limit {
        Of(u32, &'static str),
        Named(String),
        None,
    }
    #[retry(base = "1ms")]
    async fn f(
        flaky: &Flaky,
        limit: Limit,
        more: Option<u32>,
        page: Page,
    ) -> Result<u32, ApiError> {
        let call = flaky.call()?;
        let Page { size, .. } = page;
        let more = if let Some(more) = more {
            more + size
        } else {
            0
        };
        match limit {
            Limit::Of(limit, name) => Ok(call + limit + more + name.len() as u32),
            Limit::Named(ref name) => Ok(name.len() as u32),
            Limit::None => Ok(more),
        }
    }
    #[retry(base = "1ms")]
    fn by_reference(flaky: &Flaky, limit: &Limit, mine: &mut Option<u32>) -> Result<u32, ApiError> {
        flaky.call()?;
        if let Some(mine) = mine {
            *mine += 1;
        }
        match limit {
            Limit::Of(limit, _) => Ok(*limit),
            Limit::Named(name) => Ok(name.len() as u32),
            Limit::None => Ok(0),
        }
    }
    #[retry(base = "1ms", keep(seen))]
    fn taken(flaky: &Flaky, mut seen: Vec<u32>) -> Result<Vec<u32>, ApiError> {
        seen.push(1);
        flaky.call()?;
        Ok(std::mem::take(&mut seen))
    }
    let page = || Page {
        size: 4,
        tags: (vec![], ""),
    };
    let called = |limit| run(f(&Flaky::failing(2), limit, Some(1), page()));
    assert_eq!(called(Limit::Of(1, "ab")), Ok(11));
    assert_eq!(called(Limit::Named("abc".to_owned())), Ok(3));
    assert_eq!(called(Limit::None), Ok(5));
    let mut mine = Some(1);
    assert_eq!(
        by_reference(&Flaky::failing(2), &Limit::None, &mut mine),
        Ok(0)
    );
    assert_eq!(mine, Some(2));
    assert_eq!(taken(&Flaky::failing(2), vec![]), Ok(vec![1, 1, 1]));
}

/// Letters say nothing about a name: each of these is an argument, but for the last one.
#[test]
#[allow(non_snake_case, clippy::let_unit_value)]
fn names_in_any_letters() {
    #[retry(base = "1ms", clone(Seen, 数, B))]
    async fn fresh(
        flaky: &Flaky,
        mut Seen: Vec<u32>,
        mut 数: Vec<u32>,
        B: Vec<u32>,
    ) -> Result<(usize, usize, Box<[u32]>), ApiError> {
        Seen.push(1);
        数.push(1);
        let boxed = B.into_boxed_slice();
        flaky.call()?;
        Ok((Seen.len(), 数.len(), boxed))
    }
    #[retry(base = "1ms", keep(Seen, Whole))]
    fn kept(
        flaky: &Flaky,
        mut Seen: u32,
        (mut Whole @ 0.., _): (u32, u8),
    ) -> Result<(u32, u32), ApiError> {
        Seen += 1;
        Whole += 1;
        flaky.call()?;
        Ok((Seen, Whole))
    }
    struct Once;
    #[retry(base = "1ms")]
    fn constant(flaky: &Flaky, Once: Once) -> Result<Once, ApiError> {
        flaky.call()?;
        Ok(Once)
    }
    let got = run(fresh(&Flaky::failing(2), vec![], vec![], vec![]));
    assert_eq!(got, Ok((1, 1, [].into())));
    assert_eq!(kept(&Flaky::failing(2), 0, (0, 0)), Ok((3, 3)));
    let flaky = Flaky::failing(2);
    assert!(constant(&flaky, Once).is_ok());
    assert_eq!(flaky.calls(), 3);
}

struct Counter(u32);

impl Counter {
    #[retry(base = "1ms", keep(self))]
    fn count(mut self, flaky: &Flaky) -> Result<u32, ApiError> {
        self.0 += 1;
        flaky.call()?;
        Ok(self.0)
    }

    /// It stays owned by the function.
    #[retry(base = "1ms")]
    async fn shared(self: Arc<Self>, flaky: &Flaky) -> Result<u32, ApiError> {
        flaky.call().map(|_| self.0)
    }
}

#[test]
fn changes_that_the_next_attempt_sees() {
    #[retry(base = "1ms", keep(seen))]
    async fn get(flaky: &Flaky, mut seen: Vec<u32>) -> Result<usize, ApiError> {
        seen.push(flaky.calls());
        flaky.call()?;
        Ok(seen.len())
    }
    assert_eq!(run(get(&Flaky::failing(2), vec![])), Ok(3));
    assert_eq!(Counter(0).count(&Flaky::failing(2)), Ok(3));
    let shared = Arc::new(Counter(7));
    assert_eq!(run(shared.shared(&Flaky::failing(2))), Ok(7));
}

#[test]
fn conditions_on_arguments() {
    #[retry(base = "1ms", clone(body, mine))]
    async fn absent(
        flaky: &Flaky,
        #[cfg(any())] mut body: Vec<u8>,
        #[cfg(test)] mut mine: Vec<u8>,
    ) -> Result<Vec<u8>, ApiError> {
        #[cfg(any())]
        body.push(1);
        mine.push(1);
        flaky.call()?;
        Ok(mine)
    }
    #[retry(base = "1ms", clone(body))]
    fn either(
        flaky: &Flaky,
        #[cfg(any())] body: String,
        #[cfg(not(any()))] body: Vec<u8>,
    ) -> Result<usize, ApiError> {
        flaky.call()?;
        Ok(body.into_boxed_slice().len())
    }
    assert_eq!(run(absent(&Flaky::failing(2), vec![])), Ok(vec![1]));
    assert_eq!(either(&Flaky::failing(2), vec![1]), Ok(1));
}
