//! The parser behind [`Node`]: strict grammar, lenient about what strings hold.

use std::borrow::Cow;

use rustc_hash::FxHashSet;

use super::{Json, Member, Node};
use crate::{
    error::FormatError,
    limits::{Limit, Limits},
};

/// A tree and what was odd about its text.
#[derive(Debug)]
pub(crate) struct Parsed<'text> {
    pub(crate) root: Node<'text>,
    pub(crate) oddities: Vec<Oddity>,
}

/// Something legal or repairable that a reader should mention.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Oddity {
    pub(crate) kind: OddityKind,
    /// Where in the text.
    pub(crate) at: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum OddityKind {
    /// A key that the same object already has.
    DuplicateKey,
    /// Half of a surrogate pair, replaced by U+FFFD.
    LoneSurrogate,
    /// U+0000, replaced by U+FFFD: databases and C libraries cut text there.
    Nul,
    /// Another control character, kept.
    Control,
}

/// How much of a text is parsed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Bounds {
    nesting: usize,
    values: usize,
    items: usize,
}

impl From<&Limits> for Bounds {
    fn from(limits: &Limits) -> Self {
        Self { nesting: limits.nesting, values: limits.values, items: limits.items }
    }
}

impl From<usize> for Bounds {
    /// For texts that we wrote ourselves: only the nesting is limited.
    fn from(nesting: usize) -> Self {
        Self { nesting, values: usize::MAX, items: usize::MAX }
    }
}

/// Parses `text`, refusing what is out of bounds.
pub(crate) fn parse(text: &str, bounds: impl Into<Bounds>) -> Result<Parsed<'_>, FormatError> {
    let bounds = bounds.into();
    let (bytes, values) = (text.as_bytes(), bounds.values);
    let mut parser = Parser { text, bytes, at: 0, bounds, values, oddities: Vec::new() };
    parser.skip_space();
    let root = parser.value(0)?;
    parser.skip_space();
    if parser.at < parser.bytes.len() {
        return Err(parser.fault("text after the end of the data"));
    }
    Ok(Parsed { root, oddities: parser.oddities })
}

/// Line and column, both from 1, of a byte of the text.
pub(crate) fn line_and_column(text: &str, at: usize) -> (usize, usize) {
    let before = &text.as_bytes()[..at.min(text.len())];
    let line = before.split(|byte| *byte == b'\n').count();
    let start = before.iter().rposition(|byte| *byte == b'\n').map_or(0, |newline| newline + 1);
    let is_char_start = |byte: &&u8| **byte & 0xC0 != 0x80;
    (line, before[start..].iter().filter(is_char_start).count() + 1)
}

struct Parser<'text> {
    text: &'text str,
    bytes: &'text [u8],
    at: usize,
    bounds: Bounds,
    /// Values that may still come.
    values: usize,
    oddities: Vec<Oddity>,
}

/// Objects of up to this many members are searched for duplicates without a set.
const SMALL_OBJECT: usize = 24;
const MAX_ODDITIES: usize = 1000;

impl<'text> Parser<'text> {
    fn fault(&self, problem: impl Into<String>) -> FormatError {
        self.fault_at(self.at, problem)
    }

    fn fault_at(&self, at: usize, problem: impl Into<String>) -> FormatError {
        let (line, column) = line_and_column(self.text, at);
        FormatError::Syntax { line, column, problem: problem.into() }
    }

    /// The fault of finding something else than `expected` here.
    fn expected(&self, expected: &str) -> FormatError {
        match self.text[self.at..].chars().next() {
            None => self.fault(format!("expected {expected}, found the end of the file")),
            Some(found) => self.fault(format!("expected {expected}, found `{found}`")),
        }
    }

    fn odd(&mut self, kind: OddityKind, at: usize) {
        if self.oddities.len() < MAX_ODDITIES {
            self.oddities.push(Oddity { kind, at });
        }
    }

    fn peek(&self) -> Option<u8> {
        self.bytes.get(self.at).copied()
    }

    fn skip_space(&mut self) {
        while matches!(self.peek(), Some(b' ' | b'\t' | b'\n' | b'\r')) {
            self.at += 1;
        }
    }

    fn value(&mut self, depth: usize) -> Result<Node<'text>, FormatError> {
        let start = self.at;
        let limit = self.bounds.values;
        self.values = self.values.checked_sub(1).ok_or(FormatError::TooMany {
            which: Limit::Values,
            limit,
            found: limit.saturating_add(1),
        })?;
        let value = match self.peek() {
            Some(b'"') => Json::String(self.string()?),
            Some(b'{' | b'[') if depth >= self.bounds.nesting => {
                let (line, column) = line_and_column(self.text, self.at);
                return Err(FormatError::TooDeep { limit: self.bounds.nesting, line, column });
            }
            Some(b'{') => self.object(depth + 1)?,
            Some(b'[') => self.array(depth + 1)?,
            Some(b'-' | b'0'..=b'9') => Json::Number(self.number()?),
            Some(b't') => self.word("true", Json::Bool(true))?,
            Some(b'f') => self.word("false", Json::Bool(false))?,
            Some(b'n') => self.word("null", Json::Null)?,
            _ => return Err(self.expected("a value")),
        };
        Ok(Node { span: start..self.at, value })
    }

    fn word(&mut self, word: &str, value: Json<'text>) -> Result<Json<'text>, FormatError> {
        if !self.bytes[self.at..].starts_with(word.as_bytes()) {
            return Err(self.expected("a value"));
        }
        self.at += word.len();
        Ok(value)
    }

    fn array(&mut self, depth: usize) -> Result<Json<'text>, FormatError> {
        self.at += 1;
        let mut items = Vec::new();
        self.skip_space();
        if self.peek() == Some(b']') {
            self.at += 1;
            return Ok(Json::Array(items));
        }
        loop {
            self.check_items(items.len())?;
            items.push(self.value(depth)?);
            self.skip_space();
            match self.peek() {
                Some(b',') => self.at += 1,
                Some(b']') => break,
                _ => return Err(self.expected("`,` or `]`")),
            }
            self.skip_space();
            if self.peek() == Some(b']') {
                return Err(self.fault("a comma before `]`"));
            }
        }
        self.at += 1;
        // There may be a million of them, each with room for twice as many items.
        items.shrink_to_fit();
        Ok(Json::Array(items))
    }

    fn check_items(&self, found: usize) -> Result<(), FormatError> {
        let (limit, found) = (self.bounds.items, found.saturating_add(1));
        if found > limit {
            return Err(FormatError::TooMany { which: Limit::Items, limit, found });
        }
        Ok(())
    }

    fn object(&mut self, depth: usize) -> Result<Json<'text>, FormatError> {
        self.at += 1;
        let mut members: Vec<Member<'text>> = Vec::new();
        self.skip_space();
        if self.peek() == Some(b'}') {
            self.at += 1;
            return Ok(Json::Object(members));
        }
        loop {
            self.check_items(members.len())?;
            members.push(self.member(depth)?);
            self.skip_space();
            match self.peek() {
                Some(b',') => self.at += 1,
                Some(b'}') => break,
                _ => return Err(self.expected("`,` or `}`")),
            }
            self.skip_space();
            if self.peek() == Some(b'}') {
                return Err(self.fault("a comma before `}`"));
            }
        }
        self.at += 1;
        self.find_duplicates(&members);
        members.shrink_to_fit();
        Ok(Json::Object(members))
    }

    fn member(&mut self, depth: usize) -> Result<Member<'text>, FormatError> {
        let start = self.at;
        if self.peek() != Some(b'"') {
            return Err(self.expected("a key in quotes"));
        }
        let key = self.string()?;
        self.skip_space();
        if self.peek() != Some(b':') {
            return Err(self.expected("`:`"));
        }
        self.at += 1;
        self.skip_space();
        Ok(Member { key, start, value: self.value(depth)? })
    }

    fn find_duplicates(&mut self, members: &[Member<'text>]) {
        if members.len() <= SMALL_OBJECT {
            for (at, member) in members.iter().enumerate() {
                if members[..at].iter().any(|earlier| earlier.key == member.key) {
                    self.odd(OddityKind::DuplicateKey, member.start);
                }
            }
            return;
        }
        let mut seen =
            FxHashSet::with_capacity_and_hasher(members.len(), rustc_hash::FxBuildHasher);
        for member in members {
            if !seen.insert(member.key.as_ref()) {
                self.odd(OddityKind::DuplicateKey, member.start);
            }
        }
    }

    fn number(&mut self) -> Result<&'text str, FormatError> {
        let start = self.at;
        if self.peek() == Some(b'-') {
            self.at += 1;
        }
        match self.peek() {
            Some(b'0') => self.at += 1,
            Some(b'1'..=b'9') => self.digits(),
            _ => return Err(self.expected("a digit")),
        }
        if self.peek() == Some(b'.') {
            self.at += 1;
            self.some_digits()?;
        }
        if let Some(b'e' | b'E') = self.peek() {
            self.at += 1;
            if let Some(b'+' | b'-') = self.peek() {
                self.at += 1;
            }
            self.some_digits()?;
        }
        Ok(&self.text[start..self.at])
    }

    fn digits(&mut self) {
        while matches!(self.peek(), Some(b'0'..=b'9')) {
            self.at += 1;
        }
    }

    fn some_digits(&mut self) -> Result<(), FormatError> {
        let start = self.at;
        self.digits();
        if self.at == start { Err(self.expected("a digit")) } else { Ok(()) }
    }

    fn string(&mut self) -> Result<Cow<'text, str>, FormatError> {
        let open = self.at;
        self.at += 1;
        let start = self.at;
        self.skip_plain();
        if self.peek() == Some(b'"') {
            let text = &self.text[start..self.at];
            self.at += 1;
            return Ok(Cow::Borrowed(text));
        }
        let mut text = String::from(&self.text[start..self.at]);
        loop {
            match self.peek() {
                Some(b'"') => {
                    self.at += 1;
                    return Ok(Cow::Owned(text));
                }
                Some(b'\\') => self.escape(&mut text)?,
                Some(_) => return Err(self.fault("a control character inside quotes")),
                None => return Err(self.fault_at(open, "a text without its closing quote")),
            }
            let start = self.at;
            self.skip_plain();
            text.push_str(&self.text[start..self.at]);
        }
    }

    /// Moves to the next quote, backslash or control character.
    fn skip_plain(&mut self) {
        let is_special = |byte: &u8| *byte == b'"' || *byte == b'\\' || *byte < 0x20;
        let rest = &self.bytes[self.at..];
        self.at += rest.iter().position(is_special).unwrap_or(rest.len());
    }

    fn escape(&mut self, text: &mut String) -> Result<(), FormatError> {
        let start = self.at;
        self.at += 1;
        let plain = match self.peek() {
            Some(b'"') => '"',
            Some(b'\\') => '\\',
            Some(b'/') => '/',
            Some(b'b') => '\u{8}',
            Some(b'f') => '\u{c}',
            Some(b'n') => '\n',
            Some(b'r') => '\r',
            Some(b't') => '\t',
            Some(b'u') => {
                self.at += 1;
                let character = self.unicode_escape(start)?;
                text.push(character);
                return Ok(());
            }
            _ => return Err(self.expected("an escape such as `\\n`")),
        };
        self.at += 1;
        text.push(plain);
        Ok(())
    }

    fn unicode_escape(&mut self, start: usize) -> Result<char, FormatError> {
        let unit = self.hex4()?;
        if (0xD800..0xDC00).contains(&unit) && self.bytes[self.at..].starts_with(b"\\u") {
            let back = self.at;
            self.at += 2;
            let low = self.hex4()?;
            if (0xDC00..0xE000).contains(&low) {
                let code = 0x10000 + ((unit - 0xD800) << 10) + (low - 0xDC00);
                return Ok(char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER));
            }
            self.at = back;
        }
        match char::from_u32(unit) {
            None => self.odd(OddityKind::LoneSurrogate, start),
            Some('\0') => self.odd(OddityKind::Nul, start),
            Some(character) => {
                if character.is_control() && !matches!(character, '\t' | '\n' | '\r') {
                    self.odd(OddityKind::Control, start);
                }
                return Ok(character);
            }
        }
        Ok(char::REPLACEMENT_CHARACTER)
    }

    fn hex4(&mut self) -> Result<u32, FormatError> {
        let mut unit = 0;
        for _ in 0..4 {
            let digit = self.peek().and_then(|byte| char::from(byte).to_digit(16));
            unit = unit * 16 + digit.ok_or_else(|| self.expected("four hexadecimal digits"))?;
            self.at += 1;
        }
        Ok(unit)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn error(text: &str) -> String {
        parse(text, 128).unwrap_err().to_string()
    }

    fn oddities(text: &str) -> Vec<(OddityKind, usize)> {
        parse(text, 128).unwrap().oddities.iter().map(|odd| (odd.kind, odd.at)).collect()
    }

    #[test]
    fn faults_name_line_and_column() {
        for (text, expected) in [
            ("", "expected a value, found the end of the file at line 1, column 1"),
            ("{\n \"é\": tru}", "expected a value, found `t` at line 2, column 7"),
            ("{\"a\":1", "expected `,` or `}`, found the end of the file at line 1, column 7"),
            ("[1,]", "a comma before `]` at line 1, column 4"),
            ("{\"a\":1,}", "a comma before `}` at line 1, column 8"),
            ("[1 2]", "expected `,` or `]`, found `2` at line 1, column 4"),
            ("{a:1}", "expected a key in quotes, found `a` at line 1, column 2"),
            ("[\"ab", "a text without its closing quote at line 1, column 2"),
            ("[\"a\nb\"]", "a control character inside quotes at line 1, column 4"),
            ("[01]", "expected `,` or `]`, found `1` at line 1, column 3"),
            ("[1.]", "expected a digit, found `]` at line 1, column 4"),
            ("[\"\\x\"]", "expected an escape such as `\\n`, found `x` at line 1, column 4"),
            ("[\"\\u12g4\"]", "expected four hexadecimal digits, found `g` at line 1, column 7"),
            ("{} x", "text after the end of the data at line 1, column 4"),
        ] {
            assert_eq!(error(text), format!("not valid JSON: {expected}"), "{text}");
        }
    }

    #[test]
    fn values_stop_at_the_limit_except_in_our_own_texts() {
        let list = |items: usize| format!("[{}0]", "0,".repeat(items - 1));
        let lists = |count: usize| vec![list(100_000 - 1); count].join(",");
        for (text, expected) in [
            (list(200_000), Ok(())),
            (
                list(200_001),
                Err("a file may have 200000 items in one list or object, found 200001"),
            ),
            (format!("[{},[0]]", lists(14)), Ok(())),
            (format!("[{}]", lists(15)), Err("a file may have 1500000 JSON values, found 1500001")),
        ] {
            let found =
                parse(&text, &Limits::default()).map(drop).map_err(|error| error.to_string());
            assert_eq!(found, expected.map_err(str::to_owned));
            assert!(parse(&text, usize::MAX).is_ok());
        }
    }

    #[test]
    fn nesting_stops_at_the_limit_without_using_the_stack() {
        assert!(parse(&format!("{}{}", "[".repeat(128), "]".repeat(128)), 128).is_ok());
        assert_eq!(
            error(&"[".repeat(1_000_000)),
            "JSON may nest 128 levels deep, found more at line 1, column 129"
        );
    }

    #[test]
    fn what_strings_and_keys_hold_is_repaired_and_reported() {
        assert_eq!(oddities(r#"["\ud83d\ude00"]"#), []);
        assert_eq!(oddities(r#"["\ud83d x"]"#), [(OddityKind::LoneSurrogate, 2)]);
        assert_eq!(
            oddities(r#"["\ud83d\u0041\udc00"]"#),
            [(OddityKind::LoneSurrogate, 2), (OddityKind::LoneSurrogate, 14)]
        );
        assert_eq!(
            oddities(r#"["a\u0000\u001f"]"#),
            [(OddityKind::Nul, 3), (OddityKind::Control, 9)]
        );
        assert_eq!(oddities(r#"{"a":1,"b":2,"a":3}"#), [(OddityKind::DuplicateKey, 13)]);
        let parsed = parse(r#"{"a":"x\u0000\ud83dy","a":3}"#, 128).unwrap();
        assert_eq!(parsed.root.members()[0].value.as_str(), Some("x\u{fffd}\u{fffd}y"));
        assert_eq!(parsed.root.get("a").unwrap().value, Json::Number("3"));
    }

    fn any_json() -> impl Strategy<Value = serde_json::Value> {
        use serde_json::Value;
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i64>().prop_map(Value::from),
            any::<f64>().prop_map(Value::from),
            any::<String>().prop_map(|text| Value::from(text.replace('\0', " "))),
        ];
        leaf.prop_recursive(4, 64, 8, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..8).prop_map(Value::from),
                prop::collection::vec((any::<String>(), inner), 0..8).prop_map(|members| {
                    let clean = |(key, value): (String, _)| (key.replace('\0', " "), value);
                    Value::Object(members.into_iter().map(clean).collect())
                }),
            ]
        })
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn it_reads_what_serde_json_writes(value in any_json()) {
            for text in [value.to_string(), serde_json::to_string_pretty(&value).unwrap()] {
                let expected: serde_json::Value = serde_json::from_str(&text).unwrap();
                prop_assert_eq!(parse(&text, 128).unwrap().root.to_value(), expected);
            }
        }

        #[test]
        fn it_accepts_only_json(text in "[\\[\\]{}\",:0-9eE+\\-. truefalsn\\\\u]{0,24}") {
            let strict = serde_json::from_str::<serde_json::Value>(&text);
            // serde_json refuses numbers that do not fit and lone surrogates; we keep both.
            if strict.is_ok() {
                prop_assert!(parse(&text, 128).is_ok());
            } else if let Ok(parsed) = parse(&text, 128) {
                let out_of_range = strict.unwrap_err().to_string().contains("out of range");
                let lone = parsed.oddities.iter().any(|odd| odd.kind == OddityKind::LoneSurrogate);
                prop_assert!(out_of_range || lone, "accepted {text}");
            }
        }
    }
}
