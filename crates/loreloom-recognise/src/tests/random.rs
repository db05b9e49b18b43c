//! Random chats: whatever a person does, the chat is recognised.

use proptest::prelude::*;

use super::front_end::{FrontEnd, path, play};
use crate::*;
use loreloom_core::chat::Role::{Assistant, User};

/// One thing a person does in a front end.
#[derive(Clone, Debug)]
enum Action {
    Say(u8),
    Swipe,
    Edit(u8),
    DeleteLast(u8),
    CutMiddle(u8),
    Trim(u8),
}

fn action() -> impl Strategy<Value = Action> {
    prop_oneof![
        4 => any::<u8>().prop_map(Action::Say),
        1 => Just(Action::Swipe),
        1 => any::<u8>().prop_map(Action::Edit),
        1 => (1_u8..4).prop_map(Action::DeleteLast),
        1 => any::<u8>().prop_map(Action::CutMiddle),
        1 => any::<u8>().prop_map(Action::Trim),
    ]
}

impl FrontEnd {
    /// Does it. Returns how many messages the next request leaves out.
    fn act(&mut self, action: &Action, number: usize) -> usize {
        let mut skip = 0;
        let middle = |at: u8, length: usize| 3 + usize::from(at) % (length - 5);
        match *action {
            Action::Say(words) => self.say(&format!("I say {words} in {number}.")),
            Action::Swipe => drop(self.chat.pop()),
            Action::Edit(at) if self.chat.len() > 8 => {
                let at = middle(at, self.chat.len());
                self.chat[at].1 = format!("Edited in {number}.");
                self.say(&format!("After the edit in {number}."));
            }
            Action::DeleteLast(pairs) if self.chat.len() > 2 * usize::from(pairs) + 5 => {
                self.chat.truncate(self.chat.len() - 2 * usize::from(pairs));
                self.say(&format!("Instead, in {number}."));
            }
            Action::CutMiddle(at) if self.chat.len() > 10 => {
                let at = middle(at, self.chat.len() - 2);
                self.chat.drain(at..at + 2);
                self.say(&format!("After the cut in {number}."));
            }
            Action::Trim(at) if self.chat.len() > 8 => {
                skip = 1 + usize::from(at) % (self.chat.len() - 5);
                self.say(&format!("Trimmed in {number}."));
            }
            Action::Edit(_) | Action::DeleteLast(_) | Action::CutMiddle(_) | Action::Trim(_) => {
                self.say(&format!("Nothing else in {number}."));
            }
        }
        skip
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

    #[test]
    fn random_stories_are_recognised(actions in prop::collection::vec(action(), 4..24)) {
        let mut stories = KnownStories::new();
        let (mut mira, chat) = play(&mut stories, "Mira", 2);
        let (other, _) = play(&mut stories, "Tobin", 3);
        for (number, action) in actions.iter().enumerate() {
            let skip = mira.act(action, number);
            let expected = mira.clone();
            let found = mira.send(&mut stories, skip);
            prop_assert_eq!(found.chat.as_ref(), Some(&chat), "{:?}", action);
            prop_assert_eq!(path(&found), expected.texts(), "{:?}", action);
            prop_assert_eq!(found.kind, Kind::Story);
            for part in found.window.preamble.iter().chain(&found.window.parts) {
                prop_assert_eq!(part.key, TextKey::of(&part.text), "{}", part.text);
            }
        }
        let strangers: Vec<&str> = other.texts();
        prop_assert!(mira.texts().iter().all(|text| !strangers.contains(text)));
    }

    #[test]
    fn the_same_request_again_is_recognised_as_the_same(
        actions in prop::collection::vec(action(), 1..12),
    ) {
        let mut stories = KnownStories::new();
        let (mut mira, _) = play(&mut stories, "Mira", 3);
        for (number, action) in actions.iter().enumerate() {
            let skip = mira.act(action, number);
            let request = mira.request(skip, &[]);
            let first = stories.recognise(&request);
            stories.record(&request, &first);
            let again = stories.recognise(&request);
            prop_assert_eq!(path(&again), path(&first));
            prop_assert_eq!(&again.chat, &first.chat);
            prop_assert_eq!(again.part_kinds, first.part_kinds);
            mira.send(&mut stories, skip);
        }
    }

    #[test]
    fn a_request_that_contradicts_a_chat_never_joins_it(
        own in prop::collection::vec("[a-z]{8,12}( [a-z]{8,12}){2}", 4..12),
        shared in 0_usize..3,
    ) {
        let mut stories = KnownStories::new();
        let (mira, chat) = play(&mut stories, "Mira", 4);
        let mut stranger = FrontEnd::new("Mira");
        stranger.chat.truncate(1);
        for (at, text) in own.iter().enumerate() {
            let role = if at % 2 == 0 { User } else { Assistant };
            stranger.chat.push((role, text.clone()));
        }
        // A few of the same words, as people use them, do not make the same story.
        for at in 0..shared {
            let place = (2 * at + 1).min(stranger.chat.len() - 1);
            stranger.chat[place].1.clone_from(&mira.chat[2 * at + 1].1);
        }
        if stranger.chat.last().is_some_and(|(role, _)| *role == Assistant) {
            stranger.say("What then?");
        }
        let matching = stranger.chat.iter().filter(|line| mira.chat.contains(line)).count();
        let found = stories.recognise(&stranger.request(0, &[]));
        if matching * 2 <= stranger.chat.len() {
            prop_assert_ne!(found.chat, Some(chat));
        }
    }
}
