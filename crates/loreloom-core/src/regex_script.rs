//! SillyTavern's regex scripts, as far as they change lore on its way into the prompt.

use std::borrow::Cow;

use serde::{Deserialize, Deserializer, Serialize};

use crate::{
    book::Extensions,
    macros::{self, MacroValues},
    scan::{JsRegex, RegexMatch, Steps},
    units::Depth,
};

/// The placement number of World Info.
const WORLD_INFO: i64 = 5;

/// A script that replaces text. Unknown fields are kept.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RegexScript {
    /// Shown name.
    #[serde(default)]
    pub script_name: String,
    /// `/pattern/flags`, or a bare pattern.
    pub find_regex: String,
    /// The replacement: `$1`, `$<name>`, `{{match}}` and macros.
    #[serde(default, deserialize_with = "null_as_default")]
    pub replace_string: String,
    /// Cut out of what a group matched, after their macros.
    #[serde(default, deserialize_with = "null_as_default")]
    pub trim_strings: Vec<String>,
    /// What it applies to.
    #[serde(default, deserialize_with = "null_as_default")]
    pub placement: Vec<i64>,
    /// Switched off.
    #[serde(default, deserialize_with = "null_as_default")]
    pub disabled: bool,
    /// Only for display.
    #[serde(default, deserialize_with = "null_as_default")]
    pub markdown_only: bool,
    /// Only for the prompt.
    #[serde(default, deserialize_with = "null_as_default")]
    pub prompt_only: bool,
    /// Not for text nearer to the end of the chat than this.
    #[serde(default)]
    pub min_depth: Option<f64>,
    /// Not for text further from the end of the chat than this.
    #[serde(default)]
    pub max_depth: Option<f64>,
    /// Fields we do not model.
    #[serde(flatten)]
    pub rest: Extensions,
}

/// SillyTavern writes `null` where a field was never set.
fn null_as_default<'de, D, T>(deserializer: D) -> Result<T, D::Error>
where
    D: Deserializer<'de>,
    T: Default + Deserialize<'de>,
{
    Option::deserialize(deserializer).map(Option::unwrap_or_default)
}

impl RegexScript {
    /// Whether the script changes World Info on its way into the prompt. `depth` is known
    /// only for entries inside the chat.
    pub fn applies_to_lore(&self, depth: Option<Depth>) -> bool {
        let in_depth = depth.is_none_or(|Depth(depth)| {
            let depth = f64::from(depth);
            !self.min_depth.is_some_and(|least| least >= -1.0 && depth < least)
                && !self.max_depth.is_some_and(|most| most >= 0.0 && depth > most)
        });
        !self.disabled && self.prompt_only && self.placement.contains(&WORLD_INFO) && in_depth
    }

    /// Whether its expression can be used, as far as that is known without a turn.
    pub fn compiles(&self) -> bool {
        let open = self.substitution().is_some() && macros::is_dynamic(&self.find_regex);
        open || regex(&self.find_regex).is_some()
    }

    /// How macros are put into the expression, if they are.
    fn substitution(&self) -> Option<Substitution> {
        // Old files have a flag where the number is now.
        let how = self.rest.get("substituteRegex")?;
        let flag = how.as_bool().map(|on| f64::from(u8::from(on)));
        match flag.or_else(|| how.as_f64())? {
            1.0 => Some(Substitution::Raw),
            2.0 => Some(Substitution::Escaped),
            _ => None,
        }
    }

    fn find_regex(&self, macros: &MacroValues<'_>) -> Cow<'_, str> {
        match self.substitution() {
            None => Cow::Borrowed(&self.find_regex),
            Some(Substitution::Raw) => macros.expand(&self.find_regex),
            Some(Substitution::Escaped) => macros.expand_escaping(&self.find_regex, escaped),
        }
    }

    /// The text after the script; unchanged if the expression does not compile or takes too
    /// many steps. An empty text stays empty, even if the expression matches nothing.
    pub fn apply(&self, text: &str, macros: &MacroValues<'_>, steps: &Steps) -> String {
        if text.is_empty() {
            return String::new();
        }
        let regex = regex(&self.find_regex(macros));
        let Some(matches) = regex.and_then(|regex| regex.find_all(text, steps)) else {
            return text.to_owned();
        };
        let template = replace_ignoring_case(&self.replace_string, "{{match}}", "$0");
        let cuts = self.trim_strings.iter().map(|cut| macros.expand(cut));
        let cuts: Vec<Cow<'_, str>> = cuts.filter(|cut| !cut.is_empty()).collect();
        let mut out = String::with_capacity(text.len());
        let mut from = 0;
        for found in matches {
            out.push_str(&text[from..found.start]);
            let replaced = fill(&template, |name, by| {
                let mut value = said(text, &found, name, by).into_owned();
                for cut in &cuts {
                    value = value.replace(&**cut, "");
                }
                value
            });
            out.push_str(&macros.expand(&replaced));
            from = found.end;
        }
        out.push_str(&text[from..]);
        out
    }
}

/// How macros are put into an expression.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Substitution {
    Raw,
    /// Their values match themselves.
    Escaped,
}

/// How a template names what goes into it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum By {
    Number,
    Name,
}

/// Fills `$1` and `$<name>` in a template.
fn fill(template: &str, value: impl Fn(&str, By) -> String) -> String {
    let mut out = String::new();
    let mut rest = template;
    while let Some(at) = rest.find('$') {
        out.push_str(&rest[..at]);
        let after = &rest[at + 1..];
        let digits = after.len() - after.trim_start_matches(|c: char| c.is_ascii_digit()).len();
        let named = after.strip_prefix('<').and_then(|name| name.split_once('>'));
        let taken = match named {
            Some((name, _)) if !name.is_empty() => {
                out.push_str(&value(name, By::Name));
                name.len() + 2
            }
            _ if digits > 0 => {
                out.push_str(&value(&after[..digits], By::Number));
                digits
            }
            _ => {
                out.push('$');
                0
            }
        };
        rest = &after[taken..];
    }
    out.push_str(rest);
    out
}

/// The text for a number or a name in a replacement. The number after the last group is the
/// offset of the match in UTF-16 units, the next one the whole text: JavaScript passes both to a
/// replacement function, and SillyTavern numbers all its arguments. An offset of 0 is no text.
fn said<'text>(
    text: &'text str,
    found: &'text RegexMatch<'_>,
    name: &str,
    by: By,
) -> Cow<'text, str> {
    let group = || Cow::Borrowed(found.group(name).unwrap_or_default());
    match (by, name.parse::<usize>()) {
        (By::Number, Ok(number)) => match number.checked_sub(found.groups() + 1) {
            None => group(),
            Some(0) if found.start == 0 => Cow::Borrowed(""),
            Some(0) => Cow::Owned(text[..found.start].encode_utf16().count().to_string()),
            Some(1) => Cow::Borrowed(text),
            Some(_) => Cow::Borrowed(""),
        },
        (By::Name, Err(_)) => group(),
        // No number is so large, and no group is called by a number.
        (By::Number, Err(_)) | (By::Name, Ok(_)) => Cow::Borrowed(""),
    }
}

fn regex(find: &str) -> Option<JsRegex> {
    let (pattern, flags) = split_find(find)?;
    JsRegex::new(pattern, flags)
}

/// Splits an expression as scripts do, which is not how keys are read: only the first line
/// with text counts, its last slash closes the pattern, and what follows the letters behind it
/// is not looked at. Letters that are no flags make a pattern of all of it.
fn split_find(find: &str) -> Option<(&str, &str)> {
    let ends_line = |c: char| matches!(c, '\n' | '\r' | '\u{2028}' | '\u{2029}');
    let line = find.trim_start_matches(ends_line).split(ends_line).next()?;
    let closed = line.strip_prefix('/').and_then(|rest| rest.rsplit_once('/'));
    let Some((pattern, after)) = closed.filter(|(pattern, _)| !pattern.is_empty()) else {
        return (!line.is_empty()).then_some((line, ""));
    };
    let letters = after.len() - after.trim_start_matches(|c: char| c.is_ascii_alphabetic()).len();
    let flags = &after[..letters];
    // Those of PCRE among them are let through here and refused by JavaScript.
    let known = |flag: char| "gmixXsuUAJ".contains(flag);
    let unique = flags.char_indices().all(|(at, flag)| !flags[..at].contains(flag));
    if flags.chars().all(known) && unique { Some((pattern, flags)) } else { Some((find, "")) }
}

/// A value as a pattern that matches it.
fn escaped(value: &str) -> String {
    let mut out = String::with_capacity(value.len());
    for character in value.chars() {
        match character {
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            '\u{b}' => out.push_str("\\v"),
            '\u{c}' => out.push_str("\\f"),
            '\0' => out.push_str("\\0"),
            other if ".^$*+?{}[]\\/|()".contains(other) => out.extend(['\\', other]),
            other => out.push(other),
        }
    }
    out
}

fn replace_ignoring_case(text: &str, what: &str, by: &str) -> String {
    let lower = text.to_ascii_lowercase();
    let mut out = String::new();
    let mut from = 0;
    for (at, _) in lower.match_indices(what) {
        out.push_str(&text[from..at]);
        out.push_str(by);
        from = at + what.len();
    }
    out.push_str(&text[from..]);
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn script(find: &str, replace: &str) -> RegexScript {
        serde_json::from_value(serde_json::json!({
            "findRegex": find, "replaceString": replace, "placement": [5], "promptOnly": true,
            "trimStrings": ["!"], "minDepth": null, "id": "kept",
        }))
        .unwrap()
    }

    #[test]
    fn groups_matches_and_macros_are_put_in() {
        let macros = MacroValues { char: "Torvald", ..MacroValues::default() };
        for (find, replace, text, expected) in [
            ("/ember/g", "ASH", "ember ember", "ASH ASH"),
            ("ember", "ASH", "ember ember", "ASH ember"),
            ("/(e)m(b)er/", "$2$1 $3.", "ember", "be ."),
            // Numbers past the groups: where the match is, and the whole text.
            ("/(e)mber/", "[$2|$3|$4|$99]", "\u{1f525}! ember", "\u{1f525}! [4|\u{1f525} ember||]"),
            ("/ember/", "$<0>.", "ember", "."),
            (
                "/(?<word>e\\w+!?)/g",
                "<$<word>|{{MATCH}}>",
                "ember! ember",
                "<ember|ember> <ember|ember>",
            ),
            ("/ember/", "{{char}} costs $", "ember", "Torvald costs $"),
            ("/(/", "x", "ember(", "ember("),
        ] {
            assert_eq!(
                script(find, replace).apply(text, &macros, &Steps::default()),
                expected,
                "{find}"
            );
        }
    }

    #[test]
    fn an_expression_is_not_read_as_a_key_is() {
        for (find, parts) in [
            ("/cat/gi", Some(("cat", "gi"))),
            ("/a/b/g", Some(("a/b", "g"))),
            ("/cat/g then", Some(("cat", "g"))),
            ("cat/i", Some(("cat/i", ""))),
            ("/cat", Some(("/cat", ""))),
            ("//g", Some(("//g", ""))),
            ("/cat/y", Some(("/cat/y", ""))),
            ("/cat/gg", Some(("/cat/gg", ""))),
            ("/cat/gx", Some(("cat", "gx"))),
            ("/a\nb/", Some(("/a", ""))),
            ("\n/a/i\nb", Some(("a", "i"))),
            ("", None),
            ("\n", None),
        ] {
            assert_eq!(split_find(find), parts, "{find}");
        }
        assert!(!script("/cat/gx", "").compiles());
    }

    #[test]
    fn no_text_stays_no_text() {
        let macros = MacroValues::default();
        assert_eq!(script("/^/", "x").apply("", &macros, &Steps::default()), "");
        assert_eq!(script("/^/", "x").apply("a", &macros, &Steps::default()), "xa");
    }

    #[test]
    fn macros_are_put_into_what_is_cut_and_where_asked_into_the_expression() {
        let macros = MacroValues { user: "M.", ..MacroValues::default() };
        let mut cutting = script("/.+/", "[$0]");
        cutting.trim_strings = vec!["{{user}}".to_owned()];
        assert_eq!(cutting.apply("M. ran", &macros, &Steps::default()), "[ ran]");
        for (how, expected) in [
            (serde_json::json!(0), "Mx M."),
            (serde_json::json!(1), "X X"),
            (serde_json::json!(2), "Mx X"),
        ] {
            let mut substituting = script("/{{user}}/g", "X");
            substituting.rest.insert("substituteRegex".to_owned(), how.clone());
            assert!(substituting.compiles());
            assert_eq!(substituting.apply("Mx M.", &macros, &Steps::default()), expected, "{how}");
        }
    }

    #[test]
    fn depth_limits_hold_only_inside_the_chat() {
        let mut limited = script("/a/", "b");
        limited.min_depth = Some(3.0);
        assert!(limited.applies_to_lore(None));
        assert!(limited.applies_to_lore(Some(Depth(4))));
        assert!(!limited.applies_to_lore(Some(Depth(2))));
        limited.prompt_only = false;
        assert!(!limited.applies_to_lore(None));
    }

    #[test]
    fn unknown_fields_survive() {
        let value = serde_json::to_value(script("a", "b")).unwrap();
        assert_eq!(value["id"], "kept");
    }
}
