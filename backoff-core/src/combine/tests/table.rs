//! Stories as rows: `name | server | callers | members in the end, reads and writes`. Each caller is a task, and times are
//! in milliseconds.
//!
//! - Server: the fates of its first reads and writes, each with `xN` (`read 503 x2, write lost`), the members that it refuses
//!   and with which status (`refuses 2 400`), the time of the first read, of a later read and of a write (`hops 1 0 5`).
//! - Callers, in the order of their first polls: `adds N`, which recognises its effect, `appends N`, which does not, or a
//!   change that `fails`, `fails_later` or `panics`; `on KEY`, `@TIME`, and so long after its beginning `withdraws`, `leaves` or
//!   is `dropped`; `polled` at these times only. After a colon what the caller is told (`written`), and `until` when.

use super::*;
use tokio::{
    task::JoinError,
    time::{Instant, sleep_until, timeout},
};

/// The member that a change adds to the value before it fails.
pub(super) const FAILED: u32 = u32::MAX;

pub(super) type Combine = fn(Policy, &Arc<Server>) -> Combined;

/// What a caller is told; with `?` if its change may have been applied.
pub(super) fn told(outcome: &Told) -> String {
    let (kind, error) = match outcome {
        Ok(Updated::Written(_)) => return "written".to_owned(),
        Ok(Updated::Unchanged(_)) => return "unchanged".to_owned(),
        Err(error) => match error {
            CombineError::Shared { error, reason, .. } => (reason.name(), Some(error)),
            CombineError::Own { .. } => ("own", None),
            CombineError::Left { .. } => ("left", None),
            CombineError::Interrupted { .. } => ("interrupted", None),
            CombineError::Full => ("full", None),
        },
    };
    let may_be_applied = outcome.as_ref().is_err_and(|it| it.may_be_applied());
    let error = error.map_or(String::new(), |error| format!(" {error}"));
    format!("{kind}{}{error}", if may_be_applied { "?" } else { "" })
}

fn number<T: core::str::FromStr>(text: Option<&str>) -> T {
    let number = text.and_then(|text| text.parse().ok());
    number.unwrap_or_else(|| panic!("{text:?} is no number"))
}

/// `4`, or `0..8`.
fn names(text: &str) -> Vec<u32> {
    match text.split_once("..") {
        Some((from, to)) => (number(Some(from))..number(Some(to))).collect(),
        None => vec![number(Some(text))],
    }
}

fn fate(text: &str) -> Fate {
    match text {
        "ok" => Fate::Fine,
        "hang" => Fate::Hang,
        "done_hang" => Fate::DoneAndHang,
        "panic" => Fate::Panic,
        "stale" => Fate::Fail(TestError::CONFLICT),
        "reset" => Fate::Fail(TestError::LOST),
        "lost" => Fate::DoneBut(UNAVAILABLE),
        "lost_500" => Fate::DoneBut(TestError::status(500)),
        "later" => Fate::Fail(TestError::status(429).after(7 * SECOND)),
        status => Fate::Fail(TestError::status(number(Some(status)))),
    }
}

/// A server with calls of 5 ms.
pub(super) fn server(text: &str) -> Server {
    let mut server = Server::new(5);
    for part in text.split(',').map(str::trim).filter(|it| !it.is_empty()) {
        let mut words = part.split(' ');
        match words.next() {
            Some(what @ ("read" | "write")) => {
                let fate = fate(words.next().unwrap());
                let times = words.next().map_or(1, |it| number(it.strip_prefix('x')));
                let of = if what == "read" {
                    &server.on_read
                } else {
                    &server.on_write
                };
                of.lock().unwrap().extend(vec![fate; times]);
            }
            Some("refuses") => {
                server.refused = (names(words.next().unwrap()), number(words.next()));
            }
            Some("hops") => server.hops = [(); 3].map(|()| number(words.next())),
            other => panic!("no server {other:?}"),
        }
    }
    server
}

#[derive(Clone, Default)]
struct Caller {
    kind: String,
    name: u32,
    key: u32,
    at: u64,
    withdraws: Option<u64>,
    leaves: Option<u64>,
    dropped: Option<u64>,
    polled: Vec<u64>,
    told: String,
    until: Option<u64>,
}

fn callers(text: &str) -> Vec<Caller> {
    let one = |text: &str| {
        let (does, told) = text.trim().split_once(':').unwrap_or((text.trim(), ""));
        let mut caller = Caller::default();
        let mut words = does.split(' ');
        caller.kind = words.next().unwrap().to_owned();
        let mut all = vec![FAILED];
        if let "adds" | "appends" = &*caller.kind {
            all = names(words.next().unwrap());
        }
        while let Some(word) = words.next() {
            match word {
                "on" => caller.key = number(words.next()),
                "withdraws" => caller.withdraws = Some(number(words.next())),
                "leaves" => caller.leaves = Some(number(words.next())),
                "dropped" => caller.dropped = Some(number(words.next())),
                "polled" => {
                    let times = words.next().unwrap().split(',');
                    caller.polled = times.map(|time| number(Some(time))).collect();
                }
                time => caller.at = number(time.strip_prefix('@')),
            }
        }
        let (told, until) = told.split_once("until").unwrap_or((told, ""));
        caller.told = told.trim().to_owned();
        caller.until = until.trim().parse().ok();
        if caller.told.is_empty() {
            caller.told = if caller.dropped.is_some() {
                "dropped"
            } else {
                "written"
            }
            .to_owned();
        }
        all.into_iter().map(move |name| Caller {
            name,
            ..caller.clone()
        })
    };
    text.split(';').flat_map(one).collect()
}

impl Caller {
    fn change(&self, combined: &Combined) -> Pending {
        let (key, name) = (self.key, self.name);
        let mut succeeds = self.kind == "fails_later";
        match &*self.kind {
            "adds" => combined.update(key, add(name)),
            "appends" => combined.update(key, append(name)),
            "panics" => combined.update(key, |members: &mut Members| -> bool {
                members.names.push(FAILED);
                panic!("the change panics")
            }),
            // After it has touched the value.
            _ => combined.update(key, move |members: &mut Members| {
                let succeeds = core::mem::take(&mut succeeds);
                members.names.push(if succeeds { 0 } else { FAILED });
                succeeds.then_some(true).ok_or(OWN)
            }),
        }
    }

    async fn wait(self, combined: Combined, start: Instant) {
        let mut change = Some(self.change(&combined));
        drop(combined);
        pass(self.at).await;
        let after = |millis: Option<u64>| millis.map_or(Duration::MAX, ms);
        let waiting = async {
            let waits = change.as_mut().unwrap();
            for (index, at) in self.polled.iter().enumerate() {
                sleep_until(start + ms(*at)).await;
                if index + 1 < self.polled.len() {
                    assert!(poll(waits).is_pending());
                }
            }
            let leaving = async {
                if let Ok(ended) = timeout(after(self.leaves), &mut *waits).await {
                    return ended;
                }
                waits.leave();
                waits.await
            };
            match timeout(after(self.withdraws), leaving).await {
                Ok(ended) => ended,
                Err(_) => {
                    let may_be_applied = change.take().unwrap().withdraw();
                    Err(CombineError::Left { may_be_applied })
                }
            }
        };
        let ended = timeout(after(self.dropped), waiting).await;
        let outcome = ended.as_ref().map_or("dropped".to_owned(), told);
        let until = start.elapsed().as_millis() as u64;
        let expected = (self.told, self.until.unwrap_or(until));
        assert_eq!((outcome, until), expected, "{}", self.name);
        if let Ok(Ok(Updated::Unchanged(seen))) = &ended {
            assert!(seen.names.contains(&self.name), "{seen:?}");
        }
    }
}

/// Plays a story to its end.
pub(super) fn play(policy: Policy, combine: Combine, server: Server, text: &str) -> Arc<Server> {
    let server = Arc::new(server);
    let story = async {
        let combined = combine(policy, &server);
        let start = Instant::now();
        let tasks: Vec<_> = callers(text)
            .into_iter()
            .map(|caller| {
                let panics = caller.told == "panicked";
                (panics, tokio::spawn(caller.wait(combined.clone(), start)))
            })
            .collect();
        for (panics, task) in tasks {
            let panic = task.await.err().map(JoinError::into_panic);
            assert_eq!(panic.map(|panic| is_meant(&*panic)), panics.then_some(true));
        }
        // A task whose callers have left ends when it is polled.
        pass(1).await;
        assert_eq!(combined.busy(), 0, "a resource is left");
        server.is_clean();
    };
    let story = async { timeout(SECOND * 3_600, story).await };
    paused().block_on(story).expect("nobody hangs");
    server
}

/// Plays each row.
pub(super) fn table(policy: Policy, combine: Combine, rows: &str) {
    for row in rows.lines().map(str::trim).filter(|row| !row.is_empty()) {
        let play = || {
            let [_, setup, callers, end] = row.split('|').map(str::trim).collect::<Vec<_>>()[..]
            else {
                panic!("a row has four columns")
            };
            let server = play(policy, combine, server(setup), callers);
            let Some((members, calls)) = end.split_once(',') else {
                return;
            };
            let members = members.split(' ').filter(|it| *it != "-");
            let members: Vec<u32> = members.flat_map(names).collect();
            let (reads, writes) = server.calls();
            let ended = (server.get(0).names, format!("r{reads} w{writes}"));
            assert_eq!(ended, (members, calls.trim().to_owned()));
        };
        assert!(!panics(play), "{row}");
    }
}
