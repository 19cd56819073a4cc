//! Adding a member to a role in a policy, or removing it.

use super::allow::{AllowPolicy, Binding};
use super::condition::Condition;
use super::member::is_same;

/// A role that is given to a member, or taken from a member: for [`change`](super::change) and
/// [`Members::change`](super::Members::change).
///
/// ```
/// use backoff_cloud::iam::{Condition, Grant};
///
/// let night = Condition::new("night", "request.time.getHours() < 6");
/// let at_night = Grant::add("roles/viewer", "user:ann@example.com").condition(night);
/// # drop(at_night);
/// ```
#[derive(Clone, Debug, PartialEq)]
#[must_use = "a grant is not made until it is given to `change`"]
pub struct Grant {
    role: String,
    member: String,
    condition: Option<Condition>,
    /// Whether the member is added. Otherwise it is removed.
    adds: bool,
}

impl Grant {
    /// The member gets the role.
    pub fn add(role: &str, member: &str) -> Self {
        Grant {
            role: role.to_owned(),
            member: member.to_owned(),
            condition: None,
            adds: true,
        }
    }

    /// The member loses the role.
    pub fn remove(role: &str, member: &str) -> Self {
        let adds = false;
        Grant {
            adds,
            ..Grant::add(role, member)
        }
    }

    /// Changes the binding with this condition. Without this call the change is for the binding without a
    /// condition.
    pub fn condition(mut self, condition: Condition) -> Self {
        self.condition = Some(condition);
        self
    }

    /// What events and metrics call the change.
    pub(super) fn name(&self) -> &'static str {
        match self.adds {
            true => "iam::add",
            false => "iam::remove",
        }
    }

    /// Whether the policy does not have the member that is added, or has the one that is removed.
    pub(super) fn is_needed(&self, policy: &impl AllowPolicy) -> bool {
        let is_member = |name: &String| is_same(name, &self.member);
        let mut same = policy.bindings().iter().filter(|it| self.is_of(*it));
        let is_there = same.any(|binding| binding.members().iter().any(is_member));
        is_there != self.adds
    }

    /// Changes a policy. Call this only if the change [is needed](Self::is_needed).
    pub(super) fn apply(&self, policy: &mut impl AllowPolicy) {
        match self.adds {
            true => self.add_to(policy),
            false => self.remove_from(policy),
        }
    }

    fn is_of(&self, binding: &impl Binding) -> bool {
        binding.role() == self.role && binding.has_condition(self.condition.as_ref())
    }

    fn add_to(&self, policy: &mut impl AllowPolicy) {
        let bindings = policy.bindings_mut();
        let member = self.member.clone();
        match bindings.iter_mut().find(|it| self.is_of(*it)) {
            Some(binding) => binding.members_mut().push(member),
            None => {
                let mut binding = Binding::new(&self.role, self.condition.as_ref());
                Binding::members_mut(&mut binding).push(member);
                bindings.push(binding);
            }
        }
    }

    /// Removes the member in every spelling, and a binding that has no members left.
    fn remove_from(&self, policy: &mut impl AllowPolicy) {
        policy.bindings_mut().retain_mut(|binding| {
            if !self.is_of(binding) {
                return true;
            }
            let members = binding.members_mut();
            let before = members.len();
            members.retain(|name| !is_same(name, &self.member));
            members.len() == before || !members.is_empty()
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::iam::plain::{PlainBinding, PlainPolicy};

    const ROLE: &str = "roles/viewer";

    fn grant(member: &str) -> Grant {
        Grant::add(ROLE, member)
    }

    /// Changes the policy, and returns whether it is different now.
    fn change(grant: Grant, policy: &mut PlainPolicy) -> bool {
        let before = policy.clone();
        let is_needed = grant.is_needed(policy);
        if is_needed {
            grant.apply(policy);
        }
        assert_eq!(is_needed, *policy != before);
        is_needed
    }

    fn add(grant: Grant, policy: &mut PlainPolicy) -> bool {
        change(grant, policy)
    }

    fn remove(grant: Grant, policy: &mut PlainPolicy) -> bool {
        let adds = false;
        change(Grant { adds, ..grant }, policy)
    }

    fn members(policy: &PlainPolicy) -> Vec<(&str, bool, Vec<&str>)> {
        let of = |binding: &PlainBinding| binding.condition.is_some();
        let bindings = policy.bindings.iter();
        bindings
            .map(|it| {
                let members = it.members.iter().map(String::as_str).collect();
                (it.role.as_str(), of(it), members)
            })
            .collect()
    }

    /// A row: whether a member is added or removed, the member, whether the policy changes, and the members
    /// afterwards.
    #[test]
    fn members_that_are_added_and_removed_one_after_the_other() {
        let mut policy = PlainPolicy::default();
        let (ann, subject) = ("user:Ann@example.com", "principal://x/subject/A");
        let steps: [(bool, &str, bool, &[&str]); 12] = [
            (false, "user:b", false, &[]),
            (true, ann, true, &[ann]),
            (true, ann, false, &[ann]),
            // A member in another case is the same member, and keeps its spelling.
            (true, "user:ann@Example.com", false, &[ann]),
            (true, "user:b", true, &[ann, "user:b"]),
            (false, "user:ANN@example.com", true, &["user:b"]),
            (true, subject, true, &["user:b", subject]),
            (false, "user:b", true, &[subject]),
            (false, "principal://x/subject/a", false, &[subject]),
            // Without its last member the binding is removed.
            (false, subject, true, &[]),
            (false, subject, false, &[]),
            (true, "user:b", true, &["user:b"]),
        ];
        for (n, (adds, name, changes, left)) in steps.into_iter().enumerate() {
            let change = if adds { add } else { remove };
            assert_eq!(change(grant(name), &mut policy), changes, "step {n}");
            let expected = (!left.is_empty()).then(|| (ROLE, false, left.to_vec()));
            assert_eq!(members(&policy), Vec::from_iter(expected), "step {n}");
        }
    }

    #[test]
    fn a_binding_is_the_same_only_with_the_same_condition() {
        let night = Condition::new("night", "request.time.getHours() < 6");
        let other = Condition::new("night", "request.time.getHours() < 5");
        let at = |condition: Option<&Condition>| Grant {
            condition: condition.cloned(),
            ..grant("user:a")
        };
        let mut policy = PlainPolicy::default();
        assert!(add(at(Some(&night)), &mut policy));
        assert!(add(at(None), &mut policy));
        assert!(!add(at(Some(&night)), &mut policy));
        assert!(!remove(at(Some(&other)), &mut policy));
        assert!(remove(at(None), &mut policy));
        assert_eq!(members(&policy), [(ROLE, true, vec!["user:a"])]);
        let described = night.clone().description("when nobody looks");
        assert!(add(at(Some(&described)), &mut policy));
        assert_eq!(policy.bindings.len(), 2);
    }

    #[test]
    fn a_role_that_is_bound_twice_is_looked_through() {
        let bound = |names: &[&str]| PlainBinding {
            members: names.iter().map(|&name| name.to_owned()).collect(),
            ..Binding::new(ROLE, None)
        };
        let mut policy = PlainPolicy {
            bindings: vec![bound(&["user:a"]), bound(&["user:b", "user:a"])],
            ..PlainPolicy::default()
        };
        assert!(!add(grant("user:b"), &mut policy));
        assert!(remove(grant("user:a"), &mut policy));
        assert_eq!(members(&policy), [(ROLE, false, vec!["user:b"])]);
    }
}
