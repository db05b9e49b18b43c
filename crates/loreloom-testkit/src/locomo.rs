//! Measuring recall on conversations with questions, in the form of `LoCoMo`.
//!
//! One passage per turn, searched inside the question's own conversation, with the question
//! as it stands and no language model. Evidence ids are repaired where they are misspelled;
//! ids that do not exist are dropped, and questions left without any are skipped.

mod left_out;

use std::{collections::BTreeMap, sync::LazyLock, time::Instant};

use loreloom_memory::recall::{Passage, PassageIndex, PassageQuery, StoryVectors, Weights};
use serde::{Deserialize, Serialize};
use serde_json::Value;

pub use self::left_out::{LeftOut, left_out, sets_left_out};

/// How well recall did: shares in per cent, averaged over questions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Figures {
    /// Share of the evidence among the best 5.
    pub r5: f64,
    /// Share of the evidence among the best 10.
    pub r10: f64,
    /// Share of the evidence among the best 20.
    pub r20: f64,
    /// One over the rank of the first evidence.
    pub mrr: f64,
    /// How many questions were asked.
    pub questions: usize,
    /// Mean time of a search.
    pub ms_per_query: f64,
}

#[derive(Deserialize)]
struct Sample {
    conversation: BTreeMap<String, Value>,
    qa: Vec<Question>,
}

#[derive(Deserialize)]
struct Question {
    #[serde(rename = "question")]
    text: String,
    #[serde(default)]
    evidence: Vec<String>,
    category: u8,
}

#[derive(Deserialize)]
struct Turn {
    speaker: String,
    dia_id: String,
    text: String,
    blip_caption: Option<String>,
}

/// Conversations ready to be asked about.
pub struct Conversations(Vec<Conversation>);

struct Conversation {
    index: PassageIndex,
    questions: Vec<Asked>,
}

struct Asked {
    text: String,
    gold: Vec<usize>,
    category: u8,
}

/// The category of questions whose evidence is spread over several turns.
pub const MULTI_HOP: u8 = 1;

impl Conversations {
    /// Reads conversations and their questions of categories 1 to 4.
    pub fn read(json: &[u8], embed: Option<&dyn StoryVectors>) -> Result<Self, String> {
        let samples: Vec<Sample> =
            serde_json::from_slice(json).map_err(|error| error.to_string())?;
        let mut conversations = Vec::new();
        for sample in samples {
            let (index, places) = indexed(&sample.conversation, embed)?;
            let asked = |question: Question| {
                let gold = gold(&question.evidence, &places);
                Asked { text: question.text, gold, category: question.category }
            };
            let is_asked =
                |asked: &Asked| (1..=4).contains(&asked.category) && !asked.gold.is_empty();
            let questions = sample.qa.into_iter().map(asked).filter(is_asked).collect();
            conversations.push(Conversation { index, questions });
        }
        Ok(Self(conversations))
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Asks the questions that are wanted, by conversation and category.
    pub fn measure(
        &self,
        weights: &Weights,
        embed: Option<&dyn StoryVectors>,
        is_wanted: impl Fn(usize, u8) -> bool,
    ) -> Figures {
        let mut figures = Figures::default();
        for (at, conversation) in self.0.iter().enumerate() {
            let index = &conversation.index;
            for asked in conversation.questions.iter().filter(|one| is_wanted(at, one.category)) {
                let start = Instant::now();
                let hits =
                    index.search(PassageQuery::new(&asked.text, index.len()), weights, embed);
                figures.ms_per_query += start.elapsed().as_secs_f64() * 1000.0;
                let found: Vec<usize> = hits.iter().map(|hit| hit.at).collect();
                figures.add(&asked.gold, &found);
            }
        }
        figures.averaged()
    }
}

/// Asks every question of categories 1 to 4 of every conversation.
pub fn measure(
    json: &[u8],
    weights: &Weights,
    embed: Option<&dyn StoryVectors>,
) -> Result<Figures, String> {
    Ok(Conversations::read(json, embed)?.measure(weights, embed, |_, _| true))
}

impl Figures {
    fn add(&mut self, gold: &[usize], found: &[usize]) {
        let share = |most: usize| {
            let top = &found[..found.len().min(most)];
            let hits = gold.iter().filter(|place| top.contains(place)).count();
            100.0 * real(hits) / real(gold.len())
        };
        self.r5 += share(5);
        self.r10 += share(10);
        self.r20 += share(20);
        let rank = found.iter().position(|place| gold.contains(place));
        self.mrr += rank.map_or(0.0, |rank| 1.0 / real(rank + 1));
        self.questions += 1;
    }

    fn averaged(mut self) -> Self {
        let count = real(self.questions.max(1));
        for sum in
            [&mut self.r5, &mut self.r10, &mut self.r20, &mut self.mrr, &mut self.ms_per_query]
        {
            *sum /= count;
        }
        self
    }
}

#[expect(clippy::cast_precision_loss, reason = "counts of turns and questions are small")]
fn real(count: usize) -> f64 {
    count as f64
}

type Places = BTreeMap<(u32, u32), usize>;

fn indexed(
    conversation: &BTreeMap<String, Value>,
    embed: Option<&dyn StoryVectors>,
) -> Result<(PassageIndex, Places), String> {
    let speakers =
        ["speaker_a", "speaker_b"].iter().filter_map(|key| conversation.get(*key)?.as_str());
    let mut index = PassageIndex::new(speakers.map(str::to_owned));
    let mut places = Places::new();
    let mut sessions: Vec<(u32, &Value)> = conversation
        .iter()
        .filter_map(|(key, value)| Some((key.strip_prefix("session_")?.parse().ok()?, value)))
        .collect();
    sessions.sort_by_key(|(number, _)| *number);
    for (number, turns) in sessions {
        let turns: Vec<Turn> = Vec::deserialize(turns).map_err(|error| error.to_string())?;
        for turn in turns {
            if let Some(id) = ids(&turn.dia_id).first() {
                places.insert(*id, index.len());
            }
            let text = match &turn.blip_caption {
                Some(caption) => format!("{} [photo: {caption}]", turn.text),
                None => turn.text,
            };
            let by_player = turn.speaker.eq_ignore_ascii_case("user");
            let speaker = Some(turn.speaker.as_str());
            let passage = Passage { speaker, text: &text, stretch: number, by_player };
            index.push(passage, embed);
        }
    }
    Ok((index, places))
}

/// The places of the evidence, each once.
fn gold(evidence: &[String], places: &Places) -> Vec<usize> {
    let mut gold: Vec<usize> = evidence
        .iter()
        .flat_map(|text| ids(text))
        .filter_map(|id| places.get(&id).copied())
        .collect();
    gold.sort_unstable();
    gold.dedup();
    gold
}

/// All turn ids in a text: session and turn, however they are joined and padded.
fn ids(text: &str) -> Vec<(u32, u32)> {
    static ID: LazyLock<Option<regex::Regex>> =
        LazyLock::new(|| regex::Regex::new(r"D:?(\d+):(\d+)").ok());
    let Some(pattern) = ID.as_ref() else { return Vec::new() };
    pattern
        .captures_iter(text)
        .filter_map(|found| Some((found[1].parse().ok()?, found[2].parse().ok()?)))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn misspelled_ids_are_repaired() {
        for (text, expected) in [
            ("D8:6; D9:17", vec![(8, 6), (9, 17)]),
            ("D:11:26", vec![(11, 26)]),
            ("D30:05", vec![(30, 5)]),
            ("D", vec![]),
        ] {
            assert_eq!(ids(text), expected, "{text}");
        }
    }

    #[test]
    fn shares_and_ranks_are_averaged_over_questions() -> Result<(), String> {
        let story = br#"[{"conversation": {"speaker_a": "Ann", "speaker_b": "Bo",
            "session_2": [{"speaker": "Bo", "dia_id": "D2:1", "text": "It rained."}],
            "session_1": [
                {"speaker": "Ann", "dia_id": "D1:1", "text": "My boat sank in the storm."},
                {"speaker": "Bo", "dia_id": "D1:2", "text": "Oh no."}]},
            "qa": [{"question": "Whose boat sank?", "evidence": ["D1:1", "D9:9"], "category": 4},
                   {"question": "x", "evidence": [], "category": 4},
                   {"question": "boat", "evidence": ["D1:1"], "category": 5}]}]"#;
        let figures = measure(story, &Weights::default(), None)?;
        assert_eq!((figures.questions, figures.r5.round(), figures.mrr.round()), (1, 100.0, 1.0));
        Ok(())
    }
}
