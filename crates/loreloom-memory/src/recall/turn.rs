//! Recalls passages for the next turn.

use loreloom_core::chat::{PathItem, Role};

use super::{
    Parts, PassageHit, PassageIndex, PassageQuery, StoryVectors, Weights, calls::Call,
    speech::asking_part,
};
use crate::{
    record::Entity,
    text::{contains_word, head},
};

/// The most characters of a piece that are shown.
const LONGEST: usize = 600;

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
        Self { path, seen_from, entities: &[], most: 6, least: 1.0, may_recall }
    }
}

impl PassageIndex {
    /// Passages outside the prompt that fit the newest message, best first, with the reasons. A
    /// message that calls for nothing gets none.
    pub fn recall(
        &self,
        wanted: RecallQuery<'_>,
        weights: &Weights,
        embed: Option<&dyn StoryVectors>,
    ) -> Vec<PassageHit> {
        let Some(question) = &question(wanted.path) else { return Vec::new() };
        let also: Vec<&str> = wanted
            .entities
            .iter()
            .filter(|entity| entity.names().any(|name| contains_word(question, name)))
            .flat_map(|entity| entity.names().filter(|name| !contains_word(question, name)))
            .collect();
        let is_visible = |at: usize| wanted.path.get(at).is_some_and(|item| item.message.is_seen());
        let is_wanted =
            |at: usize| at < wanted.seen_from && is_visible(at) && (wanted.may_recall)(at);
        let (most, least) = (wanted.most, wanted.least);
        let is_wanted = &is_wanted;
        let until = wanted.seen_from;
        // More than needed, because some are left out.
        let query = PassageQuery { question, also: &also, most: 2 * most, least, until, is_wanted };
        let hits = varied(self.search(query, weights, embed), most);
        if Call::of(self, question, &also).is_answered(&hits) { hits } else { Vec::new() }
    }
}

/// What the newest message of the player asks.
pub fn question(path: &[PathItem]) -> Option<String> {
    let newest = path.iter().rev().find(|item| item.message.role == Role::User)?;
    Some(asking_part(&newest.message.text))
}

/// The best hits. At most a third of them are there because of their neighbours alone: an answer
/// is often found by the question before it, but not four lines around one match.
fn varied(hits: Vec<PassageHit>, most: usize) -> Vec<PassageHit> {
    let mut beside = 0;
    let mut kept = Vec::with_capacity(most);
    for hit in hits {
        let Parts { words, nearest, meaning, neighbours, .. } = hit.parts;
        if neighbours > words + nearest + meaning {
            beside += 1;
            if 3 * beside > most {
                continue;
            }
        }
        kept.push(hit);
    }
    kept.truncate(most);
    kept
}

/// Hits as lines for the recall slot, `Speaker: text`, in the order of the story.
pub fn lines(hits: &[PassageHit], path: &[PathItem]) -> Vec<String> {
    let mut hits: Vec<&PassageHit> = hits.iter().collect();
    hits.sort_unstable_by_key(|hit| hit.at);
    let line = |hit: &PassageHit| {
        let message = &path.get(hit.at)?.message;
        let text = excerpt(hit, &message.text)?;
        Some(match &message.name {
            Some(name) => format!("{name}: {text}"),
            None => text,
        })
    };
    hits.into_iter().filter_map(line).collect()
}

/// The piece of a message that was found, with an ellipsis where the message goes on.
pub fn excerpt(hit: &PassageHit, text: &str) -> Option<String> {
    let piece = text.get(hit.piece.clone())?.trim();
    let shown = head(piece, LONGEST);
    let opens = if text[..hit.piece.start].trim().is_empty() { "" } else { "… " };
    let is_whole = shown.len() == piece.len() && text[hit.piece.end..].trim().is_empty();
    let closes = if is_whole { "" } else { " …" };
    Some(format!("{opens}{shown}{closes}"))
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
            index.push(Passage { speaker: Some("Mara"), text, stretch: 0, by_player: true }, None);
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

    #[test]
    fn of_a_long_message_the_piece_that_fits_is_shown() {
        let filler = "Nothing much happened in the village that day. ".repeat(12);
        let long = format!("{filler}Odo sold the brass compass to a pedlar. {filler}");
        let texts = [long.as_str(), "Fog.", "Rain.", "Who bought the brass compass?"];
        let messages = texts.map(|text| Message::new(Role::User, Some("Mara"), text));
        let path = Path::of(ChatId::from("c"), messages);
        let mut index = PassageIndex::new([]);
        for text in texts {
            let speaker = Some("Mara");
            index.push(Passage { speaker, text, stretch: 0, by_player: true }, None);
        }
        let wanted = RecallQuery { least: 0.0, ..RecallQuery::new(path.items(), 3) };
        let found = lines(&index.recall(wanted, &Weights::default(), None), path.items());
        let first = found.first().map_or("", String::as_str);
        assert!(first.starts_with("Mara: … ") && first.ends_with(" …"), "{first}");
        assert!(first.contains("Odo sold the brass compass to a pedlar."), "{first}");
        assert!(first.len() < 700, "{first}");
    }

    #[test]
    fn few_passages_are_shown_for_their_neighbours_alone() {
        let hit = |at: usize, words: f64, neighbours: f64| PassageHit {
            at,
            piece: 0..1,
            score: words + neighbours,
            parts: Parts { words, neighbours, ..Parts::default() },
            shared: Vec::new(),
        };
        let hits = vec![hit(5, 4.0, 1.0), hit(6, 0.0, 3.0), hit(4, 0.0, 2.0), hit(1, 1.0, 0.5)];
        let places = |most: usize| -> Vec<usize> {
            varied(hits.clone(), most).iter().map(|hit| hit.at).collect()
        };
        assert_eq!(places(6), [5, 6, 4, 1]);
        assert_eq!(places(3), [5, 6, 1]);
        assert_eq!(places(1), [5]);
    }

    #[test]
    fn a_turn_that_calls_for_nothing_recalls_nothing() {
        let texts = [
            "The Captain hid the silver whistle in the bell tower.",
            "We walk to the table and look at the door.",
            "Gulls circle.",
            "It rains.",
        ];
        for (turn, expected) in [
            ("Where did the Captain hide the whistle?", true),
            ("I blow the silver whistle of the bell tower.", true),
            ("I nod.", false),
            ("I walk to the table.", false),
            ("Do you like tea?", false),
        ] {
            let all = texts.into_iter().chain([turn]);
            let message = |text| Message::new(Role::User, Some("Mara"), text);
            let path = Path::of(ChatId::from("c"), all.map(message));
            let mut index = PassageIndex::new([]);
            for item in path.items() {
                let text = item.message.text.as_str();
                let passage = Passage { speaker: Some("Mara"), text, stretch: 0, by_player: true };
                index.push(passage, None);
            }
            let hits = index.recall(RecallQuery::new(path.items(), 4), &Weights::default(), None);
            assert_eq!(hits.iter().any(|hit| hit.at == 0), expected, "{turn}");
        }
    }
}
