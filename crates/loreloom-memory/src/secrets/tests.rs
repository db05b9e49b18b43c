use loreloom_core::{
    chat::{Message, Path},
    ids::ChatId,
};

use super::*;

fn insight(kind: InsightKind, subject: &str, target: Option<&str>, content: &str) -> Insight {
    Insight {
        id: String::new(),
        kind,
        subject: subject.into(),
        target: target.map(str::to_owned),
        content: content.into(),
        ts: None,
        source_messages: None,
        receipts: vec![],
        retired: None,
        ungrounded: vec![],
    }
}

fn secrets(insights: &[&Insight], name: &str) -> Secrets {
    secrets_in(&[], insights, name)
}

fn secrets_in(path: &[PathItem], insights: &[&Insight], name: &str) -> Secrets {
    let presence = Presence::default();
    let insights = insights.to_vec();
    let sources = SecretSources {
        insights,
        private: Vec::new(),
        path,
        people: &People::of(path),
        presence: &presence,
        embed: None,
    };
    Secrets::of(&sources, name)
}

fn said(lines: &[(&str, &str)]) -> Path {
    let message = |(name, text): &(&str, &str)| {
        let role = if *name == "Ines" { Role::User } else { Role::Assistant };
        Message::new(role, Some(name), *text)
    };
    Path::of(ChatId::from("c"), lines.iter().map(message))
}

#[test]
fn one_word_that_the_character_never_heard_gives_a_secret_away() {
    let hiding = insight(
        InsightKind::Hiding,
        "Mara",
        Some("Tobin"),
        "Mara forged the lease of the mill with the seal of the notary",
    );
    let path = said(&[("Tobin", "The lease of the mill ends."), ("Ines", "It has a seal.")]);
    let secrets = secrets_in(path.items(), &[&hiding], "Tobin");
    for (text, is_revealed) in [
        ("What will come of the forged paper?", true),
        ("A notary is involved.", true),
        ("The mill has a new wheel.", false),
        ("The seal of the harbour is blue.", false),
    ] {
        assert_eq!(secrets.revealed_by(text), is_revealed, "{text}");
    }
}

#[test]
fn what_a_character_said_or_was_told_is_no_secret() {
    let note = |kind| insight(kind, "Tobin", None, "the well is poisoned");
    let unaware = note(InsightKind::Unaware);
    let told = said(&[("Ines", "Tobin, the well is poisoned!"), ("Tobin", "What?")]);
    let own = said(&[("Ines", "Well?"), ("Tobin", "They poisoned the well.")]);
    let other = said(&[("Ines", "The well is poisoned."), ("Mara", "Hush.")]);
    for (path, is_secret) in [(told, false), (own, false), (other, true)] {
        let secrets = secrets_in(path.items(), &[&unaware], "Tobin");
        assert_eq!(!secrets.is_empty(), is_secret);
    }
}

#[test]
fn to_know_that_somebody_did_it_is_not_to_know_who() {
    let content = "Mara opened the gate of the fort to the raiders";
    let hiding = insight(InsightKind::Hiding, "Mara", Some("Tobin"), content);
    let rumour = "somebody opened the gate of the fort to the raiders";
    let knowing = insight(InsightKind::Knows, "Tobin", None, rumour);
    let own = "My sister died when somebody opened the gate of the fort to the raiders.";
    let path = said(&[("Ines", "What do you know?"), ("Tobin", own)]);
    let kept = secrets_in(path.items(), &[&hiding, &knowing], "Tobin");
    assert!(kept.revealed_by("Mara opened the gate of the fort."));
    assert!(!kept.revealed_by("The sister of Tobin died when the gate of the fort was opened."));
    let told =
        said(&[("Ines", "Mara opened the gate of the fort to the raiders."), ("Tobin", "No!")]);
    assert!(secrets_in(told.items(), &[&hiding], "Tobin").is_empty());
    let confessed = "I opened the gate of the fort to the raiders.";
    let told = said(&[("Mara", confessed), ("Tobin", "You?")]);
    assert!(secrets_in(told.items(), &[&hiding], "Tobin").is_empty());
}

#[test]
fn what_was_written_with_a_secret_must_rest_on_what_the_character_heard() {
    let path = said(&[
        ("Tobin", "The ferry leaves at noon, and I mend the nets until then."),
        ("Ines", "Tobin sleeps. What weighs on you?"),
        ("Mara", "I forged the deed of the mill."),
        ("Ines", "Why did you burn the letters of the old notary too?"),
        ("Mara", "His widow would have read them to the judge in Carrow."),
        ("Ines", "Good morning, Tobin."),
        ("Tobin", "The nets are dry."),
    ]);
    let id = |at: usize| path.items()[at].id;
    let note = insight(InsightKind::Hiding, "Mara", Some("Tobin"), "Mara forged the deed");
    let hiding = Insight { receipts: vec![id(2)], ts: Some(7), ..note };
    let secrets = secrets_in(path.items(), &[&hiding], "Tobin");
    let carried: Vec<bool> = (0..7).map(|at| secrets.carried_by(&id(at))).collect();
    assert_eq!(carried, [false, false, true, true, true, false, false]);
    let rival = "Will the boatman learn what his hostess did?";
    for (text, written, is_told) in [
        (rival, Some(7), true),
        (rival, Some(8), false),
        ("Tobin mends nets until noon.", Some(7), false),
        ("A widow could have gone to the judge.", Some(7), true),
    ] {
        assert_eq!(secrets.told_by(text, &[], written), is_told, "{text}");
    }
    for (messages, is_told) in [(vec![id(0)], false), (vec![id(0), id(3)], true)] {
        assert_eq!(secrets.told_by_scene("She wept by the fire.", &messages), is_told);
    }
    let open = secrets_in(path.items(), &[&hiding], "Mara");
    assert!(!open.told_by(rival, &[], Some(7)));
}

#[test]
fn a_note_of_not_knowing_names_no_messages() {
    let path = said(&[("Mara", "It rains. The well is poisoned.")]);
    let receipts = vec![path.items()[0].id];
    let note = |kind, target| Insight {
        receipts: receipts.clone(),
        ..insight(kind, "Mara", target, "the well is poisoned")
    };
    let hiding = note(InsightKind::Hiding, Some("Tobin"));
    let unaware = Insight { subject: "Tobin".into(), ..note(InsightKind::Unaware, None) };
    let rests = |one: &Insight| {
        secrets_in(path.items(), &[one], "Tobin").given_away_by("It rained.", &receipts)
    };
    assert!(rests(&hiding));
    assert!(!rests(&unaware));
}

#[test]
fn headings_and_fragments_go_with_what_they_tell() {
    let hiding = insight(InsightKind::Hiding, "Mara", Some("Tobin"), "Mara forged the deed");
    let secrets = secrets(&[&hiding], "Tobin");
    let prose = "1. Setting: the mill.\n2. Revelations: Mara forged the deed.\n3. Threads:\n\
                 - the forged deed\n4. Events: They met; the deed was forged; it rained.\n\
                 ## The forged deed\n5. Moment: Night.";
    let expected = "1. Setting: the mill.\n4. Events: They met; it rained.\n5. Moment: Night.";
    assert_eq!(secrets.without(prose), expected);
}

#[test]
fn a_secret_is_kept_from_the_one_it_is_hidden_from_until_they_know() {
    let hiding = insight(InsightKind::Hiding, "Mara", Some("Tobin"), "Mara forged the deed");
    let unaware = insight(InsightKind::Unaware, "Tobin", None, "the well is poisoned");
    let all = [&hiding, &unaware];
    let (tobin, mara) = (secrets(&all, "Tobin"), secrets(&all, "Mara"));
    for (text, is_revealed) in [
        ("Mara forged a deed to the mill.", true),
        ("Somebody poisoned the water of the well", true),
        ("Mara likes the mill.", false),
        ("Tobin trusts Mara.", false),
    ] {
        assert_eq!(tobin.revealed_by(text), is_revealed, "{text}");
        assert!(!mara.revealed_by(text), "{text}");
    }
    let knowing = insight(InsightKind::Knows, "Tobin Reed", None, "the deed was forged by Mara");
    let tobin = secrets(&[&hiding, &unaware, &knowing], "Tobin Reed");
    assert!(!tobin.revealed_by("Mara forged a deed to the mill."));
    assert!(tobin.revealed_by("The well is poisoned."));
    let mut over = unaware.clone();
    over.retired = Some(1);
    assert!(secrets(&[&over], "Tobin").is_empty());
}

#[test]
fn what_is_hidden_from_all_is_hidden_from_each_but_its_owner() {
    let hiding = insight(InsightKind::Hiding, "Mara", Some("everyone"), "a letter in her boot");
    assert!(secrets(&[&hiding], "Odo").revealed_by("There is a letter in the boot."));
    assert!(secrets(&[&hiding], "Mara").is_empty());
}

#[test]
fn prose_loses_only_the_sentences_that_tell() {
    let hiding = insight(InsightKind::Hiding, "Mara", Some("Tobin"), "Mara forged the deed");
    let secrets = secrets(&[&hiding], "Tobin");
    let prose = "They reached the mill. Mara forged the deed by night. It rained.";
    assert_eq!(secrets.without(prose), "They reached the mill. It rained.");
}

#[test]
fn what_is_hidden_from_nobody_in_particular_is_hidden_from_all() {
    let path = said(&[("Mara", "Hm."), ("Tobin", "Hm."), ("Odo", "Hm.")]);
    for target in ["everyone else", "the rest of the crew", "nobody may know", "allen"] {
        let hiding = insight(InsightKind::Hiding, "Mara", Some(target), "Mara sank the Petrel");
        for (name, is_kept) in [("Mara", false), ("Tobin", true), ("Odo", true)] {
            let kept = secrets_in(path.items(), &[&hiding], name);
            assert_eq!(kept.revealed_by("She sank the Petrel."), is_kept, "{target}: {name}");
        }
    }
}

#[test]
fn who_has_a_part_of_anothers_name_is_somebody_else() {
    let content = "The hold is full of powder";
    for (keeper, other) in [("Mara", "Mara's Mother"), ("Captain", "Captain Rook")] {
        let path = said(&[(keeper, "Aye."), (other, "Aye."), (keeper, "Aye."), (other, "Aye.")]);
        for (keeper, other) in [(keeper, other), (other, keeper)] {
            let hiding = insight(InsightKind::Hiding, keeper, Some(other), content);
            let knowing = insight(InsightKind::Knows, keeper, None, content);
            for (name, is_kept) in [(other, true), (keeper, false)] {
                let kept = secrets_in(path.items(), &[&hiding, &knowing], name);
                assert_eq!(kept.revealed_by(content), is_kept, "{keeper} from {other}: {name}");
            }
        }
    }
}
