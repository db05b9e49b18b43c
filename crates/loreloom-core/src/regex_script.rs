//! SillyTavern's regex scripts, as far as they change lore on its way into the prompt.

use serde::{Deserialize, Deserializer, Serialize};

use crate::{
    book::{Extensions, Key},
    macros::MacroValues,
    scan::JsRegex,
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
    /// Cut out of what a group matched.
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

    /// Whether its expression can be used.
    pub fn compiles(&self) -> bool {
        self.regex().is_some()
    }

    fn regex(&self) -> Option<JsRegex> {
        match Key::parse(&self.find_regex) {
            Key::Regex(key) => JsRegex::new(&key.pattern, &key.flags),
            Key::Literal(pattern) => JsRegex::new(&pattern, ""),
        }
    }

    /// The text after the script; as it was if the expression does not compile or needs too
    /// much.
    pub fn apply(&self, text: &str, macros: &MacroValues<'_>) -> String {
        let regex = self.regex();
        let Some(matches) = regex.and_then(|regex| regex.find_all(text)) else {
            return text.to_owned();
        };
        let mut out = String::with_capacity(text.len());
        let mut from = 0;
        for found in matches {
            out.push_str(&text[from..found.start]);
            let replaced = self.replacement(|group| found.group(group));
            out.push_str(&macros.expand(&replaced));
            from = found.end;
        }
        out.push_str(&text[from..]);
        out
    }

    fn replacement<'m>(&self, group: impl Fn(&str) -> Option<&'m str>) -> String {
        let template = replace_ignoring_case(&self.replace_string, "{{match}}", "$0");
        let mut out = String::new();
        let mut rest = template.as_str();
        while let Some(at) = rest.find('$') {
            out.push_str(&rest[..at]);
            let after = &rest[at + 1..];
            let digits = after.len() - after.trim_start_matches(|c: char| c.is_ascii_digit()).len();
            let named = after.strip_prefix('<').and_then(|name| name.split_once('>'));
            let (name, taken) = match named {
                Some((name, _)) if digits == 0 && !name.is_empty() => (name, name.len() + 2),
                _ if digits > 0 => (&after[..digits], digits),
                _ => {
                    out.push('$');
                    rest = after;
                    continue;
                }
            };
            let mut value = group(name).unwrap_or_default().to_owned();
            for cut in self.trim_strings.iter().filter(|cut| !cut.is_empty()) {
                value = value.replace(cut.as_str(), "");
            }
            out.push_str(&value);
            rest = &after[taken..];
        }
        out.push_str(rest);
        out
    }
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
            (
                "/(?<word>e\\w+!?)/g",
                "<$<word>|{{MATCH}}>",
                "ember! ember",
                "<ember|ember> <ember|ember>",
            ),
            ("/ember/", "{{char}} costs $", "ember", "Torvald costs $"),
            ("/(/", "x", "ember(", "ember("),
        ] {
            assert_eq!(script(find, replace).apply(text, &macros), expected, "{find}");
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
