//! Collects the events and metrics that code writes on this thread.

use metrics_util::debugging::{DebugValue, DebuggingRecorder};
use std::{
    collections::BTreeSet,
    fmt,
    sync::{Arc, Mutex, OnceLock},
};
use tracing::{
    Dispatch, Event, Level, Metadata, Subscriber,
    dispatcher::with_default,
    field::{Field, Visit},
    span,
};

/// The levels and fields of events, and the metrics. They are compared without the names of the operations,
/// which are kept separately.
#[derive(Debug, Default)]
pub(crate) struct Recorded {
    pub(crate) events: Vec<(Level, String)>,
    pub(crate) metrics: Vec<String>,
    /// The names of the operations, each once.
    pub(crate) operations: BTreeSet<String>,
}

impl PartialEq for Recorded {
    fn eq(&self, other: &Self) -> bool {
        (&self.events, &self.metrics) == (&other.events, &other.metrics)
    }
}

impl Recorded {
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

impl Visit for Recorded {
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        if let Some((_, line)) = self.events.last_mut() {
            *line += &format!(" {field}={value:?}");
        }
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        if field.name() == "operation" {
            self.operations.insert(value.to_owned());
        } else {
            self.record_debug(field, &value);
        }
    }
}

/// Hands over each event of this library.
struct Hears<F>(F);

impl<F: Fn(&Event<'_>) + 'static> Subscriber for Hears<F> {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.target() == "backoff"
    }
    fn new_span(&self, _: &span::Attributes<'_>) -> span::Id {
        span::Id::from_u64(1)
    }
    fn record(&self, _: &span::Id, _: &span::Record<'_>) {}
    fn record_follows_from(&self, _: &span::Id, _: &span::Id) {}
    fn event(&self, event: &Event<'_>) {
        self.0(event);
    }
    fn enter(&self, _: &span::Id) {}
    fn exit(&self, _: &span::Id) {}
}

/// A subscriber of `tracing` that hands over each event of this library.
pub(crate) fn hears(event: impl Fn(&Event<'_>) + Send + Sync + 'static) -> Dispatch {
    Dispatch::new(Hears(event))
}

/// The events and metrics that `work` writes.
pub(crate) fn recorded_while(work: impl FnOnce()) -> Recorded {
    let recorder = DebuggingRecorder::new();
    let seen = recorder.snapshotter();
    let kept = Arc::<Mutex<Recorded>>::default();
    let keeps = Arc::clone(&kept);
    let log = hears(move |event| {
        let mut recorded = keeps.lock().unwrap();
        let level = *event.metadata().level();
        recorded.events.push((level, String::new()));
        event.record(&mut *recorded);
    });
    // When an event is first met, and there is one subscriber alone, tracing asks the subscriber of that
    // thread. A thread of another test has none, and the event would be off for all. So there are others.
    static OTHERS: OnceLock<[Dispatch; 2]> = OnceLock::new();
    OTHERS.get_or_init(|| [(); 2].map(|()| hears(|_| ())));
    metrics::with_local_recorder(&recorder, || with_default(&log, work));
    let mut recorded = std::mem::take(&mut *kept.lock().unwrap());
    for (key, _, _, value) in seen.snapshot().into_vec() {
        let mut labels = Vec::new();
        for label in key.key().labels() {
            if label.key() == "retry.operation" {
                recorded.operations.insert(label.value().to_owned());
            } else {
                labels.push(format!("{}={}", label.key(), label.value()));
            }
        }
        let value = match value {
            DebugValue::Gauge(level) => format!("{level}"),
            DebugValue::Histogram(values) => format!("{values:?}"),
            DebugValue::Counter(_) => unreachable!("there are no counters"),
        };
        let name = key.key().name();
        recorded
            .metrics
            .push(format!("{name}{{{}}} {value}", labels.join(",")));
    }
    recorded.metrics.sort();
    recorded
}
