//! Arguments that hold a `&mut` although their types do not show that, and variants of the user's
//! own types that are named as well-known ones: each attempt borrows the one, and the others are
//! patterns.

use std::future::Future;

use backoff_core::retry;

#[derive(Debug, PartialEq)]
enum Code {
    NotFound,
    Unavailable,
}

#[derive(Default)]
struct Db(u8);

fn write(db: &mut Db) -> Result<u8, Code> {
    db.0 += 1;
    if db.0 % 3 == 0 {
        Ok(db.0)
    } else {
        Err(Code::Unavailable)
    }
}

type Conn<'a> = &'a mut Db;
struct Row<'a>(&'a mut Db);
#[derive(Clone, Copy)]
struct Shared<'a>(&'a std::cell::Cell<u8>);

#[retry(base = "1ms", on = [Code::Unavailable])]
fn pair((db, _n): (&mut Db, u8)) -> Result<u8, Code> {
    write(db)
}

#[retry(base = "1ms", on = [Code::Unavailable])]
async fn alias(db: Conn<'_>) -> Result<u8, Code> {
    write(db)
}

#[retry(base = "1ms", on = [Code::Unavailable])]
async fn field(Row(db): Row<'_>) -> Result<u8, Code> {
    write(db)
}

trait Go {
    fn go(self) -> Result<u8, Code>;
}

impl Go for &mut Db {
    #[retry(base = "1ms", on = [Code::Unavailable])]
    fn go(self) -> Result<u8, Code> {
        write(self)
    }
}

// The block borrows what is behind the argument, and not the argument.
#[retry(base = "1ms", on = [Code::Unavailable])]
fn future<'a>(shared: Shared<'a>) -> impl Future<Output = Result<u8, Code>> + 'a {
    async {
        shared.0.set(shared.0.get() + 1);
        if shared.0.get() == 3 {
            Ok(3)
        } else {
            Err(Code::Unavailable)
        }
    }
}

#[tokio::test]
async fn works() {
    let mut db = Db::default();
    assert_eq!(pair((&mut db, 1)), Ok(3));
    assert_eq!(alias(&mut db).await, Ok(6));
    assert_eq!(field(Row(&mut db)).await, Ok(9));
    assert_eq!((&mut db).go(), Ok(12));
    let calls = std::cell::Cell::new(0);
    assert_eq!(future(Shared(&calls)).await, Ok(3));
    assert_ne!(Code::NotFound, Code::Unavailable);
}
