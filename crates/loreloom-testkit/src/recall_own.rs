//! Measures whether recall finds what a paraphrased turn asks for, and whether it finds nothing for
//! a turn that needs nothing. The stories are in the folder `recall-own`, whose README has their
//! form.

use std::path::Path as FilePath;

use loreloom_core::{
    chat::{Message, Path, Role},
    ids::ChatId,
};
use loreloom_memory::recall::{Passage, PassageIndex, RecallQuery, StoryVectors, Weights};
use serde::Serialize;

/// How well recall did.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct OwnFigures {
    /// Turns that need nothing.
    pub empty: usize,
    /// Those among them that got something.
    pub disturbed: usize,
    /// Paraphrased turns.
    pub paraphrased: usize,
    /// Those among them that got their message.
    pub right: usize,
    /// The turns that went wrong.
    #[serde(skip)]
    pub wrong: Vec<String>,
}

/// A story with turns to try.
#[derive(Debug, Default)]
pub(crate) struct OwnStory {
    pub(crate) player: String,
    pub(crate) messages: Vec<(String, String)>,
    /// Turns with the place of their message, if they have one.
    pub(crate) turns: Vec<(String, Option<usize>)>,
}

impl OwnStory {
    pub(crate) fn read(text: &str) -> Result<Self, String> {
        let mut story = Self::default();
        for line in text.lines().filter(|line| !line.starts_with('#')) {
            let wrong = || format!("not a message or a turn: `{line}`");
            if let Some(player) = line.strip_prefix("player: ") {
                player.clone_into(&mut story.player);
            } else if let Some(turn) = line.strip_prefix("- ") {
                story.turns.push((turn.to_owned(), None));
            } else if let Some(turn) = line.strip_prefix("? ") {
                let (number, turn) = turn.split_once(' ').ok_or_else(wrong)?;
                let number: usize = number.parse().map_err(|_| wrong())?;
                story.turns.push((turn.to_owned(), Some(number - 1)));
            } else {
                let message = line.split_once(' ').and_then(|(_, rest)| rest.split_once(": "));
                let (speaker, text) = message.ok_or_else(wrong)?;
                story.messages.push((speaker.to_owned(), text.to_owned()));
            }
        }
        Ok(story)
    }

    /// The index of all messages.
    pub(crate) fn index(&self, embed: Option<&dyn StoryVectors>) -> PassageIndex {
        let mut index = PassageIndex::default();
        for (speaker, text) in &self.messages {
            let by_player = *speaker == self.player;
            let passage = Passage { speaker: Some(speaker), text, stretch: 0, by_player };
            index.push(passage, embed);
        }
        index
    }

    fn message(&self, speaker: &str, text: &str) -> Message {
        let role = if speaker == self.player { Role::User } else { Role::Assistant };
        Message::new(role, Some(speaker), text)
    }
}

/// Tries the turns of all stories in a folder.
pub fn measure(
    folder: &FilePath,
    weights: &Weights,
    embed: Option<&dyn StoryVectors>,
) -> Result<OwnFigures, String> {
    let mut figures = OwnFigures::default();
    for (_, text) in texts_in(folder)? {
        try_story(&OwnStory::read(&text)?, weights, embed, &mut figures);
    }
    Ok(figures)
}

/// The files of a folder, with their names.
#[expect(clippy::disallowed_methods, reason = "the path is in the error")]
pub(crate) fn texts_in(folder: &FilePath) -> Result<Vec<(String, String)>, String> {
    let failed = |error: std::io::Error| format!("`{}`: {error}", folder.display());
    let entries = std::fs::read_dir(folder).map_err(failed)?;
    let files = entries.map(|entry| Ok(entry?.path())).collect::<Result<Vec<_>, _>>();
    let mut files = files.map_err(failed)?;
    files.sort();
    let named = |file: &std::path::PathBuf| {
        let name = file.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        Ok((name, std::fs::read_to_string(file).map_err(failed)?))
    };
    files.iter().map(named).collect()
}

pub(crate) fn try_story(
    story: &OwnStory,
    weights: &Weights,
    embed: Option<&dyn StoryVectors>,
    figures: &mut OwnFigures,
) {
    let mut index = story.index(embed);
    for (turn, wanted) in &story.turns {
        let told = story.messages.iter().map(|(speaker, text)| story.message(speaker, text));
        let messages = told.chain([story.message(&story.player, turn)]);
        let path = Path::of(ChatId::from("own"), messages);
        let (text, speaker) = (turn.as_str(), Some(story.player.as_str()));
        index.push(Passage { speaker, text, stretch: 0, by_player: true }, embed);
        let query = RecallQuery::new(path.items(), story.messages.len());
        let hits = index.recall(query, weights, embed);
        index.truncate(story.messages.len());
        let found: Vec<usize> = hits.iter().map(|hit| hit.at + 1).collect();
        match wanted {
            None => {
                figures.empty += 1;
                if !found.is_empty() {
                    figures.disturbed += 1;
                    figures.wrong.push(format!("- {turn}: {found:?}"));
                }
            }
            Some(at) => {
                figures.paraphrased += 1;
                if hits.iter().any(|hit| hit.at == *at) {
                    figures.right += 1;
                } else {
                    figures.wrong.push(format!("? {} {turn}: {found:?}", at + 1));
                }
            }
        }
    }
}
