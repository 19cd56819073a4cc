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
    async fn f<T: Copy, S: Small>(
        value: (T, S),
        small: S,
        none: impl Fn() + Copy,
        db: &mut Db,
    ) -> Answer {
        let _ = (taken(value), taken(none));
        copied(small, db)
    }
    let got = run(f((Some("a"), 2_u8), 1_u8, || {}, &mut Db(0)));
    assert_eq!(got, Ok(3));
}

#[test]
fn those_that_hold_a_mutable_reference() {
    #[retry(base = "1ms")]
    async fn alias(db: Conn<'_>, Row(other): Row<'_>, (more, _n): (&mut Db, u8)) -> Answer {
        write(other)?;
        write(more)?;
        write(db)
    }
    #[retry(base = "1ms")]
    fn moved<'a>(db: Conn<'a>, id: Id) -> impl Future<Output = Answer> + 'a {
        async move { copied(id, db) }
    }
    let mut dbs = [(); 3].map(|()| Db(0));
    let [db, other, more] = &mut dbs;
    let got = run(alias(db, Row(other), (more, 1)));
    assert_eq!((got, dbs.map(|db| db.0)), (Err(ApiError(503)), [0, 5, 1]));
    assert_eq!(run(moved(&mut Db(0), Id(1))), Ok(3));
}

/// Every form that passes a value on, with values that all attempts have.
#[test]
fn in_every_form() {
    struct Pair {
        id: Id,
        small: u8,
    }
    #[retry(base = "1ms")]
    async fn forms(id: Id, small: u8, read: Read<'_>, text: &str, db: Conn<'_>) -> Answer {
        let same = id;
        let pair = Pair { id, small };
        let other = (taken(pair.id), [id, same], { read });
        let wide: u32 = small.into();
        let owned: String = text.into();
        let read = move || read.0 + id.0;
        let task = async move { read() + same.0 };
        assert_eq!((wide, owned.as_str(), task.await), (2, "a", 2));
        assert_eq!((other.0.0, pair.small), (1, 2));
        write(db)
    }
    // Nothing takes the text and the numbers: they are only named, or read through a pointer.
    #[retry(base = "1ms")]
    fn lent(pair: (String, u8), numbers: Arc<[u8]>, db: &mut Db) -> Answer {
        let _ = pair;
        let (ref name, _) = pair;
        let size = move |add: usize| add + 1;
        let sum: u8 = numbers.into_iter().sum();
        let sizes = (size(name.len()), sum);
        assert_eq!(sizes, (3, 3));
        match pair {
            (_, 2) => write(db),
            _ => Err(ApiError(400)),
        }
    }
    let got = run(forms(Id(1), 2, &Db(0), "a", &mut Db(0)));
    assert_eq!(got, Ok(3));
    let pair = ("ab".to_owned(), 2);
    assert_eq!(lent(pair, [1, 2].into(), &mut Db(0)), Ok(3));
}

fn shown<E: ToString>(error: E) -> String {
    error.to_string()
}

/// In a block any name may be a variable, a function or a constant.
#[test]
fn in_blocks() {
    let (mut db, id, text) = (Db(0), Id(1), "a");
    let (conn, later, call) = (&mut db, Default::default(), || 1);
    let got = retry_block!(base = "1ms", attempt = n, {
        fn own(id: Id) -> u8 {
            id.0
        }
        let _ = (taken(n), taken(own), taken(call));
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
    fn shadowed(name: String, body: Arc<str>, text: Option<String>, db: &mut Db) -> Answer {
        shadow_clone!(name);
        let body = body.clone();
        drop((taken(name), taken(body)));
        // In the pattern of an arm, behind the arguments of a type.
        match text.as_deref().map(str::to_owned) {
            Some::<String>(text) => drop(taken(text)),
            None::<String> => {}
        }
        write(db)
    }
    assert_eq!(run(inferred(Row(&mut Db(0)))), Ok(3));
    let [name, text] = ["a", "abc"].map(str::to_owned);
    assert_eq!(shadowed(name, "b".into(), Some(text), &mut Db(0)), Ok(3));
}

/// A trait of the user's that every type has, with names that the written code uses.
#[allow(dead_code)]
trait Asks {
    fn by_all_attempts(&self) {}
    fn of(&self) {}
}
impl<T: ?Sized> Asks for T {}

trait Go {
    fn go(self) -> Answer;
}

macro_rules! go {
    ($($ty:ty: $self:ident => $answer:expr;)*) => {$(
        impl Go for $ty {
            #[retry(base = "1ms")]
            fn go($self) -> Answer {
                $answer
            }
        }
    )*};
}

go! {
    &mut Db: self => write(self);
    Id: self => copied(self, &mut Db(2));
}

#[test]
fn self_by_value() {
    assert_eq!(((&mut Db(0)).go(), Id(1).go()), (Ok(3), Ok(3)));
}

/// Questions that the compiler could not answer.
#[test]
fn what_is_not_asked() {
    use std::collections::HashMap;
    union Either {
        number: u32,
        _text: [u8; 4],
    }
    #[retry(base = "1ms", keep(map))]
    fn f(
        flaky: &Flaky,
        mut map: HashMap<u8, u32>,
        either: Either,
        id: Id,
    ) -> Result<u32, ApiError> {
        trait Send {
            fn send(&self) -> u32;
        }
        impl Send for Id {
            fn send(&self) -> u32 {
                self.0.into()
            }
        }
        if let Some(number) = map.get_mut(&0) {
            *number += 1;
        }
        // SAFETY: all bits are a number.
        let number = unsafe { std::convert::identity(either.number) };
        flaky.call()?;
        Ok(map[&0] + number + id.send())
    }
    let map = vec![(0, 0)].into_iter().collect();
    let got = f(&Flaky::failing(2), map, Either { number: 10 }, Id(100));
    assert_eq!(got, Ok(113));
}
