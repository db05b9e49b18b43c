//! The chapter of the documentation that lists all settings.

use std::fmt::Write as _;

use crate::{
    profiles::other_profiles,
    setting::{Setting, SettingScope, TakesEffect},
    table::{SETTINGS, section_title},
    toml_text::toml_value,
};

/// The text above the tables.
const HEAD: &str = "\
# Settings

<!-- Made from the table of settings by `./dev bless-settings`. Do not edit. -->

Every setting has one name. You can set it in five ways:

- in the configuration file: `scan_depth = 4` under `[world_info]`;
- with a flag: `--set world_info.scan_depth=4`, or the flag that is named below;
- over the API: `PATCH /api/v1/settings` with `{\"world_info.scan_depth\": 4}`, where `null` resets it;
- on the page, under Settings, All settings;
- from another program's file: `loreloom config import FILE`.

`loreloom config show` prints what works now, `loreloom config check` looks for mistakes, and \
`loreloom config explain NAME` explains one setting, also by the name that SillyTavern, DeepLore \
or Smart Memory uses. Flags win over the configuration file, and what you change over the API or \
on the page wins over both.

The value `none` means that there is none. *Restart*: a change takes effect when the server \
starts again. *Start*: only the configuration file and flags can set it.

";

/// The chapter.
pub fn reference() -> String {
    let mut text = HEAD.to_owned();
    profiles(&mut text);
    let mut section = "";
    for setting in SETTINGS.iter() {
        if setting.section() != section {
            section = setting.section();
            let _written = write!(text, "## {}: `{section}`\n\n", section_title(section));
            text.push_str("| Setting | Values | Default | What it does |\n|---|---|---|---|\n");
        }
        row(&mut text, setting);
        let mut rest = SETTINGS.iter().skip_while(|other| other.name != setting.name);
        if rest.nth(1).is_none_or(|next| next.section() != section) {
            text.push('\n');
        }
    }
    text.truncate(text.trim_end().len());
    text.push('\n');
    text
}

fn profiles(text: &mut String) {
    text.push_str("## Profiles\n\nA profile sets many values of a section at once. Each can still be set.\n\n");
    text.push_str("| Profile | Set by |\n|---|---|\n");
    for profile in other_profiles() {
        let _written =
            writeln!(text, "| `{}` | `{} = \"{}\"` |", profile.name, profile.setting, profile.name);
    }
    text.push('\n');
}

fn row(text: &mut String, setting: &Setting) {
    let mut facts = vec![setting.help.to_owned()];
    let profiles = setting.profile_values();
    if !profiles.is_empty() {
        let values = profiles.iter().map(|(name, value)| format!("{name} `{}`", toml_value(value)));
        facts.push(format!("By profile: {}.", values.collect::<Vec<_>>().join(", ")));
    }
    for (program, name) in setting.names_elsewhere() {
        facts.push(format!("{}: `{name}`.", program.as_str()));
    }
    if let Some(flag) = setting.flag {
        facts.push(format!("Flag: `--{flag}`."));
    }
    for (scope, words) in
        [(SettingScope::Book, "Also for one book."), (SettingScope::Vault, "Also for one vault.")]
    {
        facts.extend(setting.scopes.contains(&scope).then(|| words.to_owned()));
    }
    match setting.takes_effect {
        TakesEffect::AtOnce => {}
        TakesEffect::AfterRestart => facts.push("*Restart.*".to_owned()),
        TakesEffect::AtStart => facts.push("*Start.*".to_owned()),
    }
    let default = cell(&format!("`{}`", toml_value(&setting.default_value())));
    let facts = cell(&facts.join(" "));
    let _written =
        writeln!(text, "| `{}` | {} | {default} | {facts} |", setting.name, cell(&setting.rule()));
}

/// A cell of a table.
fn cell(text: &str) -> String {
    text.replace('|', "\\|").replace('\n', " ")
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    /// Set to write the chapter instead of comparing it.
    const BLESS: &str = "LORELOOM_BLESS";

    #[expect(clippy::disallowed_methods, reason = "the chapter is a file of the repository")]
    #[test]
    fn the_committed_chapter_is_made_from_the_table() {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/settings.md");
        let made = reference();
        if std::env::var(BLESS).is_ok() {
            std::fs::write(&path, &made).unwrap();
        }
        let committed = std::fs::read_to_string(&path).unwrap_or_default();
        assert!(
            committed == made,
            "docs/settings.md is not what the table makes: run `./dev bless-settings` and look at \
             the difference"
        );
    }

    #[test]
    fn every_setting_has_a_row() {
        let text = reference();
        for setting in SETTINGS.iter() {
            assert!(text.contains(&format!("| `{}` |", setting.name)), "{}", setting.name);
        }
    }
}
