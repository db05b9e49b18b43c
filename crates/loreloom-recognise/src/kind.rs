//! The kind of a request: story or background, and which generation.
//!
//! A request does not say it, unless an extension does. A background generation shows by its
//! question after the chat, by not being streamed while the chat is, and by the missing card.

use super::{
    Request,
    known_stories::{Client, KnownStories, Story},
    reading::{PartKind, WindowReading},
    text::{bracketed, similar},
    window::{End, Part, Window},
};
use loreloom_core::chat::{GenerationType, Role};

/// The least preamble that is taken for a card, in bytes.
const CARD: usize = 160;

/// Instructions with which SillyTavern asks for story.
const NUDGES: [&str; 3] = [
    "[continue",
    "[write the next reply only as",
    "[write your next reply from the point of view of",
];

/// How `Open WebUI`'s questions about a chat begin, and how they quote it.
const OPEN_WEBUI: [&str; 2] = ["### Task:", "<chat_history>"];

/// Whether a request becomes story.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Its messages and its reply are story.
    Story,
    /// Neither is.
    Background,
}

/// Whether the chat is streamed and this request is not.
fn stops_streaming(request: &Request, streams: Option<bool>) -> bool {
    streams == Some(true) && request.stream != Some(true)
}

/// Whether the last piece is a background question that looks like the user's message.
pub(super) fn asks_as_user(
    request: &Request,
    window: &Window,
    story: Option<&Story>,
    last_paired: Option<usize>,
) -> bool {
    let Some(story) = story else { return false };
    let last = window.parts.iter().rposition(|part| !part.tool);
    let is_new = last.is_some_and(|at| {
        window.parts[at].role == Role::User && last_paired.is_none_or(|paired| paired < at)
    });
    if let Some(generation) = request.explicit.generation {
        return generation == GenerationType::Quiet && is_new;
    }
    let nudge = last.is_some_and(|at| is_nudge(&window.parts[at].text));
    // The reply to a question may be opened as the system's.
    let for_system = window.end == End::Open(Role::System);
    let looks = (window.shape.hides_instructions() || for_system) && is_new && !nudge;
    // A question whose reply is in the chat was a turn: streaming has been turned off.
    let mistaken = window
        .parts
        .iter()
        .any(|part| part.role == Role::Assistant && story.background.contains(part.key));
    looks && !mistaken && (for_system || stops_streaming(request, story.streams))
}

/// Whether a text is an instruction with which a front end asks for story.
pub(super) fn is_nudge(text: &str) -> bool {
    let last = text.trim().lines().last().unwrap_or_default().to_lowercase();
    NUDGES.iter().any(|nudge| last.starts_with(nudge))
}

/// Whether a text asks for more of the last message.
pub(super) fn is_continue_nudge(text: &str) -> bool {
    let text = text.trim_start();
    text.get(..NUDGES[0].len()).is_some_and(|begin| begin.eq_ignore_ascii_case(NUDGES[0]))
}

/// Whether the request is story. `asks` is the result of [`asks_as_user`].
pub(super) fn kind(
    request: &Request,
    window: &Window,
    story: Option<&Story>,
    reading: &WindowReading,
    asks: bool,
) -> Kind {
    if let Some(generation) = request.explicit.generation {
        let quiet = generation == GenerationType::Quiet;
        return if quiet { Kind::Background } else { Kind::Story };
    }
    let question = window
        .parts
        .iter()
        .zip(&reading.part_kinds)
        .rfind(|(_, kind)| **kind != PartKind::Tool)
        .filter(|(part, kind)| {
            **kind == PartKind::Instruction && !is_known_instruction(part, story)
        })
        .map(|(part, _)| part);
    let background =
        asks || question.is_some_and(|part| is_question(request, part, story, reading));
    if background { Kind::Background } else { Kind::Story }
}

/// Whether the chat's prompts have ended with this before, or with the like: a nudge names
/// another speaker each time.
fn is_known_instruction(part: &Part, story: Option<&Story>) -> bool {
    story.is_some_and(|story| {
        let alike = |known: &String| similar(known, &part.text);
        story.injected.contains(part.key) || story.instructions.iter().any(alike)
    })
}

/// Whether an instruction after the chat asks for something that is not story.
fn is_question(
    request: &Request,
    part: &Part,
    story: Option<&Story>,
    reading: &WindowReading,
) -> bool {
    let Some(story) = story else { return false };
    if is_nudge(&part.text) {
        return false;
    }
    if stops_streaming(request, story.streams) {
        return true;
    }
    let answered = reading.path.last().is_some_and(|message| message.role == Role::Assistant);
    let streamed = request.stream == Some(true);
    !bracketed(&part.text) && !streamed && (answered || request.structured)
}

/// Whether a request that belongs to no chat is a bare question of a client whose stories
/// come with a card.
pub(super) fn is_bare_question(
    stories: &KnownStories,
    request: &Request,
    window: &Window,
    client: Option<&Client>,
) -> bool {
    let Some(client) = client.filter(|client| client.has_cards) else { return false };
    let users = window.parts.iter().filter(|part| part.role == Role::User).count();
    let talks = window.parts.iter().any(|part| part.role == Role::Assistant || part.tool);
    let known = window.preamble.iter().any(|part| stories.has_preamble(part.key));
    let streams = client.last.and_then(|slot| stories.story(slot).streams);
    let unlike = window.preamble.is_empty() || stops_streaming(request, streams);
    users <= 1 && !talks && !known && unlike && request.stream != Some(true)
}

/// Whether a request that belongs to no chat asks about one, for a title, tags or what to say
/// next. Such a question quotes the newest messages of the chat.
pub(super) fn asks_about_a_chat(
    stories: &KnownStories,
    request: &Request,
    window: &Window,
    client: Option<&Client>,
) -> bool {
    let mut said = window.parts.iter().filter(|part| part.role != Role::System);
    let (Some(part), None) = (said.next(), said.next()) else { return false };
    if part.role != Role::User || part.tool {
        return false;
    }
    if OPEN_WEBUI.iter().all(|mark| part.text.contains(mark)) {
        return part.text.trim_start().starts_with(OPEN_WEBUI[0]);
    }
    let Some(story) = client.and_then(|client| client.last).map(|slot| stories.story(slot)) else {
        return false;
    };
    let (Some(tip), true) = (story.tip, stops_streaming(request, story.streams)) else {
        return false;
    };
    let newest = [Some(tip), story.node(tip).parent];
    let texts = newest.map(|at| at.map(|at| story.node(at).message.text.trim()));
    texts.iter().all(|text| text.is_some_and(|text| !text.is_empty() && part.text.contains(text)))
}

/// Whether the preamble holds a card.
pub(super) fn has_card(window: &Window) -> bool {
    let size: usize = window.preamble.iter().map(|part| part.text.len()).sum();
    window.preamble.len() > 2 || size > CARD
}

/// The kind of generation of a story request.
pub(super) fn generation(
    request: &Request,
    window: &Window,
    story: Option<&Story>,
    reading: &WindowReading,
    repeats: bool,
) -> GenerationType {
    if let Some(generation) = request.explicit.generation {
        return generation;
    }
    let mut instructions = window
        .parts
        .iter()
        .zip(&reading.part_kinds)
        .filter(|(_, kind)| !matches!(kind, PartKind::Story | PartKind::Tool))
        .map(|(part, _)| part.text.trim().to_lowercase());
    let (mut continues, mut impersonates) = (false, window.end == End::Open(Role::User));
    instructions.by_ref().for_each(|text| {
        continues |= text.starts_with("[continue");
        impersonates |= text.starts_with("[write your next reply from the point of view of");
    });
    let by_model = reading.path.last().is_some_and(|message| message.role == Role::Assistant);
    let at_end = reading.part_kinds.last() == Some(&PartKind::Story);
    let goes_on = window.end == End::Unfinished || (window.end == End::Closed && at_end);
    if impersonates {
        GenerationType::Impersonate
    } else if by_model && (continues || (goes_on && story.is_some())) {
        GenerationType::Continue
    } else if repeats {
        GenerationType::Swipe
    } else {
        GenerationType::Normal
    }
}
