//! Story or background, and which kind of generation.

use super::front_end::{FrontEnd, path, play};
use crate::*;
use loreloom_core::chat::Role::{Assistant, System, User};

#[test]
fn a_request_that_got_no_reply_is_sent_again_and_is_no_swipe() {
    let mut stories = KnownStories::new();
    let (mut mira, _) = play(&mut stories, "Mira", 2);
    mira.say("And now?");
    let request = mira.request(0, &[]);
    let sent = |stories: &mut KnownStories| {
        let found = stories.recognise(&request);
        (found.generation, stories.record(&request, &found))
    };
    let (first, failed) = sent(&mut stories);
    assert_eq!(first, GenerationType::Normal);
    stories.unanswered(&failed);
    let (again, waiting) = sent(&mut stories);
    assert_eq!(again, GenerationType::Normal, "there is no reply");
    let (meanwhile, refused) = sent(&mut stories);
    assert_eq!(meanwhile, GenerationType::Swipe, "a reply may be on its way");
    stories.unanswered(&waiting);
    assert_eq!(sent(&mut stories).0, GenerationType::Swipe, "a later one has not failed");
    stories.reply(&refused, ["Now it rains."]);
    let (another, failed) = sent(&mut stories);
    assert_eq!(another, GenerationType::Swipe);
    stories.unanswered(&failed);
    assert_eq!(sent(&mut stories).0, GenerationType::Swipe, "there is a reply");
}

#[test]
fn a_question_that_is_not_streamed_is_background() {
    let mut stories = KnownStories::new();
    let (mira, chat) = play(&mut stories, "Mira", 2);
    let mut request = mira.request(0, &[(System, "Describe the weather in five words.")]);
    assert_eq!(stories.recognise(&request).kind, Kind::Story);
    request.stream = Some(false);
    let found = stories.recognise(&request);
    assert_eq!((found.kind, found.chat.as_ref()), (Kind::Background, Some(&chat)));
    assert_eq!(path(&found), mira.texts());
    let bare = Request {
        stream: Some(false),
        body: Body::Messages(vec![WireMessage {
            role: User,
            text: "Name three birds.".into(),
            ..WireMessage::default()
        }]),
        ..Request::default()
    };
    stories.client_mut("").has_cards = true;
    assert_eq!(stories.recognise(&bare).kind, Kind::Background);
    assert_eq!(stories.recognise(&bare).chat, None);
}

#[test]
fn a_question_that_quotes_the_newest_messages_is_background() {
    let mut stories = KnownStories::new();
    let user = |text: &str, stream: bool| Request {
        stream: Some(stream),
        body: Body::Messages(vec![WireMessage {
            role: User,
            text: text.into(),
            ..WireMessage::default()
        }]),
        ..Request::default()
    };
    let opening = user("Who rang the bell?", true);
    let found = stories.recognise(&opening);
    let ticket = stories.record(&opening, &found);
    stories.reply(&ticket, ["Nobody knows."]);
    let task = "### Task:\nGenerate tags.\n### Chat History:\n<chat_history>\nUSER: Hm\n\
                </chat_history>";
    for (text, stream, kind) in [
        (
            "Give this a title.\n\nUser: Who rang the bell?\nAI: Nobody knows.",
            false,
            Kind::Background,
        ),
        ("Give this a title.\n\nUser: Who rang the bell?\nAI: Nobody knows.", true, Kind::Story),
        ("Give this a title.\n\nUser: Who rang the bell?\nAI: Somebody.", false, Kind::Story),
        (task, false, Kind::Background),
        (task, true, Kind::Background),
        ("I write `### Task:` above a `<chat_history>`.", false, Kind::Story),
    ] {
        let found = stories.recognise(&user(text, stream));
        assert_eq!(found.kind, kind, "{text} {stream}");
        assert_eq!(found.chat.is_none(), kind == Kind::Background, "{text} {stream}");
    }
}

#[test]
fn streaming_turned_off_for_good_is_noticed() {
    let mut stories = KnownStories::new();
    let mut mira = FrontEnd::new("Mira");
    let merged = |mira: &FrontEnd, stream: bool| {
        let mut request = mira.request(0, &[]);
        let Body::Messages(messages) = &mut request.body else { panic!("messages") };
        messages.drain(..2);
        let text = "Write Mira.\n\nMira\n\n[Start a new Chat]".to_owned();
        messages.insert(0, WireMessage { text: text.into(), ..WireMessage::default() });
        Request { stream: Some(stream), ..request }
    };
    let mut kinds = Vec::new();
    for turn in 0..5 {
        mira.say(&format!("Turn {turn}."));
        let request = merged(&mira, turn < 2);
        let found = stories.recognise(&request);
        let ticket = stories.record(&request, &found);
        let reply = format!("Reply {turn}.");
        stories.reply(&ticket, [reply.as_str()]);
        mira.chat.push((Assistant, reply));
        kinds.push(found.kind == Kind::Story);
    }
    // The first without streaming looks like a question; its place in the chat corrects it.
    assert_eq!(kinds, [true, true, false, true, true]);
}

#[test]
fn the_type_a_request_states_wins() {
    let mut stories = KnownStories::new();
    let (mut mira, _) = play(&mut stories, "Mira", 2);
    mira.say("Is it cold?");
    let mut request = mira.request(0, &[]);
    request.explicit.generation = Some(GenerationType::Quiet);
    let found = stories.recognise(&request);
    assert_eq!(found.kind, Kind::Background);
    assert_eq!(path(&found).len(), mira.chat.len() - 1);
}
