//! JavaScript regular expressions with a limit on steps that does not depend on the machine.
//!
//! Lore is written for JavaScript's engine: UTF-16 units, ASCII `\b`, look-behind, back
//! references. This is a small engine with the same rules, because it can do what no other one
//! does: it counts every step, also inside look-around. A clock would give a replay another
//! verdict. A test compares it with QuickJS over random expressions and texts
//! (`docs/design/031-regex-keys.md`).

mod charset;
mod class;
mod failures;
mod machine;
mod parse;
mod program;
mod required;
mod slow;
mod syntax;
#[cfg(test)]
mod tests;
mod text;

use std::{cell::Cell, sync::Arc};

use serde::{Deserialize, Serialize};

pub use self::text::RegexText;
use self::{
    machine::{Machine, Meter, NOWHERE, UsedUp},
    program::{Beginning, Program},
    required::required_literals,
    text::Units,
};

/// The steps that one expression may take in one text.
const KEY_STEPS: u64 = 4_000_000;
/// The steps that all expressions of one turn may take.
const TURN_STEPS: u64 = 100_000_000;

/// A regular expression that compiles.
#[derive(Clone, Debug)]
pub struct JsRegex {
    pattern: Box<str>,
    flags: Box<str>,
    program: Arc<Program>,
}

impl PartialEq for JsRegex {
    fn eq(&self, other: &Self) -> bool {
        self.pattern == other.pattern && self.flags == other.flags
    }
}

impl Eq for JsRegex {}

/// What running an expression gave.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RegexOutcome {
    /// The first match, in bytes of the text.
    Found {
        /// First byte.
        start: usize,
        /// One past the last byte.
        end: usize,
    },
    /// No match.
    NotFound,
    /// It needed more steps than one expression may take.
    TooSlow,
    /// The steps of the turn are used up.
    NoStepsLeft,
}

impl RegexOutcome {
    /// The bytes of the match, if there is one.
    pub fn span(self) -> Option<(usize, usize)> {
        match self {
            Self::Found { start, end } => Some((start, end)),
            Self::NotFound | Self::TooSlow | Self::NoStepsLeft => None,
        }
    }
}

/// How many steps regular expressions may take. Steps are counted instead of time, so that a
/// replay gives the same verdict.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct StepLimits {
    /// The steps of one expression in one text.
    pub key: u64,
    /// The steps of all expressions of one turn.
    pub turn: u64,
}

impl Default for StepLimits {
    fn default() -> Self {
        Self { key: KEY_STEPS, turn: TURN_STEPS }
    }
}

impl StepLimits {
    /// Whether these are the defaults.
    pub fn is_default(&self) -> bool {
        *self == Self::default()
    }
}

/// The steps that are left in a turn.
#[derive(Debug)]
pub struct Steps {
    left: Cell<u64>,
    /// The most for one expression in one text.
    key: u64,
}

impl Default for Steps {
    /// The steps of one turn.
    fn default() -> Self {
        Self::within(StepLimits::default())
    }
}

impl Steps {
    /// A number of steps.
    pub fn new(left: u64) -> Self {
        Self::within(StepLimits { turn: left, ..StepLimits::default() })
    }

    /// The steps of one turn within limits.
    pub fn within(limits: StepLimits) -> Self {
        Self { left: Cell::new(limits.turn), key: limits.key }
    }

    /// How many are left.
    pub fn left(&self) -> u64 {
        self.left.get()
    }

    /// Runs something that takes steps.
    fn meter<R>(&self, run: impl FnOnce(&mut Meter) -> Result<R, UsedUp>) -> Result<R, UsedUp> {
        let mut meter = Meter { taken: 0, limit: self.left().min(self.key) };
        let done = run(&mut meter);
        self.left.set(self.left().saturating_sub(meter.taken));
        done
    }
}

impl JsRegex {
    /// The expression, or `None` if JavaScript would refuse it. Classes of strings (flag `v`)
    /// and names with escapes are refused too.
    pub fn new(pattern: &str, flags: &str) -> Option<Self> {
        let expression = parse::parse(pattern, flags)?;
        let program = Arc::new(Program::new(&expression, flags.contains(['u', 'v'])));
        Some(Self { pattern: pattern.into(), flags: flags.into(), program })
    }

    /// The pattern.
    pub fn pattern(&self) -> &str {
        &self.pattern
    }

    /// The flags.
    pub fn flags(&self) -> &str {
        &self.flags
    }

    /// Literals of which the text must hold at least one, ignoring case, for the
    /// expression to match; `None` if there is no such text.
    pub fn required_literals(&self) -> Option<Vec<String>> {
        required_literals(&self.pattern, &self.flags)
    }

    /// The first match in a text, with the steps of a turn of its own.
    pub fn find(&self, text: &str) -> RegexOutcome {
        self.find_within(&RegexText::new(text), &Steps::default())
    }

    /// The first match in a text. `g` and `y` keep no memory of earlier runs.
    pub fn find_within(&self, text: &RegexText, steps: &Steps) -> RegexOutcome {
        let whole = steps.left() >= steps.key;
        let found = steps.meter(|meter| match text.ascii() {
            Some(bytes) => self.search(bytes, 0, &mut Attempt::new(false, meter)),
            None => self.search(text.units(), 0, &mut Attempt::new(false, meter)),
        });
        match found {
            Ok(Some((start, end))) => {
                RegexOutcome::Found { start: text.byte(start), end: text.byte(end) }
            }
            Ok(None) => RegexOutcome::NotFound,
            Err(UsedUp) if whole => RegexOutcome::TooSlow,
            Err(UsedUp) => RegexOutcome::NoStepsLeft,
        }
    }

    /// The matches that JavaScript's `replace` would replace, with their groups; `None` if
    /// it needed too many steps.
    pub fn find_all<'text>(
        &self,
        text: &'text str,
        steps: &Steps,
    ) -> Option<Vec<RegexMatch<'text>>> {
        let held = RegexText::new(text);
        let found = steps.meter(|meter| match held.ascii() {
            Some(bytes) => self.search_all(bytes, meter),
            None => self.search_all(held.units(), meter),
        });
        let (found, bytes) = (found.ok()?, held.bytes());
        let cut = |start: u32, end: u32| {
            let byte = |unit: u32| bytes.get(unit as usize).copied().unwrap_or(text.len());
            (byte(start), byte(end).max(byte(start)))
        };
        let matches = found.into_iter().map(|slots| {
            let groups = slots.chunks_exact(2).map(|span| {
                let taken = span[0] != NOWHERE && span[1] != NOWHERE;
                taken.then(|| cut(span[0], span[1]))
            });
            let groups: Vec<Option<(usize, usize)>> = groups.collect();
            let (start, end) = groups.first().copied().flatten().unwrap_or_default();
            RegexMatch { whole: text, start, end, groups, program: Arc::clone(&self.program) }
        });
        Some(matches.collect())
    }

    fn search_all<T: Units>(&self, text: T, meter: &mut Meter) -> Result<Vec<Vec<u32>>, UsedUp> {
        let global = self.flags.contains('g');
        let (mut found, mut from) = (Vec::new(), 0);
        let mut attempt = Attempt::new(true, meter);
        while from <= text.len()
            && let Some((start, end)) = self.search(text, from, &mut attempt)?
        {
            let mut slots = std::mem::take(&mut attempt.slots);
            slots[0] = start;
            slots[1] = end;
            found.push(slots);
            if !global {
                break;
            }
            let unit = text.unit(end);
            let end = end as usize;
            // After a match of nothing, the next one begins a character further.
            let pair = unit.is_some_and(|unit| (0xD800..0xDC00).contains(&unit));
            let step = if self.program.unicode && T::HAS_PAIRS && pair { 2 } else { 1 };
            from = if slots_empty(found.last()) { end + step } else { end };
        }
        Ok(found)
    }

    /// The first match from a unit on. A first attempt that takes long is followed by one that
    /// remembers what failed.
    fn search<T: Units>(
        &self,
        text: T,
        from: usize,
        attempt: &mut Attempt<'_>,
    ) -> Result<Option<(u32, u32)>, UsedUp> {
        let whole = attempt.meter.limit;
        let quick = if self.program.sites.is_some() && !attempt.remembers {
            (attempt.meter.taken + 20_000 + 4 * text.len() as u64).min(whole)
        } else {
            whole
        };
        attempt.meter.limit = quick;
        let tried = self.scan(text, from, attempt);
        attempt.meter.limit = whole;
        if tried.is_ok() || quick == whole {
            return tried;
        }
        attempt.remembers = true;
        self.scan(text, from, attempt)
    }

    fn scan<T: Units>(
        &self,
        text: T,
        from: usize,
        attempt: &mut Attempt<'_>,
    ) -> Result<Option<(u32, u32)>, UsedUp> {
        let mut machine = Machine::new(&self.program, text, attempt.wants_groups, attempt.meter);
        if attempt.remembers {
            machine.remember()?;
        }
        let sticky = self.flags.contains('y');
        let mut at = from;
        loop {
            let Some(next) = self.begin(text, at, sticky) else { return Ok(None) };
            machine.spend(1 + (next - at) / 8)?;
            at = next;
            // Texts of 4 GiB do not exist here.
            let start = u32::try_from(at).unwrap_or(NOWHERE);
            if let Some(end) = machine.match_at(start)? {
                attempt.slots = std::mem::take(&mut machine.slots);
                return Ok(Some((start, end)));
            }
            let pair = |at: usize| {
                let unit = |at: usize| u32::try_from(at).ok().and_then(|at| text.unit(at));
                unit(at).is_some_and(|unit| (0xD800..0xDC00).contains(&unit))
                    && unit(at + 1).is_some_and(|unit| (0xDC00..0xE000).contains(&unit))
            };
            at += if self.program.unicode && T::HAS_PAIRS && pair(at) { 2 } else { 1 };
            if sticky || at > text.len() {
                return Ok(None);
            }
        }
    }

    /// The next place where a match can begin.
    fn begin<T: Units>(&self, text: T, from: usize, sticky: bool) -> Option<usize> {
        match &self.program.beginning {
            _ if sticky => Some(from),
            Beginning::Anywhere => Some(from),
            Beginning::TextStart => (from == 0).then_some(0),
            Beginning::At(any) => text.find(any, from),
            Beginning::In(set) => {
                let is = |at: &usize| {
                    let unit = u32::try_from(*at).ok().and_then(|at| text.unit(at));
                    unit.is_some_and(|unit| set.contains(unit))
                };
                (from..text.len()).find(is)
            }
        }
    }
}

fn slots_empty(slots: Option<&Vec<u32>>) -> bool {
    slots.is_some_and(|slots| slots[0] == slots[1])
}

/// What several searches in one text share.
struct Attempt<'m> {
    wants_groups: bool,
    /// Whether failures are remembered.
    remembers: bool,
    meter: &'m mut Meter,
    slots: Vec<u32>,
}

impl<'m> Attempt<'m> {
    fn new(wants_groups: bool, meter: &'m mut Meter) -> Self {
        Self { wants_groups, remembers: false, meter, slots: Vec::new() }
    }
}

/// One match of an expression.
#[derive(Clone, Debug)]
pub struct RegexMatch<'text> {
    whole: &'text str,
    /// First byte.
    pub start: usize,
    /// One past the last byte.
    pub end: usize,
    groups: Vec<Option<(usize, usize)>>,
    program: Arc<Program>,
}

impl RegexMatch<'_> {
    /// What a group matched, by number (0 is all of it) or by name.
    pub fn group(&self, name: &str) -> Option<&str> {
        let of = |number: usize| self.groups.get(number).copied().flatten();
        let span = if let Ok(number) = name.parse::<usize>() {
            of(number)
        } else {
            let mut same = self.program.names.iter().filter(|(known, _)| known == name);
            same.find_map(|(_, number)| of(*number as usize))
        };
        span.map(|(start, end)| &self.whole[start..end])
    }

    /// How many groups the expression has, besides the match itself.
    pub fn groups(&self) -> usize {
        self.groups.len().saturating_sub(1)
    }
}
