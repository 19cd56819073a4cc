//! What is told to logs and metrics while something works, on this thread.

use metrics_util::debugging::{DebugValue, DebuggingRecorder};
use std::{
    fmt,
    sync::{Arc, Mutex},
};
use tracing::{
    Event, Level, Metadata, Subscriber,
    field::{Field, Visit},
    span,
    subscriber::with_default,
};

/// All that is told, but the name of the operation: levels and fields of events, and metrics.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Told {
    pub(crate) events: Vec<(Level, String)>,
    pub(crate) metrics: Vec<String>,
}

impl Told {
    #[must_use]
    pub(crate) fn levels(&self) -> Vec<Level> {
        self.events.iter().map(|(level, _)| *level).collect()
    }

    /// The values of a metric, whatever its labels are.
    #[must_use]
    pub(crate) fn values(&self, metric: &str) -> Vec<&str> {
        let lines = self.metrics.iter();
        lines
            .filter_map(|line| line.strip_prefix(metric))
            .map(|line| line.rsplit_once("} ").expect("labels before").1)
            .collect()
    }
}

#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<(Level, String)>>>);

struct Line(String);

impl Visit for Line {
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        if field.name() != "operation" {
            self.0 += &format!(" {field}={value:?}");
        }
    }
}

impl Subscriber for Log {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.target() == "backoff"
    }
    fn new_span(&self, _: &span::Attributes<'_>) -> span::Id {
        span::Id::from_u64(1)
    }
    fn record(&self, _: &span::Id, _: &span::Record<'_>) {}
    fn record_follows_from(&self, _: &span::Id, _: &span::Id) {}
    fn event(&self, event: &Event<'_>) {
        let mut line = Line(String::new());
        event.record(&mut line);
        let level = *event.metadata().level();
        self.0.lock().unwrap().push((level, line.0));
    }
    fn enter(&self, _: &span::Id) {}
    fn exit(&self, _: &span::Id) {}
}

/// What is told meanwhile.
pub(crate) fn told_while(work: impl FnOnce()) -> Told {
    let recorder = DebuggingRecorder::new();
    let seen = recorder.snapshotter();
    let log = Log::default();
    metrics::with_local_recorder(&recorder, || with_default(log.clone(), work));
    let rows = seen.snapshot().into_vec().into_iter();
    let mut metrics: Vec<String> = rows
        .map(|(key, _, _, value)| {
            let labels = key.key().labels();
            let labels = labels.filter(|label| label.key() != "retry.operation");
            let labels: Vec<_> = labels
                .map(|label| format!("{}={}", label.key(), label.value()))
                .collect();
            let value = match value {
                DebugValue::Gauge(level) => format!("{level}"),
                DebugValue::Histogram(values) => format!("{values:?}"),
                DebugValue::Counter(_) => unreachable!("there are no counters"),
            };
            format!("{}{{{}}} {value}", key.key().name(), labels.join(","))
        })
        .collect();
    metrics.sort();
    let events = std::mem::take(&mut *log.0.lock().unwrap());
    Told { events, metrics }
}
