//! Chance: whether an entry's probability lets it in.

use std::cmp::Ordering;

use crate::{
    dice::{Dice, Roll},
    ids::EntryId,
    report::Stop,
};

/// How a dialect reads a probability.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ChanceRule {
    /// The probability that is certain: 100 for per cent, 1 for a share.
    certain: f64,
    /// Which probabilities are decided without a roll.
    unrolled: Unrolled,
    /// Whether a roll that equals the probability lets the entry in.
    equal_passes: bool,
}

/// Which probabilities take no roll. A roll that is not made is left for others, so this
/// decides more than the entry itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Unrolled {
    /// Exactly certain ones.
    Certain,
    /// Certain ones and more, and those of 0 and less, which never pass.
    CertainAndNever,
}

impl ChanceRule {
    /// SillyTavern's World Info.
    pub(crate) const WORLD_INFO: Self =
        Self { certain: 100.0, unrolled: Unrolled::Certain, equal_passes: true };
    /// Card books.
    pub(crate) const CARDS: Self =
        Self { certain: 100.0, unrolled: Unrolled::CertainAndNever, equal_passes: false };
    /// Vault notes, whose probability is a share.
    pub(crate) const VAULT: Self =
        Self { certain: 1.0, unrolled: Unrolled::CertainAndNever, equal_passes: true };

    /// Rolls for an entry; no probability is certain.
    pub(crate) fn roll(
        self,
        probability: Option<f64>,
        entry: &EntryId,
        dice: &mut dyn Dice,
    ) -> Result<(), Stop> {
        let Some(probability) = probability else { return Ok(()) };
        let certain = match self.unrolled {
            Unrolled::Certain => (probability - self.certain).abs() < f64::EPSILON,
            // NaN is certain too.
            Unrolled::CertainAndNever => {
                probability.partial_cmp(&self.certain) != Some(Ordering::Less)
            }
        };
        if certain {
            return Ok(());
        }
        let percent = 100.0 / self.certain;
        if self.unrolled == Unrolled::CertainAndNever && probability <= 0.0 {
            return Err(Stop::Chance { roll: 0.0, probability: probability * percent });
        }
        let roll = dice.roll(Roll::Chance(entry));
        let passes = if self.equal_passes {
            roll * self.certain <= probability
        } else {
            millionths(roll) < millionths(probability / self.certain)
        };
        if passes {
            Ok(())
        } else {
            Err(Stop::Chance { roll: roll * 100.0, probability: probability * percent })
        }
    }
}

/// Dice roll in millionths. Where a roll must be below the probability, both are compared in
/// those, so that rounding errors of fractions decide nothing.
#[expect(
    clippy::cast_possible_truncation,
    reason = "rolls and probabilities lie between 0 and certainty"
)]
fn millionths(share: f64) -> i64 {
    (share * 1_000_000.0).round() as i64
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Fixed(f64, u32);

    impl Dice for Fixed {
        fn roll(&mut self, _: Roll<'_>) -> f64 {
            self.1 += 1;
            self.0
        }
    }

    #[test]
    fn each_dialect_has_its_own_edges() {
        let (info, cards, vault) = (ChanceRule::WORLD_INFO, ChanceRule::CARDS, ChanceRule::VAULT);
        for (rule, probability, roll, passes, rolls) in [
            (info, None, 0.9, true, 0),
            (info, Some(100.0), 0.9, true, 0),
            (info, Some(110.0), 0.9, true, 1),
            (info, Some(0.0), 0.0, true, 1),
            (info, Some(50.0), 0.5, true, 1),
            (info, Some(50.0), 0.500_001, false, 1),
            (info, Some(f64::NAN), 0.0, false, 1),
            (cards, Some(110.0), 0.9, true, 0),
            (cards, Some(f64::NAN), 0.9, true, 0),
            (cards, Some(0.0), 0.0, false, 0),
            (cards, Some(50.0), 0.5, false, 1),
            (cards, Some(50.0), 0.499_999, true, 1),
            (vault, Some(1.0), 0.9, true, 0),
            (vault, Some(0.0), 0.0, false, 0),
            (vault, Some(0.5), 0.5, true, 1),
            (vault, Some(0.5), 0.6, false, 1),
        ] {
            let mut dice = Fixed(roll, 0);
            let found = rule.roll(probability, &EntryId::from("e"), &mut dice);
            assert_eq!((found.is_ok(), dice.1), (passes, rolls), "{rule:?} {probability:?} {roll}");
        }
        let stop = vault.roll(Some(0.25), &EntryId::from("e"), &mut Fixed(0.5, 0));
        assert_eq!(stop, Err(Stop::Chance { roll: 50.0, probability: 25.0 }));
    }
}
