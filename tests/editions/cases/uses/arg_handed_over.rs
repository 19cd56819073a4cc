//! Arguments that are handed over by value and that the next attempt has nevertheless.

use std::future::Future;
use std::sync::Arc;

use backoff_core::retry;
use ui::ApiError;

#[derive(Default)]
struct Db(u8);

type Conn<'a> = &'a mut Db;
type Read<'a> = &'a Db;
struct Row<'a>(&'a mut Db);

#[derive(Clone, Copy)]
struct Id(u8);

trait Small: Copy {}
impl Small for u8 {}

fn write(db: &mut Db) -> Result<u8, ApiError> {
    db.0 += 1;
    if db.0 % 3 == 0 {
        Ok(db.0)
    } else {
        Err(ApiError(503))
    }
}

fn copied<T: Copy>(_: T, db: &mut Db) -> Result<u8, ApiError> {
    write(db)
}

fn taken<T>(value: T) -> T {
    value
}

macro_rules! shadow_clone {
    ($name:ident) => {
        let $name = $name.clone();
    };
}

#[retry(base = "1ms")]
fn copies(
    id: Id,
    pair: (u8, Option<&str>),
    call: fn() -> u8,
    none: impl Fn() + Copy,
    read: Read<'_>,
    db: &mut Db,
) -> Result<u8, ApiError> {
    let _ = (
        taken(id),
        taken(pair),
        taken(call),
        taken(none),
        taken(read),
    );
    copied(id, db)
}

#[retry(base = "1ms")]
async fn generic<T, S: Small>(value: T, small: S, db: &mut Db) -> Result<u8, ApiError>
where
    T: Copy,
{
    copied(small, &mut Db(2))?;
    copied(value, db)
}

#[retry(base = "1ms")]
fn alias(db: Conn<'_>, Row(other): Row<'_>) -> Result<u8, ApiError> {
    write(other)?;
    write(db)
}

#[retry(base = "1ms")]
fn matched(Row(db): &mut Row<'_>) -> Result<u8, ApiError> {
    write(db)
}

#[retry(base = "1ms")]
fn moved<'a>(db: Conn<'a>) -> impl Future<Output = Result<u8, ApiError>> + 'a {
    async move { write(db) }
}

// The block borrows what is behind the argument, and not the argument.
#[retry(base = "1ms")]
fn borrowed<'a>(db: Conn<'a>) -> impl Future<Output = Result<u8, ApiError>> + 'a {
    async { write(db) }
}

impl<'a> From<Row<'a>> for &'a mut Db {
    fn from(row: Row<'a>) -> Self {
        row.0
    }
}

// The type of the second `row` is known only after its first use.
#[retry(base = "1ms")]
fn inferred<'a>(row: Row<'a>) -> impl Future<Output = Result<u8, ApiError>> + 'a {
    let row = row.into();
    async move {
        let _: [&&mut Db; 1] = [&row];
        write(row)
    }
}

#[retry(base = "1ms")]
fn shadowed(name: String, body: Arc<str>, db: &mut Db) -> Result<u8, ApiError> {
    shadow_clone!(name);
    let body = body.clone();
    drop((taken(name), taken(body)));
    write(db)
}

#[retry(base = "1ms")]
fn in_closures(name: String, id: Id, db: &mut Db) -> Result<u8, ApiError> {
    let of = |name: String| taken(name).len();
    let read = move || taken(id).0;
    assert_eq!(of(name.clone()), usize::from(read()));
    write(db)
}

trait Go: Sized {
    fn go(self) -> Result<u8, ApiError>;

    fn number(self, db: &mut Db) -> Result<u8, ApiError>
    where
        Self: Copy,
    {
        #[retry(base = "1ms")]
        fn of<T: Copy>(this: T, db: &mut Db) -> Result<u8, ApiError> {
            copied(this, db)
        }
        of(self, db)
    }
}

impl Go for &mut Db {
    #[retry(base = "1ms")]
    fn go(self) -> Result<u8, ApiError> {
        write(self)
    }
}

impl Go for &Db {
    #[retry(base = "1ms")]
    fn go(self) -> Result<u8, ApiError> {
        copied(self, &mut Db(2))
    }
}

impl Go for Id {
    #[retry(base = "1ms")]
    fn go(self) -> Result<u8, ApiError> {
        copied(self, &mut Db(2))
    }
}

// A trait of the user's that every type has.
trait Asks {
    fn by_all_attempts(&self) -> u8 {
        7
    }
    fn of(&self) {}
}
impl<T: ?Sized> Asks for T {}

#[tokio::test]
async fn works() {
    let mut db = Db::default();
    assert_eq!(
        copies(Id(1), (1, None), || 1, || {}, &Db(1), &mut db),
        Ok(3)
    );
    assert_eq!(generic((), 1_u8, &mut db).await, Ok(6));
    assert_eq!(
        alias(&mut db, Row(&mut Db(2))).map_err(|error| error.0),
        Err(503)
    );
    assert_eq!(matched(&mut Row(&mut Db(0))), Ok(3));
    assert_eq!(moved(&mut Db(0)).await, Ok(3));
    assert_eq!(borrowed(&mut Db(0)).await, Ok(3));
    assert_eq!(inferred(Row(&mut Db(0))).await, Ok(3));
    assert_eq!(shadowed("a".to_owned(), "b".into(), &mut Db(0)), Ok(3));
    assert_eq!(in_closures("a".to_owned(), Id(1), &mut Db(0)), Ok(3));
    assert_eq!((&mut Db(0)).go(), Ok(3));
    assert_eq!(((&Db(0)).go(), Id(1).go()), (Ok(3), Ok(3)));
    assert_eq!(Id(1).number(&mut Db(0)), Ok(3));
    assert_eq!(db.by_all_attempts(), 7);
    db.of();
}
