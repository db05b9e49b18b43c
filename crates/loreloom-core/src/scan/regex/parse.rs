//! Reads regular expressions as JavaScript does, with the old spellings that it tolerates
//! without the flag `u`.

use super::{
    charset::CharSet,
    syntax::{Assertion, Expression, Groups, Look, Node, Times},
};

/// Groups in groups that are read.
const DEEPEST: usize = 200;

/// The expression, or `None` if JavaScript would refuse it.
pub(super) fn parse(pattern: &str, flags: &str) -> Option<Expression> {
    let known =
        |(at, flag): (usize, char)| "dgimsuvy".contains(flag) && !flags[..at].contains(flag);
    if !flags.char_indices().all(known) || flags.contains('u') && flags.contains('v') {
        return None;
    }
    let unicode = flags.contains(['u', 'v']);
    let input: Vec<u32> = if unicode {
        pattern.chars().map(u32::from).collect()
    } else {
        pattern.encode_utf16().map(u32::from).collect()
    };
    let mode = Mode {
        folds: flags.contains('i'),
        by_lines: flags.contains('m'),
        dot_is_all: flags.contains('s'),
    };
    let sets = flags.contains('v');
    let (total, named) = count_groups(&input, sets);
    let mut parser = Parser {
        input,
        at: 0,
        unicode,
        sets,
        mode,
        total,
        named,
        groups: 0,
        names: Vec::new(),
        branch: Vec::new(),
        choices: 0,
        back_names: Vec::new(),
    };
    let mut node = parser.alternatives(0)?;
    if parser.at < parser.input.len() {
        return None;
    }
    let names: Vec<(String, u32)> =
        parser.names.iter().map(|(name, number, _)| (name.clone(), *number)).collect();
    parser.resolve(&mut node)?;
    Some(Expression { node, groups: parser.groups, names })
}

/// How many groups have numbers, and whether one has a name.
fn count_groups(input: &[u32], sets: bool) -> (u32, bool) {
    let (mut total, mut named, mut in_class, mut at) = (0, false, 0_u32, 0);
    let is = |at: usize, character: char| input.get(at) == Some(&u32::from(character));
    while at < input.len() {
        match char::from_u32(input[at]) {
            Some('\\') => at += 1,
            Some('[') if in_class == 0 || sets => in_class += 1,
            Some(']') => in_class = in_class.saturating_sub(1),
            Some('(') if in_class == 0 => {
                let name =
                    is(at + 1, '?') && is(at + 2, '<') && !is(at + 3, '=') && !is(at + 3, '!');
                named |= name;
                total += u32::from(name || !is(at + 1, '?'));
            }
            _ => {}
        }
        at += 1;
    }
    (total, named)
}

/// The flags that a group can change.
#[derive(Clone, Copy)]
pub(super) struct Mode {
    pub(super) folds: bool,
    by_lines: bool,
    dot_is_all: bool,
}

/// JavaScript refuses the expression.
pub(super) struct Refused;

/// The alternatives around a place: which choice, and which of its parts.
type Branch = Vec<(u32, u32)>;

/// Every method gives `None` for what JavaScript refuses.
pub(super) struct Parser {
    input: Vec<u32>,
    at: usize,
    pub(super) unicode: bool,
    /// The flag `v`.
    pub(super) sets: bool,
    pub(super) mode: Mode,
    /// Groups with numbers in the whole pattern.
    total: u32,
    pub(super) named: bool,
    groups: u32,
    /// Names with their number and the alternatives they are in.
    names: Vec<(String, u32, Branch)>,
    branch: Branch,
    choices: u32,
    /// Names that are referred to. A reference has a place of this list as its only group.
    back_names: Vec<String>,
}

/// A reference by name has this bit and a place in `back_names` until all names are known.
const BY_NAME: u32 = 1 << 31;

impl Parser {
    pub(super) fn peek(&self) -> Option<char> {
        // Half of a pair is no sign of the syntax.
        self.input.get(self.at).map(|next| char::from_u32(*next).unwrap_or('\u{FFFD}'))
    }

    pub(super) fn next(&mut self) -> Option<u32> {
        let next = self.input.get(self.at).copied()?;
        self.at += 1;
        Some(next)
    }

    pub(super) fn eat(&mut self, character: char) -> bool {
        let found = self.input.get(self.at) == Some(&u32::from(character));
        self.at += usize::from(found);
        found
    }

    pub(super) fn eat_all(&mut self, text: &str) -> bool {
        let found = text
            .chars()
            .zip(self.at..)
            .all(|(one, at)| self.input.get(at) == Some(&u32::from(one)));
        self.at += if found { text.chars().count() } else { 0 };
        found
    }

    pub(super) fn place(&self) -> usize {
        self.at
    }

    pub(super) fn go_back(&mut self, place: usize) {
        self.at = place;
    }

    fn alternatives(&mut self, depth: usize) -> Option<Node> {
        if depth > DEEPEST {
            return None;
        }
        let choice = self.choices;
        self.choices += 1;
        let mut parts = Vec::new();
        for part in 0.. {
            self.branch.push((choice, part));
            let one = self.sequence(depth);
            self.branch.pop();
            parts.push(one?);
            if !self.eat('|') {
                break;
            }
        }
        Some(if parts.len() == 1 { parts.pop()? } else { Node::Any(parts) })
    }

    fn sequence(&mut self, depth: usize) -> Option<Node> {
        let mut parts = Vec::new();
        while let Some(next) = self.peek().filter(|next| !matches!(next, '|' | ')')) {
            let first = self.groups + 1;
            let (node, can_repeat) = self.term(next, depth)?;
            let groups = Groups { first, end: self.groups + 1 };
            match self.quantifier().ok()? {
                Some(_) if !can_repeat => return None,
                Some(times) => parts.push(Node::Repeat { inner: Box::new(node), times, groups }),
                None => parts.push(node),
            }
        }
        Some(match parts.len() {
            0 => Node::Empty,
            1 => parts.pop()?,
            _ => Node::All(parts),
        })
    }

    /// One part, and whether it can be repeated.
    fn term(&mut self, next: char, depth: usize) -> Option<(Node, bool)> {
        let place = self.at;
        let character = self.next()?;
        let node = match next {
            '^' if self.mode.by_lines => return Some((Node::Assert(Assertion::LineStart), false)),
            '^' => return Some((Node::Assert(Assertion::TextStart), false)),
            '$' if self.mode.by_lines => return Some((Node::Assert(Assertion::LineEnd), false)),
            '$' => return Some((Node::Assert(Assertion::TextEnd), false)),
            '(' => return self.group(depth + 1),
            '.' if self.mode.dot_is_all => Node::Set(CharSet::default().complement()),
            '.' => Node::Set(CharSet::line_ends().complement()),
            '[' => self.class()?,
            '\\' => match self.peek()? {
                sign @ ('b' | 'B') => {
                    self.at += 1;
                    let foreign = self.mode.folds && self.unicode;
                    let boundary = sign == 'b';
                    return Some((Node::Assert(Assertion::Word { boundary, foreign }), false));
                }
                _ => self.escape()?,
            },
            '*' | '+' | '?' => return None,
            '{' => {
                self.at = place;
                // Without the flag `u`, a brace that counts nothing is a brace.
                if self.unicode || self.braces().is_some() {
                    return None;
                }
                self.at = place + 1;
                self.literal(character)
            }
            ']' | '}' if self.unicode => return None,
            _ => self.literal(character),
        };
        Some((node, true))
    }

    pub(super) fn literal(&self, character: u32) -> Node {
        if self.mode.folds {
            let folded = CharSet::one(character).folded(self.unicode);
            if folded.ranges() != [(character, character)] {
                return Node::Set(folded);
            }
        }
        Node::Char(character)
    }

    fn group(&mut self, depth: usize) -> Option<(Node, bool)> {
        if !self.eat('?') {
            return self.numbered(None, depth);
        }
        let look = |behind, negated| Some(Look { behind, negated });
        let (look, can_repeat) = if self.eat(':') {
            (None, true)
        } else if self.eat('=') {
            (look(false, false), !self.unicode)
        } else if self.eat('!') {
            (look(false, true), !self.unicode)
        } else if self.eat_all("<=") {
            (look(true, false), false)
        } else if self.eat_all("<!") {
            (look(true, true), false)
        } else if self.eat('<') {
            let name = self.name()?;
            return self.numbered(Some(name), depth);
        } else {
            return self.modified(depth);
        };
        let inner = self.alternatives(depth)?;
        let node = match look {
            Some(look) => Node::Look { inner: Box::new(inner), look },
            None => inner,
        };
        self.eat(')').then_some((node, can_repeat))
    }

    fn numbered(&mut self, name: Option<String>, depth: usize) -> Option<(Node, bool)> {
        self.groups += 1;
        let number = self.groups;
        if let Some(name) = name {
            // A name may be used again only where no two of its groups can take part.
            let apart = |other: &[(u32, u32)]| {
                self.branch.iter().any(|(choice, part)| {
                    other.iter().any(|(others, of)| others == choice && of != part)
                })
            };
            let mut same = self.names.iter().filter(|(known, ..)| *known == name);
            if !same.all(|(_, _, branch)| apart(branch)) {
                return None;
            }
            self.names.push((name, number, self.branch.clone()));
        }
        let inner = Box::new(self.alternatives(depth)?);
        self.eat(')').then_some((Node::Group { number, inner }, true))
    }

    /// A group that changes flags: `(?i-s:…)`.
    fn modified(&mut self, depth: usize) -> Option<(Node, bool)> {
        let (before, mut on, mut seen) = (self.mode, true, Vec::new());
        loop {
            let next = self.peek()?;
            self.at += 1;
            match next {
                'i' | 'm' | 's' if seen.contains(&next) => return None,
                'i' => self.mode.folds = on,
                'm' => self.mode.by_lines = on,
                's' => self.mode.dot_is_all = on,
                '-' if on => on = false,
                ':' => break,
                _ => return None,
            }
            if next != '-' {
                seen.push(next);
            }
        }
        if seen.is_empty() {
            return None;
        }
        let inner = self.alternatives(depth)?;
        self.mode = before;
        self.eat(')').then_some((inner, true))
    }

    fn name(&mut self) -> Option<String> {
        let start = self.at;
        while self.peek()? != '>' {
            self.at += 1;
        }
        let units = self.input[start..self.at].to_vec();
        self.at += 1;
        let name = if self.unicode {
            units.into_iter().map(char::from_u32).collect::<Option<String>>()?
        } else {
            let units: Option<Vec<u16>> =
                units.into_iter().map(|one| one.try_into().ok()).collect();
            String::from_utf16(&units?).ok()?
        };
        let sign = |one: char| matches!(one, '_' | '$');
        let joiner = |one: char| matches!(one, '\u{200C}' | '\u{200D}');
        let first = name.chars().next().is_some_and(|one| one.is_alphabetic() || sign(one));
        let rest = name.chars().all(|one| one.is_alphanumeric() || sign(one) || joiner(one));
        (first && rest).then_some(name)
    }

    /// How often the part before is repeated, if it is.
    fn quantifier(&mut self) -> Result<Option<Times>, Refused> {
        let (least, most) = match self.peek() {
            Some('*') => (0, None),
            Some('+') => (1, None),
            Some('?') => (0, Some(1)),
            Some('{') => {
                let place = self.at;
                let Some(counted) = self.braces() else {
                    self.at = place;
                    return Ok(None);
                };
                self.at -= 1;
                counted
            }
            _ => return Ok(None),
        };
        self.at += 1;
        if most.is_some_and(|most| most < least) {
            return Err(Refused);
        }
        let greedy = !self.eat('?');
        // No text is so long.
        let most = most.filter(|most| *most < u32::MAX);
        Ok(Some(Times { least, most, greedy }))
    }

    /// `{2}`, `{2,}` or `{2,3}`.
    fn braces(&mut self) -> Option<(u32, Option<u32>)> {
        self.eat('{').then_some(())?;
        let least = self.number()?;
        let most = if !self.eat(',') {
            Some(least)
        } else if self.peek() == Some('}') {
            None
        } else {
            Some(self.number()?)
        };
        self.eat('}').then_some((least, most))
    }

    pub(super) fn number(&mut self) -> Option<u32> {
        let mut number = None;
        while let Some(digit) = self.peek().and_then(|next| next.to_digit(10)) {
            self.at += 1;
            number = Some(number.unwrap_or(0_u32).saturating_mul(10).saturating_add(digit));
        }
        number
    }

    /// A reference to a group, if there is such a group.
    pub(super) fn back_reference(&mut self) -> Option<Node> {
        let place = self.at;
        let number = self.number().filter(|number| *number <= self.total);
        if number.is_none() {
            self.at = place;
        }
        Some(Node::Back { groups: vec![number?], folds: self.mode.folds })
    }

    /// `<name>` after `\k`.
    pub(super) fn named_reference(&mut self) -> Option<Node> {
        self.eat('<').then_some(())?;
        let name = self.name()?;
        let place = u32::try_from(self.back_names.len()).ok()? | BY_NAME;
        self.back_names.push(name);
        Some(Node::Back { groups: vec![place], folds: self.mode.folds })
    }

    /// Replaces names by numbers; `None` if there is no such name.
    fn resolve(&self, node: &mut Node) -> Option<()> {
        match node {
            Node::Back { groups, .. } => {
                let place = *groups.first()?;
                if place & BY_NAME != 0 {
                    let name = self.back_names.get((place & !BY_NAME) as usize)?;
                    let same = self.names.iter().filter(|(known, ..)| known == name);
                    *groups = same.map(|(_, number, _)| *number).collect();
                    (!groups.is_empty()).then_some(())?;
                }
            }
            Node::All(parts) | Node::Any(parts) => {
                for part in parts {
                    self.resolve(part)?;
                }
            }
            Node::Group { inner, .. } | Node::Repeat { inner, .. } | Node::Look { inner, .. } => {
                self.resolve(inner)?;
            }
            Node::Empty | Node::Char(_) | Node::Set(_) | Node::Assert(_) => {}
        }
        Some(())
    }
}
