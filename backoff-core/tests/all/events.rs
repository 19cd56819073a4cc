//! The names of the operations in the events that a hook gets.

use crate::common::{
    error::TestError,
    forms::{BUSY, PLAIN},
    time::Time,
};
use backoff_core::{Event, Policy, retry};
use std::cell::RefCell;

/// The operations of the events.
type Named = RefCell<Vec<&'static str>>;

/// A client whose methods retry: the function that holds a closure belongs to a generic type.
struct Client<T>(T);

impl<T> Client<T> {
    fn get(&self, named: &Named) -> Result<(), TestError> {
        let call = ONCE.blocking(|| Err(BUSY));
        call.notify(note(named)).call()
    }
}

const ONCE: Policy = PLAIN.max_attempts(1);

fn note(named: &Named) -> impl FnMut(&Event<'_, TestError>) + Clone {
    |event| named.borrow_mut().push(event.operation())
}

fn busy() -> Result<(), TestError> {
    Err(BUSY)
}

async fn in_async(named: &Named) -> Result<(), TestError> {
    let inner = || ONCE.retry(async || busy()).runtime(Time::default());
    let call = ONCE.retry(|| async { inner().notify(note(named)).await });
    call.runtime(Time::default()).notify(note(named)).await
}

#[test]
fn an_event_names_the_operation_by_its_setting_or_by_the_function_that_holds_it() {
    #[retry(policy = ONCE, operation = "billing.get", notify = note(named))]
    fn annotated(named: &Named) -> Result<(), TestError> {
        busy()
    }
    #[retry(policy = ONCE, notify = note(named))]
    fn unnamed(named: &Named) -> Result<(), TestError> {
        busy()
    }
    type Call<'c> = &'c dyn Fn(&Named) -> Result<(), TestError>;
    // `…` is this module.
    let rows: &[(&[&str], Call<'_>)] = &[
        (&["billing.get"], &annotated),
        (&["…unnamed"], &unnamed),
        (&["…in_async"; 2], &|named| {
            Time::default().run(in_async(named))
        }),
        (&["…Client<alloc::string::String>::get"], &|named| {
            Client(String::new()).get(named)
        }),
        (&["…busy"], &|named| {
            ONCE.blocking(busy).notify(note(named)).call()
        }),
        (&["boxed closure"], &|named| {
            let boxed: Box<dyn Fn() -> Result<(), TestError>> = Box::new(busy);
            ONCE.blocking(boxed).notify(note(named)).call()
        }),
        (&["a.b"], &|named| {
            ONCE.blocking(busy)
                .operation("a.b")
                .notify(note(named))
                .call()
        }),
    ];
    for (row, (expected, call)) in rows.iter().enumerate() {
        let named = Named::default();
        assert_eq!(call(&named), Err(BUSY), "row {row}");
        let expected = expected.iter().map(|name| match name.strip_prefix('…') {
            Some(path) => format!("{}::{path}", module_path!()),
            None => (*name).to_owned(),
        });
        assert_eq!(
            named.into_inner(),
            expected.collect::<Vec<_>>(),
            "row {row}"
        );
    }
}
