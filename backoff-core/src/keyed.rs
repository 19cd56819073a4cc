//! A budget, a rate or a breaker for each host, key or tenant, made when its key is first asked for.

use crate::{budget::Budget, name::Name};
use std::{
    borrow::Borrow,
    collections::BTreeMap,
    fmt,
    hash::{DefaultHasher, Hash, Hasher as _},
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed},
    },
};

/// The most keys of one [`Keyed`] whose names metrics show.
const MOST_SHOWN: usize = 1_000;

/// Many keys are behind so many locks: eight threads get three times as many of 100,000 keys as behind one lock.
const SHARDS: usize = 16;
/// Below this limit one lock is enough, and the limit is exact.
const MANY: usize = 1_600;

/// A [`Budget`], a [`Rate`](crate::Rate) or a [`Breaker`](crate::Breaker) for each key: a host, a tenant, an API key. Each
/// is made when its key is first asked for, and has the key as its name in logs, errors and metrics.
///
/// ```
/// use backoff_core::{Budget, Keyed, Policy, TimedOut};
///
/// static BUDGETS: Keyed<String, Budget> = Keyed::new(Budget::aws);
///
/// # #[cfg(feature = "tokio")]
/// # #[tokio::main(flavor = "current_thread", start_paused = true)]
/// # async fn main() -> Result<(), TimedOut> {
/// let host = "api.example.com";
/// let get = || async { Ok::<_, TimedOut>("a page") };
/// Policy::exponential().retry(get).budget(&BUDGETS.get(host)).await?;
/// assert_eq!(BUDGETS.len(), 1);
/// # Ok(()) }
/// # #[cfg(not(feature = "tokio"))] fn main() {}
/// ```
///
/// # How many are kept
/// At most 10,000 ([`at_most`](Self::at_most)). For a new key, the idle ones leave that were asked for longest ago, a tenth
/// of all at once. One in use never leaves: one that a call holds, a breaker that is open, a rate that delays calls. If all
/// are in use, a new key is kept above the number, and the log has one `WARN`. A call that holds one keeps it.
///
/// A key that has left begins anew when it is asked for again. A process keeps 10,000 names that are made at run time: the
/// next keys have the name `other`. Metrics name the first 1,000 keys, and the others together as
/// `other`.
pub struct Keyed<K, T> {
    make: fn() -> T,
    name: fn(&K) -> String,
    most: usize,
    /// How many were made.
    made: AtomicUsize,
    has_warned: AtomicBool,
    shards: [Mutex<Shard<K, T>>; SHARDS],
}

struct Shard<K, T> {
    /// Each with the number of its last use.
    by_key: BTreeMap<K, (Arc<T>, u64)>,
    uses: u64,
}

impl<K, T> Keyed<K, T> {
    /// `make` makes one for a new key, whose text is the name.
    pub const fn new(make: fn() -> T) -> Self
    where
        K: ToString,
    {
        Self::named_by(make, K::to_string)
    }

    /// The same, with a name for each key: a key that is a secret must not be the name.
    ///
    /// ```
    /// use backoff_core::{Budget, Keyed};
    ///
    /// static BUDGETS: Keyed<[u8; 32], Budget> = Keyed::named_by(Budget::aws, |key| format!("{:x}…", key[0]));
    /// ```
    pub const fn named_by(make: fn() -> T, name: fn(&K) -> String) -> Self {
        Keyed {
            make,
            name,
            most: 10_000,
            made: AtomicUsize::new(0),
            has_warned: AtomicBool::new(false),
            shards: [const {
                Mutex::new(Shard {
                    by_key: BTreeMap::new(),
                    uses: 0,
                })
            }; SHARDS],
        }
    }

    /// At most so many are kept, unless more are in use.
    ///
    /// # Panics
    /// If `most` is 0. In a constant, the panic is a compile error.
    #[must_use]
    #[track_caller]
    pub const fn at_most(mut self, most: usize) -> Self {
        assert!(
            most > 0,
            "at least one key must be kept: write `at_most(10_000)`"
        );
        self.most = most;
        self
    }

    /// How many are kept now.
    pub fn len(&self) -> usize {
        let shards = self.shards.iter().map(lock);
        shards.map(|shard| shard.by_key.len()).sum()
    }

    /// Whether none is kept.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

fn lock<T>(shard: &Mutex<T>) -> MutexGuard<'_, T> {
    shard.lock().unwrap_or_else(PoisonError::into_inner)
}

#[allow(private_bounds, reason = "the trait lists three types of this crate")]
impl<K: Ord, T: Named> Keyed<K, T> {
    /// The one of this key, for the methods `budget`, `rate` and `breaker` of a call. It is made for a new key.
    pub fn get<Q>(&self, key: &Q) -> Arc<T>
    where
        K: Borrow<Q>,
        Q: Hash + Ord + ToOwned<Owned = K> + ?Sized,
    {
        let shards = if self.most < MANY { 1 } else { SHARDS };
        let mut hasher = DefaultHasher::new();
        key.hash(&mut hasher);
        let mut shard = lock(&self.shards[hasher.finish() as usize % shards]);
        let most = self.most / shards;
        shard.uses += 1;
        let uses = shard.uses;
        if let Some((found, used)) = shard.by_key.get_mut(key) {
            *used = uses;
            return Arc::clone(found);
        }
        let is_crowded = shard.by_key.len() >= most && !shard.makes_room(most / 10 + 1);
        let key = key.to_owned();
        let is_shown = self.made.fetch_add(1, Relaxed) < MOST_SHOWN;
        let mut made = (self.make)();
        *made.name_mut() = Name::made((self.name)(&key)).shown(is_shown);
        let made = Arc::new(made);
        shard.by_key.insert(key, (Arc::clone(&made), uses));
        drop(shard);
        if is_crowded && !self.has_warned.swap(true, Relaxed) {
            #[cfg(feature = "tracing")]
            tracing::warn!(target: "backoff", most = self.most, "more keys are in use than are kept: raise `at_most`");
        }
        made
    }
}

impl<K: Ord, T: Named> Shard<K, T> {
    /// So many leave that are idle and were asked for longest ago. Returns whether one has left.
    fn makes_room(&mut self, count: usize) -> bool {
        let is_idle = |kept: &Arc<T>| Arc::strong_count(kept) == 1 && !kept.is_in_use();
        let idle = self.by_key.values().filter(|(kept, _)| is_idle(kept));
        let mut uses: Vec<u64> = idle.map(|(_, used)| *used).collect();
        let Some(last) = count.min(uses.len()).checked_sub(1) else {
            return false;
        };
        let (_, last, _) = uses.select_nth_unstable(last);
        self.by_key
            .retain(|_, (kept, used)| *used > *last || !is_idle(kept));
        true
    }
}

/// What a [`Keyed`] makes.
trait Named {
    fn name_mut(&mut self) -> &mut Name;

    /// Whether it must stay, because calls depend on it.
    fn is_in_use(&self) -> bool;
}

impl Named for Budget {
    fn name_mut(&mut self) -> &mut Name {
        &mut self.name
    }

    fn is_in_use(&self) -> bool {
        false
    }
}

#[cfg(feature = "rate")]
impl Named for crate::Rate {
    fn name_mut(&mut self) -> &mut Name {
        &mut self.name
    }

    fn is_in_use(&self) -> bool {
        !self.is_off()
    }
}

#[cfg(feature = "breaker")]
impl Named for crate::Breaker {
    fn name_mut(&mut self) -> &mut Name {
        &mut self.name
    }

    fn is_in_use(&self) -> bool {
        self.is_open()
    }
}

impl<K, T> fmt::Debug for Keyed<K, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Keyed({} of {})", self.len(), self.most)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_idle_leave_first_and_one_that_is_held_stays() {
        let kept = Keyed::<String, Budget>::new(Budget::aws).at_most(3);
        let held = kept.get("a");
        assert!(Arc::ptr_eq(&held, &kept.get("a")));
        for key in ["b", "c", "b", "d"] {
            kept.get(key);
        }
        // `c` left for `d`.
        let keys = || {
            lock(&kept.shards[0])
                .by_key
                .keys()
                .cloned()
                .collect::<String>()
        };
        assert_eq!((keys(), kept.len()), ("abd".to_owned(), 3));
        let others = [kept.get("b"), kept.get("d")];
        let more = kept.get("e");
        assert_eq!(keys(), "abde");
        drop((others, more));
        kept.get("f");
        assert_eq!(keys(), "adef");
        assert!(format!("{held:?}").contains("\"a\""));
    }

    #[test]
    fn at_most_a_tenth_and_one_leave_at_once() {
        let kept = Keyed::<u32, Budget>::new(Budget::aws).at_most(100);
        for key in 0..100 {
            kept.get(&key);
        }
        kept.get(&0);
        kept.get(&100);
        assert_eq!(kept.len(), 90);
        assert!(lock(&kept.shards[0]).by_key.contains_key(&0));
        assert!(!lock(&kept.shards[0]).by_key.contains_key(&11));
    }

    #[test]
    fn many_keys_are_behind_many_locks() {
        // One name, because a process keeps only so many.
        let kept = Keyed::<u32, Budget>::named_by(Budget::aws, |_| "key".to_owned());
        for key in 0..20_000 {
            kept.get(&key);
        }
        assert!((8_500..=10_000).contains(&kept.len()), "{}", kept.len());
    }

    #[cfg(feature = "breaker")]
    #[test]
    fn a_breaker_that_is_open_stays() {
        use crate::{Breaker, FaultKind};
        use core::time::Duration;
        let kept = Keyed::<&str, Breaker>::new(|| Breaker::new().opens_at(1, 1)).at_most(1);
        let now = || Duration::ZERO;
        let open = kept.get(&"a");
        let attempt = open.admit(now).expect("closed");
        open.ended(attempt, Some(FaultKind::Transient), now);
        drop(open);
        kept.get(&"b");
        assert!(kept.len() == 2 && kept.get(&"a").is_open());
    }
}
