//! Recalls passages for the next turn.

use loreloom_core::chat::{PathItem, Role};

use super::{PassageHit, PassageIndex, PassageQuery, Weights};
use crate::{
    record::Entity,
    text::{contains_word, head},
};
use loreloom_ports::Vector;

/// The longest passage that is shown whole.
const LONGEST: usize = 400;

/// What to recall for a turn.
#[derive(Clone, Copy)]
pub struct RecallQuery<'turn> {
    /// The path. Its messages are the passages of the index, in order.
    pub path: &'turn [PathItem],
    /// The first message in the prompt.
    pub seen_from: usize,
    /// Known entities. A question with one of their names also finds the others.
    pub entities: &'turn [Entity],
    /// The most passages.
    pub most: usize,
    /// By how many standard deviations a passage must stand out.
    pub least: f64,
    /// Whether the message at a place may be recalled at all.
    pub may_recall: &'turn dyn Fn(usize) -> bool,
}

impl<'turn> RecallQuery<'turn> {
    /// The best few passages of a path whose messages from `seen_from` on are in the prompt.
    pub fn new(path: &'turn [PathItem], seen_from: usize) -> Self {
        let may_recall = &|_| true;
        Self { path, seen_from, entities: &[], most: 6, least: 2.0, may_recall }
    }
}

impl PassageIndex {
    /// Passages outside the prompt that fit the newest message, best first, with the reasons.
    pub fn recall(
        &self,
        wanted: RecallQuery<'_>,
        weights: &Weights,
        embed: Option<&dyn Fn(&str) -> Vector>,
    ) -> Vec<PassageHit> {
        let newest = wanted.path.iter().rev().find(|item| item.message.role == Role::User);
        let Some(question) = newest.map(|item| item.message.text.as_str()) else {
            return Vec::new();
        };
        let also: Vec<&str> = wanted
            .entities
            .iter()
            .filter(|entity| entity.names().any(|name| contains_word(question, name)))
            .flat_map(|entity| entity.names().filter(|name| !contains_word(question, name)))
            .collect();
        let is_visible = |at: usize| {
            wanted
                .path
                .get(at)
                .is_some_and(|item| !item.message.hidden && item.message.role != Role::System)
        };
        let is_wanted =
            |at: usize| at < wanted.seen_from && is_visible(at) && (wanted.may_recall)(at);
        let (most, least) = (wanted.most, wanted.least);
        let is_wanted = &is_wanted;
        let query = PassageQuery { question, also: &also, most, least, is_wanted };
        self.search(query, weights, embed)
    }
}

/// Hits as lines for the recall slot, `Speaker: text`, in the order of the story.
pub fn lines(hits: &[PassageHit], path: &[PathItem]) -> Vec<String> {
    let mut places: Vec<usize> = hits.iter().map(|hit| hit.at).collect();
    places.sort_unstable();
    places
        .into_iter()
        .filter_map(|at| path.get(at))
        .map(|item| {
            let text = head(item.message.text.trim(), LONGEST);
            let cut = if text.len() < item.message.text.trim().len() { " …" } else { "" };
            match &item.message.name {
                Some(name) => format!("{name}: {text}{cut}"),
                None => format!("{text}{cut}"),
            }
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use loreloom_core::{
        chat::{Message, Path},
        ids::ChatId,
    };

    use super::*;
    use crate::recall::Passage;

    #[test]
    fn only_what_the_model_does_not_see_is_recalled() {
        let texts = [
            "The Captain hid the silver whistle in the bell tower.",
            "Gulls circle.",
            "It rains.",
            "The whistle is silver.",
            "Bread is cheap.",
            "Where is Venn's whistle?",
        ];
        let messages = texts.map(|text| Message::new(Role::User, Some("Mara"), text));
        let path = Path::of(ChatId::from("c"), messages);
        let mut index = PassageIndex::new([]);
        for text in texts {
            index.push(Passage { speaker: Some("Mara"), text, stretch: 0 }, None);
        }
        let entities = [Entity {
            name: "Odo Venn".into(),
            aliases: vec!["Venn".into(), "Captain".into()],
            ..Entity::default()
        }];
        let wanted = RecallQuery {
            path: path.items(),
            seen_from: 3,
            entities: &entities,
            most: 5,
            least: 1.0,
            may_recall: &|_| true,
        };
        let hits = index.recall(wanted, &Weights::default(), None);
        assert_eq!(lines(&hits, path.items()), [format!("Mara: {}", texts[0])]);
        let nothing = RecallQuery { seen_from: 0, ..wanted };
        assert!(index.recall(nothing, &Weights::default(), None).is_empty());
    }
}
