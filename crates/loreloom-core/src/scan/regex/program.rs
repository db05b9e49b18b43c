//! Turns an expression into instructions.
//!
//! Repeated groups are unrolled while that stays small, because a program without counters can
//! remember which of its attempts failed ([`super::machine`]).

use super::{
    charset::CharSet,
    syntax::{Assertion, Expression, Groups, Node, Times},
};

/// The most instructions that one repeated part is unrolled to.
const UNROLLED: usize = 500;
/// A program of this length unrolls nothing more.
const LONG: usize = 20_000;
/// With more nested parts that can be empty, failed attempts are not remembered.
const MOST_EMPTY: usize = 3;

/// One instruction.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Insn {
    /// One character.
    One(Single, Way),
    /// So many characters.
    Exactly(Single, Way, u32),
    /// Any number of characters; `site` is where failures are remembered.
    Star {
        single: Single,
        way: Way,
        greedy: bool,
        site: u32,
    },
    /// At most so many characters.
    UpTo {
        single: Single,
        way: Way,
        greedy: bool,
        most: u32,
        site: u32,
    },
    /// Tries one way, then the other.
    Split {
        first: u32,
        second: u32,
        site: u32,
    },
    Jump(u32),
    /// Keeps the place as the start or end of a group.
    Save(u32),
    /// Forgets what groups matched.
    Reset(Groups),
    /// Keeps the place in a register.
    Enter(u32),
    /// Fails if the place is the one in the register.
    Advanced(u32),
    /// Sets a counter to 0.
    Count(u32),
    /// Goes into a counted loop or out of it.
    Counted {
        counter: u32,
        times: Times,
        out: u32,
    },
    /// The end of a counted time: it must advance, unless it was asked for.
    Again {
        counter: u32,
        entered: u32,
        least: u32,
        to: u32,
    },
    Assert(Assertion),
    Back {
        groups: Box<[u32]>,
        folds: bool,
        way: Way,
    },
    /// The inner program follows; after it goes on at `end`.
    Look {
        negated: bool,
        end: u32,
    },
    Match,
}

/// The direction of reading.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Way {
    Forward,
    Backward,
}

/// What one character is compared with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Single {
    Is(u32),
    Either(u32, u32),
    /// A set of the program.
    In(u32),
}

/// A set of characters with a quick answer for the first 256.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct FastSet {
    low: [u64; 4],
    set: CharSet,
}

impl FastSet {
    fn new(set: CharSet) -> Self {
        let mut low = [0; 4];
        for one in (0..256_u32).filter(|one| set.contains(*one)) {
            low[one as usize / 64] |= 1 << (one % 64);
        }
        Self { low, set }
    }

    #[inline]
    pub(super) fn contains(&self, character: u32) -> bool {
        match self.low.get(character as usize / 64) {
            Some(bits) => bits & (1 << (character % 64)) != 0,
            None => self.set.contains(character),
        }
    }
}

/// Where a match can begin.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Beginning {
    Anywhere,
    TextStart,
    /// Only at one of these, which are few and ASCII.
    At(Vec<u8>),
    /// Only at a unit of this set.
    In(Box<FastSet>),
}

/// A compiled expression.
#[derive(Debug)]
pub(super) struct Program {
    pub(super) insns: Vec<Insn>,
    pub(super) sets: Vec<FastSet>,
    pub(super) groups: u32,
    pub(super) names: Vec<(String, u32)>,
    pub(super) unicode: bool,
    pub(super) beginning: Beginning,
    /// Registers for places and counters.
    pub(super) registers: u32,
    pub(super) has_back_references: bool,
    /// How many places failures are remembered for; `None` if they cannot be.
    pub(super) sites: Option<u32>,
}

impl Program {
    pub(super) fn new(expression: &Expression, unicode: bool) -> Self {
        let mut compiler = Compiler { depth: 0, ..Compiler::default() };
        compiler.node(&expression.node, Way::Forward);
        compiler.insns.push(Insn::Match);
        let can_remember =
            !compiler.counts && !compiler.refers && compiler.registers as usize <= MOST_EMPTY;
        Self {
            beginning: beginning(&expression.node),
            groups: expression.groups,
            names: expression.names.clone(),
            unicode,
            registers: compiler.registers,
            has_back_references: compiler.refers,
            sites: can_remember.then_some(compiler.sites),
            insns: compiler.insns,
            sets: compiler.sets,
        }
    }
}

#[derive(Default)]
struct Compiler {
    insns: Vec<Insn>,
    sets: Vec<FastSet>,
    sites: u32,
    /// Loops around that need a register.
    depth: u32,
    registers: u32,
    counts: bool,
    refers: bool,
}

impl Compiler {
    fn here(&self) -> u32 {
        u32::try_from(self.insns.len()).unwrap_or(u32::MAX)
    }

    fn push(&mut self, insn: Insn) -> usize {
        self.insns.push(insn);
        self.insns.len() - 1
    }

    fn site(&mut self) -> u32 {
        self.sites += 1;
        self.sites - 1
    }

    fn node(&mut self, node: &Node, way: Way) {
        match node {
            Node::Empty => {}
            Node::Char(_) | Node::Set(_) => {
                if let Some(single) = self.single(node) {
                    self.push(Insn::One(single, way));
                }
            }
            Node::All(parts) if way == Way::Forward => {
                for part in parts {
                    self.node(part, way);
                }
            }
            Node::All(parts) => {
                for part in parts.iter().rev() {
                    self.node(part, way);
                }
            }
            Node::Any(parts) => self.any(parts, way),
            Node::Group { number, inner } => {
                let (start, end) = (2 * number, 2 * number + 1);
                let slots = if way == Way::Forward { [start, end] } else { [end, start] };
                self.push(Insn::Save(slots[0]));
                self.node(inner, way);
                self.push(Insn::Save(slots[1]));
            }
            Node::Repeat { inner, times, groups } => self.repeat(inner, *times, *groups, way),
            Node::Assert(assertion) => {
                self.push(Insn::Assert(*assertion));
            }
            Node::Look { inner, look } => {
                let at = self.push(Insn::Look { negated: look.negated, end: 0 });
                self.node(inner, if look.behind { Way::Backward } else { Way::Forward });
                self.push(Insn::Match);
                self.insns[at] = Insn::Look { negated: look.negated, end: self.here() };
            }
            Node::Back { groups, folds } => {
                self.refers = true;
                self.push(Insn::Back { groups: groups.as_slice().into(), folds: *folds, way });
            }
        }
    }

    fn single(&mut self, node: &Node) -> Option<Single> {
        match node {
            Node::Char(one) => Some(Single::Is(*one)),
            Node::Set(set) => Some(match *set.ranges() {
                [(one, same)] if one == same => Single::Is(one),
                [(one, same), (other, also)] if one == same && other == also => {
                    Single::Either(one, other)
                }
                _ => {
                    let known = self.sets.iter().position(|known| known.set == *set);
                    let at = known.unwrap_or_else(|| {
                        self.sets.push(FastSet::new(set.clone()));
                        self.sets.len() - 1
                    });
                    Single::In(u32::try_from(at).unwrap_or(u32::MAX))
                }
            }),
            Node::Empty
            | Node::All(_)
            | Node::Any(_)
            | Node::Group { .. }
            | Node::Repeat { .. }
            | Node::Assert(_)
            | Node::Look { .. }
            | Node::Back { .. } => None,
        }
    }

    fn any(&mut self, parts: &[Node], way: Way) {
        let mut jumps = Vec::new();
        for (at, part) in parts.iter().enumerate() {
            if at + 1 == parts.len() {
                self.node(part, way);
                break;
            }
            let site = self.site();
            let split = self.push(Insn::Jump(0));
            self.node(part, way);
            jumps.push(self.push(Insn::Jump(0)));
            let first = u32::try_from(split + 1).unwrap_or(u32::MAX);
            self.insns[split] = Insn::Split { first, second: self.here(), site };
        }
        for jump in jumps {
            self.insns[jump] = Insn::Jump(self.here());
        }
    }

    fn repeat(&mut self, inner: &Node, times: Times, groups: Groups, way: Way) {
        let Times { least, most, greedy } = times;
        if most == Some(0) {
            return;
        }
        if let Some(single) = self.single(inner) {
            if least > 0 {
                self.push(Insn::Exactly(single, way, least));
            }
            match most.map(|most| most - least) {
                None => {
                    let site = self.site();
                    self.push(Insn::Star { single, way, greedy, site });
                }
                Some(0) => {}
                Some(most) => {
                    let site = self.site();
                    self.push(Insn::UpTo { single, way, greedy, most, site });
                }
            }
            return;
        }
        let times_written = most.unwrap_or(least.saturating_add(1)) as usize;
        let size = (inner.size() + 4).saturating_mul(times_written);
        let simple = times_written <= 1;
        if !simple && (size > UNROLLED || self.insns.len() > LONG) {
            return self.counted(inner, times, groups, way);
        }
        for _ in 0..least {
            self.reset(groups);
            self.node(inner, way);
        }
        match most {
            None => self.forever(inner, greedy, groups, way),
            Some(most) => self.optional(inner, (most - least, greedy), groups, way),
        }
    }

    fn reset(&mut self, groups: Groups) {
        if groups.first < groups.end {
            self.push(Insn::Reset(groups));
        }
    }

    /// One time that must not be empty.
    fn advancing(&mut self, inner: &Node, groups: Groups, way: Way) {
        self.reset(groups);
        if !inner.can_be_empty() {
            return self.node(inner, way);
        }
        let register = self.register();
        self.push(Insn::Enter(register));
        self.node(inner, way);
        self.push(Insn::Advanced(register));
        self.depth -= 1;
    }

    /// A register that no loop around uses.
    fn register(&mut self) -> u32 {
        self.depth += 1;
        self.registers = self.registers.max(self.depth);
        self.depth - 1
    }

    fn split(&mut self, at: usize, greedy: bool, site: u32) {
        let inside = u32::try_from(at + 1).unwrap_or(u32::MAX);
        let (first, second) = if greedy { (inside, self.here()) } else { (self.here(), inside) };
        self.insns[at] = Insn::Split { first, second, site };
    }

    fn forever(&mut self, inner: &Node, greedy: bool, groups: Groups, way: Way) {
        let site = self.site();
        let split = self.push(Insn::Jump(0));
        self.advancing(inner, groups, way);
        self.push(Insn::Jump(u32::try_from(split).unwrap_or(u32::MAX)));
        self.split(split, greedy, site);
    }

    fn optional(&mut self, inner: &Node, (most, greedy): (u32, bool), groups: Groups, way: Way) {
        let mut splits = Vec::new();
        for _ in 0..most {
            let site = self.site();
            splits.push((self.push(Insn::Jump(0)), site));
            self.advancing(inner, groups, way);
        }
        for (split, site) in splits {
            self.split(split, greedy, site);
        }
    }

    fn counted(&mut self, inner: &Node, times: Times, groups: Groups, way: Way) {
        self.counts = true;
        let (counter, entered) = (self.register(), self.register());
        self.push(Insn::Count(counter));
        let to = self.here();
        let head = self.push(Insn::Jump(0));
        self.reset(groups);
        self.push(Insn::Enter(entered));
        self.node(inner, way);
        self.push(Insn::Again { counter, entered, least: times.least, to });
        self.insns[head] = Insn::Counted { counter, times, out: self.here() };
        self.depth -= 2;
    }
}

fn beginning(node: &Node) -> Beginning {
    if starts_text(node) {
        return Beginning::TextStart;
    }
    let mut set = CharSet::default();
    if add_first(node, &mut set) {
        return Beginning::Anywhere;
    }
    let few: u32 = set.ranges().iter().map(|(first, last)| last - first + 1).sum();
    if few <= 3 && set.ranges().iter().all(|(_, last)| *last < 128) {
        let all = set.ranges().iter().flat_map(|(first, last)| *first..=*last);
        return Beginning::At(all.filter_map(|one| u8::try_from(one).ok()).collect());
    }
    // A character of two units begins with half of a pair.
    if set.ranges().iter().any(|(_, last)| *last > 0xFFFF) {
        set.add(&CharSet::of(&[(0xD800, 0xDFFF)]));
    }
    Beginning::In(Box::new(FastSet::new(set)))
}

fn starts_text(node: &Node) -> bool {
    match node {
        Node::Assert(Assertion::TextStart) => true,
        Node::All(parts) => parts.first().is_some_and(starts_text),
        Node::Any(parts) => parts.iter().all(starts_text),
        Node::Group { inner, .. } => starts_text(inner),
        Node::Empty
        | Node::Char(_)
        | Node::Set(_)
        | Node::Repeat { .. }
        | Node::Assert(_)
        | Node::Look { .. }
        | Node::Back { .. } => false,
    }
}

/// Adds the characters that a match can begin with. Whether it can begin with another one,
/// because the part can be empty.
fn add_first(node: &Node, set: &mut CharSet) -> bool {
    match node {
        Node::Empty | Node::Assert(_) | Node::Look { .. } => true,
        Node::Back { .. } => {
            set.add(&CharSet::default().complement());
            true
        }
        Node::Char(one) => {
            set.add(&CharSet::one(*one));
            false
        }
        Node::Set(other) => {
            set.add(other);
            false
        }
        Node::All(parts) => parts.iter().all(|part| add_first(part, set)),
        Node::Any(parts) => {
            // All of them count, also after one that can be empty.
            let mut open = false;
            for part in parts {
                open |= add_first(part, set);
            }
            open
        }
        Node::Group { inner, .. } => add_first(inner, set),
        Node::Repeat { times, .. } if times.most == Some(0) => true,
        Node::Repeat { inner, times, .. } => add_first(inner, set) || times.least == 0,
    }
}
