//! Which chat a request belongs to.

use super::front_end::{FrontEnd, path, play};
use crate::*;
use loreloom_core::{
    chat::{
        Path,
        Role::{self, Assistant, User},
    },
    ids::PrefixHash,
};

#[test]
fn a_trimmed_window_is_put_back_under_its_ancestors() {
    let mut stories = KnownStories::new();
    let (mut mira, chat) = play(&mut stories, "Mira", 6);
    mira.say("And now?");
    let expected: Vec<String> = mira.texts().into_iter().map(str::to_owned).collect();
    let found = mira.send(&mut stories, 7);
    assert_eq!(found.chat, Some(chat));
    assert_eq!((path(&found), found.before), (expected.iter().map(String::as_str).collect(), 7));
}

#[test]
fn an_id_given_later_names_the_chat_and_another_id_branches_off() {
    let mut stories = KnownStories::new();
    let (mut mira, chat) = play(&mut stories, "Mira", 3);
    let mut branch = mira.clone();
    mira.say("One.");
    let mut request = mira.request(0, &[]);
    request.explicit.chat = Some("a".to_owned());
    let found = stories.recognise(&request);
    assert_eq!((found.chat.clone(), found.is_new), (Some(chat.clone()), false));
    stories.record(&request, &found);
    branch.say("Two.");
    let mut request = branch.request(3, &[]);
    request.explicit.chat = Some("b".to_owned());
    let found = stories.recognise(&request);
    assert!(found.is_new && found.chat != Some(chat));
    assert_eq!(path(&found), branch.texts());
}

#[test]
fn a_chat_that_begins_as_another_one_asks_for_its_first_reply() {
    let mut stories = KnownStories::new();
    let mut asked = |name: Option<&str>| {
        let mut request = Request {
            body: Body::Messages(vec![WireMessage {
                role: Role::User,
                text: "Who rings the bell?".into(),
                ..WireMessage::default()
            }]),
            ..Request::default()
        };
        request.explicit.chat = name.map(str::to_owned);
        let found = stories.recognise(&request);
        let ticket = stories.record(&request, &found);
        stories.reply(&ticket, ["Nobody."]);
        (found.chat.unwrap().to_string(), found.generation)
    };
    // A chat without a name is not known by so little.
    asked(None);
    for (name, generation) in
        [("a", GenerationType::Normal), ("b", GenerationType::Normal), ("b", GenerationType::Swipe)]
    {
        assert_eq!(asked(Some(name)), (name.to_owned(), generation));
    }
}

#[test]
fn a_user_who_has_another_name_now_is_still_the_user() {
    let prompt = |user: &str, chat: &str| Request {
        stop: vec![format!("\n{user}:")],
        stream: Some(true),
        body: Body::Prompt(format!("Mira keeps a light.\n***\nMira: Come in.\n{chat}\nMira:")),
        ..Request::default()
    };
    let mut stories = KnownStories::new();
    let first = prompt("Wren", "Wren: Thanks.");
    let found = stories.recognise(&first);
    let ticket = stories.record(&first, &found);
    stories.reply(&ticket, ["Sit."]);
    let later = prompt("Ashby", "Wren: Thanks.\nMira: Sit.\nAshby: I do.");
    let again = stories.recognise(&later);
    assert_eq!(again.chat, found.chat);
    let path: Vec<(Role, &str)> = again.path.iter().map(|m| (m.role, m.text.as_str())).collect();
    let expected =
        [(Assistant, "Come in."), (User, "Thanks."), (Assistant, "Sit."), (User, "I do.")];
    assert_eq!(path, expected);
}

#[test]
fn two_chats_with_the_same_words_and_other_cards_keep_their_ids() {
    let mut stories = KnownStories::new();
    let greeting = (Assistant, "The door opens.".to_owned());
    let new =
        |card: &str| FrontEnd { card: card.to_owned(), chat: vec![greeting.clone()], replies: 0 };
    let mut front_ends = [new("Mira"), new("Orla")];
    let mut ids: [Option<ChatId>; 2] = [None, None];
    let same = (0..3).flat_map(|turn| [(0, turn), (1, turn)]);
    for (at, turn) in same.chain([(0, 7), (1, 8), (1, 9), (0, 10), (0, 11), (1, 12)]) {
        let front_end = &mut front_ends[at];
        front_end.say(&format!("Question {turn}."));
        let request = front_end.request(0, &[]);
        let found = stories.recognise(&request);
        let ticket = stories.record(&request, &found);
        stories.reply(&ticket, ["The same answer to all."]);
        front_end.chat.push((Assistant, "The same answer to all.".to_owned()));
        let id = ids[at].get_or_insert_with(|| found.chat.clone().unwrap());
        assert_eq!(found.chat.as_ref(), Some(&*id), "{at} {turn}");
    }
    assert_ne!(ids[0], ids[1]);
}

#[test]
fn restored_chats_are_recognised() {
    let mut stories = KnownStories::new();
    let (mut mira, _) = play(&mut stories, "Mira", 4);
    let messages: Vec<Message> =
        mira.chat.iter().map(|(role, text)| Message::new(*role, None, text.clone())).collect();
    let mut restored = KnownStories::new();
    restored.restore(ChatId::from("kept"), None, [messages.as_slice()]);
    let tree = Path::of(ChatId::from("kept"), messages);
    let parents = std::iter::once(PrefixHash::default())
        .chain(tree.items().iter().map(|item| item.prefix))
        .zip(tree.items());
    let nodes = parents.map(|(parent, item)| (item.prefix, parent, &item.message));
    let mut from_tree = KnownStories::new();
    from_tree.restore_tree(ChatId::from("kept"), None, nodes, tree.prefix());
    mira.say("Still here?");
    for mut stories in [restored, from_tree] {
        let found = mira.clone().send(&mut stories, 2);
        assert_eq!(found.chat, Some(ChatId::from("kept")));
        assert_eq!(path(&found).len(), mira.chat.len());
    }
}

#[test]
fn chats_not_touched_for_longest_are_forgotten_and_the_others_stay() {
    let mut stories = KnownStories::new();
    let mut front_ends: Vec<(FrontEnd, ChatId)> =
        (0..20).map(|at| play(&mut stories, &format!("Mira the {at}th"), 5)).collect();
    let late = front_ends[0].0.request(0, &[]);
    let found = stories.recognise(&late);
    let ticket = stories.record(&late, &found);
    for (front_end, chat) in &mut front_ends[1..] {
        front_end.say("And now?");
        assert_eq!(front_end.send(&mut stories, 0).chat.as_ref(), Some(&*chat));
    }
    stories.forget_beyond(stories.cost() / 2);
    assert!((5..=10).contains(&stories.len()), "{}", stories.len());
    // A reply that comes after its chat was forgotten goes nowhere.
    assert_eq!(stories.reply(&ticket, ["Too late."]), []);
    let (newest, chat) = &mut front_ends[19];
    newest.say("Still there?");
    assert_eq!(newest.send(&mut stories, 0).chat.as_ref(), Some(&*chat));
    let oldest = &mut front_ends[1].0;
    oldest.say("Still there?");
    let found = oldest.send(&mut stories, 0);
    assert!(found.is_new);
    let texts = oldest.texts();
    assert_eq!(path(&found), texts[..texts.len() - 1]);
}
