//! Who knows what: extracted once from every scene that ends.

use std::sync::LazyLock;

use regex::{Captures, Regex};

use super::{Config, GUARD, PassSource, part, prompt};
use crate::{
    cast::StoryCast,
    ids::Ids,
    pass::{ModelQuestion, Need, Purpose, Script},
    record::{Insight, InsightKind},
    reply::plain_lines,
    rules::Rules,
    text::{pattern, reply_lines},
    window::lines,
};

static LINE: LazyLock<Regex> = LazyLock::new(|| pattern(r"^\[(\w+)\]\s+([^|]*)\|(.*)$"));
static LOOSE_LINE: LazyLock<Regex> =
    LazyLock::new(|| pattern(r"^\[\s*(\w+)\s*\]\s*([^|]*)\|(.*)$"));
static FROM: LazyLock<Regex> = LazyLock::new(|| pattern(r"(?i)^(.+?)\s+from\s+(.+)$"));
static RETIRE: LazyLock<Regex> = LazyLock::new(|| pattern(r"(?i)\[\s*retire\s*\](.*)$"));
static NUMBER: LazyLock<Regex> = LazyLock::new(|| pattern(r"\d+"));

/// From this similarity on, two insights of the same person are the same.
const SAME: f64 = 0.70;

/// An insight in a reply.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParsedInsight {
    /// Whether the subject knows, suspects, believes, misses or hides it.
    pub kind: InsightKind,
    /// The person whose insight it is.
    pub subject: String,
    /// The person it is hidden from.
    pub target: Option<String>,
    /// The knowledge.
    pub content: String,
}

impl ParsedInsight {
    fn with_names(self, cast: &StoryCast) -> Self {
        Self {
            subject: cast.person(&self.subject).to_owned(),
            target: self.target.map(|target| cast.person(&target).to_owned()),
            content: cast.named(&self.content),
            ..self
        }
    }
}

/// Asks who knows what, with the known insights numbered.
pub fn prompt_for(source: &PassSource<'_>, known: &[&Insight]) -> ModelQuestion {
    let (known, (people, _, _)) = (numbered_lines(known), source.shown());
    let task = format!(
        "Note who knows what after this scene. {FORM} If there is nothing to note, answer NONE."
    );
    ModelQuestion {
        purpose: Purpose::Epistemic,
        prompt: prompt(&[
            GUARD,
            &task,
            &people,
            &part("Notes so far", &known.join("\n")),
            &part("Scene", &lines(source.messages())),
        ]),
        max_tokens: 400,
    }
}

/// Known insights as numbered lines.
pub(super) fn numbered_lines(known: &[&Insight]) -> Vec<String> {
    let line = |(insight, at): (&&Insight, usize)| {
        let target = insight.target.as_ref().map(|name| format!(" from {name}"));
        let (kind, target) = (insight.kind.as_str(), target.unwrap_or_default());
        format!("{at}. [{kind}] {}{target} | {}", insight.subject, insight.content)
    };
    known.iter().zip(1..).map(line).collect()
}

/// The form of insights, for prompts.
pub(super) const FORM: &str = "One line each:\n\
        [knows] Name | what\n[suspects] Name | what\n[believes] Name | what\n\
        [unaware] Name | what\n[hiding] Name from Name | what\n\
        Example: [hiding] Hanna from Ruben | Hanna sold the bell to the abbot\n\
        Judge from the scene who was there and could hear: not everybody in the list of people \
        is present, and people whisper. Who was there or was told knows; who only senses it \
        suspects. Believes is only for what is false. If the scene shows that somebody does not \
        know something that others do, add unaware. Hiding needs somebody it is hidden from who \
        has not been told; a promise to keep a secret counts as hiding. A lie means that the liar \
        hides the truth and, if it was taken for true, that the hearer believes the lie; a \
        statement against what the scene shows is a lie. Say the thing itself after the bar, as a \
        whole statement with names. Note what matters for the plot and leave out small talk. If a \
        numbered note no longer holds, add a line [retire] with its number.";

/// Reads the insights of a reply. Comments, unknown tags and lines without `|` are skipped.
pub fn parse(reply: &str, rules: &Rules) -> Vec<ParsedInsight> {
    let form = rules.text.choose(&LOOSE_LINE, &LINE);
    let reply = plain_lines(reply, rules.text);
    reply_lines(&reply).filter_map(|line| parse_line(&form.captures(line)?)).collect()
}

fn parse_line(parts: &Captures<'_>) -> Option<ParsedInsight> {
    let kind = InsightKind::from_tag(&parts[1])?;
    let (who, content) = (parts[2].trim(), parts[3].trim());
    let (subject, target) = match FROM.captures(who) {
        Some(names) if kind == InsightKind::Hiding => {
            (names[1].trim().to_owned(), Some(names[2].trim().to_owned()))
        }
        _ => (who.to_owned(), None),
    };
    (!subject.is_empty() && !content.is_empty()).then(|| ParsedInsight {
        kind,
        subject,
        target,
        content: content.to_owned(),
    })
}

/// Reads the numbers of notes that are no longer true.
pub fn parse_retired(reply: &str) -> Vec<usize> {
    let numbers = |line: &str| -> Vec<usize> {
        RETIRE.captures(line).map_or_else(Vec::new, |rest| {
            NUMBER.find_iter(&rest[1]).filter_map(|number| number.as_str().parse().ok()).collect()
        })
    };
    reply_lines(reply).flat_map(numbers).collect()
}

/// What an epistemic pass works on.
#[derive(Clone, Debug)]
pub struct EpistemicInput<'pass> {
    /// Settings, rules and model.
    pub config: Config<'pass>,
    /// The scene.
    pub source: PassSource<'pass>,
    /// The known insights.
    pub known: &'pass [Insight],
    /// Ids for what it creates.
    pub ids: Ids,
}

/// The result of an epistemic pass.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct EpistemicOutcome {
    /// How many insights are new.
    pub added: usize,
    /// All insights.
    pub insights: Vec<Insight>,
}

/// Runs a pass. Retired insights go first, so that the same fact can come back in another form.
pub fn run(input: &EpistemicInput<'_>, script: &mut Script<'_>) -> Result<EpistemicOutcome, Need> {
    if input.source.messages().is_empty() {
        return Ok(EpistemicOutcome { added: 0, insights: input.known.to_vec() });
    }
    let held: Vec<usize> =
        (0..input.known.len()).filter(|at| input.known[*at].retired.is_none()).collect();
    let shown: Vec<&Insight> = held.iter().map(|at| &input.known[*at]).collect();
    let rules = input.config.rules;
    let (parsed, retired) = script
        .ask_for(prompt_for(&input.source, &shown), rules.text, |reply| {
            let read = (parse(reply, rules), parse_retired(reply));
            (!read.0.is_empty() || !read.1.is_empty()).then_some(read)
        })?
        .unwrap_or_default();

    let mut insights = input.known.to_vec();
    for number in retired {
        if let Some(at) = number.checked_sub(1).and_then(|at| held.get(at)) {
            insights[*at].retired = Some(input.source.now);
        }
    }
    if !input.config.rules.keep_retired_insights {
        insights.retain(|insight| insight.retired.is_none());
    }
    let mut ids = input.ids.clone();
    let texts = parsed.iter().map(|new| new.content.as_str());
    let vectors = script.vectors(texts.chain(insights.iter().map(|i| i.content.as_str())))?;
    let mut news: Vec<Insight> = Vec::new();
    let cast = input.source.cast();
    for new in parsed {
        let new = if rules.text.is_tolerant() { new.with_names(&cast) } else { new };
        let insight = noted(new, &input.source, ids.next(), input.config);
        let says_it = |known: &Insight| {
            known.retired.is_none()
                && known.is_comparable(&insight)
                && vectors.likeness(&known.content, &insight.content).is_at_least(SAME)
        };
        // A repeated line counts once.
        let repeats = input.config.rules.text.is_tolerant() && news.iter().any(says_it);
        if !repeats && !insights.iter().any(says_it) {
            news.push(insight);
        }
    }
    let added = news.len();
    insights.append(&mut news);
    // Imported insights have no id, but events need one.
    for insight in insights.iter_mut().filter(|insight| insight.id.is_empty()) {
        insight.id = ids.next();
    }
    Ok(EpistemicOutcome { added, insights })
}

fn noted(new: ParsedInsight, source: &PassSource<'_>, id: String, config: Config<'_>) -> Insight {
    Insight {
        id,
        receipts: source.support_beyond_names(&new.content),
        kind: new.kind,
        subject: new.subject,
        target: new.target,
        content: new.content,
        ts: Some(source.now),
        source_messages: Some(source.range(config.rules)),
        retired: None,
        ungrounded: Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_may_hold_from_and_content_may_hold_pipes() {
        let parsed = parse(
            "[hiding] Lis from Pell from the Mill | a | b\n[knows] Odo from Kell | x",
            &Rules::default(),
        );
        let shown: Vec<_> = parsed
            .iter()
            .map(|new| (new.subject.as_str(), new.target.as_deref(), new.content.as_str()))
            .collect();
        assert_eq!(
            shown,
            [("Lis", Some("Pell from the Mill"), "a | b"), ("Odo from Kell", None, "x")]
        );
    }

    #[test]
    fn a_strict_reader_wants_the_tag_bare_and_a_blank_after_it() {
        let (ours, theirs) = (Rules::default(), Rules::smart_memory_1_8());
        for (line, tolerant, strict) in
            [("[knows] Lis | x", 1, 1), ("[knows]Lis | x", 1, 0), ("[ knows ] Lis | x", 1, 0)]
        {
            assert_eq!(parse(line, &ours).len(), tolerant, "{line}");
            assert_eq!(parse(line, &theirs).len(), strict, "{line}");
        }
    }

    #[test]
    fn numbers_count_only_after_the_tag() {
        assert_eq!(parse_retired("1 [retire] #5, 7.\nretire 9\n[RETIRE]3"), [5, 7, 3]);
    }
}
