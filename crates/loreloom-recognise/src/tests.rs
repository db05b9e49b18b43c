//! Stories from a front end, and whether they are recognised.

use proptest::prelude::*;

use super::*;
use loreloom_core::{
    chat::{
        Path,
        Role::{self, Assistant, System, User},
    },
    ids::PrefixHash,
};

/// A front end with one character, as far as a proxy sees it.
#[derive(Clone, Debug)]
struct Teller {
    card: String,
    chat: Vec<(Role, String)>,
    replies: usize,
}

impl Teller {
    fn new(card: &str) -> Self {
        let greeting = (Assistant, format!("{card} opens the door."));
        Self { card: card.to_owned(), chat: vec![greeting], replies: 0 }
    }

    fn request(&self, skip: usize, after: &[(Role, &str)]) -> Request {
        let head = [(System, format!("Write {}.", self.card)), (System, self.card.clone())];
        let chat = self.chat.iter().skip(skip).cloned();
        let after = after.iter().map(|(role, text)| (*role, (*text).to_owned()));
        let message = |(role, text): (Role, String)| WireMessage {
            role,
            text: text.into(),
            ..WireMessage::default()
        };
        let messages = head.into_iter().chain(chat).chain(after).map(message).collect();
        Request { stream: Some(true), body: Body::Messages(messages), ..Request::default() }
    }

    fn texts(&self) -> Vec<&str> {
        self.chat.iter().map(|(_, text)| text.as_str()).collect()
    }

    /// Sends the chat and takes the reply; returns what was recognised.
    fn send(&mut self, stories: &mut KnownStories, skip: usize) -> Recognition {
        let request = self.request(skip, &[]);
        let found = stories.recognise(&request);
        let mut walked = stories.clone();
        let ticket = stories.record(&request, &found);
        // Messages that are known are gone along as if they were looked for.
        walked.record(&request, &Recognition { trunk: None, ..found.clone() });
        assert_eq!(format!("{stories:?}"), format!("{walked:?}"));
        self.replies += 1;
        let reply = format!("{} answers, number {}.", self.card, self.replies);
        stories.reply(&ticket, [reply.as_str()]);
        self.chat.push((Assistant, reply));
        found
    }

    fn say(&mut self, text: &str) {
        self.chat.push((User, text.to_owned()));
    }
}

fn path(found: &Recognition) -> Vec<&str> {
    found.path.iter().map(|message| message.text.as_str()).collect()
}

/// A story of a few turns, and the chat it is in.
fn play(stories: &mut KnownStories, card: &str, turns: usize) -> (Teller, ChatId) {
    let mut teller = Teller::new(card);
    let mut chat = None;
    for turn in 0..turns {
        teller.say(&format!("{card} is asked for the {turn}th time."));
        chat = teller.send(stories, 0).chat;
    }
    (teller, chat.unwrap())
}

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
fn streaming_turned_off_for_good_is_noticed() {
    let mut stories = KnownStories::new();
    let mut mira = Teller::new("Mira");
    let merged = |mira: &Teller, stream: bool| {
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
fn a_note_that_moves_is_no_narrator_and_none_is_believed_after_it() {
    let mut stories = KnownStories::new();
    let (mut mira, _) = play(&mut stories, "Mira", 2);
    let with_note = |mira: &Teller, note: &str| {
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

/// Tells a reply for each text, and gives the request after them with the replies as sent.
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

/// One thing a person does in a front end.
#[derive(Clone, Debug)]
enum Deed {
    Say(u8),
    Swipe,
    Edit(u8),
    DeleteLast(u8),
    CutMiddle(u8),
    Trim(u8),
}

fn deed() -> impl Strategy<Value = Deed> {
    prop_oneof![
        4 => any::<u8>().prop_map(Deed::Say),
        1 => Just(Deed::Swipe),
        1 => any::<u8>().prop_map(Deed::Edit),
        1 => (1_u8..4).prop_map(Deed::DeleteLast),
        1 => any::<u8>().prop_map(Deed::CutMiddle),
        1 => any::<u8>().prop_map(Deed::Trim),
    ]
}

impl Teller {
    /// Does it; says how many messages the next request leaves out.
    fn act(&mut self, deed: &Deed, number: usize) -> usize {
        let mut skip = 0;
        let middle = |at: u8, length: usize| 3 + usize::from(at) % (length - 5);
        match *deed {
            Deed::Say(words) => self.say(&format!("I say {words} in {number}.")),
            Deed::Swipe => drop(self.chat.pop()),
            Deed::Edit(at) if self.chat.len() > 8 => {
                let at = middle(at, self.chat.len());
                self.chat[at].1 = format!("Edited in {number}.");
                self.say(&format!("After the edit in {number}."));
            }
            Deed::DeleteLast(pairs) if self.chat.len() > 2 * usize::from(pairs) + 5 => {
                self.chat.truncate(self.chat.len() - 2 * usize::from(pairs));
                self.say(&format!("Instead, in {number}."));
            }
            Deed::CutMiddle(at) if self.chat.len() > 10 => {
                let at = middle(at, self.chat.len() - 2);
                self.chat.drain(at..at + 2);
                self.say(&format!("After the cut in {number}."));
            }
            Deed::Trim(at) if self.chat.len() > 8 => {
                skip = 1 + usize::from(at) % (self.chat.len() - 5);
                self.say(&format!("Trimmed in {number}."));
            }
            Deed::Edit(_) | Deed::DeleteLast(_) | Deed::CutMiddle(_) | Deed::Trim(_) => {
                self.say(&format!("Nothing else in {number}."));
            }
        }
        skip
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

    #[test]
    fn random_stories_are_recognised(deeds in prop::collection::vec(deed(), 4..24)) {
        let mut stories = KnownStories::new();
        let (mut mira, chat) = play(&mut stories, "Mira", 2);
        let (other, _) = play(&mut stories, "Tobin", 3);
        for (number, deed) in deeds.iter().enumerate() {
            let skip = mira.act(deed, number);
            let expected = mira.clone();
            let found = mira.send(&mut stories, skip);
            prop_assert_eq!(found.chat.as_ref(), Some(&chat), "{:?}", deed);
            prop_assert_eq!(path(&found), expected.texts(), "{:?}", deed);
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
        deeds in prop::collection::vec(deed(), 1..12),
    ) {
        let mut stories = KnownStories::new();
        let (mut mira, _) = play(&mut stories, "Mira", 3);
        for (number, deed) in deeds.iter().enumerate() {
            let skip = mira.act(deed, number);
            let request = mira.request(skip, &[]);
            let first = stories.recognise(&request);
            stories.record(&request, &first);
            let again = stories.recognise(&request);
            prop_assert_eq!(path(&again), path(&first));
            prop_assert_eq!(&again.chat, &first.chat);
            prop_assert_eq!(again.standings, first.standings);
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
        let mut stranger = Teller::new("Mira");
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

#[test]
fn chats_not_touched_for_longest_are_forgotten_and_the_others_stay() {
    let mut stories = KnownStories::new();
    let mut tellers: Vec<(Teller, ChatId)> =
        (0..20).map(|at| play(&mut stories, &format!("Mira the {at}th"), 5)).collect();
    let late = tellers[0].0.request(0, &[]);
    let found = stories.recognise(&late);
    let ticket = stories.record(&late, &found);
    for (teller, chat) in &mut tellers[1..] {
        teller.say("And now?");
        assert_eq!(teller.send(&mut stories, 0).chat.as_ref(), Some(&*chat));
    }
    stories.forget_beyond(stories.cost() / 2);
    assert!((5..=10).contains(&stories.len()), "{}", stories.len());
    // A reply that comes after its chat was forgotten goes nowhere.
    assert_eq!(stories.reply(&ticket, ["Too late."]), []);
    let (newest, chat) = &mut tellers[19];
    newest.say("Still there?");
    assert_eq!(newest.send(&mut stories, 0).chat.as_ref(), Some(&*chat));
    let oldest = &mut tellers[1].0;
    oldest.say("Still there?");
    let found = oldest.send(&mut stories, 0);
    assert!(found.is_new);
    let texts = oldest.texts();
    assert_eq!(path(&found), texts[..texts.len() - 1]);
}

/// Takes up all chats of another process: what it stored, and one request of each chat.
fn take_up(stories: &mut KnownStories, others: &[(&ChatId, &Teller)]) {
    for (chat, teller) in others {
        let messages = teller.chat.iter().map(|(role, text)| Message::new(*role, None, text));
        let path = Path::of((*chat).clone(), messages);
        let mut parent = PrefixHash::default();
        let nodes: Vec<_> = path
            .items()
            .iter()
            .map(|item| (item.prefix, std::mem::replace(&mut parent, item.prefix), &item.message))
            .collect();
        stories.take_up_tree(chat, None, nodes, path.prefix());
        stories.take_up_card(chat, &teller.request(0, &[]));
    }
}

#[test]
fn a_story_goes_on_in_another_process() {
    let (mut here, mut there) = (KnownStories::new(), KnownStories::new());
    let (mut mira, chat) = play(&mut here, "Mira", 1);
    for (turn, text) in ["And then?", "And now?", "Who rang?"].into_iter().enumerate() {
        let (from, to) = if turn % 2 == 0 { (&here, &mut there) } else { (&there, &mut here) };
        assert_eq!(from.len(), 1);
        take_up(to, &[(&chat, &mira)]);
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
    take_up(&mut there, &[(&chat, &mira)]);
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
        let mut teller = Teller::new(card);
        teller.chat.clear();
        teller.say("Hello.");
        teller
    };
    let (mut mira, mut orla) = (opened("Mira"), opened("Orla"));
    let first = mira.send(&mut here, 0).chat.unwrap();
    take_up(&mut there, &[(&first, &mira)]);
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
    take_up(&mut there, &[(&chat, &mira)]);
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
    take_up(&mut here, &[(&chat, &mira)]);
    assert_eq!((here.cost(), here.len()), before, "nothing is new");
    mira.say("Elsewhere.");
    take_up(&mut here, &[(&chat, &mira)]);
    assert_eq!(here.len(), 1);
    assert_eq!(here.cost(), before.0 + MESSAGE_COST + "Elsewhere.".len());
}
