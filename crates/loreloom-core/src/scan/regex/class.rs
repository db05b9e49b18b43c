//! Escapes, and classes in brackets.

use super::{
    charset::CharSet,
    parse::{Parser, Refused},
    syntax::Node,
};

/// What a class has between its brackets, or an escape.
enum Item {
    One(u32),
    Set(CharSet),
}

impl Item {
    fn into_set(self) -> CharSet {
        match self {
            Self::One(one) => CharSet::one(one),
            Self::Set(set) => set,
        }
    }
}

impl Parser {
    /// What follows a backslash outside of classes.
    pub(super) fn escape(&mut self) -> Option<Node> {
        let next = self.peek()?;
        if let Some(set) = self.set_escape().ok()? {
            return Some(Node::Set(set));
        }
        match next {
            '1'..='9' => {
                if let Some(back) = self.back_reference() {
                    return Some(back);
                }
            }
            'k' if self.unicode || self.named => {
                self.next();
                return self.named_reference();
            }
            _ => {}
        }
        let one = self.character_escape(false)?;
        Some(self.literal(one))
    }

    /// `\d`, `\W`, `\p{…}` and their like; `None` for other escapes.
    fn set_escape(&mut self) -> Result<Option<CharSet>, Refused> {
        let sign = self.peek().ok_or(Refused)?;
        let foreign = self.mode.folds && self.unicode;
        let (set, negated) = match sign {
            'd' | 'D' => (CharSet::digits(), sign == 'D'),
            's' | 'S' => (CharSet::blanks(), sign == 'S'),
            'w' | 'W' => (CharSet::words(foreign), sign == 'W'),
            'p' | 'P' if self.unicode => {
                self.next();
                let set = self.property().ok_or(Refused)?;
                // With `v`, case is ignored before the set is turned round.
                let first = self.mode.folds && self.sets;
                let set = if first { set.folded(true) } else { set };
                let set = if sign == 'P' { set.complement() } else { set };
                return Ok(Some(self.folded(set)));
            }
            _ => return Ok(None),
        };
        self.next();
        Ok(Some(if negated { set.complement() } else { set }))
    }

    fn property(&mut self) -> Option<CharSet> {
        self.eat('{').then_some(())?;
        let mut name = String::new();
        loop {
            match char::from_u32(self.next()?)? {
                '}' => return CharSet::property(&name),
                other => name.push(other),
            }
        }
    }

    fn folded(&self, set: CharSet) -> CharSet {
        if self.mode.folds { set.folded(self.unicode) } else { set }
    }

    /// An escape that is one character.
    fn character_escape(&mut self, in_class: bool) -> Option<u32> {
        let place = self.place();
        let next = self.next()?;
        Some(match char::from_u32(next).unwrap_or('\u{FFFD}') {
            'b' if in_class => 0x8,
            'n' => 0xA,
            'r' => 0xD,
            't' => 0x9,
            'v' => 0xB,
            'f' => 0xC,
            'c' => match self.control(in_class) {
                Some(control) => control,
                None if self.unicode => return None,
                // The backslash is a character, and the letter is read next.
                None => {
                    self.go_back(place);
                    u32::from('\\')
                }
            },
            'x' => match self.hexadecimal(2) {
                Some(code) => code,
                None if self.unicode => return None,
                None => next,
            },
            'u' => match self.code_point() {
                Some(code) => code,
                None if self.unicode => return None,
                None => next,
            },
            '0' if !self.peek().is_some_and(|next| next.is_ascii_digit()) => 0,
            '0'..='9' if self.unicode => return None,
            '0'..='7' => {
                self.go_back(place);
                self.octal()?
            }
            '-' if self.unicode && in_class => next,
            other if self.unicode => "^$\\.*+?()[]{}|/".contains(other).then_some(next)?,
            'k' if self.named => return None,
            _ => next,
        })
    }

    fn control(&mut self, in_class: bool) -> Option<u32> {
        let next = self.peek()?;
        let old = in_class && !self.unicode && (next.is_ascii_digit() || next == '_');
        if !next.is_ascii_alphabetic() && !old {
            return None;
        }
        self.next().map(|control| control % 32)
    }

    fn hexadecimal(&mut self, digits: usize) -> Option<u32> {
        let place = self.place();
        let mut number = 0;
        for _ in 0..digits {
            let Some(digit) = self.peek().and_then(|next| next.to_digit(16)) else {
                self.go_back(place);
                return None;
            };
            self.next();
            number = number * 16 + digit;
        }
        Some(number)
    }

    /// What follows `\u`.
    fn code_point(&mut self) -> Option<u32> {
        if self.unicode && self.eat('{') {
            let mut number = None;
            while let Some(digit) = self.peek().and_then(|next| next.to_digit(16)) {
                self.next();
                let larger = number.unwrap_or(0_u32) * 16 + digit;
                number = Some(larger).filter(|number| *number <= 0x10_FFFF);
                number?;
            }
            return number.filter(|_| self.eat('}'));
        }
        let high = self.hexadecimal(4)?;
        let place = self.place();
        if self.unicode && (0xD800..0xDC00).contains(&high) && self.eat_all("\\u") {
            match self.hexadecimal(4) {
                Some(low) if (0xDC00..0xE000).contains(&low) => {
                    return Some(0x1_0000 + ((high - 0xD800) << 10) + (low - 0xDC00));
                }
                _ => self.go_back(place),
            }
        }
        Some(high)
    }

    fn octal(&mut self) -> Option<u32> {
        let first = self.next()? - 0x30;
        let mut number = first;
        // At most three digits, and at most 0o377.
        for _ in 0..if first <= 3 { 2 } else { 1 } {
            let Some(digit) = self.peek().and_then(|next| next.to_digit(8)) else { break };
            self.next();
            number = number * 8 + digit;
        }
        Some(number)
    }

    /// A class, after its first bracket.
    pub(super) fn class(&mut self) -> Option<Node> {
        if self.sets {
            return self.set_class(0).map(Node::Set);
        }
        let negated = self.eat('^');
        let mut set = CharSet::default();
        loop {
            if self.eat(']') {
                break;
            }
            let first = self.class_item()?;
            let place = self.place();
            if !self.eat('-') || self.peek() == Some(']') {
                self.go_back(place);
                add(&mut set, first);
                continue;
            }
            match (first, self.class_item()?) {
                (Item::One(first), Item::One(last)) => {
                    (first <= last).then(|| set.add_range(first, last))?;
                }
                _ if self.unicode => return None,
                // A dash beside a set is a dash.
                (first, last) => {
                    add(&mut set, first);
                    add(&mut set, last);
                    set.add_range(0x2D, 0x2D);
                }
            }
        }
        set.normalize();
        let set = self.folded(set);
        Some(Node::Set(if negated { set.complement() } else { set }))
    }

    fn class_item(&mut self) -> Option<Item> {
        if !self.eat('\\') {
            return self.next().map(Item::One);
        }
        match self.set_escape().ok()? {
            Some(set) => Some(Item::Set(set)),
            None => self.character_escape(true).map(Item::One),
        }
    }

    /// A class with the flag `v`: classes in classes, `--` and `&&`. Strings in classes are not
    /// supported.
    fn set_class(&mut self, depth: usize) -> Option<CharSet> {
        if depth > 50 {
            return None;
        }
        let negated = self.eat('^');
        let mut set = CharSet::default();
        let mut items = 0;
        while !self.eat(']') {
            if items > 0 && self.eat_all("--") {
                set = set.minus(&self.operand(depth)?.into_set_folded(self));
            } else if items > 0 && self.eat_all("&&") {
                set = set.and(&self.operand(depth)?.into_set_folded(self));
            } else {
                let first = self.operand(depth)?;
                let place = self.place();
                if self.peek() == Some('-') && !self.eat_all("--") {
                    self.eat('-');
                    let (Item::One(first), Item::One(last)) = (first, self.operand(depth)?) else {
                        return None;
                    };
                    (first <= last).then_some(())?;
                    set.add(&self.folded(CharSet::of(&[(first, last)])));
                } else {
                    self.go_back(place);
                    set.add(&first.into_set_folded(self));
                }
            }
            items += 1;
        }
        Some(if negated { set.complement() } else { set })
    }

    fn operand(&mut self, depth: usize) -> Option<Item> {
        if self.eat('[') {
            return self.set_class(depth + 1).map(Item::Set);
        }
        if self.eat('\\') {
            if let Some(set) = self.set_escape().ok()? {
                return Some(Item::Set(set));
            }
            if self.peek().is_some_and(|next| "&-!#%,:;<=>@`~".contains(next)) {
                return self.next().map(Item::One);
            }
            return self.character_escape(true).map(Item::One);
        }
        let next = self.peek()?;
        let twice = "&!#$%*+,.:;<=>?@^`~".contains(next) && {
            let place = self.place();
            self.next();
            let same = self.peek() == Some(next);
            self.go_back(place);
            same
        };
        if twice || "()[]{}/-|".contains(next) {
            return None;
        }
        self.next().map(Item::One)
    }
}

impl Item {
    fn into_set_folded(self, parser: &Parser) -> CharSet {
        parser.folded(self.into_set())
    }
}

fn add(set: &mut CharSet, item: Item) {
    match item {
        Item::One(one) => set.add_range(one, one),
        Item::Set(other) => set.add(&other),
    }
}
