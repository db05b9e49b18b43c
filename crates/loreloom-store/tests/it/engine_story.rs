//! Engine and store together: what the state of a story depends on.

use loreloom_core::{
    book::Book,
    chat::{GenerationType, Message, Path, Role},
    ids::TenantId,
    library::{ActiveEntries, Library},
    replay::{Replay, ReplayLore},
    rules::Profile,
    tokens::ByteEstimate,
    turn::{Speaker, TurnInput},
    units::{Timestamp, Tokens},
};
use loreloom_testkit::store_suite::{
    Failure,
    engine_story::{self, EngineStory},
    machine,
};
use proptest::{collection::vec, prelude::ProptestConfig, proptest};
use tokio::runtime::Builder;

use crate::openers::sqlite_memory;

proptest! {
    #![proptest_config(ProptestConfig { cases: 40, ..ProptestConfig::default() })]

    #[test]
    fn every_turn_of_any_story_is_decided_again_alike(actions in vec(machine::any_action(), 1..25)) {
        let runtime = Builder::new_current_thread().enable_all().build().unwrap();
        let sqlite = sqlite_memory().unwrap().unwrap();
        runtime.block_on(engine_story::run(&sqlite, TenantId::local(), &actions)).unwrap();
    }
}

fn said(number: usize, text: &str) -> Message {
    let (role, name) =
        if number.is_multiple_of(2) { (Role::User, "Mira") } else { (Role::Assistant, "Torvald") };
    Message::new(role, Some(name), format!("{number}: {text}"))
}

/// One entry for each of these messages. Once activated, it stays for the whole story.
fn lasting(numbers: &[usize]) -> Book {
    let mut book = Book::new("live", "Live");
    for number in numbers {
        let mut entry = engine_story::entry(&format!("live/{number}"), &format!("key{number}"));
        entry.activation.timed.sticky = Some(10_000);
        book.entries.push(entry);
    }
    book
}

/// Writes `count` messages with a turn on each of the user's. Message n contains `key n`.
async fn write_messages(story: &mut EngineStory, count: usize) -> Result<Vec<Message>, Failure> {
    let mut path = Path::new(story.chat.clone());
    for number in 0..count {
        path.push(said(number, &format!("key{number} is what I say")));
        if number % 2 == 0 {
            story.ask(&path, GenerationType::Normal).await?;
        }
    }
    Ok(path.items().iter().map(|item| item.message.clone()).collect())
}

async fn sticky(story: &EngineStory, messages: &[Message]) -> Result<Vec<String>, Failure> {
    let path = Path::of(story.chat.clone(), messages.iter().cloned());
    let state = story.state(&path).await?;
    Ok(state.sticky.keys().map(ToString::to_string).collect())
}

#[tokio::test]
async fn an_edit_of_one_message_of_500_removes_only_what_was_born_in_it() {
    let opener = sqlite_memory().unwrap().unwrap();
    let book = lasting(&[2, 4, 250, 498]);
    let mut story = EngineStory::new(&opener, TenantId::local(), book).await.unwrap();
    let messages = write_messages(&mut story, 500).await.unwrap();
    assert_eq!(
        sticky(&story, &messages).await.unwrap(),
        ["live/2", "live/250", "live/4", "live/498"]
    );
    let mut edited = messages.clone();
    edited[2].text = "nothing of note".into();
    assert_eq!(sticky(&story, &edited).await.unwrap(), ["live/250", "live/4", "live/498"]);
    let mut deleted = messages.clone();
    deleted.remove(250);
    assert_eq!(sticky(&story, &deleted).await.unwrap(), ["live/2", "live/4", "live/498"]);
    let mut renamed = messages.clone();
    for message in renamed.iter_mut().filter(|message| message.role == Role::User) {
        message.name = Some("Ana".to_owned());
    }
    assert_eq!(
        sticky(&story, &renamed).await.unwrap(),
        ["live/2", "live/250", "live/4", "live/498"]
    );
    // Going back hides the effects of later messages, and returning shows them again.
    assert_eq!(sticky(&story, &messages[..100]).await.unwrap(), ["live/2", "live/4"]);
    assert_eq!(sticky(&story, &messages).await.unwrap().len(), 4);
}

#[tokio::test]
async fn what_happens_on_another_branch_changes_nothing_here() {
    let opener = sqlite_memory().unwrap().unwrap();
    let mut story =
        EngineStory::new(&opener, TenantId::local(), engine_story::book()).await.unwrap();
    let messages = write_messages(&mut story, 20).await.unwrap();
    let path = Path::of(story.chat.clone(), messages.clone());
    let before = story.state(&path).await.unwrap();
    let mut other = Path::of(story.chat.clone(), messages[..7].to_vec());
    for text in ["The user says 2, there.", "The user says 4, there.", "Edited to 3, there."] {
        other.push(Message::new(Role::User, Some("Mira"), text));
        story.ask(&other, GenerationType::Normal).await.unwrap();
    }
    assert_ne!(story.state(&other).await.unwrap(), before);
    assert_eq!(story.state(&path).await.unwrap(), before);
}

#[tokio::test]
async fn a_stored_story_and_its_replay_agree() {
    let opener = sqlite_memory().unwrap().unwrap();
    let mut story =
        EngineStory::new(&opener, TenantId::local(), engine_story::book()).await.unwrap();
    let rules = Profile::Loreloom.rules();
    let library = Library::under([std::sync::Arc::new(engine_story::book())], &rules);
    let active = ActiveEntries::all(&library, rules.world_info.strategy);
    let lore =
        ReplayLore { library: &library, active: &active, rules: &rules, counter: &ByteEstimate };
    let mut replay = Replay::new(story.chat.clone(), lore);
    let mut path = Path::new(story.chat.clone());
    let mut fired = 0;
    for number in 0..120 {
        let message = said(number, &format!("The user says {}, Reply {}", number % 7, number % 5));
        path.push(message.clone());
        replay.say(message);
        if number % 2 == 1 {
            continue;
        }
        let (_, woven) = story.ask(&path, GenerationType::Normal).await.unwrap();
        let again = replay.ask(&TurnInput {
            context: Tokens(400),
            seed: 7,
            at: woven.report.facts.at.map(|at| Timestamp(at.0)),
            speaker: Some(Speaker { name: "Torvald".to_owned(), ..Speaker::default() }),
            user: "Mira".to_owned(),
            ..TurnInput::default()
        });
        assert_eq!(again.injections, woven.injections, "message {number}");
        assert_eq!(again.delta, woven.delta, "message {number}");
        assert_eq!(again.report, woven.report, "message {number}");
        fired += woven.injections.len();
    }
    assert_eq!(replay.state(), story.state(&path).await.unwrap());
    assert!(fired > 60, "{fired}");
}
