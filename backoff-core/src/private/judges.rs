//! What the user of an annotated function has said of an error, as a judge.

use crate::{
    EveryError, Fault, Judge, Policy, Verdict,
    judge::{Informed, Known},
};
use core::fmt;

/// What is known of an error that must be a `Fault`.
pub fn known_fault<E: Fault>(error: &E) -> Known<'_> {
    Known::of(error)
}

/// What the user's function has said.
pub(super) struct Said(pub(super) Verdict);

impl<E> Judge<E> for Said {
    fn judge(&self, _policy: &Policy, _error: &E) -> Verdict {
        self.0
    }
}

/// Whether one of the user's patterns matches; if not, the policy judges.
pub(super) struct Or(pub(super) bool);

impl<E: Fault> Judge<E> for Or {
    fn judge(&self, policy: &Policy, error: &E) -> Verdict {
        if !self.0 {
            return policy.judge(error);
        }
        // A pattern says that it is worth another attempt, not that one may be made twice, and
        // as with a policy a server that asks to stop comes before both.
        match Informed(EveryError, known_fault).judge(policy, error) {
            Verdict::Retry { .. } if !policy.may_repeat(error) => Verdict::PerhapsApplied,
            verdict => verdict,
        }
    }

    fn message<'e>(&self, error: &'e E) -> Option<&'e dyn fmt::Display> {
        error.message()
    }
}

/// The policy judges what the function finds; where it finds nothing the error is permanent.
pub(super) struct Found<F>(pub(super) F);

impl<E, F> Judge<E> for Found<F>
where
    F: Fn(&E) -> Option<&dyn Fault>,
{
    fn judge(&self, policy: &Policy, error: &E) -> Verdict {
        (self.0)(error).map_or(Verdict::Permanent, |fault| policy.judge(fault))
    }

    fn message<'e>(&self, error: &'e E) -> Option<&'e dyn fmt::Display> {
        (self.0)(error)?.message()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Class, Transport};

    #[derive(Debug, Default)]
    struct Failure {
        stop: bool,
        class: Option<Class>,
        transport: Option<Transport>,
    }

    impl Fault for Failure {
        fn must_stop(&self) -> bool {
            self.stop
        }
        fn class(&self) -> Option<Class> {
            self.class
        }
        fn transport(&self) -> Option<Transport> {
            self.transport
        }
    }

    #[test]
    fn a_matched_error_is_judged_in_the_order_of_a_policy() {
        let careful = Policy::exponential().idempotent(false);
        let judge = |failure: &Failure| Or(true).judge(&careful, failure);
        let maybe_sent = Failure {
            transport: Some(Transport::MaybeSent),
            ..Failure::default()
        };
        assert_eq!(judge(&maybe_sent), Verdict::PerhapsApplied);
        let stop = Failure {
            stop: true,
            ..maybe_sent
        };
        assert_eq!(judge(&stop), Verdict::Refused);
        assert_eq!(careful.judge(&stop), Verdict::Refused);
        let permanent = Failure {
            class: Some(Class::Permanent),
            ..Failure::default()
        };
        assert_eq!(judge(&permanent), Verdict::PerhapsApplied);
        let not_sent = Failure {
            transport: Some(Transport::NotSent),
            ..permanent
        };
        assert_eq!(judge(&not_sent).class(), Some(Class::Transient));
    }
}
