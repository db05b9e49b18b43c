//! Where a chat's notebooks go, as arguments and settings files say it.

use std::str::FromStr;

use clap::{Args, ValueEnum};
use loreloom_core::{
    chat::Role,
    dialects::vault::{NotePosition, depth_of},
    notebook::{ModelNotebook, NotebookMode, NotebookRules, NotebookSeat},
    units::Depth,
};
use loreloom_formats::vault::{position_of, role_of};
use serde_json::{Map, Value};

/// Which notebooks take part.
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct NotebookArguments {
    /// Puts the author's notebook of a chat into its prompts: `before` or `after` the main
    /// prompt, or so many messages from the end, such as `4` or `0:user`
    #[arg(help_heading = "Notebooks", long, value_name = "PLACE")]
    notebook: Option<SeatName>,

    /// The model keeps a notebook of its own
    #[arg(help_heading = "Notebooks", long, value_enum)]
    ai_notebook: Option<ModeName>,

    /// Where that one goes [default: 4]
    #[arg(help_heading = "Notebooks", long, value_name = "PLACE")]
    ai_notebook_place: Option<SeatName>,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum ModeName {
    /// It writes notes between tags in its replies
    Tag,
    /// Another model reads its replies
    Extract,
}

/// Where a notebook goes, as it is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct SeatName(NotebookSeat);

impl FromStr for SeatName {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (place, role) = text.split_once(':').unwrap_or((text, "system"));
        let own = NotebookSeat::default();
        let (position, depth) = match place {
            "before" => (NotePosition::Before, own.depth),
            "after" => (NotePosition::After, own.depth),
            number => match number.parse() {
                Ok(depth) => (NotePosition::InChat, Depth(depth)),
                Err(_) => {
                    return Err(format!("a place is `before`, `after` or a depth, found `{text}`"));
                }
            },
        };
        let role = match role {
            "system" => Role::System,
            "user" => Role::User,
            "assistant" => Role::Assistant,
            other => {
                return Err(format!("a role is system, user or assistant, found `{other}`"));
            }
        };
        Ok(Self(NotebookSeat { position, depth, role }))
    }
}

impl NotebookArguments {
    /// What arguments and a settings file come to; arguments win.
    pub(super) fn rules(&self, file: &Map<String, Value>) -> NotebookRules {
        let is_on = |name: &str| file.get(name) == Some(&Value::Bool(true));
        let author = self.notebook.map(|name| name.0);
        let author = author.or_else(|| is_on("notebookEnabled").then(|| seat(file, "notebook")));
        let mode = match self.ai_notebook {
            None if !is_on("aiNotepadEnabled") => None,
            None if file.get("aiNotepadMode").and_then(Value::as_str) == Some("extract") => {
                Some(NotebookMode::Extract)
            }
            Some(ModeName::Extract) => Some(NotebookMode::Extract),
            Some(ModeName::Tag) | None => Some(NotebookMode::Tag),
        };
        let model = mode.map(|mode| {
            let seat = self.ai_notebook_place.map_or_else(|| seat(file, "aiNotepad"), |one| one.0);
            ModelNotebook { seat, mode, ..worded(file) }
        });
        NotebookRules { author, model }
    }
}

/// The instructions about the notebook, and its size, from `DeepLore`'s settings. A blank text
/// means our own.
fn worded(file: &Map<String, Value>) -> ModelNotebook {
    let own = ModelNotebook::default();
    let text = |name: &str| {
        let text = file.get(name).and_then(Value::as_str).map(str::trim);
        text.filter(|text| !text.is_empty()).map(str::to_owned)
    };
    // Numbers that were brought into their range are no longer whole to JSON.
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "the cast saturates, which is what is wanted"
    )]
    let number = |name: &str| Some(file.get(name)?.as_f64()?.round() as u32);
    let instruction = text("aiNotepadPrompt").unwrap_or(own.instruction);
    let tag = text("aiNotepadTag").map(|tag| tag.trim_matches(['<', '>', '/']).to_owned());
    // A prompt that was written for `DeepLore` names its tag.
    let names_theirs = instruction.contains(&format!("<{THEIR_TAG}>"));
    let theirs = names_theirs.then(|| THEIR_TAG.to_owned());
    ModelNotebook {
        tag: tag.filter(|tag| !tag.is_empty()).or(theirs).unwrap_or(own.tag),
        instruction,
        extraction: text("aiNotepadExtractPrompt").unwrap_or(own.extraction),
        answer_tokens: number("aiNotepadMaxTokens").unwrap_or(own.answer_tokens),
        timeout_ms: number("aiNotepadTimeout").map_or(own.timeout_ms, u64::from),
        most: number("aiNotepadMaxEntries").unwrap_or(own.most),
        ..own
    }
}

/// The tag between which models keep notes for `DeepLore`.
const THEIR_TAG: &str = "dle-notes";

/// A notebook's place in `DeepLore`'s settings.
fn seat(file: &Map<String, Value>, name: &str) -> NotebookSeat {
    let number = |part: &str| file.get(&format!("{name}{part}")).and_then(Value::as_f64);
    let own = NotebookSeat::default();
    NotebookSeat {
        position: number("Position").and_then(position_of).unwrap_or(own.position),
        depth: number("Depth").map_or(own.depth, depth_of),
        role: number("Role").and_then(role_of).unwrap_or(own.role),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_place_is_read_or_refused() {
        let seat = |position, depth, role| Ok(SeatName(NotebookSeat { position, depth, role }));
        for (text, expected) in [
            ("before", seat(NotePosition::Before, Depth(4), Role::System)),
            ("0:user", seat(NotePosition::InChat, Depth(0), Role::User)),
            ("up", Err("a place is `before`, `after` or a depth, found `up`".to_owned())),
            ("2:bot", Err("a role is system, user or assistant, found `bot`".to_owned())),
        ] {
            assert_eq!(text.parse::<SeatName>(), expected, "{text}");
        }
    }

    #[test]
    fn deeplores_settings_turn_notebooks_on() {
        let Value::Object(file) = json!({
            "notebookEnabled": true, "notebookPosition": 2, "notebookRole": 1,
            "aiNotepadEnabled": true, "aiNotepadMode": "extract", "aiNotepadDepth": 9,
        }) else {
            panic!("an object")
        };
        let rules = NotebookArguments::default().rules(&file);
        let author = rules.author.unwrap();
        assert_eq!((author.position, author.role), (NotePosition::Before, Role::User));
        let model = rules.model.unwrap();
        assert_eq!((model.mode, model.seat.depth), (NotebookMode::Extract, Depth(9)));
        assert!(NotebookArguments::default().rules(&Map::new()).is_off());
    }

    #[test]
    fn what_models_are_told_is_read_from_settings() {
        let own = ModelNotebook::default();
        let read = |file: Value| {
            let Value::Object(mut file) = file else { panic!("an object") };
            file.insert("aiNotepadEnabled".to_owned(), Value::Bool(true));
            loreloom_formats::vault::clamp_known(&mut file);
            NotebookArguments::default().rules(&file).model.unwrap()
        };
        assert_eq!(read(json!({"aiNotepadPrompt": " ", "aiNotepadExtractPrompt": ""})), own);
        let model = read(json!({
            "aiNotepadPrompt": "Use <dle-notes>.", "aiNotepadExtractPrompt": "Note it.",
            "aiNotepadMaxTokens": 300, "aiNotepadTimeout": 9000, "aiNotepadMaxEntries": 7,
        }));
        assert_eq!(
            (model.tag.as_str(), model.instruction.as_str()),
            ("dle-notes", "Use <dle-notes>.")
        );
        assert_eq!(model.extraction, "Note it.");
        assert_eq!((model.answer_tokens, model.timeout_ms, model.most), (300, 9000, 7));
        let tagged = read(json!({"aiNotepadTag": "<memo>", "aiNotepadPrompt": "In <{{tag}}>."}));
        assert_eq!((tagged.tag.as_str(), tagged.instruction.as_str()), ("memo", "In <{{tag}}>."));
    }
}
