//! Requests that went on without lore, for the dashboard.
//!
//! They are not turns: nothing of them is stored, and often not even their chat is known. The last
//! ones are kept in memory, as the times that turns took are, so a restart forgets them; how many
//! there were in all is a figure of Prometheus.

use std::{
    collections::VecDeque,
    sync::{Mutex, PoisonError},
};

use loreloom_core::{ids::TenantId, units::Timestamp};
use serde::Serialize;

/// Requests that are kept, of all tenants.
const KEPT: usize = 1_000;

/// The most characters that are kept of a path or a reason.
const LONGEST: usize = 500;

/// A request that was sent on unchanged.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub(crate) struct FailOpen {
    /// When, in milliseconds since 1970.
    pub(crate) at: Timestamp,
    /// The path that was asked.
    pub(crate) path: String,
    /// Why there was no lore in it.
    pub(crate) reason: String,
}

/// The last of them.
#[derive(Default)]
pub(crate) struct FailOpens(Mutex<VecDeque<(TenantId, FailOpen)>>);

impl FailOpens {
    /// A request went on without lore.
    pub(crate) fn note(&self, tenant: &TenantId, at: Timestamp, path: &str, reason: &str) {
        let short = |text: &str| text.chars().take(LONGEST).collect();
        let one = FailOpen { at, path: short(path), reason: short(reason) };
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if kept.len() == KEPT {
            kept.pop_front();
        }
        kept.push_back((tenant.clone(), one));
    }

    /// Those of a tenant from a time on and before another, oldest first.
    pub(crate) fn within(
        &self,
        tenant: &TenantId,
        from: Timestamp,
        until: Option<Timestamp>,
    ) -> Vec<FailOpen> {
        let kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let own = kept.iter().filter(|(of, _)| of == tenant).map(|(_, one)| one);
        let fits = |at: Timestamp| at >= from && until.is_none_or(|until| at < until);
        own.filter(|one| fits(one.at)).cloned().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_oldest_are_forgotten_and_tenants_see_their_own_of_a_time() {
        let kept = FailOpens::default();
        let (own, other) = (TenantId::local(), TenantId::from("other"));
        kept.note(&other, Timestamp(0), "/v1/x", "slow");
        for at in 0..1_000 {
            kept.note(&own, Timestamp(at), "/v1/x", &"slow".repeat(200));
        }
        assert_eq!(kept.within(&other, Timestamp(0), None), []);
        let at = |from, until: Option<i64>| -> Vec<i64> {
            let found = kept.within(&own, Timestamp(from), until.map(Timestamp));
            found.iter().map(|one| one.at.0).collect()
        };
        assert_eq!(at(0, None).len(), 1_000);
        assert_eq!(at(997, None), [997, 998, 999]);
        assert_eq!(at(997, Some(999)), [997, 998]);
        assert_eq!(kept.within(&own, Timestamp(999), None)[0].reason.len(), LONGEST);
    }
}
