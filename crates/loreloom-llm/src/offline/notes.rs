//! The storyteller's answers to the questions of memory. It understands nothing, so it has nothing
//! to note. But it can shorten a text to the first sentence of each line.

/// How the questions of memory begin.
const QUESTION: &str = "You keep notes on a story.";
/// The most sentences of a shortened text.
const SENTENCES: usize = 8;

/// The answer to a question of memory; `None` for any other prompt.
pub(super) fn answer(prompt: &str) -> Option<String> {
    if !prompt.starts_with(QUESTION) {
        return None;
    }
    if prompt.contains("[SUMMARY]") {
        return Some(summary(prompt));
    }
    let wants_prose = prompt.contains("sentences") || prompt.contains("paragraph");
    let text = wants_prose.then(|| shortened(after(prompt, "Scene:\n").unwrap_or_default()));
    Some(text.filter(|text| !text.is_empty()).unwrap_or_else(|| "NONE".to_owned()))
}

/// The old summary with what happened since, or a first one.
fn summary(prompt: &str) -> String {
    let old = between(prompt, "Summary so far:\n", "\n\nSince then:\n");
    let news = between(prompt, "Since then:\n", "\n\nKept elsewhere")
        .or_else(|| between(prompt, "Story:\n", "\n\nKept elsewhere"));
    let (news, old) = (shortened(news.unwrap_or_default()), old.unwrap_or("Key events:"));
    format!("[SUMMARY]\n{old} {news}\n[/SUMMARY]")
}

/// The first sentences of the last lines.
fn shortened(text: &str) -> String {
    let lines: Vec<&str> = text.lines().filter(|line| !line.trim().is_empty()).collect();
    let newest = &lines[lines.len().saturating_sub(SENTENCES)..];
    let sentence = |line: &&str| {
        let end = line.find(['.', '!', '?', '。', '！', '？']);
        let end = end.and_then(|at| Some(at + line[at..].chars().next()?.len_utf8()));
        end.map_or(*line, |end| &line[..end]).trim().to_owned()
    };
    newest.iter().map(sentence).collect::<Vec<_>>().join(" ")
}

fn after<'text>(text: &'text str, start: &str) -> Option<&'text str> {
    text.split_once(start).map(|(_, rest)| rest)
}

fn between<'text>(text: &'text str, start: &str, end: &str) -> Option<&'text str> {
    after(text, start)?.split_once(end).map(|(inside, _)| inside)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_summary_grows_by_the_first_sentences_and_lists_are_empty() {
        let first = "You keep notes on a story.\n\nStory:\nMira: Hello there. Come in.\nOdo: Thanks!\n\n\
                     Kept elsewhere, so no need to repeat:\n\nAnswer with [SUMMARY]";
        assert_eq!(
            answer(first).as_deref(),
            Some("[SUMMARY]\nKey events: Mira: Hello there. Odo: Thanks!\n[/SUMMARY]")
        );
        let then = "You keep notes on a story.\n\nSummary so far:\nKey events: Odo came.\n\n\
                    Since then:\nOdo: I leave.\n\nKept elsewhere\n\nAnswer with [SUMMARY]";
        assert_eq!(
            answer(then).as_deref(),
            Some("[SUMMARY]\nKey events: Odo came. Odo: I leave.\n[/SUMMARY]")
        );
        let scene = "You keep notes on a story.\n\nTell in two sentences.\n\nScene:\nOdo: I leave.";
        assert_eq!(answer(scene).as_deref(), Some("Odo: I leave."));
        assert_eq!(answer("You keep notes on a story. [arc] …").as_deref(), Some("NONE"));
        assert_eq!(answer("Hello."), None);
    }
}
