//! What a regular expression consists of.

use super::charset::CharSet;

/// A part of an expression. Flags are already applied.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Node {
    /// Nothing.
    Empty,
    /// One character.
    Char(u32),
    /// One character of a set.
    Set(CharSet),
    /// One after the other.
    All(Vec<Node>),
    /// The first that matches.
    Any(Vec<Node>),
    /// A group with a number.
    Group { number: u32, inner: Box<Node> },
    /// A part that is repeated.
    Repeat { inner: Box<Node>, times: Times, groups: Groups },
    /// A condition on the place.
    Assert(Assertion),
    /// Look ahead or behind.
    Look { inner: Box<Node>, look: Look },
    /// What a group matched; with several groups of one name, the one that took part.
    Back { groups: Vec<u32>, folds: bool },
}

/// How often a part is repeated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Times {
    pub(super) least: u32,
    /// `None` is any number.
    pub(super) most: Option<u32>,
    pub(super) greedy: bool,
}

/// The groups inside of a repeated part: each time begins without what they matched.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Groups {
    pub(super) first: u32,
    /// One past the last.
    pub(super) end: u32,
}

/// A condition on a place in the text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Assertion {
    TextStart,
    TextEnd,
    LineStart,
    LineEnd,
    /// Between a character of a word and another one, or not.
    Word {
        /// Whether there must be a boundary.
        boundary: bool,
        /// Whether letters count whose other case is ASCII.
        foreign: bool,
    },
}

/// Which way to look, and whether what is there must not match.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Look {
    pub(super) behind: bool,
    pub(super) negated: bool,
}

/// A whole expression.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Expression {
    pub(super) node: Node,
    /// How many groups have a number.
    pub(super) groups: u32,
    /// Groups with a name, in the order of the pattern.
    pub(super) names: Vec<(String, u32)>,
}

impl Node {
    /// Whether it can match without a character.
    pub(super) fn can_be_empty(&self) -> bool {
        match self {
            Self::Empty | Self::Assert(_) | Self::Look { .. } | Self::Back { .. } => true,
            Self::Char(_) | Self::Set(_) => false,
            Self::All(parts) => parts.iter().all(Self::can_be_empty),
            Self::Any(parts) => parts.iter().any(Self::can_be_empty),
            Self::Group { inner, .. } => inner.can_be_empty(),
            Self::Repeat { inner, times, .. } => times.least == 0 || inner.can_be_empty(),
        }
    }

    /// How many instructions it takes, about.
    pub(super) fn size(&self) -> usize {
        match self {
            Self::Empty => 0,
            Self::Char(_) | Self::Set(_) | Self::Assert(_) | Self::Back { .. } => 1,
            Self::All(parts) => parts.iter().map(Self::size).sum(),
            Self::Any(parts) => parts.iter().map(|part| part.size() + 2).sum(),
            Self::Repeat { inner, times, .. } => {
                if matches!(**inner, Self::Char(_) | Self::Set(_)) {
                    return 1;
                }
                let copies = times.most.unwrap_or(times.least.saturating_add(1)).max(1) as usize;
                (inner.size() + 4).saturating_mul(copies)
            }
            Self::Group { inner, .. } | Self::Look { inner, .. } => inner.size() + 2,
        }
    }
}
