//! Methods of traits.

use super::*;
use std::fmt::Debug;

/// A blanket implementation of methods whose names the written code might call.
#[allow(dead_code)]
mod blanket {
    macro_rules! every_type_has {
        ($($method:ident)*) => {
            pub(super) trait Everything: Sized {
                $(fn $method(self) {})*
                fn or_else<F>(self, _: F) {}
                fn and_then<F>(self, _: F) {}
            }
        };
    }
    every_type_has! {
        policy retry sleep step error status run start on base into_future poll as_ref
    }
    impl<T> Everything for T {}
}

#[test]
fn blanket_methods() {
    #[allow(unused_imports)]
    use blanket::Everything;
    #[derive(Debug, Fault, PartialEq, thiserror::Error)]
    #[error("error")]
    #[fault(status = 503)]
    struct Error;
    #[retry(policy = *policy)]
    async fn by_reference(flaky: &Flaky, policy: &Policy) -> Result<u32, Error> {
        Flaky::call(flaky).map_err(|_| Error)
    }
    #[retry(policy = policy, max_attempts = 3, idempotent, attempt = n, notify = |event| drop(format!("{event}")))]
    fn at_call(flaky: &Flaky, policy: Policy) -> Result<u32, Error> {
        let _ = n;
        Flaky::call(flaky).map_err(|_| Error)
    }
    #[retry(base = "1ms", on = [503], faults(Error))]
    fn hidden(flaky: &Flaky) -> Result<u32, Box<dyn std::error::Error + Send + Sync>> {
        Ok(Flaky::call(flaky).map_err(|_| Error)?)
    }
    #[retry(base = "1ms", when = |_| true)]
    fn when(flaky: &Flaky) -> Result<u32, ApiError> {
        Flaky::call(flaky)
    }
    let policy = Policy::exponential().on(codes![503]);
    let policy = Policy::base(policy, Duration::from_millis(1));
    assert_eq!(run(by_reference(&Flaky::failing(2), &policy)), Ok(3));
    assert_eq!(at_call(&Flaky::failing(2), policy), Ok(3));
    assert_eq!(hidden(&Flaky::failing(2)).ok(), Some(3));
    assert_eq!(when(&Flaky::failing(2)), Ok(3));
}

/// What sqlx calls an executor: a trait with lifetimes and generic associated types.
trait Database {
    type Row<'r>: Debug
    where
        Self: 'r;
    type Error: Fault + Debug;
    const POLICY: Policy;
    fn row<'r>(&'r self, query: &'r str) -> Result<Self::Row<'r>, Self::Error>;
}

struct Store(Flaky);

impl Database for Store {
    type Row<'r> = (&'r Flaky, &'r str);
    type Error = ApiError;
    const POLICY: Policy = Policy::exponential()
        .base(Duration::from_millis(1))
        .on(codes![503]);
    fn row<'r>(&'r self, query: &'r str) -> Result<Self::Row<'r>, ApiError> {
        self.0.call()?;
        Ok((&self.0, query))
    }
}

#[test]
fn database_with_lending_rows() {
    #[retry(policy = Db::POLICY)]
    async fn fetch<'e, Db>(database: &'e Db, query: &'e str) -> Result<Db::Row<'e>, Db::Error>
    where
        Db: Database + ?Sized,
    {
        let row = database.row(query)?;
        Ok(row)
    }
    let store = Store(Flaky::failing(2));
    assert_eq!(run(fetch(&store, "select")).unwrap().0.calls(), 3);
}

trait Service: Send + Sync {
    type Out;
    const LIMIT: u32;
    fn flaky(&self) -> &Flaky;

    #[retry(base = "1ms", max_attempts = Self::LIMIT)]
    fn provided(&self) -> Result<u32, ApiError>
    where
        Self: Sized,
    {
        let call = self.flaky().call()?;
        Ok(call)
    }

    #[retry(base = "1ms")]
    fn boxed<'a>(&'a self) -> Pin<Box<dyn Future<Output = Result<u32, ApiError>> + Send + 'a>>
    where
        Self: Sized,
    {
        Box::pin(async move { self.flaky().call() })
    }
}

trait Asks {
    #[allow(async_fn_in_trait)]
    #[retry(base = "1ms")]
    async fn ask(&self, flaky: &Flaky) -> Result<u32, ApiError> {
        let _kept = D("kept");
        flaky.call()
    }
    #[allow(async_fn_in_trait)]
    async fn required(&self) -> Result<u32, ApiError>;
    fn future<'a>(&'a self, flaky: &'a Flaky)
    -> impl Future<Output = Result<u32, ApiError>> + Send;
}

struct One(Flaky);

impl Service for One {
    type Out = u32;
    const LIMIT: u32 = 3;
    fn flaky(&self) -> &Flaky {
        &self.0
    }
}

impl Asks for &One {
    #[retry(base = "1ms")]
    async fn required(&self) -> Result<u32, ApiError> {
        self.0.call()
    }
    #[retry(base = "1ms")]
    fn future<'a>(
        &'a self,
        flaky: &'a Flaky,
    ) -> impl Future<Output = Result<u32, ApiError>> + Send {
        async move {
            let call = flaky.call()?;
            Ok(call + self.0.calls())
        }
    }
}

#[test]
fn provided_methods_and_references() {
    assert_eq!(One(Flaky::failing(2)).provided(), Ok(3));
    assert!(One(Flaky::failing(3)).provided().is_err());
    assert_eq!(run(One(Flaky::failing(2)).boxed()), Ok(3));
    assert_eq!(run((&One(Flaky::failing(2))).required()), Ok(3));
    let one = One(Flaky::failing(0));
    assert_eq!(run((&one).ask(&Flaky::failing(2))), Ok(3));
    assert_eq!(run(sent((&one).future(&Flaky::failing(2)))), Ok(3));
}

#[test]
fn trait_object_with_parameters() {
    trait Fetch<K, T: ?Sized = u32> {
        type Key;
        fn fetch(&self, key: K) -> Result<Box<T>, ApiError>;
    }
    impl Fetch<&str> for Flaky {
        type Key = u8;
        fn fetch(&self, key: &str) -> Result<Box<u32>, ApiError> {
            Ok(Box::new(self.call()? + key.len() as u32))
        }
    }
    #[retry(base = "1ms")]
    async fn f<'k>(
        from: &(dyn for<'a> Fetch<&'a str, u32, Key = u8> + Sync + 'k),
        key: Box<dyn AsRef<str> + Send + 'k>,
    ) -> Result<Box<u32>, ApiError> {
        from.fetch((*key).as_ref())
    }
    assert_eq!(
        run(sent(f(&Flaky::failing(2), Box::new("key")))),
        Ok(Box::new(6))
    );
}

struct Request<T>(T);
struct Response<T>(T);

/// What tonic writes for a service.
#[async_trait::async_trait]
trait Greeter: Send + Sync + 'static {
    type HelloStream: Iterator<Item = u32> + Send + 'static;
    async fn hello(
        &self,
        request: Request<&'static Flaky>,
    ) -> Result<Response<Self::HelloStream>, ApiError>;
}

struct English;

#[async_trait::async_trait]
impl Greeter for English {
    type HelloStream = std::vec::IntoIter<u32>;
    #[retry(base = "1ms", clone(request))]
    async fn hello(
        &self,
        request: Request<&'static Flaky>,
    ) -> Result<Response<Self::HelloStream>, ApiError> {
        let Request(flaky) = request;
        let call = flaky.call()?;
        Ok(Response(vec![call].into_iter()))
    }
}

impl Clone for Request<&'static Flaky> {
    fn clone(&self) -> Self {
        Request(self.0)
    }
}

#[test]
fn method_of_a_generated_service() {
    static FLAKY: Flaky = Flaky::failing(2);
    let mut stream = run(English.hello(Request(&FLAKY)))
        .map_err(|_| ())
        .unwrap()
        .0;
    assert_eq!(stream.next(), Some(3));
}
