//! Macros in keys and lore: `{{user}}`, `{{char}}` and their kin.
//!
//! Expansion is one pass, inside out. A value that a macro inserts is not expanded again,
//! so a character's name cannot smuggle in further macros. Unknown macros stay as they
//! are, as in SillyTavern, and so do random ones where nobody rolls: in keys.

mod chance;
mod time;
mod variables;

use std::{borrow::Cow, cell::RefCell};

pub use self::{
    chance::Draw,
    variables::{VariableChanges, Variables},
};
use crate::units::{Timestamp, Tokens};

/// Nested macros deeper than this are left alone.
const MAX_DEPTH: usize = 20;

/// What macros stand for this turn.
#[derive(Clone, Copy, Debug, Default)]
pub struct MacroValues<'a> {
    /// `{{user}}`: the persona's name.
    pub user: &'a str,
    /// `{{char}}`: the character's name.
    pub char: &'a str,
    /// `{{persona}}`: the persona's description.
    pub persona: &'a str,
    /// `{{description}}`: the character's description.
    pub description: &'a str,
    /// `{{personality}}`: the character's personality.
    pub personality: &'a str,
    /// `{{scenario}}`: the scenario.
    pub scenario: &'a str,
    /// `{{charDepthPrompt}}`: the character's note.
    pub depth_prompt: &'a str,
    /// `{{creatorNotes}}`: the creator's notes.
    pub creator_notes: &'a str,
    /// `{{lastMessage}}`.
    pub last_message: &'a str,
    /// `{{lastUserMessage}}`.
    pub last_user_message: &'a str,
    /// `{{lastCharMessage}}`.
    pub last_char_message: &'a str,
    /// `{{lastGenerationType}}`.
    pub generation: &'a str,
    /// `{{maxContext}}`.
    pub context: Tokens,
    /// The time for `{{time}}`, `{{date}}` and their kin, in UTC; without it they stay.
    pub at: Option<Timestamp>,
}

/// Who rolls for random macros.
type Roller<'a> = RefCell<&'a mut dyn FnMut(Draw) -> f64>;

/// One expansion: the values, and who rolls, if anybody.
struct Expansion<'values, 'roller> {
    values: &'values MacroValues<'values>,
    roller: Option<Roller<'roller>>,
    /// The variables that are read, where somebody keeps any.
    variables: Option<&'values Variables>,
    /// Where those go that are written.
    writes: Option<RefCell<&'roller mut VariableChanges>>,
    /// Random macros so far, which tells them apart.
    drawn: RefCell<u32>,
}

/// Whether expanding might change this text.
pub fn is_dynamic(text: &str) -> bool {
    text.contains("{{") || text.contains("\\{") || text.contains("\\}") || has_angle(text)
}

fn has_angle(text: &str) -> bool {
    text.match_indices('<').any(|(at, _)| angle(&text[at..]).is_some())
}

/// A legacy macro at the start of `text`: its name and its length.
fn angle(text: &str) -> Option<(&'static str, usize)> {
    [("<user>", "user"), ("<bot>", "char"), ("<char>", "char")].into_iter().find_map(
        |(tag, name)| {
            let head = text.get(..tag.len())?;
            head.eq_ignore_ascii_case(tag).then_some((name, tag.len()))
        },
    )
}

impl MacroValues<'_> {
    /// `text` with its macros replaced. Random macros stay: this is for keys and prompts,
    /// which must not depend on chance.
    pub fn expand<'text>(&self, text: &'text str) -> Cow<'text, str> {
        self.expansion().expand(text)
    }

    /// The same with variables, which are only read: this is for keys.
    pub fn expand_reading<'text>(
        &self,
        text: &'text str,
        variables: &Variables,
    ) -> Cow<'text, str> {
        Expansion { variables: Some(variables), ..self.expansion() }.expand(text)
    }

    /// `text` with its macros replaced, random ones by what `roll` gives in `0.0..1.0`.
    /// What it writes to variables is added to `writes`.
    pub fn expand_rolling<'text>(
        &self,
        text: &'text str,
        variables: &Variables,
        writes: &mut VariableChanges,
        roll: &mut dyn FnMut(Draw) -> f64,
    ) -> Cow<'text, str> {
        Expansion {
            roller: Some(RefCell::new(roll)),
            variables: Some(variables),
            writes: Some(RefCell::new(writes)),
            ..self.expansion()
        }
        .expand(text)
    }

    /// An expansion in which nobody rolls and nobody keeps variables.
    fn expansion<'roller>(&self) -> Expansion<'_, 'roller> {
        let drawn = RefCell::default();
        Expansion { values: self, roller: None, variables: None, writes: None, drawn }
    }
}

impl Expansion<'_, '_> {
    fn expand<'text>(&self, text: &'text str) -> Cow<'text, str> {
        if !is_dynamic(text) {
            return Cow::Borrowed(text);
        }
        Cow::Owned(trim_marks(&self.write(text, 0)))
    }

    fn write(&self, text: &str, depth: usize) -> String {
        let mut out = String::with_capacity(text.len());
        let mut rest = text;
        while let Some(next) = rest.find(['{', '<', '\\']) {
            out.push_str(&rest[..next]);
            rest = &rest[next..];
            let taken = self.write_at(rest, &mut out, depth);
            rest = &rest[taken..];
        }
        out.push_str(rest);
        out
    }

    /// Writes what stands at the start of `text` (a macro, an escape or a plain character)
    /// and returns how many bytes it took.
    fn write_at(&self, text: &str, out: &mut String, depth: usize) -> usize {
        if let Some((name, length)) = angle(text) {
            out.push_str(self.value(name, "").as_deref().unwrap_or_default());
            return length;
        }
        for escaped in ["\\{", "\\}"] {
            if text.starts_with(escaped) {
                out.push_str(&escaped[1..]);
                return 2;
            }
        }
        if depth < MAX_DEPTH
            && let Some(length) = macro_length(text)
        {
            let source = &text[2..length - 2];
            if let Some(condition) = block_condition(source)
                && let Some(block) = Block::find(text, length)
            {
                let chosen =
                    if self.holds(condition, depth + 1) { block.then } else { block.otherwise };
                out.push_str(&self.write(chosen, depth + 1));
                return block.length;
            }
            let inner = self.write(source, depth + 1);
            match self.named(&inner) {
                Some(value) => out.push_str(&value),
                None => out.extend(["{{", &inner, "}}"]),
            }
            return length;
        }
        let first = text.chars().next().map_or(0, char::len_utf8);
        out.push_str(&text[..first]);
        first
    }

    /// Whether a condition of `{{if}}` holds: anything but nothing, `false`, `off` and `0`.
    fn holds(&self, condition: &str, depth: usize) -> bool {
        let (negated, condition) = match condition.trim().strip_prefix('!') {
            Some(rest) => (true, rest.trim()),
            None => (false, condition.trim()),
        };
        if let Some(value) = self.condition_variable(condition) {
            return is_falsy(&value) == negated;
        }
        let written = self.write(condition, depth);
        // A bare name stands for its macro.
        let value = self.named(&written).map_or(written.clone(), Cow::into_owned);
        is_falsy(&value) == negated
    }

    fn named(&self, inner: &str) -> Option<Cow<'_, str>> {
        let inner = inner.trim_start();
        if inner.starts_with("//") {
            return Some(Cow::Borrowed(""));
        }
        let (name, argument) = match inner.find([':', ' ']) {
            Some(at) => (&inner[..at], &inner[at..]),
            None => (inner, ""),
        };
        let name = name.trim().to_ascii_lowercase();
        let drawn = self.chance(&name, argument);
        drawn.or_else(|| self.variable(&name, argument)).or_else(|| {
            let argument = argument.trim_start_matches([':', ' ']);
            self.value(&name, argument)
        })
    }

    fn value(&self, name: &str, argument: &str) -> Option<Cow<'_, str>> {
        let values = self.values;
        let value = match name {
            "user" => values.user,
            "char" => values.char,
            "persona" => values.persona,
            "description" | "chardescription" => values.description,
            "personality" | "charpersonality" => values.personality,
            "scenario" | "charscenario" => values.scenario,
            "chardepthprompt" => values.depth_prompt,
            "creatornotes" | "charcreatornotes" => values.creator_notes,
            "lastmessage" => values.last_message,
            "lastusermessage" => values.last_user_message,
            "lastcharmessage" => values.last_char_message,
            "lastgenerationtype" => values.generation,
            "maxcontext" | "maxprompt" => return Some(Cow::Owned(values.context.to_string())),
            "newline" | "br" | "cbr" => "\n",
            "space" => " ",
            // Nothing is printed: notes, keys only recursion sees, and what a prompt cannot
            // show. An outlet inside lore could contain itself.
            "noop" | "blank" | "comment" | "hidden_key" | "hiddenkey" | "outlet" | "banned"
            | "asset" | "img" | "emotion" | "bg" | "audio" => "",
            "trim" => TRIM_MARK,
            "reverse" => return Some(Cow::Owned(argument.chars().rev().collect())),
            _ => return time::value(values.at?, name, argument).map(Cow::Owned),
        };
        Some(Cow::Borrowed(value))
    }
}

fn is_falsy(value: &str) -> bool {
    matches!(value.trim().to_ascii_lowercase().as_str(), "" | "false" | "off" | "0")
}

/// The condition of an opening `{{if …}}`.
fn block_condition(source: &str) -> Option<&str> {
    let rest = source.trim_start().strip_prefix("if")?;
    rest.strip_prefix("::").or_else(|| rest.strip_prefix(' '))
}

/// `{{if c}}then{{else}}otherwise{{/if}}`.
struct Block<'text> {
    then: &'text str,
    otherwise: &'text str,
    length: usize,
}

impl<'text> Block<'text> {
    /// The block whose opening macro takes the first `opening` bytes; `None` if it is not
    /// closed.
    fn find(text: &'text str, opening: usize) -> Option<Self> {
        let (mut at, mut open, mut middle) = (opening, 1, None);
        loop {
            let next = at + text[at..].find("{{")?;
            let Some(length) = macro_length(&text[next..]) else {
                at = next + 2;
                continue;
            };
            match text[next + 2..next + length - 2].trim() {
                "/if" if open == 1 => {
                    let (end, after) = middle.unwrap_or((next, next));
                    return Some(Self {
                        then: &text[opening..end],
                        otherwise: &text[after..next],
                        length: next + length,
                    });
                }
                "/if" => open -= 1,
                "else" if open == 1 => middle = middle.or(Some((next, next + length))),
                inner if block_condition(inner).is_some() => open += 1,
                _ => {}
            }
            at = next + length;
        }
    }
}

/// Stands for `{{trim}}` until the text around it is known. A private-use character that
/// no text of its own accord holds next to another.
const TRIM_MARK: &str = "\u{f8f0}\u{f8f1}";

/// Removes trim marks and the line ends around them.
fn trim_marks(text: &str) -> String {
    let mut parts = text.split(TRIM_MARK);
    let mut out = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        out.truncate(out.trim_end_matches(['\r', '\n']).len());
        out.push_str(part.trim_start_matches(['\r', '\n']));
    }
    out
}

/// The length of the macro `{{…}}` that `text` starts with, nested ones included.
pub(crate) fn macro_length(text: &str) -> Option<usize> {
    let bytes = text.as_bytes();
    if !text.starts_with("{{") {
        return None;
    }
    let (mut at, mut open) = (2, 1);
    while at + 1 < bytes.len() {
        match &bytes[at..at + 2] {
            b"{{" => {
                open += 1;
                at += 2;
            }
            b"}}" => {
                open -= 1;
                at += 2;
                if open == 0 {
                    return Some(at);
                }
            }
            _ => at += 1,
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_macros_are_replaced_and_unknown_ones_stay() {
        let values = MacroValues { user: "Mira", char: "Torvald", ..MacroValues::default() };
        for (text, expanded) in [
            ("{{user}} and {{CHAR}}", "Mira and Torvald"),
            ("<USER> meets <bot>", "Mira meets Torvald"),
            ("{{zz}} {{ user }}", "{{zz}} Mira"),
            ("{{zz::{{user}}}}", "{{zz::Mira}}"),
            ("a\\{b\\}", "a{b}"),
            ("a{{noop}}b{{// note }}c", "abc"),
            ("one\n{{trim}}\n\ntwo", "onetwo"),
            ("{{reverse:abc}}", "cba"),
            ("{{user", "{{user"),
            ("{ {user} }", "{ {user} }"),
            ("a < b", "a < b"),
            ("{{if user}}yes{{else}}no{{/if}}", "yes"),
            ("{{if persona}}yes{{else}}no{{/if}}", "no"),
            ("{{if !persona}}a{{if 0}}b{{else}}c{{/if}}{{/if}}", "ac"),
            ("{{if user}}open", "{{if user}}open"),
            ("{{random::a::b}} {{time}}", "{{random::a::b}} {{time}}"),
            ("{{hidden_key: x}}{{comment: y}}{{outlet::z}}", ""),
        ] {
            assert_eq!(values.expand(text), expanded, "{text}");
        }
    }

    #[test]
    fn an_inserted_value_is_not_expanded_again() {
        let values = MacroValues { user: "{{char}}", char: "Torvald", ..MacroValues::default() };
        assert_eq!(values.expand("{{user}}"), "{{char}}");
    }

    #[test]
    fn deep_nesting_ends() {
        let text = "{{".repeat(200) + &"}}".repeat(200);
        assert_eq!(MacroValues::default().expand(&text).len(), text.len());
    }
}
