//! Measures recall in languages other than English, beside plain BM25, on the stories of
//! `recall-own/languages`.

use std::path::Path as FilePath;

use loreloom_core::bm25::Bm25;
use loreloom_memory::recall::{PassageQuery, StoryVectors, Weights};
use serde::Serialize;

use crate::recall_own::{OwnFigures, OwnStory, texts_in, try_story};

/// How many questions found their message.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct HitCounts {
    /// As the best passage.
    pub first: usize,
    /// Among the best five.
    pub five: usize,
    /// Among the best ten.
    pub ten: usize,
}

impl HitCounts {
    fn add(&mut self, rank: Option<usize>) {
        for (count, most) in [(&mut self.first, 1), (&mut self.five, 5), (&mut self.ten, 10)] {
            *count += usize::from(rank.is_some_and(|rank| rank < most));
        }
    }
}

/// How well recall did in one language.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct LanguageFigures {
    /// The language.
    pub language: String,
    /// How many questions there are.
    pub questions: usize,
    /// What a search finds.
    pub found: HitCounts,
    /// What BM25 over whole words finds.
    pub plain: HitCounts,
    /// What turns get: those that need nothing, and questions.
    pub turns: OwnFigures,
}

/// Measures each language of a folder.
pub fn languages(
    folder: &FilePath,
    weights: &Weights,
    embed: Option<&dyn StoryVectors>,
) -> Result<Vec<LanguageFigures>, String> {
    let measured = |(language, text): (String, String)| {
        let story = OwnStory::read(&text)?;
        let mut turns = OwnFigures::default();
        try_story(&story, weights, embed, &mut turns);
        let (found, plain) = ranks(&story, weights, embed);
        let questions = turns.paraphrased;
        Ok(LanguageFigures { language, questions, found, plain, turns })
    };
    texts_in(folder)?.into_iter().map(measured).collect()
}

fn ranks(
    story: &OwnStory,
    weights: &Weights,
    embed: Option<&dyn StoryVectors>,
) -> (HitCounts, HitCounts) {
    let index = story.index(embed);
    let mut words = Bm25::default();
    words.add_all(story.messages.iter().map(|(_, text)| text.as_str()));
    let (mut found, mut plain) = (HitCounts::default(), HitCounts::default());
    for (question, wanted) in &story.turns {
        let Some(wanted) = wanted else { continue };
        let hits = index.search(PassageQuery::new(question, 10), weights, embed);
        found.add(hits.iter().position(|hit| hit.at == *wanted));
        let hits = words.query(question, 10, 0.0);
        plain.add(hits.iter().position(|hit| usize::try_from(hit.doc.0) == Ok(*wanted)));
    }
    (found, plain)
}
