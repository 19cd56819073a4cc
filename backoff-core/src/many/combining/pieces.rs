//! Halves a group whose write was refused for its value, until only the bad change is left.

use super::caller::Place;

/// Changes that are written together after a write was refused for its value.
pub(super) struct Piece {
    pub(super) places: Vec<Place>,
    /// The piece below it on the stack is its other half.
    is_left: bool,
    /// The other half was accepted, so this half holds the refused value.
    is_suspect: bool,
}

/// The pieces of refused groups.
#[derive(Default)]
pub(super) struct Pieces {
    /// A stack: the next piece is the last one.
    stack: Vec<Piece>,
    /// The last piece is being written.
    is_running: bool,
}

impl Pieces {
    /// The next piece, if there is one. `keep` drops the callers who no longer wait. A piece that surely
    /// holds a refused change is halved at once and not written whole.
    pub(super) fn next(&mut self, mut keep: impl FnMut(&mut Vec<Place>)) -> Option<&[Place]> {
        self.is_running = false;
        loop {
            let piece = self.stack.last_mut()?;
            keep(&mut piece.places);
            if piece.places.is_empty() {
                self.stack.pop();
            } else if piece.is_suspect && piece.places.len() > 1 {
                let places = core::mem::take(&mut piece.places);
                self.stack.pop();
                self.halve(places);
            } else {
                break;
            }
        }
        self.is_running = true;
        self.stack.last().map(|piece| &piece.places[..])
    }

    /// Pushes the halves of a group that was refused: left before right.
    pub(super) fn halve(&mut self, mut places: Vec<Place>) {
        let right = places.split_off(places.len() / 2);
        for (places, is_left) in [(right, false), (places, true)] {
            self.stack.push(Piece {
                places,
                is_left,
                is_suspect: false,
            });
        }
    }

    /// The changes that were written are done. They may be a piece.
    pub(super) fn done(&mut self, is_accepted: bool) {
        if core::mem::take(&mut self.is_running)
            && let Some(piece) = self.stack.pop()
            && piece.is_left
            && is_accepted
            && let Some(right) = self.stack.last_mut()
        {
            right.is_suspect = true;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// How many writes are needed to find the bad changes among `n`. Fails unless exactly the bad changes
    /// are refused.
    fn writes(n: u64, bad: &[u64]) -> usize {
        let (mut pieces, mut writes) = (Pieces::default(), 0);
        let (mut accepted, mut refused) = (Vec::<Place>::new(), Vec::<Place>::new());
        let mut whole = Some((0..n).collect::<Vec<_>>());
        loop {
            let places = match whole.take() {
                Some(places) => places,
                None => match pieces.next(|_| ()) {
                    Some(places) => places.to_vec(),
                    None => break,
                },
            };
            writes += 1;
            let is_bad = places.iter().any(|place| bad.contains(place));
            match (is_bad, places.len()) {
                (true, 1) => refused.extend(&places),
                (true, _) => {}
                (false, _) => accepted.extend(&places),
            }
            pieces.done(!is_bad);
            if is_bad && places.len() > 1 {
                pieces.halve(places);
            }
        }
        assert_eq!(refused, bad);
        assert_eq!(accepted.len() + refused.len(), n as usize);
        writes
    }

    #[test]
    fn one_bad_change_costs_two_writes_a_halving() {
        for n in 1..=130 {
            for bad in 0..n {
                let most = 2.0 * (n as f64).log2() + 2.0;
                let writes = writes(n, &[bad]);
                assert!(writes as f64 <= most, "{writes} writes for {bad} of {n}");
            }
        }
    }

    #[test]
    fn many_bad_changes_cost_less_than_two_writes_each() {
        for n in 1..=11_u64 {
            for bad in 0..1_u64 << n {
                let bad: Vec<_> = (0..n).filter(|i| bad >> i & 1 == 1).collect();
                assert!(writes(n, &bad) < 2 * n as usize, "{bad:?} of {n}");
            }
        }
    }
}
