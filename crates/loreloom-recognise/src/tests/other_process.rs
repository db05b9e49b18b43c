//! Chats that another process writes to.

use super::front_end::{FrontEnd, path, play};
use crate::*;
use loreloom_core::{chat::Path, ids::PrefixHash};

/// Reads all chats of another process: what it stored, and one request of each chat.
fn read_elsewhere(stories: &mut KnownStories, others: &[(&ChatId, &FrontEnd)]) {
    for (chat, front_end) in others {
        let messages = front_end.chat.iter().map(|(role, text)| Message::new(*role, None, text));
        let path = Path::of((*chat).clone(), messages);
        let mut parent = PrefixHash::default();
        let nodes: Vec<_> = path
            .items()
            .iter()
            .map(|item| (item.prefix, std::mem::replace(&mut parent, item.prefix), &item.message))
            .collect();
        stories.take_up_tree(chat, None, nodes, path.prefix());
        stories.take_up_card(chat, &front_end.request(0, &[]));
    }
}

#[test]
fn a_story_goes_on_in_another_process() {
    let (mut here, mut there) = (KnownStories::new(), KnownStories::new());
    let (mut mira, chat) = play(&mut here, "Mira", 1);
    for (turn, text) in ["And then?", "And now?", "Who rang?"].into_iter().enumerate() {
        let (from, to) = if turn % 2 == 0 { (&here, &mut there) } else { (&there, &mut here) };
        assert_eq!(from.len(), 1);
        read_elsewhere(to, &[(&chat, &mira)]);
        mira.say(text);
        let found = mira.send(to, 0);
        assert_eq!((found.chat.as_ref(), found.is_new), (Some(&chat), false), "{text}");
        assert_eq!(path(&found).last().copied(), Some(text));
    }
}

#[test]
fn a_swipe_and_an_edit_of_the_opening_are_known_in_another_process() {
    let (mut here, mut there) = (KnownStories::new(), KnownStories::new());
    let (mut mira, chat) = play(&mut here, "Mira", 1);
    read_elsewhere(&mut there, &[(&chat, &mira)]);
    mira.chat.pop();
    let swipe = there.clone().recognise(&mira.request(0, &[]));
    assert_eq!((swipe.chat, swipe.generation), (Some(chat.clone()), GenerationType::Swipe));
    mira.chat.pop();
    mira.say("Mira is asked for the 0th time today.");
    let edit = there.recognise(&mira.request(0, &[]));
    assert_eq!((edit.chat, edit.is_new), (Some(chat), false));
}

#[test]
fn another_card_with_the_same_opening_is_another_story_in_another_process_too() {
    let (mut here, mut there) = (KnownStories::new(), KnownStories::new());
    let opened = |card: &str| {
        let mut front_end = FrontEnd::new(card);
        front_end.chat.clear();
        front_end.say("Hello.");
        front_end
    };
    let (mut mira, mut orla) = (opened("Mira"), opened("Orla"));
    let first = mira.send(&mut here, 0).chat.unwrap();
    read_elsewhere(&mut there, &[(&first, &mira)]);
    let second = orla.send(&mut there, 0);
    assert!(second.is_new);
    assert_ne!(second.chat, Some(first.clone()));
    // The same one is not new, and before it is stored it gets the same id.
    let again = opened("Mira");
    assert_eq!(there.recognise(&again.request(0, &[])).chat, Some(first.clone()));
    assert_eq!(KnownStories::new().recognise(&again.request(0, &[])).chat, Some(first));
}

#[test]
fn a_chat_that_went_on_in_another_process_is_not_opened_again() {
    let (mut here, mut there) = (KnownStories::new(), KnownStories::new());
    let (mira, chat) = play(&mut here, "Mira", 3);
    read_elsewhere(&mut there, &[(&chat, &mira)]);
    let mut again = mira.clone();
    again.chat.truncate(2);
    let ids = [&here, &there].map(|stories| {
        let found = stories.recognise(&again.request(0, &[]));
        assert!(found.is_new);
        found.chat.unwrap()
    });
    assert_ne!(ids[0], chat);
    assert_eq!(ids[0], ids[1], "both processes give it the same id");
}

#[test]
fn what_is_known_of_a_chat_stays_when_another_process_writes_to_it() {
    let mut here = KnownStories::new();
    let (mut mira, chat) = play(&mut here, "Mira", 3);
    let before = (here.cost(), here.len());
    read_elsewhere(&mut here, &[(&chat, &mira)]);
    assert_eq!((here.cost(), here.len()), before, "nothing is new");
    mira.say("Elsewhere.");
    read_elsewhere(&mut here, &[(&chat, &mira)]);
    assert_eq!(here.len(), 1);
    assert_eq!(here.cost(), before.0 + MESSAGE_COST + "Elsewhere.".len());
}
