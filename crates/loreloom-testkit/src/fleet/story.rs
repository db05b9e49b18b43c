//! A story of a front end that sends no chat id.

use serde_json::{Value, json};

use super::Fleet;
use crate::store_suite::Failure;

/// A story that was played.
pub(super) struct PlayedStory {
    /// The replies whose end the front end saw.
    pub(super) acknowledged: Vec<String>,
}

/// The chat of the front end.
struct FrontEnd<'fleet, 'setup> {
    fleet: &'fleet mut Fleet<'setup>,
    messages: Vec<Value>,
    acknowledged: Vec<String>,
}

/// Plays one story. Every second one begins like the one before, with the same card.
pub(super) fn play(fleet: &mut Fleet<'_>, number: u64) -> Result<PlayedStory, Failure> {
    let (ferry, servers) = (number / 2, fleet.servers.len());
    // A run with another number of servers on the same database plays other stories.
    let ferry = format!("{ferry} of {servers}");
    let card = format!("You are Mira Vell, who keeps ferry {ferry} on the river of reeds. {CARD}");
    let messages = vec![
        json!({ "role": "system", "content": card }),
        json!({ "role": "assistant", "content": format!("Mira opens the door of ferry {ferry}.") }),
    ];
    let mut front_end = FrontEnd { fleet, messages, acknowledged: Vec::new() };
    front_end.say("Good evening. Who rang the bell?");
    front_end.ask_at_once(servers)?;
    for turn in 0..3 {
        front_end.say(&format!("In story {number} I ask for the {turn}. time about the bell."));
        front_end.ask()?;
    }
    // Two more versions; the story goes on from the first of them.
    front_end.drop_reply();
    front_end.ask()?;
    let first = front_end.drop_reply();
    front_end.ask()?;
    front_end.drop_reply();
    front_end.messages.extend(first);
    front_end.say(&format!("In story {number} nobody answers me."));
    front_end.ask()?;
    // The last question is edited.
    front_end.drop_reply();
    front_end.messages.pop();
    front_end.say(&format!("In story {number} nobody answers me any more."));
    front_end.ask()?;
    front_end.say(&format!("In story {number} a storm begins."));
    let asked = Value::from(front_end.messages.clone());
    front_end.fleet.ask_and_kill(&asked)?;
    front_end.ask()?;
    front_end.say(&format!("In story {number} I ask twice at once."));
    front_end.ask_at_once(2)?;
    front_end.say(&format!("Story {number} ends here."));
    front_end.ask()?;
    Ok(PlayedStory { acknowledged: front_end.acknowledged })
}

/// Long enough to be a card.
const CARD: &str = "She is old, stern and fair, and she has carried kings and smugglers over the \
     water for forty years. She asks for the fare first. She never names the drowned. She keeps \
     a cracked bell by the door, and a lamp that she lights for those who are late.";

impl FrontEnd<'_, '_> {
    fn say(&mut self, text: &str) {
        self.messages.push(json!({ "role": "user", "content": text }));
    }

    fn take(&mut self, reply: &str) {
        self.messages.push(json!({ "role": "assistant", "content": reply }));
    }

    fn ask(&mut self) -> Result<(), Failure> {
        let reply = self.fleet.ask(&Value::from(self.messages.clone()))?;
        self.take(&reply);
        self.acknowledged.push(reply);
        Ok(())
    }

    /// The front end shows the first of the replies.
    fn ask_at_once(&mut self, count: usize) -> Result<(), Failure> {
        let replies = self.fleet.ask_at_once(&Value::from(self.messages.clone()), count)?;
        if let Some(first) = replies.first() {
            self.take(first);
        }
        self.acknowledged.extend(replies);
        Ok(())
    }

    /// Takes the last reply out of the chat.
    fn drop_reply(&mut self) -> Option<Value> {
        self.messages.pop()
    }
}
