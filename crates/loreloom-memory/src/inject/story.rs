//! The slots of the story: summary, scenes, arcs, canon, profiles.

use loreloom_core::{tokens::TokenCounter, units::Tokens};

use super::{
    Labels, SlotContext,
    fit::{GivesWay, SlotBlock, below, dashes, fit_lines, headed},
};
use crate::{
    number::clamp_usize,
    record::{Profile, Scene, StoryArc},
    text::{CutPoint, QuarterEstimate, TextRules, cut_to_share, head, sentences},
    tiers::profiles::readable,
};

/// The summary, cut with a mark if it is longer than `limit` tokens of four characters.
pub(super) fn summary(
    text: &str,
    limit: u32,
    at_sentence: bool,
    labels: &Labels,
    counter: &dyn TokenCounter,
) -> Option<SlotBlock> {
    let most = clamp_usize(u64::from(limit)) * QuarterEstimate::CHARACTERS;
    let start = head(text, most);
    if at_sentence {
        let body = fitting_sentences(text, Tokens(limit), labels, counter);
        return SlotBlock::labelled(&labels.summary, &body, text, counter);
    }
    let body = if start.len() == text.len() {
        text.to_owned()
    } else {
        format!("{start} {}", labels.truncated)
    };
    SlotBlock::labelled(&labels.summary, &body, text, counter)
}

/// As many whole sentences as fit with the label, and a mark if that is not all; a part of the
/// first sentence if nothing fits.
fn fitting_sentences(
    text: &str,
    limit: Tokens,
    labels: &Labels,
    counter: &dyn TokenCounter,
) -> String {
    let fits = |body: &str| counter.count(&headed(&labels.summary, body)) <= limit;
    if fits(text) {
        return text.to_owned();
    }
    let cut = |end: usize| format!("{} {}", text[..end].trim_end(), labels.truncated);
    let mut ends: Vec<usize> = Vec::new();
    for sentence in sentences(text) {
        ends.push(ends.last().copied().unwrap_or_default() + sentence.len());
    }
    let count = ends.partition_point(|end| fits(&cut(*end)));
    if let Some(end) = count.checked_sub(1).map(|last| ends[last]) {
        return cut(end);
    }
    let mark = counter.count(&headed(&labels.summary, &labels.truncated));
    let left = limit.checked_sub(mark).unwrap_or_default();
    let start = cut_to_share(text, left, CutPoint::Whole, counter);
    let start = start.rsplit_once(char::is_whitespace).map_or(start, |(words, _)| words);
    if start.is_empty() { String::new() } else { format!("{start} {}", labels.truncated) }
}

/// Scenes, numbered from one. The oldest are dropped first.
pub(super) fn scenes(scenes: &[Scene], budget: Tokens, view: SlotContext<'_>) -> Option<SlotBlock> {
    let SlotContext { labels, counter, rules, .. } = view;
    let budget = below(&labels.scenes, budget, rules, counter);
    let render = |scenes: &[Scene]| {
        let lines: Vec<String> = scenes
            .iter()
            .enumerate()
            .map(|(at, scene)| format!("{} {}: {}", labels.scene, at + 1, scene.summary))
            .collect();
        lines.join("\n")
    };
    let body = fit_lines(scenes, budget, GivesWay::First, counter, render);
    SlotBlock::labelled(&labels.scenes, &body, &render(scenes), counter)
}

/// Open arcs. The oldest are dropped first.
pub(super) fn arcs(arcs: &[StoryArc], budget: Tokens, view: SlotContext<'_>) -> Option<SlotBlock> {
    let SlotContext { labels, counter, rules, .. } = view;
    let budget = below(&labels.arcs, budget, rules, counter);
    let open: Vec<&str> =
        arcs.iter().filter(|arc| arc.is_open()).map(|arc| arc.content.as_str()).collect();
    let body = fit_lines(&open, budget, GivesWay::First, counter, dashes);
    SlotBlock::labelled(&labels.arcs, &body, &dashes(&open), counter)
}

/// Canon, up to the last full stop that fits. Other marks do not count, because names and titles
/// contain them. Without a full stop the text is cut at the budget.
pub(super) fn canon(text: &str, budget: Tokens, view: SlotContext<'_>) -> Option<SlotBlock> {
    let SlotContext { labels, counter, rules, .. } = view;
    let budget = below(&labels.canon, budget, rules, counter);
    let whole = text.trim();
    let ends = std::iter::once(whole.len())
        .chain(whole.rmatch_indices(['.', '。']).map(|(at, stop)| at + stop.len()));
    let kept = ends.map(|end| &whole[..end]).find(|kept| counter.count(kept) <= budget);
    let kept = kept.unwrap_or_else(|| cut_to_share(whole, budget, CutPoint::Rounded, counter));
    SlotBlock::labelled(&labels.canon, kept, text, counter)
}

/// A profile. Its first blocks are dropped first. The last one is cut; with literal rules it stays
/// whole.
pub(super) fn profile(
    profile: &Profile,
    budget: Tokens,
    view: SlotContext<'_>,
) -> Option<SlotBlock> {
    let SlotContext { labels, counter, .. } = view;
    let blocks: Vec<String> = [
        (&labels.character_state, &profile.character_state),
        (&labels.world_state, &profile.world_state),
        (&labels.relationship_matrix, &profile.relationship_matrix),
    ]
    .into_iter()
    .map(|(label, text)| match view.rules {
        TextRules::Tolerant => (label, readable(text)),
        TextRules::Literal => (label, text.clone()),
    })
    .filter(|(_, text)| !text.trim().is_empty())
    .map(|(label, text)| format!("{label}\n{}", text.trim()))
    .collect();
    let render = |blocks: &[String]| blocks.join("\n\n");
    if view.rules.is_tolerant() {
        let body = fit_lines(&blocks, budget, GivesWay::First, counter, render);
        return SlotBlock::plain(&body, &render(&blocks), counter);
    }
    let most = blocks.len().saturating_sub(1);
    let fits = |dropped: &usize| counter.count(&render(&blocks[*dropped..])) <= budget;
    let dropped = (0..most).find(fits).unwrap_or(most);
    SlotBlock::plain(&render(&blocks[dropped..]), &render(&blocks), counter)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::TextRules;

    #[test]
    fn a_long_summary_is_cut_at_a_sentence_and_its_label_counts() {
        let labels =
            Labels { summary: "S:".into(), truncated: "[cut]".into(), ..Labels::default() };
        let cut = |text: &str, at_sentence| {
            let limit = if at_sentence { 6 } else { 5 };
            summary(text, limit, at_sentence, &labels, &QuarterEstimate).map(|block| block.text)
        };
        let text = "One two three. Four five six.";
        assert_eq!(cut(text, true).as_deref(), Some("S:\nOne two three. [cut]"));
        assert_eq!(cut(text, false).as_deref(), Some("S:\nOne two three. Four  [cut]"));
        let text = "There are no periods in this one";
        assert_eq!(cut(text, true).as_deref(), Some("S:\nThere are no [cut]"));
        assert_eq!(cut("Short.", true).as_deref(), Some("S:\nShort."));
        assert_eq!(cut("", true), None);
    }

    #[test]
    fn canon_ends_at_a_full_stop_and_at_nothing_else() {
        let labels = Labels { canon: "C:".into(), ..Labels::default() };
        let settings = crate::settings::Settings::default();
        for (text, budget, expected) in [
            ("Mara kept the light! Odo left. Lis came back?", 8, "Mara kept the light! Odo left."),
            ("Mara kept light! Odo left for good. Lis came", 6, "Mara kept light! Odo lef"),
            (
                "Mara kept the light and Odo left for the far south",
                7,
                "Mara kept the light and Odo",
            ),
            ("Built v1.2 of the lamp for Odo", 5, "Built v1."),
            ("雨が降った。風が吹いた。雪が積もった", 3, "雨が降った。風が吹いた。"),
            ("Short", 5, "Short"),
        ] {
            let view = SlotContext {
                settings: &settings,
                labels: &labels,
                counter: &QuarterEstimate,
                responding: "",
                rules: TextRules::Literal,
                turn: None,
                clock: None,
            };
            let block = canon(text, Tokens(budget), view);
            let text = block.map(|block| block.text);
            assert_eq!(text, Some(format!("C:\n{expected}")));
        }
    }

    #[test]
    fn the_last_block_of_a_profile_is_cut_unless_the_rules_are_literal() {
        let labels = Labels {
            character_state: "A:".into(),
            relationship_matrix: "R:".into(),
            ..Labels::default()
        };
        let drawn = Profile {
            character_state: "calm, at the quay, waiting".into(),
            relationship_matrix: "Lis: close friend and ally since spring".into(),
            ..Profile::default()
        };
        let settings = crate::settings::Settings::default();
        let whole = "A:\ncalm, at the quay, waiting\n\nR:\nLis: close friend and ally since spring";
        for (budget, rules, expected) in [
            (40, TextRules::Tolerant, whole),
            (40, TextRules::Literal, whole),
            (5, TextRules::Tolerant, "R:\nLis: close frien"),
            (5, TextRules::Literal, "R:\nLis: close friend and ally since spring"),
        ] {
            let view = SlotContext {
                settings: &settings,
                labels: &labels,
                counter: &QuarterEstimate,
                responding: "",
                rules,
                turn: None,
                clock: None,
            };
            let block = profile(&drawn, Tokens(budget), view);
            assert_eq!(block.map(|block| block.text).as_deref(), Some(expected));
        }
    }
}
