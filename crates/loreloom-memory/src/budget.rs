//! Budgets of the tiers: by kind of turn, from a total, by demand.

use loreloom_core::units::Tokens;

use crate::{
    number::{round, whole},
    settings::{Budgets, SettingsMode},
    turn::TurnKind,
};

/// Budgets are multiples of this many tokens, and none is smaller.
const STEP: u32 = 50;

/// The five budgets that depend on the kind of turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TurnBudgets {
    /// Long-term memories.
    pub longterm: Tokens,
    /// Session memories.
    pub session: Tokens,
    /// Past scenes.
    pub scenes: Tokens,
    /// Open arcs.
    pub arcs: Tokens,
    /// Profiles.
    pub profiles: Tokens,
}

impl TurnBudgets {
    fn values(self) -> [u32; 5] {
        [self.longterm.0, self.session.0, self.scenes.0, self.arcs.0, self.profiles.0]
    }

    fn of([longterm, session, scenes, arcs, profiles]: [u32; 5]) -> Self {
        Self {
            longterm: Tokens(longterm),
            session: Tokens(session),
            scenes: Tokens(scenes),
            arcs: Tokens(arcs),
            profiles: Tokens(profiles),
        }
    }
}

impl From<&Budgets> for TurnBudgets {
    fn from(budgets: &Budgets) -> Self {
        Self {
            longterm: budgets.longterm,
            session: budgets.session,
            scenes: budgets.scenes,
            arcs: budgets.arcs,
            profiles: budgets.profiles,
        }
    }
}

/// Shifts budgets between tiers by the kind of turn. The sum grows by rounding at most.
pub fn adapt(base: TurnBudgets, turn: TurnKind) -> TurnBudgets {
    let factors = match turn {
        TurnKind::Dialogue => [1.2, 0.8, 0.7, 1.0, 1.2],
        TurnKind::Action => [0.8, 1.3, 1.2, 1.0, 0.8],
        TurnKind::Transition => [1.0, 0.9, 1.0, 1.3, 1.0],
        TurnKind::Intimate => [0.9, 1.2, 1.0, 0.8, 1.3],
    };
    let base = base.values();
    let mut shifted = [0; 5];
    for (value, (base, factor)) in shifted.iter_mut().zip(base.iter().zip(factors)) {
        *value = round(f64::from(*base) * factor);
    }
    let (before, after): (u32, u32) = (base.iter().sum(), shifted.iter().sum());
    if after > before {
        let scale = f64::from(before) / f64::from(after);
        shifted = shifted.map(|value| round(f64::from(value) * scale));
    }
    TurnBudgets::of(shifted)
}

impl Budgets {
    /// Applies the budgets of a turn.
    #[must_use]
    pub fn for_turn(mut self, turn: TurnKind) -> Self {
        let shifted = adapt(TurnBudgets::from(&self), turn);
        self.longterm = shifted.longterm;
        self.session = shifted.session;
        self.scenes = shifted.scenes;
        self.arcs = shifted.arcs;
        self.profiles = shifted.profiles;
        self
    }

    /// The nine tier budgets; recall has its own.
    pub fn tiers(&self) -> [Tokens; 9] {
        [
            self.longterm,
            self.session,
            self.scenes,
            self.arcs,
            self.canon,
            self.profiles,
            self.relationships,
            self.epistemic,
            self.ledger,
        ]
    }

    /// The sum of the nine tier budgets.
    pub fn sum(&self) -> Tokens {
        self.tiers().into_iter().sum()
    }

    fn with_tiers(self, tiers: [u32; 9]) -> Self {
        let [longterm, session, scenes, arcs, canon, profiles, relationships, epistemic, ledger] =
            tiers.map(Tokens);
        Self {
            longterm,
            session,
            scenes,
            arcs,
            canon,
            profiles,
            relationships,
            epistemic,
            ledger,
            recall: self.recall,
        }
    }

    /// Divides one total by fixed shares, each rounded to a step and at least one step.
    #[must_use]
    pub fn of_total(total: Tokens) -> Self {
        let shares = [16, 13, 10, 13, 18, 13, 8, 6, 6];
        let part = |share: u32| to_step(f64::from(total.0) * f64::from(share) / 100.0).max(STEP);
        Self::default().with_tiers(shares.map(part))
    }

    /// Grows budgets to the known `demand` with some headroom, never below the defaults. In simple
    /// mode the sum stays the same, and tiers share it in proportion to their demand.
    #[must_use]
    pub fn tuned(self, demand: [Option<Tokens>; 9], mode: SettingsMode) -> Self {
        const HEADROOM: f64 = 1.15;
        let defaults = Self::default().tiers();
        let current = self.tiers();
        let mut wanted = [0; 9];
        for (at, target) in wanted.iter_mut().enumerate() {
            *target = demand[at].map_or(current[at].0, |full| {
                to_step(f64::from(full.0) * HEADROOM).max(defaults[at].0)
            });
        }
        let (sum, total) = (wanted.iter().sum::<u32>(), self.sum().0);
        if mode == SettingsMode::Simple && sum > total {
            wanted = share_out(wanted, total);
        }
        self.with_tiers(wanted)
    }
}

fn to_step(value: f64) -> u32 {
    round(value / f64::from(STEP)) * STEP
}

/// Divides `total` in proportion to `wanted`, in whole steps, at least one each. The rest after
/// rounding down goes to those that lost most.
fn share_out(wanted: [u32; 9], total: u32) -> [u32; 9] {
    let sum: u32 = wanted.iter().sum();
    let ideal = wanted.map(|want| f64::from(want) * f64::from(total) / f64::from(sum.max(1)));
    let mut given = ideal.map(|value| (whole(value) / STEP * STEP).max(STEP));
    let mut order: Vec<usize> = (0..given.len()).collect();
    let lost = |at: usize, given: &[u32; 9]| ideal[at] - f64::from(given[at]);
    order.sort_by(|a, b| lost(*b, &given).total_cmp(&lost(*a, &given)));
    for at in order {
        if given.iter().sum::<u32>() + STEP <= total && lost(at, &given) > 0.0 {
            given[at] += STEP;
        }
    }
    while given.iter().sum::<u32>() > total {
        let Some(richest) = (0..given.len()).max_by_key(|at| given[*at]) else { break };
        if given[richest] <= STEP {
            break;
        }
        given[richest] -= STEP;
    }
    given
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_turn_shifts_weight_without_growing_the_sum() {
        let base = TurnBudgets::of([100, 100, 100, 1000, 100]);
        assert_eq!(adapt(base, TurnKind::Transition), TurnBudgets::of([83, 75, 83, 1077, 83]));
        let base = TurnBudgets::of([500, 400, 300, 700, 400]);
        assert_eq!(adapt(base, TurnKind::Action), TurnBudgets::of([400, 520, 360, 700, 320]));
    }

    #[test]
    fn in_simple_mode_the_sum_stays_within_the_total() {
        let mut demand = [None; 9];
        for (long, arcs) in [(3000, None), (200, None), (900, Some(2000)), (90_000, Some(1))] {
            demand[0] = Some(Tokens(long));
            demand[3] = arcs.map(Tokens);
            let tuned = Budgets::default().tuned(demand, SettingsMode::Simple);
            assert!(tuned.sum() <= Budgets::default().sum(), "{long}: {tuned:?}");
            assert!(tuned.tiers().iter().all(|tier| tier.0 >= STEP && tier.0 % STEP == 0));
        }
        demand = [None; 9];
        demand[0] = Some(Tokens(3000));
        let tuned = Budgets::default().tuned(demand, SettingsMode::Simple);
        assert_eq!(tuned.longterm, Tokens(1950));
        assert_eq!(tuned.sum(), Tokens(3750));
    }

    #[test]
    fn in_advanced_mode_a_tier_grows_to_its_demand_with_headroom() {
        let mut demand = [None; 9];
        demand[0] = Some(Tokens(900));
        demand[1] = Some(Tokens(200));
        let tuned = Budgets::default().tuned(demand, SettingsMode::Advanced);
        assert_eq!(tuned, Budgets { longterm: Tokens(1050), ..Budgets::default() });
    }
}
