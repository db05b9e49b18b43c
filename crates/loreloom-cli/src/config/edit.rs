//! Changes the settings in the text of a configuration file. Comments and everything else stay.

use anyhow::Context as _;
use loreloom_settings::{Changes, toml_value};

use super::{Config, setting_lines::SettingLines};

/// The text with changed settings. A setting that is there gets its new value, another one goes
/// below the heading of its section.
pub(crate) fn edited(text: &str, changes: &Changes) -> anyhow::Result<String> {
    let mut edited = text.to_owned();
    for (name, value) in changes.iter() {
        let value = toml_value(value);
        let lines = SettingLines::read(&edited)
            .map_err(|error| anyhow::anyhow!("{}", error.to_string().trim_end().to_owned()))?;
        match lines.span(name) {
            Some(span) => edited.replace_range(span, &value),
            None => insert(&mut edited, name, &value),
        }
    }
    // Nothing is written that cannot be read.
    Config::parse(&edited, std::path::PathBuf::new())
        .context("the settings do not fit into the file; add them by hand")?;
    Ok(edited)
}

/// Writes a line below the nearest heading, which is made if it is not there.
fn insert(text: &mut String, name: &str, value: &str) {
    let mut parts: Vec<&str> = name.split('.').collect();
    let mut key = Vec::new();
    while let Some(last) = parts.pop() {
        key.insert(0, last);
        let heading = format!("[{}]", parts.join("."));
        let mut at = 0;
        for line in text.split_inclusive('\n') {
            at += line.len();
            let line_text = line.split('#').next().unwrap_or_default().trim();
            if line_text == heading && !parts.is_empty() {
                let gap = if line.ends_with('\n') { "" } else { "\n" };
                text.insert_str(at, &format!("{gap}{} = {value}\n", key.join(".")));
                return;
            }
        }
    }
    if !text.is_empty() && !text.ends_with('\n') {
        text.push('\n');
    }
    let gap = if text.is_empty() { "" } else { "\n" };
    let (section, key) = name.split_once('.').unwrap_or(("", name));
    let line = format!("{gap}[{section}]\n{key} = {value}\n");
    text.push_str(&line);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_replaced_or_added_and_comments_stay() {
        let text = "# Mine\n[vault] # notes\nscan_depth = 4 # few\n\n[vault.selection]\n\
                    confidence = \"high\"\n[story]\nuser = \"A\"";
        let mut changes = Changes::default();
        for pair in [
            "vault.scan_depth=9",
            "vault.fuzzy=true",
            "vault.selection.mode=ai-only",
            "story.user=B",
            "memory.arcs_max=3",
        ] {
            changes.set_pair(pair).unwrap();
        }
        let expected = "# Mine\n[vault] # notes\nfuzzy = true\nscan_depth = 9 # few\n\n\
                        [vault.selection]\nmode = \"ai-only\"\nconfidence = \"high\"\n[story]\n\
                        user = \"B\"\n\n[memory]\narcs_max = 3\n";
        assert_eq!(edited(text, &changes).unwrap(), expected);
        assert_eq!(edited("", &Changes::default()).unwrap(), "");
    }
}
