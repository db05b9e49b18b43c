//! Macros in keys and lore: `{{user}}`, `{{char}}` and their kin.
//!
//! Expansion is one pass, inside out. A value that a macro inserts is not expanded again,
//! so a character's name cannot smuggle in further macros. Unknown macros stay as they
//! are, as in SillyTavern, and so do random ones where nobody rolls: in keys.

mod block;
mod chance;
mod time;
mod variables;

use std::{
    borrow::Cow,
    cell::{Cell, RefCell},
    collections::BTreeMap,
};

use self::block::MacroBlock;
pub use self::{
    chance::Draw,
    time::in_words,
    variables::{VariableChanges, Variables},
};
use unicode_segmentation::UnicodeSegmentation as _;

use crate::units::{Timestamp, Tokens};

/// Nested macros deeper than this are left alone, and so are those after so many, or once so
/// much was put in: a few lines of lore cannot fill the memory.
const MAX_DEPTH: usize = 20;
const MOST_MACROS: u32 = 10_000;
const MOST_BYTES: usize = 1 << 20;

/// Bytes that are looked through for the ends of macros. Without a limit a text of nothing but
/// beginnings would be read from each of them to its end.
const MOST_READ: usize = 16 << 20;

/// The values of macros in this turn.
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
    /// `{{lastMessageId}}`: the place of the newest message, from 0.
    pub last_message_id: Option<u32>,
    /// Values the front end states for other names, which are in lower case.
    pub more: Option<&'a BTreeMap<String, String>>,
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
    /// The number of random macros so far, which makes their rolls differ.
    drawn: RefCell<u32>,
    /// Macros and bytes put in that are left.
    left: Cell<(u32, usize)>,
    /// Bytes to look through that are left.
    reading: Cell<usize>,
    /// What is done to each value before it is put in.
    escape: Option<fn(&str) -> String>,
}

/// Whether expanding might change this text.
pub fn is_dynamic(text: &str) -> bool {
    text.contains("{{") || text.contains("\\{") || text.contains("\\}") || has_angle(text)
}

/// Whether a text names the character who speaks, in a macro that was not replaced.
pub(crate) fn names_char(text: &str) -> bool {
    let lower = text.to_ascii_lowercase();
    ["{{char}}", "{{bot}}", "<char>", "<bot>"].iter().any(|name| lower.contains(name))
}

fn has_angle(text: &str) -> bool {
    text.match_indices('<').any(|(at, _)| angle(&text[at..]).is_some())
}

/// A legacy macro at the start of `text`: its name and its length.
fn angle(text: &str) -> Option<(&'static str, usize)> {
    ANGLES.into_iter().find_map(|(tag, name)| {
        let head = text.get(..tag.len())?;
        head.eq_ignore_ascii_case(tag).then_some((name, tag.len()))
    })
}

const ANGLES: [(&str, &str); 5] = [
    ("<user>", "user"),
    ("<bot>", "char"),
    ("<char>", "char"),
    ("<group>", "group"),
    ("<charifnotgroup>", "charifnotgroup"),
];

impl MacroValues<'_> {
    /// `text` with its macros replaced. Random macros stay: this is for keys and prompts,
    /// which must not depend on chance.
    pub fn expand<'text>(&self, text: &'text str) -> Cow<'text, str> {
        self.expansion().expand(text)
    }

    /// The same with each value changed before it is put in.
    pub(crate) fn expand_escaping<'text>(
        &self,
        text: &'text str,
        escape: fn(&str) -> String,
    ) -> Cow<'text, str> {
        Expansion { escape: Some(escape), ..self.expansion() }.expand(text)
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
        Expansion {
            values: self,
            roller: None,
            variables: None,
            writes: None,
            drawn: RefCell::default(),
            left: Cell::new((MOST_MACROS, MOST_BYTES)),
            reading: Cell::new(MOST_READ),
            escape: None,
        }
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

    /// Writes what is at the start of `text` (a macro, an escape or a plain character)
    /// and returns how many bytes it took.
    fn write_at(&self, text: &str, out: &mut String, depth: usize) -> usize {
        if let Some((name, length)) = angle(text) {
            match self.value(name, "") {
                Some(value) => self.put(&value, out),
                None => out.push_str(&text[..length]),
            }
            return length;
        }
        for escaped in ["\\{", "\\}"] {
            if text.starts_with(escaped) {
                out.push_str(&escaped[1..]);
                return 2;
            }
        }
        if depth < MAX_DEPTH
            && let Some(length) = self.macro_length(text)
        {
            if let Some(block) = MacroBlock::find(self, text, length) {
                out.push_str(&self.write(block.chosen(self, depth + 1), depth + 1));
                return block.length;
            }
            let inner = self.write(&text[2..length - 2], depth + 1);
            match self.named(&inner).filter(|value| self.affords(value)) {
                Some(value) => self.put(&value, out),
                None => out.extend(["{{", &inner, "}}"]),
            }
            return length;
        }
        let first = text.chars().next().map_or(0, char::len_utf8);
        out.push_str(&text[..first]);
        first
    }

    /// Puts a value in.
    fn put(&self, value: &str, out: &mut String) {
        match self.escape {
            Some(escape) => out.push_str(&escape(value)),
            None => out.push_str(value),
        }
    }

    /// The length of the macro that `text` starts with, as long as looking for it is afforded.
    fn macro_length(&self, text: &str) -> Option<usize> {
        if self.reading.get() == 0 {
            return None;
        }
        let length = macro_length(text);
        let read = if text.starts_with("{{") { length.unwrap_or(text.len()) } else { 0 };
        self.reading.set(self.reading.get().saturating_sub(read));
        length
    }

    /// Whether one more macro with this value fits into what a text may become.
    fn affords(&self, value: &str) -> bool {
        let (macros, bytes) = self.left.get();
        match (macros.checked_sub(1), bytes.checked_sub(value.len())) {
            (Some(macros), Some(bytes)) => {
                self.left.set((macros, bytes));
                true
            }
            _ => false,
        }
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
        self.called(&name, argument).or_else(|| {
            // RisuAI and its kin write the same names with strokes.
            let bare: String = name.chars().filter(|letter| !['_', '-'].contains(letter)).collect();
            (bare != name).then(|| self.called(&bare, argument)).flatten()
        })
    }

    /// What the macro of exactly this name gives.
    fn called(&self, name: &str, argument: &str) -> Option<Cow<'_, str>> {
        let drawn = self.chance(name, argument);
        drawn.or_else(|| self.variable(name, argument)).or_else(|| {
            let argument = argument.trim_start_matches([':', ' ']);
            self.value(name, argument).or_else(|| self.given_value(name).map(Cow::Borrowed))
        })
    }

    /// The value the front end states for a name.
    fn given_value(&self, name: &str) -> Option<&str> {
        self.values.more.and_then(|more| more.get(name)).map(String::as_str)
    }

    fn value(&self, name: &str, argument: &str) -> Option<Cow<'_, str>> {
        let values = self.values;
        let value = match name {
            "user" => values.user,
            // Without a name the macro stays, which shows what is missing.
            "char" | "bot" if values.char.is_empty() => return None,
            "char" | "bot" => values.char,
            "persona" | "userpersona" => values.persona,
            "description" | "chardescription" | "chardesc" => values.description,
            "personality" | "charpersonality" | "charpersona" => values.personality,
            "scenario" | "charscenario" => values.scenario,
            "chardepthprompt" => values.depth_prompt,
            "creatornotes" | "charcreatornotes" => values.creator_notes,
            "lastmessage" => values.last_message,
            "lastusermessage" => values.last_user_message,
            "lastcharmessage" => values.last_char_message,
            "lastmessageid" => {
                return values.last_message_id.map(|place| Cow::Owned(place.to_string()));
            }
            "lastgenerationtype" => values.generation,
            "maxcontext" | "maxprompt" => return Some(Cow::Owned(values.context.to_string())),
            "newline" => return repeated("\n", argument),
            "br" | "cbr" => "\n",
            "space" => return repeated(" ", argument),
            // Only the front end knows who takes part in a group; else one character speaks with
            // the user.
            "group" | "charifnotgroup" => self.given_value(name).unwrap_or(values.char),
            "notchar" => self.given_value(name).unwrap_or(values.user),
            // Nothing is printed: notes, keys only recursion sees, and what a prompt cannot
            // show. An outlet inside lore could contain itself.
            "noop" | "blank" | "comment" | "hidden_key" | "hiddenkey" | "outlet" | "banned"
            | "position" | "slot" | "asset" | "img" | "emotion" | "bg" | "audio" | "button"
            | "risu" => "",
            "trim" => TRIM_MARK,
            "reverse" => {
                return Some(Cow::Owned(argument.graphemes(true).rev().collect()));
            }
            // Only the front end knows when the last message was written.
            IDLE => self.given_value(IDLE).unwrap_or("just now"),
            "timediff" => return time::difference(argument).map(Cow::Owned),
            _ => return time::value(values.at?, name, argument).map(Cow::Owned),
        };
        Some(Cow::Borrowed(value))
    }
}

/// A text as often as the macro says: once where it says nothing. More than fits into a text
/// leaves the macro alone.
fn repeated(text: &str, count: &str) -> Option<Cow<'static, str>> {
    let count = count.trim().parse::<usize>().unwrap_or(1);
    (count <= MOST_BYTES).then(|| Cow::Owned(text.repeat(count)))
}

/// `{{idleDuration}}`: how long nobody has written, in words.
pub const IDLE: &str = "idleduration";
/// `{{mesExamples}}`: the card's example messages.
pub const EXAMPLES: &str = "mesexamples";

/// Stands for `{{trim}}` until the text around it is known. Two private-use characters
/// that no real text has next to each other.
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
        let more = BTreeMap::from([("mesexamples".to_owned(), "An example.".to_owned())]);
        let values = MacroValues {
            user: "Mira",
            char: "Torvald",
            last_message: "Well?",
            last_message_id: Some(7),
            more: Some(&more),
            ..MacroValues::default()
        };
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
            ("{{hidden-key: x}}{{position::z}}{{slot}}", ""),
            ("{{reverse:ne\u{301}e}}", "ee\u{301}n"),
            ("a{{//}} {{user}} {{zz {{///}}b", "ab"),
            ("a{{//}}b", "ab"),
            ("{{last_message_id}} {{last_message}}", "7 Well?"),
            ("{{char_desc}}|{{bot}}", "|Torvald"),
            ("{{mesExamples}} {{mes_examples}} {{groups}}", "An example. An example. {{groups}}"),
            ("{{group}}|{{charIfNotGroup}}|{{notChar}}", "Torvald|Torvald|Mira"),
            ("<GROUP> and <CharIfNotGroup>", "Torvald and Torvald"),
            ("a{{newline}}b{{newline::2}}c{{newline::0}}d", "a\nb\n\ncd"),
            ("a{{space}}b{{space::3}}c", "a b   c"),
            ("{{space::9999999999}}", "{{space::9999999999}}"),
            ("{{#if true}}a{{:else}}b{{/if}}", "a"),
            ("{{#if yes}}a{{:else}}b{{/}}", "b"),
            ("{{#if 1}}a{{#if 0}}b{{/}}c{{/if}}d", "acd"),
            ("{{#when x}}a{{/when}}", "{{#when x}}a{{/when}}"),
            ("{{timeDiff::2026-01-02 12:00::2026-01-01 12:00}}", "in a day"),
            ("{{idleDuration}} {{idle_duration}}", "just now just now"),
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
    fn a_text_does_not_grow_without_end() {
        let long = "x".repeat(1000);
        let values = MacroValues { char: &long, ..MacroValues::default() };
        let expanded = values.expand(&"{{char}}".repeat(2000)).into_owned();
        assert_eq!(expanded.len(), 1048 * 1000 + (2000 - 1048) * "{{char}}".len());
        let noop = values.expand(&"{{noop}}".repeat(10_001)).into_owned();
        assert_eq!(noop, "{{noop}}");
    }

    #[test]
    fn nothing_but_beginnings_is_read_in_bounded_time() {
        let values = MacroValues::default();
        for text in ["{{if x}}".repeat(3000) + &"{{".repeat(9000), "{{//}}{{".repeat(9000)] {
            let expansion = values.expansion();
            expansion.expand(&text);
            assert_eq!(expansion.reading.get(), 0, "{} bytes", text.len());
        }
    }

    #[test]
    fn deep_nesting_ends() {
        let text = "{{".repeat(200) + &"}}".repeat(200);
        assert_eq!(MacroValues::default().expand(&text).len(), text.len());
    }
}
