//! Messages that come back in another form: continued, cut, edited, hidden, empty.

use super::front_end::{path, play};
use crate::*;
use loreloom_core::chat::Role::{Assistant, System};

#[test]
fn a_continued_reply_is_known_however_it_is_joined() {
    for joint in ["", " ", "\n", "\n\n"] {
        let mut stories = KnownStories::new();
        let (mut mira, chat) = play(&mut stories, "Mira", 2);
        let nudge = "[Continue your last message without repeating its original content.]";
        let request = mira.request(0, &[(System, nudge)]);
        let found = stories.recognise(&request);
        assert_eq!(found.generation, GenerationType::Continue);
        let ticket = stories.record(&request, &found);
        stories.reply(&ticket, ["And on."]);
        let reply = &mut mira.chat.last_mut().unwrap().1;
        *reply = format!("{reply}{joint}And on.");
        mira.say("Go on.");
        let found = stories.recognise(&mira.request(0, &[]));
        assert_eq!((path(&found), found.chat.as_ref()), (mira.texts(), Some(&chat)), "{joint:?}");
    }
}

#[test]
fn a_reply_changed_only_for_the_prompt_keeps_its_text() {
    for (stored, sent) in [
        ("*She turns.* \"Come in.\"", "\"Come in.\""),
        ("Hello {{user}}, says {{char}}.", "Hello Wren, says Mira."),
    ] {
        let mut stories = KnownStories::new();
        let (mut mira, chat) = play(&mut stories, "Mira", 2);
        mira.say("Knock.");
        let request = mira.request(0, &[]);
        let found = stories.recognise(&request);
        let ticket = stories.record(&request, &found);
        stories.reply(&ticket, [stored]);
        mira.chat.push((Assistant, sent.to_owned()));
        for turn in 0..3 {
            mira.say(&format!("On, {turn}."));
            let found = mira.send(&mut stories, 0);
            assert_eq!((path(&found)[6], found.chat.as_ref()), (stored, Some(&chat)));
            assert_eq!(path(&found).len(), mira.chat.len() - 1);
        }
    }
}

/// Plays a turn for each reply, then a request in which the replies are as in `sent`. Returns the
/// stored texts and what was recognised.
fn replied(
    stories: &mut KnownStories,
    replies: &[&str],
    sent: &[&str],
) -> (Vec<String>, Recognition) {
    let (mut mira, _) = play(stories, "Mira", 2);
    let mut stored: Vec<String> = mira.texts().into_iter().map(str::to_owned).collect();
    for (turn, reply) in replies.iter().enumerate() {
        mira.say(&format!("Knock {turn}."));
        let request = mira.request(0, &[]);
        let found = stories.recognise(&request);
        let ticket = stories.record(&request, &found);
        stories.reply(&ticket, [*reply]);
        stored.extend([format!("Knock {turn}."), (*reply).to_owned()]);
        mira.chat.push((Assistant, (*reply).to_owned()));
    }
    for (turn, sent) in sent.iter().enumerate() {
        (*sent).clone_into(&mut mira.chat[6 + 2 * turn].1);
    }
    mira.chat.retain(|(_, text)| !text.is_empty());
    mira.say("And now?");
    stored.push("And now?".to_owned());
    (stored, stories.recognise(&mira.request(0, &[])))
}

#[test]
fn what_a_rule_leaves_out_of_all_older_replies_stays_in_the_story() {
    let replies = ["\"In.\" *She turns.*", "*She waits.*", "*Rain.* \"Up.\"", "*Wind.* \"On.\""];
    let sent = ["\"In.\"", "", "\"Up.\"", "*Wind.* \"On.\""];
    let (stored, found) = replied(&mut KnownStories::new(), &replies, &sent);
    assert_eq!(path(&found), stored);
}

#[test]
fn what_a_person_takes_out_of_one_reply_is_an_edit() {
    let replies = ["*She turns.* \"In.\"", "\"Up.\" *Rain.*", "*Wind.* \"On.\""];
    let sent = ["*She turns.* \"In.\"", "\"Up.\"", "*Wind.* \"On.\""];
    let (mut stored, found) = replied(&mut KnownStories::new(), &replies, &sent);
    "\"Up.\"".clone_into(&mut stored[8]);
    assert_eq!(path(&found), stored);
}

#[test]
fn an_empty_reply_is_stored_though_it_is_never_sent() {
    let mut stories = KnownStories::new();
    let (mut mira, _) = play(&mut stories, "Mira", 1);
    mira.say("Silence?");
    let request = mira.request(0, &[]);
    let found = stories.recognise(&request);
    let ticket = stories.record(&request, &found);
    stories.reply(&ticket, [""]);
    for turn in 0..2 {
        mira.say(&format!("Say something, {turn}."));
        let found = mira.send(&mut stories, 0);
        assert_eq!(path(&found)[3..6], ["Silence?", "", "Say something, 0."]);
    }
}

#[test]
fn edited_and_hidden_messages_are_known_from_then_on() {
    let detours = |found: &Recognition| -> Vec<(String, usize, bool)> {
        let of = |one: &Detour| (one.message.text.to_string(), one.before, one.edited);
        found.detours.iter().map(of).collect()
    };
    let asked = |turn: usize| format!("Mira is asked for the {turn}th time.");
    let mut stories = KnownStories::new();
    let (mut mira, _) = play(&mut stories, "Mira", 4);
    // A swipe and a branch are no detours.
    mira.chat.pop();
    assert_eq!(detours(&mira.send(&mut stories, 0)), []);
    mira.chat.truncate(7);
    mira.say("Something else.");
    assert_eq!(detours(&mira.send(&mut stories, 0)), []);
    // The first question is edited, the second is hidden with its reply.
    mira.chat[1].1 = "Mira is asked politely for the first time.".to_owned();
    mira.chat.drain(3..5);
    let expected = [(asked(0), 1, true), (asked(1), 3, false)];
    for text in ["And now?", "And then?"] {
        mira.say(text);
        assert_eq!(detours(&mira.send(&mut stories, 0)), expected, "{text}");
    }
    // It is the same when the chat is read from the store.
    let mut restored = KnownStories::new();
    let story = stories.story(known_stories::Slot(0));
    let paths: Vec<Vec<Message>> = (0..story.nodes.len())
        .filter(|at| story.nodes[*at].children.is_empty())
        .map(|at| {
            let path = story.path_to(Some(NodeAt(at)));
            path.into_iter().map(|node| story.node(node).message.clone()).collect()
        })
        .collect();
    restored.restore(ChatId::from("c"), None, paths.iter().map(Vec::as_slice));
    mira.say("At last?");
    assert_eq!(detours(&restored.recognise(&mira.request(0, &[]))), expected);
}
