//! A story as a front end tells it that names no chat.

use serde_json::{Value, json};

use super::Fleet;
use crate::store_suite::Failure;

/// A story that was told.
pub(super) struct ToldStory {
    /// The replies whose end the front end saw.
    pub(super) acknowledged: Vec<String>,
}

/// The chat of the front end.
struct Teller<'fleet, 'setup> {
    fleet: &'fleet mut Fleet<'setup>,
    messages: Vec<Value>,
    acknowledged: Vec<String>,
}

/// Tells one story. Every second one begins like the one before, with the same card.
pub(super) fn tell(fleet: &mut Fleet<'_>, number: u64) -> Result<ToldStory, Failure> {
    let (ferry, servers) = (number / 2, fleet.servers.len());
    // A run with other servers on the same database tells other stories.
    let ferry = format!("{ferry} of {servers}");
    let card = format!("You are Mira Vell, who keeps ferry {ferry} on the river of reeds. {CARD}");
    let messages = vec![
        json!({ "role": "system", "content": card }),
        json!({ "role": "assistant", "content": format!("Mira opens the door of ferry {ferry}.") }),
    ];
    let mut teller = Teller { fleet, messages, acknowledged: Vec::new() };
    teller.say("Good evening. Who rang the bell?");
    teller.ask_at_once(servers)?;
    for turn in 0..3 {
        teller.say(&format!("In story {number} I ask for the {turn}. time about the bell."));
        teller.ask()?;
    }
    // Two more versions; the story goes on from the first of them.
    teller.drop_reply();
    teller.ask()?;
    let first = teller.drop_reply();
    teller.ask()?;
    teller.drop_reply();
    teller.messages.extend(first);
    teller.say(&format!("In story {number} nobody answers me."));
    teller.ask()?;
    // The last question is edited.
    teller.drop_reply();
    teller.messages.pop();
    teller.say(&format!("In story {number} nobody answers me any more."));
    teller.ask()?;
    teller.say(&format!("In story {number} a storm begins."));
    let asked = Value::from(teller.messages.clone());
    teller.fleet.ask_and_kill(&asked)?;
    teller.ask()?;
    teller.say(&format!("In story {number} I ask twice at once."));
    teller.ask_at_once(2)?;
    teller.say(&format!("Story {number} ends here."));
    teller.ask()?;
    Ok(ToldStory { acknowledged: teller.acknowledged })
}

/// Long enough to be a card.
const CARD: &str = "She is old, stern and fair, and she has carried kings and smugglers over the \
     water for forty years. She asks for the fare first. She never names the drowned. She keeps \
     a cracked bell by the door, and a lamp that she lights for those who are late.";

impl Teller<'_, '_> {
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
