//! Arguments of odd shapes.

use super::*;
use std::borrow::Cow;
use std::marker::PhantomPinned;

#[test]
fn judge_that_is_an_argument() {
    #[retry(base = "1ms", when = judge)]
    async fn by_value(flaky: &Flaky, judge: impl Fn(&ApiError) -> bool) -> Result<u32, ApiError> {
        flaky.call()
    }
    #[retry(base = "1ms", when = judge, until = done, notify = hook, keep(hook))]
    fn all<J, D, N>(flaky: &Flaky, judge: J, done: D, mut hook: N) -> Result<u32, Either>
    where
        J: Fn(&Either) -> bool,
        D: Fn(&u32) -> bool,
        N: FnMut(&backoff_core::Event<'_, Either>),
    {
        Ok(flaky.call()?)
    }
    #[retry(base = "1ms", when = judge, until = done, consecutive = values)]
    fn in_a_row<J, D>(flaky: &Flaky, judge: J, done: D, values: u32) -> Result<u32, Either>
    where
        J: Fn(&Either) -> bool,
        D: Fn(&u32) -> bool,
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
    #[retry(base = "1ms", when = judge)]
    async fn boxed(flaky: &Flaky, judge: Box<dyn Fn(&ApiError) -> bool>) -> Result<u32, ApiError> {
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
    assert_eq!(run(boxed(&Flaky::failing(2), Box::new(judge))), Ok(3));
    let fields = Fields {
        judge: Box::new(judge),
    };
    assert_eq!(fields.get(&Flaky::failing(2)), Ok(3));
    let owned = "owned".to_owned();
    let judge = move |_: &Either| owned.len() == 5;
    let steady = in_a_row(&Flaky::failing(1), &judge, |call| *call != 3, 2);
    assert_eq!(steady.ok(), Some(5));
    let done = all(&Flaky::failing(1), judge, |call| *call > 3, |_| heard += 1);
    // Two waits and a success, three waits and a success.
    assert_eq!((done.ok(), heard), (Some(4), 7));
    let flaky = Flaky::failing(2);
    let text = "text".to_owned();
    let judge = move |_: &ApiError| text.len() == 4;
    let block = retry_block!(base = "1ms", when = judge, { flaky.call() });
    assert_eq!(block, Ok(3));
}

/// A call that is handed one of these leaves it to the next attempt.
#[test]
fn arguments_that_are_handed_over_and_not_consumed() {
    type Lent<'a> = &'a mut u32;
    #[derive(Clone, Copy)]
    struct Id(u32);
    fn add(sum: &mut u32, id: Id) {
        *sum += id.0;
    }
    #[retry(base = "1ms")]
    async fn lent(flaky: &Flaky, sum: Lent<'_>, id: Id) -> Result<u32, ApiError> {
        add(sum, id);
        flaky.call()
    }
    #[retry(base = "1ms")]
    fn generic<T: Into<u32> + Copy>(flaky: &Flaky, sum: Lent<'_>, n: T) -> Result<u32, ApiError> {
        add(sum, Id(Into::into(n)));
        flaky.call()
    }
    #[retry(base = "1ms")]
    fn future<'a>(
        flaky: &'a Flaky,
        sum: Lent<'a>,
        id: Id,
    ) -> impl Future<Output = Result<u32, ApiError>> + 'a {
        async move {
            add(sum, id);
            flaky.call()
        }
    }
    trait Add {
        fn add(self, flaky: &Flaky) -> Result<u32, ApiError>;
    }
    impl Add for &mut u32 {
        #[retry(base = "1ms")]
        fn add(self, flaky: &Flaky) -> Result<u32, ApiError> {
            add(self, Id(1));
            flaky.call()
        }
    }
    let mut sum = 0;
    assert_eq!(run(lent(&Flaky::failing(2), &mut sum, Id(1))), Ok(3));
    assert_eq!(generic(&Flaky::failing(2), &mut sum, 1_u8), Ok(3));
    assert_eq!(run(future(&Flaky::failing(2), &mut sum, Id(1))), Ok(3));
    assert_eq!(Add::add(&mut sum, &Flaky::failing(2)), Ok(3));
    assert_eq!(sum, 12);
}

#[derive(Debug)]
pub(super) struct Either;

impl From<ApiError> for Either {
    fn from(_: ApiError) -> Self {
        Either
    }
}

impl From<backoff_core::NotYet> for Either {
    fn from(_: backoff_core::NotYet) -> Self {
        Either
    }
}

#[test]
fn function_that_is_called_once() {
    both! {
        #[retry(base = "1ms", clone(make))] =>
        pub(super) async fn f(flaky: &Flaky, make: impl FnOnce() -> String + Clone) -> Result<String, ApiError> {
            let made = make();
            flaky.call()?;
            Ok(made)
        }
    }
    let name = "name".to_owned();
    let make = || {
        let name = name.clone();
        move || name
    };
    same(
        |flaky| run(plain::f(flaky, make())),
        |flaky| run(retried::f(flaky, make())),
    );
}

#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct Nothing;

#[test]
fn nothing_and_much() {
    both! {
        #[retry(base = "1ms")] =>
        pub(super) async fn f(flaky: &Flaky, nothing: Nothing, much: [u64; 1024], unit: ()) -> Result<(Nothing, u64), ApiError> {
            flaky.call()?;
            let () = unit;
            std::future::ready(()).await;
            Ok((nothing, much.iter().sum()))
        }
    }
    same(
        |flaky| run(plain::f(flaky, Nothing, [1; 1024], ())),
        |flaky| run(retried::f(flaky, Nothing, [1; 1024], ())),
    );
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

#[test]
fn pinned() {
    both! {
        #[retry(base = "1ms")] =>
        pub(super) async fn f(flaky: &Flaky, stays: Stays) -> Result<u32, ApiError> {
            let pinned = std::pin::pin!(async { flaky.call() });
            pinned.await?;
            Ok(stays.0)
        }
    }
    same(
        |flaky| run(plain::f(flaky, Stays(1, PhantomPinned))),
        |flaky| run(retried::f(flaky, Stays(1, PhantomPinned))),
    );
    let mut stays = Box::pin(Stays(1, PhantomPinned));
    same(|_| Ok(2), |flaky| stays.as_ref().shared(flaky));
    assert_eq!(run(stays.as_mut().mutable(&Flaky::failing(2))), Ok(2));
}

pub(super) struct Page {
    size: u32,
    tags: (Vec<u8>, &'static str),
}

#[test]
fn patterns_and_conversions() {
    both! {
        #[retry(base = "1ms")] =>
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
    let page = || Page {
        size: 1,
        tags: (vec![2], "three"),
    };
    let pair = ("four".to_owned(), 5);
    same(
        |flaky| {
            run(plain::f(
                flaky,
                page(),
                [6, 7, 8, 9],
                &pair,
                "ten",
                "eleven".into(),
                0,
            ))
        },
        |flaky| {
            run(retried::f(
                flaky,
                page(),
                [6, 7, 8, 9],
                &pair,
                "ten",
                "eleven".into(),
                0,
            ))
        },
    );
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
