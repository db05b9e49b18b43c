//! Macros that take in the text up to their end: conditions and long comments.

use super::Expansion;

const COMMENT_END: &str = "{{///}}";

/// `{{if c}}then{{else}}otherwise{{/if}}` as `SillyTavern` writes it,
/// `{{#if c}}then{{:else}}otherwise{{/if}}` as `RisuAI` does, or `{{//}}…{{///}}`.
pub(super) struct MacroBlock<'text> {
    kind: BlockKind,
    condition: &'text str,
    then: &'text str,
    otherwise: &'text str,
    pub(super) length: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum BlockKind {
    /// Anything but nothing, `false`, `off` and `0` holds.
    If,
    /// Only `1` and `true` hold; whatever begins with a stroke ends it.
    HashIf,
    Comment,
}

impl BlockKind {
    /// What an opening macro begins, and its condition.
    fn of(source: &str) -> Option<(Self, &str)> {
        let source = source.trim();
        if source == "//" {
            return Some((Self::Comment, ""));
        }
        let (kind, rest) = match source.strip_prefix("#if") {
            Some(rest) => (Self::HashIf, rest),
            None => (Self::If, source.strip_prefix("if")?),
        };
        let condition = rest.strip_prefix("::").or_else(|| rest.strip_prefix(' '))?;
        Some((kind, condition))
    }

    fn opens(self, inner: &str) -> bool {
        match self {
            Self::If => matches!(Self::of(inner), Some((Self::If, _))),
            Self::HashIf => inner.starts_with('#'),
            Self::Comment => false,
        }
    }

    fn parts(self, inner: &str) -> bool {
        match self {
            Self::If => inner == "else",
            Self::HashIf => inner == ":else",
            Self::Comment => false,
        }
    }

    fn closes(self, inner: &str) -> bool {
        match self {
            Self::If => inner == "/if",
            Self::HashIf => inner.starts_with('/') && !inner.starts_with("//"),
            Self::Comment => false,
        }
    }
}

impl<'text> MacroBlock<'text> {
    /// The block whose opening macro takes the first `opening` bytes; `None` if it opens none
    /// or the block is not closed.
    pub(super) fn find(
        expansion: &Expansion<'_, '_>,
        text: &'text str,
        opening: usize,
    ) -> Option<Self> {
        let (kind, condition) = BlockKind::of(&text[2..opening - 2])?;
        if kind == BlockKind::Comment {
            // Inside a comment nothing counts but its end.
            let end = expansion.find(&text[opening..], COMMENT_END)?;
            let length = opening + end + COMMENT_END.len();
            return Some(Self { kind, condition, then: "", otherwise: "", length });
        }
        let (mut at, mut open, mut middle) = (opening, 1, None);
        loop {
            let next = at + expansion.find(&text[at..], "{{")?;
            let Some(length) = expansion.macro_length(&text[next..]) else {
                at = next + 2;
                continue;
            };
            let inner = text[next + 2..next + length - 2].trim();
            if kind.closes(inner) {
                open -= 1;
            } else if kind.opens(inner) {
                open += 1;
            } else if open == 1 && kind.parts(inner) {
                middle = middle.or(Some((next, next + length)));
            }
            if open == 0 {
                let (end, after) = middle.unwrap_or((next, next));
                return Some(Self {
                    kind,
                    condition,
                    then: &text[opening..end],
                    otherwise: &text[after..next],
                    length: next + length,
                });
            }
            at = next + length;
        }
    }

    /// The part that is to be read.
    pub(super) fn chosen(&self, expansion: &Expansion<'_, '_>, depth: usize) -> &'text str {
        let holds = match self.kind {
            BlockKind::Comment => return "",
            BlockKind::If => expansion.holds(self.condition, depth),
            BlockKind::HashIf => {
                matches!(expansion.condition(self.condition.trim(), depth).trim(), "1" | "true")
            }
        };
        if holds { self.then } else { self.otherwise }
    }
}

impl Expansion<'_, '_> {
    /// Where something is in a text, as long as looking for it is afforded.
    fn find(&self, text: &str, what: &str) -> Option<usize> {
        if self.reading.get() == 0 {
            return None;
        }
        let found = text.find(what);
        self.reading.set(self.reading.get().saturating_sub(found.unwrap_or(text.len())));
        found
    }

    /// Whether a condition of `{{if}}` holds.
    fn holds(&self, condition: &str, depth: usize) -> bool {
        let (negated, condition) = match condition.trim().strip_prefix('!') {
            Some(rest) => (true, rest.trim()),
            None => (false, condition.trim()),
        };
        if let Some(value) = self.condition_variable(condition) {
            return is_falsy(&value) == negated;
        }
        is_falsy(&self.condition(condition, depth)) == negated
    }

    /// The value of a condition; a bare name is read as its macro.
    fn condition(&self, condition: &str, depth: usize) -> String {
        let written = self.write(condition, depth);
        match self.named(&written) {
            Some(value) => value.into_owned(),
            None => written,
        }
    }
}

fn is_falsy(value: &str) -> bool {
    matches!(value.trim().to_ascii_lowercase().as_str(), "" | "false" | "off" | "0")
}
