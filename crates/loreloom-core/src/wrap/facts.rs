//! What is known about an entry when it activates.

use super::field::{WrapField, WrapFields};
use crate::{
    book::{Book, Entry},
    chat::Role,
    place::Place,
    report::{KeyMatch, Reason, ScanPhase, TextSource, Trigger},
    turn::Turn,
    units::Tokens,
};

/// The metadata of an entry that activates; `seat` is where it goes, and in which role.
pub(crate) fn fields_of(
    (book, entry): (&Book, &Entry),
    seat: Option<(Place, Role)>,
    trigger: &Trigger,
    tokens: Tokens,
    turn: &Turn<'_>,
) -> WrapFields {
    let mut fields = WrapFields::new();
    let uid = entry.original_id.as_ref().map_or_else(|| entry.id.to_string(), ToString::to_string);
    fields.set(WrapField::Uid, uid);
    fields.set(WrapField::Name, entry.title());
    fields.set(WrapField::World, book.name.clone());
    set_trigger(&mut fields, trigger);
    fields.set(WrapField::Constant, entry.activation.constant.to_string());
    let sticky = matches!(trigger.reason, Reason::Sticky { .. });
    fields.set(WrapField::Sticky, sticky.to_string());
    if let Some((place, role)) = seat {
        set_place(&mut fields, &place, role);
    }
    if let Some(order) = entry.placement.order {
        fields.set(WrapField::Order, order.to_string());
    }
    fields.set(WrapField::Tokens, tokens.to_string());
    fields.set(WrapField::ChatLength, turn.length().0.to_string());
    if let Some(at) = turn.input.at {
        fields.set(WrapField::Timestamp, at.0.to_string());
    }
    fields
}

fn set_trigger(fields: &mut WrapFields, trigger: &Trigger) {
    if let Some(primary) = &trigger.primary {
        fields.set(WrapField::Key, primary.key.clone());
        fields.set(WrapField::ExpandedKey, primary.expanded.clone().unwrap_or_default());
    }
    fields.set_list(WrapField::Secondary, trigger.secondary.iter().map(|one| one.key.clone()));
    fields.set(
        WrapField::Scan,
        match trigger.phase {
            ScanPhase::Initial => "initial",
            ScanPhase::Recursion => "recursion",
            ScanPhase::MinActivations => "min_activations",
        },
    );
    fields.set(WrapField::ScanDepth, trigger.depth.to_string());
    fields.set(WrapField::Iteration, trigger.pass.to_string());
    fields.set(WrapField::Activation, trigger.reason.code());
    set_sources(fields, trigger);
    fields.set_list(WrapField::Parents, trigger.parents.iter().map(ToString::to_string));
    fields.set(WrapField::ViaRecursion, (!trigger.parents.is_empty()).to_string());
}

fn set_sources(fields: &mut WrapFields, trigger: &Trigger) {
    let (mut kinds, mut messages, mut roles) = (Vec::new(), Vec::new(), Vec::new());
    for place in trigger.primary.iter().chain(&trigger.secondary).flat_map(KeyMatch::places) {
        let kind = match &place.source {
            TextSource::Message { index, role, .. } => {
                messages.push(*index);
                roles.push(role.as_str().to_owned());
                "message"
            }
            TextSource::Speaker { index } => {
                messages.push(*index);
                "speaker"
            }
            TextSource::Persona => "persona",
            TextSource::Description => "description",
            TextSource::Personality => "personality",
            TextSource::DepthPrompt => "depth_prompt",
            TextSource::Scenario => "scenario",
            TextSource::CreatorNotes => "creator_notes",
            TextSource::Prompt { .. } => "prompt",
            TextSource::Entry { .. } => "entry",
            TextSource::Joined => "joined",
        };
        kinds.push(kind.to_owned());
    }
    messages.sort_unstable();
    messages.dedup();
    fields.set_list(WrapField::Source, distinct(kinds));
    fields.set_list(WrapField::MatchedIn, messages.iter().map(ToString::to_string));
    fields.set_list(WrapField::TriggeredBy, distinct(roles));
}

fn distinct(mut texts: Vec<String>) -> Vec<String> {
    texts.sort_unstable();
    texts.dedup();
    texts
}

fn set_place(fields: &mut WrapFields, place: &Place, role: Role) {
    let position = match place {
        Place::BeforeMain => "before_main".to_owned(),
        Place::AfterMain => "after_main".to_owned(),
        Place::BeforeCharacter => "before_character".to_owned(),
        Place::AfterCharacter => "after_character".to_owned(),
        Place::NoteTop => "note_top".to_owned(),
        Place::NoteBottom => "note_bottom".to_owned(),
        Place::BeforeExamples => "examples_top".to_owned(),
        Place::AfterExamples => "examples_bottom".to_owned(),
        Place::AtDepth(depth) => {
            fields.set(WrapField::Depth, depth.0.to_string());
            fields.set(WrapField::Role, role.as_str());
            "at_depth".to_owned()
        }
        Place::Outlet(name) => format!("outlet:{name}"),
        Place::Slot(name) => format!("slot:{name}"),
    };
    fields.set(WrapField::Position, position);
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use crate::{
        book::{Book, DepthFrom, Entry, Key, OriginalId, Position},
        chat::{Path, Role},
        engine::{Decision, EngineInput, decide},
        ids::ChatId,
        library::{ActiveEntries, Library},
        report::{Outcome, Stop},
        rules::Rules,
        state::StoryState,
        tokens::ByteEstimate,
        turn::{Instruments, Transcript, TurnCache, TurnInput},
        units::{Depth, Timestamp, Tokens},
        wrap::{Segment, unwrap},
    };

    fn entry(uid: i64, name: &str, key: &str, content: &str, position: Position) -> Entry {
        let mut entry = Entry::new(format!("harrow/{uid}"));
        entry.original_id = Some(OriginalId::Number(uid));
        entry.name = name.to_owned();
        entry.activation.keys = vec![Key::parse(key)];
        entry.content = content.to_owned();
        entry.placement.position = position;
        entry
    }

    fn woven(entries: Vec<Entry>, rules: &Rules, context: u32) -> Decision {
        let mut book = Book::new("harrow", "Harrow");
        book.entries = entries;
        let library = Library::compile([Arc::new(book)], &rules.world_info);
        let active = ActiveEntries::all(&library, rules.world_info.strategy);
        let path = Path::new(ChatId::from("story"));
        let mut transcript = Transcript::new(true);
        transcript.push(Role::Assistant, Some("Torvald"), "Rope in hand.");
        transcript.push(Role::User, Some("Mira"), "Ring the bell!");
        let input = TurnInput {
            user: "Mira".to_owned(),
            context: Tokens(context),
            at: Some(Timestamp(1_700)),
            ..TurnInput::default()
        };
        let turn = input.turn(&path, &transcript);
        let mut dice = turn.dice();
        let mut cache = TurnCache::default();
        let mut instruments =
            Instruments { counter: &ByteEstimate, dice: &mut dice, cache: &mut cache };
        decide(
            &EngineInput {
                library: &library,
                active: &active,
                turn: &turn,
                state: &StoryState::default(),
                rules,
            },
            &mut instruments,
        )
    }

    fn rules(wrap: &str) -> Rules {
        Rules { wrap: wrap.parse().unwrap(), ..Rules::default() }
    }

    #[test]
    fn everything_known_of_an_activation_is_told() {
        let mut bell = entry(
            7,
            "",
            "bell",
            "Cracked by lightning.",
            Position::AtDepth { from: DepthFrom::Newest },
        );
        bell.comment = "The <bell>".to_owned();
        bell.placement.depth = Some(Depth(2));
        bell.activation.secondary.active = true;
        bell.activation.secondary.keys = vec![Key::parse("rope"), Key::parse("tower")];
        let storm = entry(8, "Storm", "lightning", "It never ends.", Position::AfterCharacter);
        let outcome = woven(vec![bell, storm], &rules("xml-maximum"), 8192);
        let texts: Vec<&str> = outcome.injections.iter().map(|one| one.text.as_str()).collect();
        assert_eq!(
            texts,
            [
                "<lorebook uid=\"8\" name=\"Storm\" world=\"Harrow\" key=\"lightning\" scan=\"recursion\" scan_depth=\"2\" iteration=\"2\" activation=\"key\" source=\"entry\" parents=\"harrow/7\" via_recursion=\"true\" constant=\"false\" sticky=\"false\" position=\"after_character\" order=\"100\" tokens=\"5\" chat_length=\"2\" timestamp=\"1700\">\nIt never ends.\n</lorebook>",
                "<lorebook uid=\"7\" name=\"The &lt;bell&gt;\" world=\"Harrow\" key=\"bell\" secondary=\"rope\" scan=\"initial\" scan_depth=\"2\" iteration=\"1\" activation=\"key\" source=\"message\" matched_in=\"0,1\" triggered_by=\"assistant,user\" via_recursion=\"false\" constant=\"false\" sticky=\"false\" position=\"at_depth\" depth=\"2\" role=\"system\" order=\"100\" tokens=\"7\" chat_length=\"2\" timestamp=\"1700\">\nCracked by lightning.\n</lorebook>",
            ]
        );
        let sent: Tokens = outcome.injections.iter().map(|one| one.tokens).sum();
        assert_eq!(outcome.report.budgets[0].used, sent);
    }

    #[test]
    fn entries_are_wrapped_at_every_position() {
        let positions = [
            Position::BeforeCharacter,
            Position::AfterCharacter,
            Position::NoteTop,
            Position::NoteBottom,
            Position::AtDepth { from: DepthFrom::Newest },
            Position::ExamplesTop,
            Position::ExamplesBottom,
            Position::Outlet("gates".to_owned()),
        ];
        let entries = (0..).zip(positions).map(|(uid, position)| {
            entry(uid, "Same name", "bell", &format!("Line {uid}\n\n[/LB]"), position)
        });
        let entries: Vec<Entry> = entries.collect();
        let outcome = woven(entries, &rules("lb"), 8192);
        assert_eq!(outcome.injections.len(), 8);
        let format = rules("lb").wrap;
        let mut contents: Vec<String> = Vec::new();
        for injection in &outcome.injections {
            match unwrap(&injection.text, [&format]).as_slice() {
                [Segment::Entry(one)] if one.fields.name() == Some("Same name") => {
                    contents.push(one.content.clone());
                }
                other => panic!("{other:?}"),
            }
        }
        contents.sort();
        let expected: Vec<String> = (0..8).map(|uid| format!("Line {uid}\n\n[/LB]")).collect();
        assert_eq!(contents, expected);
    }

    #[test]
    fn a_wrapper_that_does_not_fit_keeps_its_entry_out() {
        let bell = || vec![entry(7, "Bell", "bell", "It is cracked.", Position::AfterCharacter)];
        // `It is cracked.` is 14 bytes, with `[LB:Bell]` and `[/LB]` 28; a line end each.
        // At 3.35 bytes a token that is 5 and 9, and the budget must be larger.
        for (wrap, context, fits) in [
            ("none", 24, true),
            ("none", 20, false),
            ("lb", 24, false),
            ("lb", 36, false),
            ("lb", 40, true),
        ] {
            let outcome = woven(bell(), &rules(wrap), context);
            assert_eq!(outcome.injections.len(), usize::from(fits), "{wrap} {context}");
        }
        let outcome = woven(bell(), &rules("lb"), 36);
        let stop =
            Outcome::Stopped(Stop::Budget { needed: Tokens(9), left: Tokens(8), over: Tokens(0) });
        assert_eq!(outcome.report.verdicts[0].outcome, stop);
    }

    #[test]
    fn scripts_change_the_text_and_not_its_wrapper() {
        let mut rules = rules("lb");
        let script = serde_json::json!({
            "findRegex": "/LB|bell/g", "replaceString": "gong", "placement": [5], "promptOnly": true,
        });
        rules.regex_scripts = vec![serde_json::from_value(script).unwrap()];
        let bell = entry(7, "bell", "bell", "The bell LB.", Position::AfterCharacter);
        let empty = entry(8, "empty", "bell", "", Position::AfterCharacter);
        let outcome = woven(vec![bell, empty], &rules, 8192);
        let texts: Vec<&str> = outcome.injections.iter().map(|one| one.text.as_str()).collect();
        assert_eq!(texts, ["[LB:bell]The gong gong.[/LB]"]);
    }
}
