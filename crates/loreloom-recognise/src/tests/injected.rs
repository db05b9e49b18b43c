//! Texts that the front end puts between messages.

use super::front_end::{FrontEnd, path, play};
use crate::*;
use loreloom_core::{
    assemble::MarkKind,
    chat::Role::{Assistant, System, User},
};

#[test]
fn text_between_stored_messages_is_no_story_whatever_its_role() {
    let mut stories = KnownStories::new();
    let (mut mira, _) = play(&mut stories, "Mira", 3);
    mira.say("And now?");
    for role in [System, User, Assistant] {
        let mut request = mira.request(0, &[(System, "Never mention the sea.")]);
        let Body::Messages(messages) = &mut request.body else { panic!("messages") };
        let lore =
            WireMessage { role, text: "Tin comes by barge.".into(), ..WireMessage::default() };
        messages.insert(4, lore);
        let found = stories.recognise(&request);
        assert_eq!(path(&found), mira.texts(), "{role:?}");
    }
}

#[test]
fn a_note_that_moves_is_no_narrator_and_none_is_believed_after_it() {
    let mut stories = KnownStories::new();
    let (mut mira, _) = play(&mut stories, "Mira", 2);
    let with_note = |mira: &FrontEnd, note: &str| {
        let mut request = mira.request(0, &[]);
        let Body::Messages(messages) = &mut request.body else { panic!("messages") };
        let at = messages.len() - 1;
        messages.insert(at, WireMessage { text: note.into(), ..WireMessage::default() });
        request
    };
    for (turn, note, is_story) in
        [(0, "Fog comes in.", true), (1, "Fog comes in.", false), (2, "The tide turns.", false)]
    {
        mira.say(&format!("Turn {turn}."));
        let request = with_note(&mira, note);
        let found = stories.recognise(&request);
        let ticket = stories.record(&request, &found);
        assert_eq!(path(&found).contains(&note), is_story, "{turn}");
        let reply = format!("Reply {turn}.");
        stories.reply(&ticket, [reply.as_str()]);
        mira.chat.push((Assistant, reply));
    }
}

#[test]
fn a_note_that_the_request_names_is_no_story_and_keeps_its_mark_in_every_role() {
    let note = "Keep it grim.";
    for (role, depth) in [(System, 1), (User, 1), (Assistant, 1), (System, 0), (User, 0)] {
        let mut stories = KnownStories::new();
        let (mut mira, _) = play(&mut stories, "Mira", 2);
        // A fresh note, and then one that is known.
        for turn in 0..2 {
            mira.say(&format!("And in turn {turn}?"));
            let mut request = mira.request(0, &[]);
            request.explicit.placed_note = Some(note.to_owned());
            let Body::Messages(messages) = &mut request.body else { panic!("messages") };
            let at = messages.len() - depth;
            messages.insert(at, WireMessage { role, text: note.into(), ..WireMessage::default() });
            let found = stories.recognise(&request);
            assert_eq!(path(&found), mira.texts(), "{role:?} {depth} {turn}");
            let layout = found.layout(&request, false);
            let notes = layout.chat.iter().filter(|mark| mark.kind == MarkKind::Note);
            let notes: Vec<usize> = notes.map(|mark| mark.message).collect();
            assert_eq!(notes, [at], "{role:?} {depth} {turn}");
            let ticket = stories.record(&request, &found);
            stories.reply(&ticket, ["Yes."]);
            mira.chat.push((Assistant, "Yes.".to_owned()));
        }
    }
}

#[test]
fn the_users_own_words_are_a_message_though_the_note_says_the_same() {
    let mut stories = KnownStories::new();
    let (mut mira, _) = play(&mut stories, "Mira", 1);
    mira.say("Keep it grim.");
    let mut request = mira.request(0, &[]);
    request.explicit.placed_note = Some("Keep it grim.".to_owned());
    assert_eq!(path(&stories.recognise(&request)), mira.texts());
}

#[test]
fn a_new_system_text_after_a_reply_is_a_narrators_if_nothing_else_comes_and_goes_there() {
    let mut stories = KnownStories::new();
    let (mut mira, _) = play(&mut stories, "Mira", 1);
    mira.chat.push((System, "A bell tolls far away.".to_owned()));
    let found = mira.send(&mut stories, 0);
    assert_eq!((path(&found).len(), found.generation), (4, GenerationType::Normal));
    assert_eq!(path(&found)[3], "A bell tolls far away.");
    mira.say("What was that?");
    assert_eq!(path(&mira.send(&mut stories, 0)).len(), 6);
    // A front end that puts other texts there gets none of them into the story.
    let mut stories = KnownStories::new();
    let (mut orla, _) = play(&mut stories, "Orla", 1);
    orla.say("Go on.");
    let lore = orla.request(0, &[(System, "The harbour freezes in winter.")]);
    let found = stories.recognise(&lore);
    let ticket = stories.record(&lore, &found);
    stories.reply(&ticket, ["They go on."]);
    orla.chat.push((Assistant, "They go on.".to_owned()));
    let found = stories.recognise(&orla.request(0, &[(System, "Gulls nest on the wall.")]));
    assert_eq!(path(&found), orla.texts());
}
