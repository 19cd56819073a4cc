//! A subscriber that records the life of spans, and the log of this library.

use std::{
    collections::HashMap,
    fmt,
    sync::{Arc, Mutex, OnceLock},
};
use tracing::{
    Dispatch, Event, Level, Metadata, Subscriber,
    field::{Field, Visit},
    span::{Attributes, Id, Record},
    subscriber::with_default,
};

/// Writes down what happens to spans, and in which span an event is.
#[derive(Clone, Default)]
struct Recorder(Arc<Mutex<State>>);

#[derive(Default)]
pub(crate) struct State {
    pub(crate) lines: Vec<String>,
    /// The events of this library: the level, the text and the fields of each.
    pub(crate) logged: Vec<String>,
    /// The operations of the spans of this library.
    pub(crate) operations: Vec<String>,
    /// The path of each span, and how many handles to it there are.
    spans: HashMap<u64, (String, u32)>,
    entered: Vec<u64>,
}

/// The fields but the operation, which differs between forms.
#[derive(Default)]
struct Fields {
    shown: String,
    operation: String,
}

impl Visit for Fields {
    fn record_str(&mut self, field: &Field, value: &str) {
        self.record_debug(field, &format_args!("{value}"));
    }

    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        match field.name() {
            "operation" => self.operation = format!("{value:?}"),
            "message" => self.shown += &format!(" {value:?}"),
            name => self.shown += &format!(" {name}={value:?}"),
        }
    }
}

impl State {
    fn path(&self, id: Option<&u64>) -> &str {
        id.map_or("", |id| &self.spans[id].0)
    }
}

impl Subscriber for Recorder {
    fn enabled(&self, _: &Metadata<'_>) -> bool {
        true
    }

    fn new_span(&self, span: &Attributes<'_>) -> Id {
        let mut state = self.0.lock().unwrap();
        let id = state.spans.len() as u64 + 1;
        let path = format!(
            "{}/{}",
            state.path(state.entered.last()),
            span.metadata().name()
        );
        let mut fields = Fields::default();
        span.record(&mut fields);
        state.lines.push(format!("{path} opens{}", fields.shown));
        if span.metadata().target() == "backoff" {
            assert_eq!(*span.metadata().level(), Level::INFO);
            state.operations.push(fields.operation);
        }
        state.spans.insert(id, (path, 1));
        Id::from_u64(id)
    }

    fn record(&self, id: &Id, record: &Record<'_>) {
        let mut state = self.0.lock().unwrap();
        let mut fields = Fields::default();
        record.record(&mut fields);
        let line = format!("{}{}", state.path(Some(&id.into_u64())), fields.shown);
        state.lines.push(line);
    }

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn event(&self, event: &Event<'_>) {
        let mut state = self.0.lock().unwrap();
        let mut fields = Fields::default();
        event.record(&mut fields);
        if event.metadata().target() == "backoff" {
            let line = format!("{}{}", event.metadata().level(), fields.shown);
            state.logged.push(line);
            return;
        }
        let line = format!("{}:{}", state.path(state.entered.last()), fields.shown);
        state.lines.push(line);
    }

    fn enter(&self, id: &Id) {
        self.0.lock().unwrap().entered.push(id.into_u64());
    }

    fn exit(&self, id: &Id) {
        let left = self.0.lock().unwrap().entered.pop();
        assert_eq!(left, Some(id.into_u64()), "the last span is left first");
    }

    fn clone_span(&self, id: &Id) -> Id {
        self.0
            .lock()
            .unwrap()
            .spans
            .get_mut(&id.into_u64())
            .unwrap()
            .1 += 1;
        id.clone()
    }

    fn try_close(&self, id: Id) -> bool {
        let mut state = self.0.lock().unwrap();
        let (path, handles) = state.spans.get_mut(&id.into_u64()).unwrap();
        *handles -= 1;
        let closes = (*handles == 0).then(|| format!("{path} closes"));
        let is_closed = closes.is_some();
        state.lines.extend(closes);
        is_closed
    }
}

/// What is written down while `work` runs: the life of spans, and what this library logs.
pub(crate) fn listening(work: impl FnOnce()) -> State {
    // When an event is first met, and there is one subscriber alone, tracing asks the subscriber of that
    // thread. A thread of another test has none, and the event would be off for all. So there are others.
    static OTHERS: OnceLock<[Dispatch; 2]> = OnceLock::new();
    OTHERS.get_or_init(|| [(); 2].map(|()| Dispatch::new(Recorder::default())));
    let recorder = Recorder::default();
    with_default(recorder.clone(), work);
    std::mem::take(&mut recorder.0.lock().unwrap())
}
