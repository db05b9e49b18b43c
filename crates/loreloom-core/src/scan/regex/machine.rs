//! Runs a program: tries one way after the other, and counts every step.
//!
//! A step is an instruction, a way that is tried again, or four characters of a run or a back
//! reference, inside look-around too. So the number of steps is the same on every machine, and
//! a step takes about the same time whatever it does.
//!
//! Trying can take a number of steps that grows with a power of the text. A second attempt
//! remembers at which places of the text each choice failed, and does not try it there again.
//! Then an expression takes no more steps than its length times that of the text. This is exact:
//! without back references and counters, whether the rest of a program matches depends only on
//! the place, and on which of the open loops have advanced.

use super::{
    charset::canonical,
    failures::Failures,
    program::{Insn, Program, Single, Way},
    syntax::Assertion,
    text::Units,
};

/// No place in the text.
pub(super) const NOWHERE: u32 = u32::MAX;

/// The steps are used up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct UsedUp;

/// Steps that are left, and those that were taken.
#[derive(Clone, Copy, Debug)]
pub(super) struct Meter {
    pub(super) taken: u64,
    pub(super) limit: u64,
}

impl Meter {
    #[inline]
    fn spend(&mut self, steps: u64) -> Result<(), UsedUp> {
        self.taken += steps;
        if self.taken > self.limit { Err(UsedUp) } else { Ok(()) }
    }
}

/// Something to do when an attempt fails, newest first.
#[derive(Clone, Copy, Debug)]
enum Frame {
    /// Go on here.
    Try {
        pc: u32,
        at: u32,
    },
    /// A greedy run gives back one character.
    Shorter {
        pc: u32,
        least: u32,
        at: u32,
    },
    /// A lazy run takes one more.
    Longer {
        pc: u32,
        at: u32,
        left: u32,
    },
    /// Set a group or register back.
    Slot {
        slot: u32,
        old: u32,
    },
    Register {
        register: u32,
        old: u32,
    },
    /// Everything tried from this choice failed.
    Failed {
        bit: u32,
    },
    /// Everything tried from this run failed, wherever it was entered.
    RunFailed {
        site: u32,
        from: u32,
        to: u32,
    },
}

/// A program at work on a text.
pub(super) struct Machine<'m, T> {
    program: &'m Program,
    text: T,
    /// Whether two units can be one character.
    pairs: bool,
    meter: &'m mut Meter,
    frames: Vec<Frame>,
    /// Starts and ends of groups.
    pub(super) slots: Vec<u32>,
    registers: Vec<u32>,
    keeps_groups: bool,
    failures: Option<Failures>,
}

/// Where to go on, or that this attempt failed.
type Next = Result<Option<(u32, u32)>, UsedUp>;

impl<'m, T: Units> Machine<'m, T> {
    pub(super) fn new(
        program: &'m Program,
        text: T,
        wants_groups: bool,
        meter: &'m mut Meter,
    ) -> Self {
        let keeps_groups = wants_groups || program.has_back_references;
        let slots = if keeps_groups { 2 * (program.groups as usize + 1) } else { 0 };
        Self {
            program,
            text,
            pairs: program.unicode && T::HAS_PAIRS,
            meter,
            frames: Vec::new(),
            slots: vec![NOWHERE; slots],
            registers: vec![NOWHERE; program.registers as usize],
            keeps_groups,
            failures: None,
        }
    }

    /// Remembers failures from now on, if the program allows that.
    pub(super) fn remember(&mut self) -> Result<bool, UsedUp> {
        self.failures = Failures::new(self.program, self.text.len());
        let words = self.failures.as_ref().map_or(0, Failures::words);
        self.meter.spend(words as u64 / 8)?;
        Ok(self.failures.is_some())
    }

    pub(super) fn spend(&mut self, steps: usize) -> Result<(), UsedUp> {
        self.meter.spend(steps as u64)
    }

    /// The end of the match that begins here.
    pub(super) fn match_at(&mut self, at: u32) -> Result<Option<u32>, UsedUp> {
        self.frames.clear();
        self.slots.fill(NOWHERE);
        self.run(0, at)
    }

    fn run(&mut self, mut pc: u32, mut at: u32) -> Result<Option<u32>, UsedUp> {
        let program = self.program;
        let base = self.frames.len();
        loop {
            self.meter.spend(1)?;
            let next = match &program.insns[pc as usize] {
                Insn::One(single, way) => {
                    let read = self.read(at, *way).filter(|(one, _)| self.is(*single, *one));
                    read.map(|(_, after)| (pc + 1, after))
                }
                Insn::Jump(to) => Some((*to, at)),
                Insn::Split { first, second, site } => {
                    if self.opens(*site, at) {
                        self.frames.push(Frame::Try { pc: *second, at });
                        Some((*first, at))
                    } else {
                        None
                    }
                }
                Insn::Match => return Ok(Some(at)),
                Insn::Look { negated, end } => {
                    let found = self.look(pc + 1, at, *negated)?;
                    found.then_some((*end, at))
                }
                Insn::Exactly(single, way, times) => {
                    let to = self.take(*single, *way, at, *times)?;
                    to.1.eq(times).then_some((pc + 1, to.0))
                }
                other @ (Insn::Star { .. }
                | Insn::UpTo { .. }
                | Insn::Save(_)
                | Insn::Reset(_)
                | Insn::Enter(_)
                | Insn::Advanced(_)
                | Insn::Count(_)
                | Insn::Counted { .. }
                | Insn::Again { .. }
                | Insn::Assert(_)
                | Insn::Back { .. }) => self.other(other, pc, at)?,
            };
            (pc, at) = match next {
                Some(next) => next,
                None => match self.back(base)? {
                    Some(next) => next,
                    None => return Ok(None),
                },
            };
        }
    }

    fn other(&mut self, insn: &Insn, pc: u32, at: u32) -> Next {
        let on = Some((pc + 1, at));
        Ok(match insn {
            Insn::Star { single, way, greedy, site } => {
                return self.star((*single, *way), *greedy, *site, (pc, at));
            }
            Insn::UpTo { site, .. } if !self.opens(*site, at) => None,
            Insn::UpTo { single, way, greedy: true, most, .. } => {
                let (to, _) = self.take(*single, *way, at, *most)?;
                if to != at {
                    self.frames.push(Frame::Shorter { pc, least: at, at: to });
                }
                Some((pc + 1, to))
            }
            Insn::UpTo { greedy: false, most, .. } => {
                self.frames.push(Frame::Longer { pc, at, left: *most });
                on
            }
            Insn::Save(slot) => {
                self.save(*slot, at);
                on
            }
            Insn::Reset(groups) => {
                for slot in 2 * groups.first..2 * groups.end {
                    self.save(slot, NOWHERE);
                }
                self.meter.spend(u64::from(groups.end - groups.first))?;
                on
            }
            Insn::Enter(register) => {
                self.set(*register, at);
                on
            }
            Insn::Advanced(register) => on.filter(|_| self.registers[*register as usize] != at),
            Insn::Count(_) | Insn::Counted { .. } | Insn::Again { .. } => self.count(insn, pc, at),
            Insn::Assert(assertion) => on.filter(|_| self.holds(*assertion, at)),
            Insn::Back { groups, folds, way } => {
                let after = self.repeated(groups, *folds, *way, at)?;
                after.map(|after| (pc + 1, after))
            }
            Insn::One(..)
            | Insn::Exactly(..)
            | Insn::Jump(_)
            | Insn::Split { .. }
            | Insn::Look { .. }
            | Insn::Match => None,
        })
    }

    /// Instructions of counted loops.
    fn count(&mut self, insn: &Insn, pc: u32, at: u32) -> Option<(u32, u32)> {
        let on = Some((pc + 1, at));
        #[expect(clippy::wildcard_enum_match_arm, reason = "the others count nothing")]
        match insn {
            Insn::Count(counter) => {
                self.set(*counter, 0);
                on
            }
            Insn::Counted { counter, times, out } => {
                let count = self.registers[*counter as usize];
                if count < times.least {
                    on
                } else if times.most.is_some_and(|most| count >= most) {
                    Some((*out, at))
                } else {
                    let ways = if times.greedy { [pc + 1, *out] } else { [*out, pc + 1] };
                    self.frames.push(Frame::Try { pc: ways[1], at });
                    Some((ways[0], at))
                }
            }
            Insn::Again { counter, entered, least, to } => {
                let count = self.registers[*counter as usize];
                let empty = count >= *least && self.registers[*entered as usize] == at;
                if !empty {
                    self.set(*counter, count.saturating_add(1));
                }
                (!empty).then_some((*to, at))
            }
            _ => None,
        }
    }

    /// Whether a choice is worth trying: it is not known to fail here.
    #[inline]
    fn opens(&mut self, site: u32, at: u32) -> bool {
        let Some(failures) = &self.failures else { return true };
        let bit = failures.bit(site, at, &self.registers);
        if failures.has(bit) {
            return false;
        }
        self.frames.push(Frame::Failed { bit });
        true
    }

    fn star(
        &mut self,
        (single, way): (Single, Way),
        greedy: bool,
        site: u32,
        (pc, at): (u32, u32),
    ) -> Next {
        if self.failed(site, at) {
            return Ok(None);
        }
        if !greedy {
            if self.failures.is_some() {
                self.frames.push(Frame::RunFailed { site, from: at, to: at });
            }
            self.frames.push(Frame::Longer { pc, at, left: u32::MAX });
            return Ok(Some((pc + 1, at)));
        }
        let mut to = at;
        let mut taken = 0_u64;
        while let Some((one, after)) = self.read(to, way) {
            // From a place where this run failed before, no longer run can match.
            if !self.is(single, one) || self.failed(site, after) {
                break;
            }
            to = after;
            taken += 1;
        }
        self.meter.spend(taken / 4)?;
        if self.failures.is_some() {
            self.frames.push(Frame::RunFailed { site, from: at, to });
        }
        if to != at {
            self.frames.push(Frame::Shorter { pc, least: at, at: to });
        }
        Ok(Some((pc + 1, to)))
    }

    #[inline]
    fn failed(&self, site: u32, at: u32) -> bool {
        let known = |failures: &Failures| failures.has(failures.bit(site, at, &self.registers));
        self.failures.as_ref().is_some_and(known)
    }

    /// Takes as many characters as there are, up to a number.
    fn take(&mut self, single: Single, way: Way, at: u32, most: u32) -> Result<(u32, u32), UsedUp> {
        let (mut to, mut taken) = (at, 0);
        while taken < most
            && let Some((_, after)) = self.read(to, way).filter(|(one, _)| self.is(single, *one))
        {
            (to, taken) = (after, taken + 1);
        }
        self.meter.spend(u64::from(taken / 4))?;
        Ok((to, taken))
    }

    fn look(&mut self, pc: u32, at: u32, negated: bool) -> Result<bool, UsedUp> {
        let base = self.frames.len();
        let found = self.run(pc, at)?.is_some();
        if !found {
            return Ok(negated);
        }
        self.meter.spend((self.frames.len() - base) as u64 / 4)?;
        if negated {
            while self.frames.len() > base {
                self.undo();
            }
        } else {
            // What it found stays, but it is not tried again.
            let mut kept = base;
            for place in base..self.frames.len() {
                let frame = self.frames[place];
                if matches!(frame, Frame::Slot { .. } | Frame::Register { .. }) {
                    self.frames[kept] = frame;
                    kept += 1;
                }
            }
            self.frames.truncate(kept);
        }
        Ok(!negated)
    }

    /// Takes back the newest frame without trying it.
    fn undo(&mut self) {
        match self.frames.pop() {
            Some(Frame::Slot { slot, old }) => self.slots[slot as usize] = old,
            Some(Frame::Register { register, old }) => self.registers[register as usize] = old,
            Some(_) | None => {}
        }
    }

    /// What to try next, after an attempt failed.
    fn back(&mut self, base: usize) -> Next {
        while self.frames.len() > base {
            self.meter.spend(1)?;
            match self.frames[self.frames.len() - 1] {
                Frame::Try { pc, at } => {
                    self.frames.pop();
                    return Ok(Some((pc, at)));
                }
                Frame::Shorter { pc, least, at } => {
                    let (at, passed) = self.shorter(pc, least, at);
                    self.meter.spend(passed / 4)?;
                    if at == least {
                        self.frames.pop();
                    } else if let Some(last) = self.frames.last_mut() {
                        *last = Frame::Shorter { pc, least, at };
                    }
                    return Ok(Some((pc + 1, at)));
                }
                Frame::Longer { pc, at, left } => {
                    self.frames.pop();
                    if let Some(longer) = self.longer(pc, at, left) {
                        return Ok(Some(longer));
                    }
                }
                Frame::Failed { bit } => {
                    self.frames.pop();
                    if let Some(failures) = &mut self.failures {
                        failures.add(bit);
                    }
                }
                Frame::RunFailed { site, from, to } => {
                    self.frames.pop();
                    self.meter.spend(u64::from(from.abs_diff(to)) / 4)?;
                    for at in from.min(to)..=from.max(to) {
                        if let Some(failures) = &mut self.failures {
                            failures.add(failures.bit(site, at, &self.registers));
                        }
                    }
                }
                Frame::Slot { .. } | Frame::Register { .. } => self.undo(),
            }
        }
        Ok(None)
    }

    /// A run with one character less, or with so many less that the next instruction can
    /// match; and how many places were passed over.
    fn shorter(&self, pc: u32, least: u32, mut at: u32) -> (u32, u64) {
        let insns = &self.program.insns;
        let run = &insns[pc as usize];
        let backward = matches!(
            run,
            Insn::Star { way: Way::Backward, .. } | Insn::UpTo { way: Way::Backward, .. }
        );
        let way = if backward { Way::Forward } else { Way::Backward };
        let mut passed = 0;
        while let Some((_, before)) = self.read(at, way) {
            at = before;
            let Insn::One(single, way) = &insns[pc as usize + 1] else { break };
            if at == least || self.read(at, *way).is_some_and(|(one, _)| self.is(*single, one)) {
                break;
            }
            passed += 1;
        }
        (at, passed)
    }

    fn longer(&mut self, pc: u32, at: u32, left: u32) -> Option<(u32, u32)> {
        let program = self.program;
        let (Insn::Star { single, way, site, .. } | Insn::UpTo { single, way, site, .. }) =
            &program.insns[pc as usize]
        else {
            return None;
        };
        let (single, way) = (*single, *way);
        // A run with a limit may go further from another place.
        let site = (left == u32::MAX).then_some(*site);
        let (one, after) = self.read(at, way).filter(|_| left > 0)?;
        if !self.is(single, one) || site.is_some_and(|site| self.failed(site, after)) {
            return None;
        }
        // The run that must be marked as failed ends here now.
        if let Some(Frame::RunFailed { to, .. }) = self.frames.last_mut()
            && site.is_some()
        {
            *to = after;
        }
        let left = if site.is_some() { left } else { left - 1 };
        self.frames.push(Frame::Longer { pc, at: after, left });
        Some((pc + 1, after))
    }

    fn save(&mut self, slot: u32, at: u32) {
        if self.keeps_groups {
            let old = std::mem::replace(&mut self.slots[slot as usize], at);
            if old != at {
                self.frames.push(Frame::Slot { slot, old });
            }
        }
    }

    fn set(&mut self, register: u32, value: u32) {
        let old = std::mem::replace(&mut self.registers[register as usize], value);
        self.frames.push(Frame::Register { register, old });
    }

    /// The next character and the place after it.
    #[inline]
    fn read(&self, at: u32, way: Way) -> Option<(u32, u32)> {
        let pair = |high: u32, low: u32| {
            (0xD800..0xDC00).contains(&high) && (0xDC00..0xE000).contains(&low)
        };
        let joined = |high: u32, low: u32| 0x1_0000 + ((high - 0xD800) << 10) + (low - 0xDC00);
        match way {
            Way::Forward => {
                let one = self.text.unit(at)?;
                if self.pairs
                    && let Some(low) = self.text.unit(at + 1)
                    && pair(one, low)
                {
                    return Some((joined(one, low), at + 2));
                }
                Some((one, at + 1))
            }
            Way::Backward => {
                let before = at.checked_sub(1)?;
                let one = self.text.unit(before)?;
                if self.pairs
                    && let Some(high) = before.checked_sub(1).and_then(|at| self.text.unit(at))
                    && pair(high, one)
                {
                    return Some((joined(high, one), before - 1));
                }
                Some((one, before))
            }
        }
    }

    #[inline]
    fn is(&self, single: Single, one: u32) -> bool {
        match single {
            Single::Is(wanted) => one == wanted,
            Single::Either(first, second) => one == first || one == second,
            Single::In(set) => self.program.sets[set as usize].contains(one),
        }
    }

    fn holds(&self, assertion: Assertion, at: u32) -> bool {
        let before = at.checked_sub(1).and_then(|before| self.text.unit(before));
        let after = self.text.unit(at);
        let ends_line = |one: u32| matches!(one, 0xA | 0xD | 0x2028 | 0x2029);
        match assertion {
            Assertion::TextStart => before.is_none(),
            Assertion::TextEnd => after.is_none(),
            Assertion::LineStart => before.is_none_or(ends_line),
            Assertion::LineEnd => after.is_none_or(ends_line),
            Assertion::Word { boundary, foreign } => {
                let word = |one: u32| {
                    u8::try_from(one).is_ok_and(|one| one.is_ascii_alphanumeric() || one == b'_')
                        || foreign && matches!(one, 0x17F | 0x212A)
                };
                (before.is_some_and(word) != after.is_some_and(word)) == boundary
            }
        }
    }

    /// The place after what a group matched, if that is here again.
    fn repeated(
        &mut self,
        groups: &[u32],
        folds: bool,
        way: Way,
        at: u32,
    ) -> Result<Option<u32>, UsedUp> {
        let span = |group: &u32| {
            let (start, end) =
                (self.slots[2 * *group as usize], self.slots[2 * *group as usize + 1]);
            (start != NOWHERE && end != NOWHERE).then_some((start, end))
        };
        let Some((start, end)) = groups.iter().find_map(span) else { return Ok(Some(at)) };
        let unicode = self.program.unicode;
        let (mut here, mut there, mut read) =
            (at, if way == Way::Forward { start } else { end }, 0);
        let last = if way == Way::Forward { end } else { start };
        let mut same = true;
        while same && there != last {
            let (Some((wanted, next)), Some((found, after))) =
                (self.read(there, way), self.read(here, way))
            else {
                same = false;
                break;
            };
            let folded = || canonical(wanted, unicode) == canonical(found, unicode);
            same = wanted == found || folds && folded();
            (here, there, read) = (after, next, read + 1);
        }
        self.meter.spend(if folds { read } else { read / 4 })?;
        Ok(same.then_some(here))
    }
}
