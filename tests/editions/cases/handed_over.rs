//! Arguments that are handed over by value and that the next attempt has nevertheless, such as those that hold a
//! `&mut` although their types do not show that.

use super::*;
use std::sync::Arc;

#[derive(Default)]
struct Db(u8);

type Conn<'a> = &'a mut Db;
type Read<'a> = &'a Db;
struct Row<'a>(&'a mut Db);

#[derive(Clone, Copy)]
struct Id(u8);

trait Small: Copy {}
impl Small for u8 {}

type Answer = Result<u8, ApiError>;

/// Each third call succeeds.
fn write(db: &mut Db) -> Answer {
    db.0 += 1;
    if db.0 % 3 == 0 {
        Ok(db.0)
    } else {
        Err(ApiError(503))
    }
}

fn copied<T: Copy>(_: T, db: &mut Db) -> Answer {
    write(db)
}

fn taken<T>(value: T) -> T {
    value
}

#[test]
fn copies() {
    #[retry(base = "1ms")]
    fn many(
        id: Id,
        pair: (u8, Option<&str>),
        call: fn() -> u8,
        none: impl Fn() + Copy,
        read: Read<'_>,
        db: &mut Db,
    ) -> Answer {
        let _ = (taken(id), taken(pair), taken(call), taken(none));
        let _ = taken(read);
        copied(id, db)
    }
    #[retry(base = "1ms")]
    async fn generic<T, S: Small>(value: T, small: S, db: &mut Db) -> Answer
    where
        T: Copy,
    {
        copied(small, &mut Db(2))?;
        copied(value, db)
    }
    #[retry(base = "1ms")]
    fn in_closures(name: String, id: Id, db: &mut Db) -> Answer {
        let of = |name: String| taken(name).len();
        let read = move || taken(id).0;
        assert_eq!(of(name.clone()), usize::from(read()));
        write(db)
    }
    let mut db = Db::default();
    let got = many(Id(1), (1, None), || 1, || {}, &Db(1), &mut db);
    assert_eq!(got, Ok(3));
    assert_eq!(run(generic((), 1_u8, &mut db)), Ok(6));
    assert_eq!(in_closures("a".to_owned(), Id(1), &mut Db(0)), Ok(3));
}

#[test]
fn those_that_hold_a_mutable_reference() {
    #[retry(base = "1ms")]
    async fn alias(db: Conn<'_>, Row(other): Row<'_>) -> Answer {
        write(other)?;
        write(db)
    }
    #[retry(base = "1ms")]
    fn matched(Row(db): &mut Row<'_>) -> Answer {
        write(db)
    }
    #[retry(base = "1ms")]
    fn pair((db, _n): (&mut Db, u8)) -> Answer {
        write(db)
    }
    #[retry(base = "1ms")]
    fn moved<'a>(db: Conn<'a>, id: Id) -> impl Future<Output = Answer> + 'a {
        async move { copied(id, db) }
    }
    let got = run(alias(&mut Db(0), Row(&mut Db(2))));
    assert_eq!(got, Err(ApiError(503)));
    assert_eq!(matched(&mut Row(&mut Db(0))), Ok(3));
    assert_eq!(pair((&mut Db(0), 1)), Ok(3));
    assert_eq!(run(moved(&mut Db(0), Id(1))), Ok(3));
}

/// Every form that passes a value on, with values that all attempts have.
#[test]
fn in_every_form() {
    #[derive(Clone, Copy)]
    struct Pair {
        id: Id,
        small: u8,
    }
    impl Pair {
        #[retry(base = "1ms")]
        fn fields(self, db: &mut Db) -> Answer {
            let id = self.id;
            let parts = (taken(self.id).0, [self.small]);
            assert_eq!((parts, id.0), ((1, [2]), 1));
            write(db)
        }
    }
    #[retry(base = "1ms")]
    async fn forms(id: Id, small: u8, read: Read<'_>, text: &str, db: Conn<'_>) -> Answer {
        let same = id;
        let pair = Pair { id, small };
        let other = (pair, [id, same], { read });
        let wide: u32 = small.into();
        let owned: String = text.into();
        let read = move || read.0 + id.0;
        let task = async move { read() + same.0 };
        assert_eq!((wide, owned.as_str(), task.await), (2, "a", 2));
        assert_eq!(other.0.id.0, 1);
        write(db)
    }
    // Nothing takes the text: it is only named.
    #[retry(base = "1ms")]
    fn lent(text: String, pair: (String, u8), db: &mut Db) -> Answer {
        let _ = text;
        let (ref name, _) = pair;
        let size = move |add: usize| add + 1;
        let sizes = (text.len(), size(name.len()), [&text].len());
        assert_eq!(sizes, (1, 3, 1));
        match pair {
            (_, 2) => write(db),
            _ => Err(ApiError(400)),
        }
    }
    let pair = Pair {
        id: Id(1),
        small: 2,
    };
    assert_eq!(pair.fields(&mut Db(0)), Ok(3));
    let got = run(forms(Id(1), 2, &Db(0), "a", &mut Db(0)));
    assert_eq!(got, Ok(3));
    let pair = ("ab".to_owned(), 2);
    assert_eq!(lent("a".to_owned(), pair, &mut Db(0)), Ok(3));
}

fn shown<E: ToString>(error: E) -> String {
    error.to_string()
}

/// In a block any name may be a variable, a function or a constant.
#[test]
fn in_blocks() {
    #[derive(Debug, PartialEq)]
    struct Unit;
    let (mut db, id, text) = (Db(0), Id(1), "a");
    let (conn, later, call) = (&mut db, Default::default(), || 1);
    let got = retry_block!(base = "1ms", attempt = n, {
        fn own(id: Id) -> u8 {
            id.0
        }
        let _ = (taken(n), taken(own), taken(Unit), taken(call));
        let same: Id = taken(id);
        let words = (text, u8::max(later, own(same)));
        let failed = "x".parse::<u8>().map_err(shown);
        failed.unwrap_or_else(|text: String| taken(text).len() as u8);
        assert_eq!(words, ("a", 1));
        write(conn)
    });
    assert_eq!(got, Ok(3));
    let (conn, read) = (&mut db, &Db(2));
    let got = retry_block!(base = "1ms", async move {
        let ready = async move { taken(read).0 + id.0 };
        assert_eq!(ready.await, 3);
        copied(id, conn)
    });
    assert_eq!(run(got), Ok(6));
}

impl<'a> From<Row<'a>> for &'a mut Db {
    fn from(row: Row<'a>) -> Self {
        row.0
    }
}

macro_rules! shadow_clone {
    ($name:ident) => {
        let $name = $name.clone();
    };
}

/// A name may be another variable than the argument, which may be consumed.
#[test]
fn names_that_are_bound_again() {
    // The type of the second `row` is known only after its first use.
    #[retry(base = "1ms")]
    fn inferred<'a>(row: Row<'a>) -> impl Future<Output = Answer> + 'a {
        let row = row.into();
        async move {
            let _: [&&mut Db; 1] = [&row];
            write(row)
        }
    }
    #[retry(base = "1ms")]
    fn shadowed(name: String, body: Arc<str>, db: &mut Db) -> Answer {
        shadow_clone!(name);
        let body = body.clone();
        drop((taken(name), taken(body)));
        write(db)
    }
    // In the pattern of an arm, behind the arguments of a type.
    #[retry(base = "1ms")]
    fn hidden(text: String, db: &mut Db) -> Result<usize, ApiError> {
        write(db)?;
        let length = match Some(text.as_str()).map(str::to_owned) {
            Some::<String>(text) => taken(text).len(),
            None::<String> => 0,
        };
        Ok(length + text.len())
    }
    assert_eq!(run(inferred(Row(&mut Db(0)))), Ok(3));
    assert_eq!(shadowed("a".to_owned(), "b".into(), &mut Db(0)), Ok(3));
    assert_eq!(hidden("abc".to_owned(), &mut Db(0)), Ok(6));
}

trait Go: Sized {
    fn go(self) -> Answer;

    fn number(self, db: &mut Db) -> Answer
    where
        Self: Copy,
    {
        #[retry(base = "1ms")]
        fn of<T: Copy>(this: T, db: &mut Db) -> Answer {
            copied(this, db)
        }
        of(self, db)
    }
}

impl Go for &mut Db {
    #[retry(base = "1ms")]
    fn go(self) -> Answer {
        write(self)
    }
}

impl Go for &Db {
    #[retry(base = "1ms")]
    fn go(self) -> Answer {
        copied(self, &mut Db(2))
    }
}

impl Go for Id {
    #[retry(base = "1ms")]
    fn go(self) -> Answer {
        copied(self, &mut Db(2))
    }
}

/// A trait of the user's that every type has, with names that the written code uses.
trait Asks {
    fn by_all_attempts(&self) -> u8 {
        7
    }
    fn of(&self) {}
}
impl<T: ?Sized> Asks for T {}

#[test]
fn self_of_every_kind() {
    assert_eq!((&mut Db(0)).go(), Ok(3));
    assert_eq!(((&Db(0)).go(), Id(1).go()), (Ok(3), Ok(3)));
    assert_eq!(Id(1).number(&mut Db(0)), Ok(3));
    assert_eq!(Db(0).by_all_attempts(), 7);
    Db(0).of();
}

/// What no question may be asked about: elements that are read through a pointer, and a field that needs `unsafe`.
#[test]
fn values_that_are_only_read() {
    union Either {
        number: u32,
        _text: [u8; 4],
    }
    #[allow(clippy::into_iter_on_ref)]
    #[retry(base = "1ms")]
    fn each(names: std::sync::Arc<[u32]>, flaky: &Flaky) -> Result<u32, ApiError> {
        let sum: u32 = names.into_iter().sum();
        flaky.call().map(|call| call + sum)
    }
    #[retry(base = "1ms")]
    fn of_union(either: Either, flaky: &Flaky) -> Result<u32, ApiError> {
        // SAFETY: all bits are a number.
        let number = unsafe { std::convert::identity(either.number) };
        flaky.call().map(|call| call + number)
    }
    assert_eq!(each([1, 2].into(), &Flaky::failing(2)), Ok(6));
    assert_eq!(of_union(Either { number: 1 }, &Flaky::failing(2)), Ok(4));
}

/// Questions that the compiler could not answer, or that would capture what the body does not name.
#[test]
fn what_is_not_asked() {
    use std::collections::HashMap;
    use std::sync::{Arc, Mutex};
    #[retry(base = "1ms", keep(map))]
    fn borrowed(flaky: &Flaky, mut map: HashMap<&'static str, u32>) -> Result<u32, ApiError> {
        if let Some(number) = map.get_mut("a") {
            *number += 1;
        }
        flaky.call()?;
        Ok(map["a"])
    }
    struct Letter(u32);
    #[retry(base = "1ms")]
    fn by_a_trait_of_the_body(flaky: &Flaky, letter: Letter) -> Result<u32, ApiError> {
        trait Send {
            fn send(&self) -> u32;
        }
        impl Send for Letter {
            fn send(&self) -> u32 {
                self.0
            }
        }
        flaky.call().map(|call| call + letter.send())
    }
    #[retry(base = "1ms")]
    fn locked<'a>(
        flaky: &'a Flaky,
        state: Arc<Mutex<u32>>,
    ) -> Pin<Box<dyn Future<Output = Result<u32, ApiError>> + Send + 'a>> {
        let state_before = state.clone();
        let lock = state_before.lock().unwrap();
        let before = *lock;
        drop(lock);
        Box::pin(async move {
            let now = *state.lock().unwrap();
            Ok(flaky.call()? + before + now)
        })
    }
    let map = || vec![("a", 0)].into_iter().collect();
    assert_eq!(borrowed(&Flaky::failing(2), map()), Ok(3));
    assert_eq!(by_a_trait_of_the_body(&Flaky::failing(2), Letter(1)), Ok(4));
    assert_eq!(
        run(locked(&Flaky::failing(2), Arc::new(Mutex::new(2)))),
        Ok(7)
    );
}
