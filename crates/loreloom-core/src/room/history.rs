//! The oldest messages of a chat, which can leave a prompt.

use super::FRAME;
use crate::{
    assemble::{Layout, MarkKind, PromptForm, PromptMark},
    chat::Role,
    instruct,
    prompt::PromptMessage,
    report::LeftOutMessage,
    tokens::TokenCounter,
    units::Tokens,
};

/// A cut moves in steps of this share of the context, so that the beginning of the prompt stays
/// the same for many turns and a prompt cache keeps it.
const STEPS: u32 = 8;

/// How much of a message a report quotes, in characters.
const QUOTED: usize = 80;

/// What is left out of a prompt, oldest first.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Cut {
    /// The pieces.
    pieces: Vec<OldPiece>,
}

/// A piece of history that leaves as a whole: a message, or a tool call with its results.
#[derive(Clone, Debug, PartialEq)]
struct OldPiece {
    role: Role,
    tokens: Tokens,
    begins: String,
    place: PiecePlace,
}

#[derive(Clone, Debug, PartialEq)]
enum PiecePlace {
    /// Whole messages, first and one past the last.
    Messages(usize, usize),
    /// Bytes of one message, first and one past the last.
    Bytes(usize, (usize, usize)),
}

impl OldPiece {
    /// The tokens that it takes, with what a chat template writes around messages.
    fn room(&self) -> u32 {
        let frames = match self.place {
            PiecePlace::Messages(start, end) => u32::try_from(end - start).unwrap_or(u32::MAX),
            PiecePlace::Bytes(..) => 0,
        };
        self.tokens.0.saturating_add(frames.saturating_mul(FRAME))
    }
}

/// How many messages of a chat memory covers, and how many come after them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CoveredMessages {
    /// The oldest messages, which memory covers.
    pub covered: usize,
    /// The messages after them.
    pub after: usize,
}

impl Cut {
    /// The smallest cut that frees `over` tokens, or everything that may leave.
    ///
    /// System texts, the newest exchange and half a tool call never leave.
    pub(super) fn freeing(
        over: Tokens,
        (prompt, layout): (&[PromptMessage], &Layout),
        context: Tokens,
        counter: &dyn TokenCounter,
    ) -> Self {
        let mut pieces = all_pieces((prompt, layout), counter);
        let length = cut_length(&pieces, over, (context.0 / STEPS).max(1), layout);
        pieces.truncate(length);
        Self { pieces }
    }

    /// A cut of the messages that memory covers, or of fewer if the rest must begin otherwise. What
    /// may never leave stays.
    ///
    /// Front ends join messages of one role, so a piece of the prompt can be several messages: as
    /// many pieces stay as messages are not covered.
    pub fn covered(
        messages: CoveredMessages,
        (prompt, layout): (&[PromptMessage], &Layout),
        counter: &dyn TokenCounter,
    ) -> Self {
        let shown = layout.chat.iter().filter(|mark| mark.kind == MarkKind::Story).count();
        let most = messages.covered.min(shown.saturating_sub(messages.after));
        if most == 0 {
            return Self::default();
        }
        let mut pieces = all_pieces((prompt, layout), counter);
        let length = (0..most.min(pieces.len())).rev().find(|at| may_end(&pieces, *at, layout));
        pieces.truncate(length.map_or(0, |at| at + 1));
        Self { pieces }
    }

    /// Whether nothing is left out.
    pub fn is_empty(&self) -> bool {
        self.pieces.is_empty()
    }

    /// The tokens that it makes room for.
    pub fn freed(&self) -> Tokens {
        Tokens(self.pieces.iter().map(OldPiece::room).sum())
    }

    /// What is left out, for a report.
    pub fn left_out(&self) -> Vec<LeftOutMessage> {
        let left_out = |piece: &OldPiece| LeftOutMessage {
            role: piece.role,
            tokens: piece.tokens,
            begins: piece.begins.clone(),
        };
        self.pieces.iter().map(left_out).collect()
    }

    /// Whether a message leaves as a whole.
    pub fn drops(&self, message: usize) -> bool {
        self.pieces.iter().any(|piece| match piece.place {
            PiecePlace::Messages(start, end) => (start..end).contains(&message),
            PiecePlace::Bytes(..) => false,
        })
    }

    /// The text of a message without the passages that leave; `None` if all of it stays.
    pub fn shortened(&self, message: usize, text: &str) -> Option<String> {
        let mut ranges = self.ranges(message).peekable();
        ranges.peek()?;
        let (mut out, mut from) = (String::with_capacity(text.len()), 0);
        for (start, end) in ranges {
            out.push_str(text.get(from..start)?);
            from = end;
        }
        out.push_str(text.get(from..)?);
        Some(out)
    }

    /// The prompt without what leaves, and its layout.
    pub fn apply(&self, prompt: &[PromptMessage], layout: &Layout) -> (Vec<PromptMessage>, Layout) {
        let kept = prompt.iter().enumerate().filter(|(at, _)| !self.drops(*at));
        let kept = kept.map(|(at, message)| match self.shortened(at, &message.content) {
            Some(text) => PromptMessage { content: text.into(), ..message.clone() },
            None => message.clone(),
        });
        let moved = |marks: &[PromptMark]| -> Vec<PromptMark> {
            marks.iter().filter_map(|mark| self.moved(mark)).collect()
        };
        let places = layout.places.iter();
        let places = places.map(|(place, before)| (place.clone(), self.shifted(*before)));
        let (head, chat) = (moved(&layout.head), moved(&layout.chat));
        let layout = Layout { head, chat, places: places.collect(), ..layout.clone() };
        (kept.collect(), layout)
    }

    /// The number of a message after the cut.
    fn shifted(&self, message: usize) -> usize {
        message - (0..message).filter(|at| self.drops(*at)).count()
    }

    /// A mark after the cut; `None` if its piece leaves.
    fn moved(&self, mark: &PromptMark) -> Option<PromptMark> {
        if self.drops(mark.message) {
            return None;
        }
        let message = self.shifted(mark.message);
        let range = match mark.range {
            Some((start, end)) => {
                let mut gone = 0;
                for (from, to) in self.ranges(mark.message) {
                    if from <= start && end <= to {
                        return None;
                    }
                    gone += if to <= start { to - from } else { 0 };
                }
                Some((start - gone, end - gone))
            }
            None => None,
        };
        Some(PromptMark { message, range, ..*mark })
    }

    pub(super) fn ranges(&self, message: usize) -> impl Iterator<Item = (usize, usize)> {
        self.pieces.iter().filter_map(move |piece| match piece.place {
            PiecePlace::Bytes(at, range) if at == message => Some(range),
            PiecePlace::Bytes(..) | PiecePlace::Messages(..) => None,
        })
    }
}

/// Everything that may leave, oldest first.
fn all_pieces(
    (prompt, layout): (&[PromptMessage], &Layout),
    counter: &dyn TokenCounter,
) -> Vec<OldPiece> {
    match layout.form {
        PromptForm::Messages | PromptForm::Alternating => messages(prompt, layout, counter),
        PromptForm::Single | PromptForm::Text => passages(prompt, layout, counter),
    }
}

/// How many pieces leave: as few as free `over` tokens and end a step, else as few as free them,
/// else all.
fn cut_length(pieces: &[OldPiece], over: Tokens, step: u32, layout: &Layout) -> usize {
    let (mut freed, mut in_step) = (0, 0);
    let (mut enough, mut most) = (None, 0);
    for (at, piece) in pieces.iter().enumerate() {
        freed += piece.room();
        if !may_end(pieces, at, layout) {
            continue;
        }
        most = at + 1;
        if freed >= over.0 {
            if freed / step > in_step {
                return most;
            }
            enough = enough.or(Some(most));
        }
        in_step = freed / step;
    }
    enough.unwrap_or(most)
}

/// Whether the cut may end after piece `at`. Where roles must alternate, what remains must begin
/// with the role that the chat began with.
fn may_end(pieces: &[OldPiece], at: usize, layout: &Layout) -> bool {
    if layout.form == PromptForm::Messages {
        return true;
    }
    let next = pieces.get(at + 1).map(|piece| piece.role);
    let next = next.or_else(|| layout.chat.get(newest(layout)).map(|mark| mark.role));
    next == pieces.first().map(|piece| piece.role)
}

/// Where the newest exchange begins in the chat: the last message of the user and the one it
/// answers.
fn newest(layout: &Layout) -> usize {
    let story = |mark: &PromptMark| mark.kind == MarkKind::Story;
    let chat = &layout.chat;
    let by_user = chat.iter().rposition(|mark| story(mark) && mark.role == Role::User);
    let last = by_user.or_else(|| chat.iter().rposition(story)).unwrap_or_default();
    chat[..last].iter().rposition(story).unwrap_or(last)
}

fn is_history(mark: &PromptMark) -> bool {
    matches!(mark.kind, MarkKind::Story | MarkKind::Tool)
}

fn begins(text: &str) -> String {
    text.chars().take(QUOTED).collect()
}

/// The pieces of a prompt of messages. A message leaves only if all of it is history.
fn messages(
    prompt: &[PromptMessage],
    layout: &Layout,
    counter: &dyn TokenCounter,
) -> Vec<OldPiece> {
    let first_kept = layout.chat.get(newest(layout)).map_or(0, |mark| mark.message);
    let in_head = |at: usize| layout.head.iter().any(|mark| mark.message == at);
    let mut pieces: Vec<OldPiece> = Vec::new();
    let mut after_tool = false;
    for (at, message) in prompt.iter().enumerate().take(first_kept) {
        let mut marks = layout.chat.iter().filter(|mark| mark.message == at).peekable();
        let is_tool = marks.clone().any(|mark| mark.kind == MarkKind::Tool);
        if marks.peek().is_none() || !marks.all(is_history) || in_head(at) {
            after_tool = false;
            continue;
        }
        let tokens = counter.count(&message.content);
        match pieces.last_mut() {
            Some(OldPiece { tokens: all, place: PiecePlace::Messages(_, end), .. })
                if is_tool && after_tool && *end == at =>
            {
                *all = all.saturating_add(tokens);
                *end = at + 1;
            }
            _ => pieces.push(OldPiece {
                role: message.role,
                tokens,
                begins: begins(&message.content),
                place: PiecePlace::Messages(at, at + 1),
            }),
        }
        after_tool = is_tool;
    }
    // A call may be the last piece before the newest exchange, which then has its results.
    let mut kept = layout.chat.iter().filter(|mark| mark.message == first_kept);
    if after_tool && kept.any(|mark| mark.kind == MarkKind::Tool) {
        pieces.pop();
    }
    pieces
}

/// The pieces of a prompt that is one text: each turn with what its template writes around it.
fn passages(
    prompt: &[PromptMessage],
    layout: &Layout,
    counter: &dyn TokenCounter,
) -> Vec<OldPiece> {
    let newest = newest(layout);
    let starts = turn_starts(prompt, layout);
    let mut pieces = Vec::new();
    for at in 0..newest {
        let mark = &layout.chat[at];
        let next = layout.chat.get(at + 1).filter(|next| next.message == mark.message);
        let end = next.and_then(|_| starts[at + 1]);
        let text = prompt.get(mark.message).map(|message| message.content.as_str());
        let (Some(start), Some(end), Some(text)) = (starts[at], end, text) else { continue };
        let Some(passage) = text.get(start..end).filter(|_| is_history(mark)) else { continue };
        pieces.push(OldPiece {
            role: mark.role,
            tokens: counter.count(passage),
            begins: begins(mark.range_in(text).map_or(passage, |(from, to)| &text[from..to])),
            place: PiecePlace::Bytes(mark.message, (start, end)),
        });
    }
    pieces
}

/// Where the turn of each mark of the chat begins, with what its template writes before it.
fn turn_starts(prompt: &[PromptMessage], layout: &Layout) -> Vec<Option<usize>> {
    let text = prompt.first().map_or("", |message| message.content.as_str());
    let template = instruct::template_of(text).filter(|_| layout.form == PromptForm::Text);
    let start = |mark: &PromptMark| {
        let text = prompt.get(mark.message)?.content.as_str();
        let (start, _) = mark.range_in(text)?;
        match (layout.form, template) {
            (PromptForm::Text, Some(template)) => template.turn_start(text, start),
            (PromptForm::Text, None) => Some(text[..start].rfind('\n').map_or(0, |line| line + 1)),
            (PromptForm::Messages | PromptForm::Alternating | PromptForm::Single, _) => Some(start),
        }
    };
    layout.chat.iter().map(start).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tokens::ByteEstimate;

    fn prompt(parts: &[(Role, &str)]) -> Vec<PromptMessage> {
        let message =
            |&(role, text): &(Role, &str)| PromptMessage { role, name: None, content: text.into() };
        parts.iter().map(message).collect()
    }

    fn cut(over: u32, parts: &[(Role, &str)], strict: bool) -> Vec<String> {
        let prompt = prompt(parts);
        let layout = Layout::of_messages(&prompt, strict);
        let cut = Cut::freeing(Tokens(over), (&prompt, &layout), Tokens(8), &ByteEstimate);
        let (kept, layout) = cut.apply(&prompt, &layout);
        let marked = layout.head.iter().chain(&layout.chat).map(|mark| mark.message);
        assert_eq!(marked.collect::<Vec<_>>(), (0..kept.len()).collect::<Vec<_>>());
        kept.into_iter().map(|message| message.content.to_string()).collect()
    }

    const CHAT: [(Role, &str); 8] = [
        (Role::System, "main"),
        (Role::Assistant, "greeting"),
        (Role::User, "one"),
        (Role::System, "note"),
        (Role::Assistant, "two"),
        (Role::User, "three"),
        (Role::Assistant, "four"),
        (Role::User, "five"),
    ];

    #[test]
    fn so_many_of_the_oldest_messages_can_leave() {
        let prompt = prompt(&CHAT);
        for (covered, after, strict, expected) in [
            (0, 6, false, "main greeting one note two three four five"),
            (2, 4, false, "main note two three four five"),
            (3, 3, true, "main note two three four five"),
            (99, 0, false, "main note four five"),
            // Some of the ten messages are joined in this prompt.
            (5, 5, false, "main one note two three four five"),
        ] {
            let layout = Layout::of_messages(&prompt, strict);
            let messages = CoveredMessages { covered, after };
            let cut = Cut::covered(messages, (&prompt, &layout), &ByteEstimate);
            let (kept, _) = cut.apply(&prompt, &layout);
            let kept: Vec<&str> = kept.iter().map(|message| message.content.as_str()).collect();
            assert_eq!(kept.join(" "), expected, "{covered} {after} {strict}");
        }
    }

    #[test]
    fn the_oldest_messages_leave_first_and_system_texts_stay() {
        assert_eq!(cut(1, &CHAT, false), ["main", "one", "note", "two", "three", "four", "five"]);
        assert_eq!(cut(12, &CHAT, false), ["main", "note", "two", "three", "four", "five"]);
        // The newest exchange always stays.
        assert_eq!(cut(900, &CHAT, false), ["main", "note", "four", "five"]);
        assert_eq!(cut(900, &CHAT[6..], false), ["four", "five"]);
    }

    #[test]
    fn roles_that_alternate_go_on_alternating() {
        assert_eq!(cut(1, &CHAT, true), ["main", "note", "two", "three", "four", "five"]);
        assert_eq!(cut(900, &CHAT, true), ["main", "note", "four", "five"]);
    }

    #[test]
    fn a_tool_call_leaves_with_its_results() {
        let parts = [
            (Role::User, "ask"),
            (Role::Tool, "result one"),
            (Role::Tool, "result two"),
            (Role::Assistant, "told"),
            (Role::User, "go on"),
        ];
        assert_eq!(cut(1, &parts, false), ["result one", "result two", "told", "go on"]);
        assert_eq!(cut(8, &parts, false), ["told", "go on"]);
    }

    #[test]
    fn the_passages_of_one_text_leave_with_their_template() {
        let text = "<s>[INST] main\none[/INST]two</s>[INST]three[/INST]four</s>[INST]five[/INST]";
        let mark = |word: &str, role| {
            let start = text.find(word).unwrap();
            let range = Some((start, start + word.len()));
            PromptMark { message: 0, range, role, kind: MarkKind::Story }
        };
        let chat = [
            mark("one", Role::User),
            mark("two", Role::Assistant),
            mark("three", Role::User),
            mark("four", Role::Assistant),
            mark("five", Role::User),
        ];
        let layout = Layout { form: PromptForm::Text, chat: chat.into(), ..Layout::default() };
        let prompt = prompt(&[(Role::User, text)]);
        let cut = Cut::freeing(Tokens(900), (&prompt, &layout), Tokens(8), &ByteEstimate);
        let (kept, layout) = cut.apply(&prompt, &layout);
        let text = kept[0].content.as_str();
        let words: Vec<&str> =
            layout.chat.iter().map(|mark| mark.range.map_or("", |(a, b)| &text[a..b])).collect();
        assert!(words.ends_with(&["five"]), "{words:?} in {text}");
        assert!(text.ends_with("[INST]five[/INST]"), "{text}");
        assert!(!text.contains("[/INST]two"), "{text}");
    }
}
