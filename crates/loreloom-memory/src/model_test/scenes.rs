//! The texts of the trials.

use super::TrialEntity;
use crate::record::StateKind;

pub(super) const USER: &str = "Tamsin";
pub(super) const INSPECTOR: &str = "Ferrin";

/// Entities that may appear in [`THEFT`].
pub(super) const THEFT_ENTITIES: [TrialEntity; 5] = [
    ("Quill", StateKind::Character),
    ("Captain Rusk", StateKind::Character),
    ("Iron Key", StateKind::Object),
    ("The Vault", StateKind::Place),
    ("The Lantern Guild", StateKind::Faction),
];

/// Entities that do not appear in it.
pub(super) const THEFT_ABSENT: [&str; 2] = ["Captain Rusk", "The Lantern Guild"];

/// Two people look into a miller's death.
pub(super) const INVESTIGATION: [(&str, &str); 30] = [
    (USER, "The miller's house is cold. I set my bag on the table and look at you, Ferrin."),
    (
        INSPECTOR,
        "Ferrin pulls off his gloves. \"Third body this month. Call me tired, not surprised.\"",
    ),
    (USER, "\"I was his physician for nine years. Joss Harrow had no enemies.\""),
    (INSPECTOR, "\"Everybody has one. I had a brother who thought he had none.\""),
    (USER, "I kneel by the hearth. \"The ash is wet. Somebody put the fire out with wine.\""),
    (
        INSPECTOR,
        "He crouches beside you and sniffs. \"Plum wine. The abbey makes it. Nobody else.\"",
    ),
    (USER, "\"Brother Anselm brought him a jug every Sunday.\""),
    (
        INSPECTOR,
        "Ferrin writes the name down with his left hand; the right one has not closed since the war.",
    ),
    (USER, "\"Does it hurt?\" I ask, looking at his hand."),
    (INSPECTOR, "\"Only when it rains. It always rains in Corvale.\""),
    (USER, "I find a letter under the flour bin. The seal is broken."),
    (
        INSPECTOR,
        "He holds it to the lamp. \"He owed forty crowns to a woman called Maud Pell. Due tomorrow.\"",
    ),
    (USER, "\"Maud runs the ferry. She would never kill for forty crowns.\""),
    (INSPECTOR, "\"You trust people too easily, Tamsin.\""),
    (USER, "\"And you trust nobody. Somebody has to keep the balance.\""),
    (INSPECTOR, "Ferrin almost smiles. It is the first time you have seen it."),
    (USER, "Upstairs a board creaks."),
    (
        INSPECTOR,
        "He draws his pistol and goes up without a sound. \"Come down, child. I do not bite.\"",
    ),
    (USER, "It is Wren, the miller's daughter. She is shaking. I wrap her in my coat."),
    (INSPECTOR, "\"Did you see who was here, Wren?\" His voice is softer than before."),
    (USER, "\"She says a man with a grey hood. He took father's ledger.\""),
    (INSPECTOR, "\"A ledger. So it was never about the debt.\" He closes his notebook."),
    (USER, "\"She can stay with me until we find her aunt in Dell.\""),
    (
        INSPECTOR,
        "\"I would rather she stayed at the watch house. But you are right, she knows you.\"",
    ),
    (USER, "\"Promise me you will not question her again without me.\""),
    (INSPECTOR, "A long pause. \"You have my word.\""),
    (USER, "We step outside. The mill wheel has been chained."),
    (
        INSPECTOR,
        "Ferrin tests the lock. \"New. Made by the smith at the abbey. That is twice the abbey tonight.\"",
    ),
    (USER, "\"Then tomorrow we go to the abbey.\""),
    (INSPECTOR, "\"Tomorrow at dawn. Bring your bag. And sleep with the door barred.\""),
];

/// A theft in five messages.
pub(super) const THEFT: [(&str, &str); 5] = [
    (USER, "We crouch at the grating. \"Is it the right passage, Quill?\""),
    (
        "Quill",
        "\"It is.\" Quill wipes blood from a cut on her forearm and turns the Iron Key in the lock.",
    ),
    (USER, "The Vault stands open. Two guards sleep inside."),
    (
        "Quill",
        "She slips in, nervous, the key on a cord about her neck. One of its teeth has snapped off.",
    ),
    (USER, "\"Take the sapphire and nothing else,\" I whisper from the door."),
];

/// Four people in a healer's house.
pub(super) const HEALER: [(&str, &str); 6] = [
    (
        "Hedda",
        "Hedda shuts the door on the waiting crowd. \"The well is poisoned. I tested it twice. Nobody outside may know before the elder does.\"",
    ),
    (USER, "\"I will say nothing,\" I promise. Bram, her apprentice, has heard every word too."),
    (
        "Bram",
        "Bram nods. When old Sela comes in for her tea he smiles at her. \"Only a fever going round, grandmother. The water is fine.\"",
    ),
    ("Sela", "\"Good, good,\" says Sela, and fills her cup at the bucket."),
    ("Hedda", "Hedda takes the cup from her hand. \"This one is for washing. Drink mine.\""),
    (
        "Sela",
        "Sela looks from one to the other and frowns. They are keeping something from her, she thinks.",
    ),
];
