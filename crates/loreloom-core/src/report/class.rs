//! Verdicts in a handful of classes, for lists that are read from the top.

use serde::{Deserialize, Serialize};

use super::{Outcome, Stop, Verdict};

/// What kind of verdict it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum VerdictClass {
    /// It fired.
    Woven,
    /// It did not fire, but its text of an earlier turn is still in the prompt.
    Lingering,
    /// It would have fired, but there was no room.
    Cut,
    /// Something of it was found, and a rule about that said no.
    Near,
    /// A rule that does not look at the text kept it out.
    Rule,
    /// Nothing of it was found.
    NoMatch,
}

impl VerdictClass {
    /// All classes.
    pub const ALL: [Self; 6] =
        [Self::Woven, Self::Lingering, Self::Cut, Self::Near, Self::Rule, Self::NoMatch];

    /// Its name.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Woven => "woven",
            Self::Lingering => "lingering",
            Self::Cut => "cut",
            Self::Near => "near",
            Self::Rule => "rule",
            Self::NoMatch => "no_match",
        }
    }
}

impl Verdict {
    /// What kind of verdict it is.
    pub fn class(&self) -> VerdictClass {
        match &self.outcome {
            Outcome::Activated { .. } => VerdictClass::Woven,
            Outcome::Stopped(_) if self.lingers() => VerdictClass::Lingering,
            Outcome::Stopped(stop) => stop.class(),
        }
    }

    /// How near it came to firing: what fired comes first, then what was stopped latest.
    pub fn nearness(&self) -> u8 {
        match &self.outcome {
            Outcome::Activated { .. } => u8::MAX,
            Outcome::Stopped(stop) => stop.progress(),
        }
    }
}

impl Stop {
    /// What kind of verdict it makes.
    pub fn class(&self) -> VerdictClass {
        match self {
            Self::Budget { .. }
            | Self::BudgetClosed { .. }
            | Self::NoRoom { .. }
            | Self::OverBudget { .. }
            | Self::MaxEntries { .. } => VerdictClass::Cut,
            Self::OutOfReach { .. }
            | Self::Secondary { .. }
            | Self::Required { .. }
            | Self::Excluded { .. }
            | Self::NotNear { score: Some(_), .. }
            | Self::Group { .. }
            | Self::Chance { .. }
            | Self::Warmup { .. }
            | Self::LowScore { .. }
            | Self::SearchLimit { .. }
            | Self::NotSelected { .. }
            | Self::Unsure { .. }
            | Self::FellBack { .. } => VerdictClass::Near,
            Self::NoKeys
            | Self::NoKeyFound
            | Self::KeyTooSlow { .. }
            | Self::NotNear { score: None, .. } => VerdictClass::NoMatch,
            Self::Disabled
            | Self::Guide
            | Self::Trigger { .. }
            | Self::Character { .. }
            | Self::Tag { .. }
            | Self::Delay { .. }
            | Self::Cooldown { .. }
            | Self::RecursionLevel { .. }
            | Self::RecursionLimit { .. }
            | Self::NoMarker { .. }
            | Self::ExcludedFromRecursion
            | Self::Suppressed
            | Self::Once { .. }
            | Self::Gate { .. }
            | Self::Copied { .. }
            | Self::CopyOfNothing
            | Self::Resting { .. }
            | Self::Context { .. }
            | Self::Folder { .. }
            | Self::Blocked
            | Self::Reinjection { .. }
            | Self::Requires { .. }
            | Self::Excludes { .. }
            | Self::Stripped { .. } => VerdictClass::Rule,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::units::Tokens;

    #[test]
    fn no_room_is_never_taken_for_no_match() {
        let cut = Stop::BudgetClosed { needed: Tokens(3) };
        assert_eq!(cut.class(), VerdictClass::Cut);
        assert_eq!(Stop::NoKeyFound.class(), VerdictClass::NoMatch);
        let far = Stop::out_of_reach("bell", 4, 2);
        assert_eq!(far.class(), VerdictClass::Near);
        assert_eq!(Stop::Disabled.class().as_str(), "rule");
    }
}
