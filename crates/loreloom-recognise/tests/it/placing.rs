//! Texts are placed where their authors want them in prompts as front ends build them.

use loreloom_core::{
    assemble::Layout,
    chat::Role::{self, Assistant, System, Tool, User},
    place::{Injection, LOREBOOK_SLOT, Place, Provenance},
    prompt::PromptMessage,
    units::{Depth, Tokens},
    wrap::{WrapField, WrapFields, WrapFormat, wrap as wrap_text},
};
use loreloom_recognise::{Body, KnownStories, Request, WireMessage};

fn injection(place: Place, role: Role, text: &str) -> Injection {
    let source = Provenance::Memory("test".to_owned());
    Injection { place, role, text: text.to_owned(), tokens: Tokens(1), source }
}

fn lore(place: Place) -> Vec<Injection> {
    vec![injection(place, System, "LORE")]
}

fn chat(messages: &[(Role, &str)]) -> Request {
    let message = |&(role, text): &(Role, &str)| WireMessage {
        role,
        text: text.into(),
        tool: role == Tool || text == "call",
        ..WireMessage::default()
    };
    let body = Body::Messages(messages.iter().map(message).collect());
    Request { stream: Some(true), body, ..Request::default() }
}

fn layout(request: &Request, strict: bool) -> Layout {
    KnownStories::new().recognise(request).layout(request, strict)
}

fn said(messages: &[(Role, &str)]) -> Vec<PromptMessage> {
    let message =
        |&(role, text): &(Role, &str)| PromptMessage { role, name: None, content: text.into() };
    messages.iter().map(message).collect()
}

fn woven(messages: &[(Role, &str)], injections: &[Injection], strict: bool) -> Vec<String> {
    let prompt = said(messages);
    let plan = layout(&chat(messages), strict).plan(&prompt, injections);
    let assembled = plan.apply(prompt.clone());
    for span in &assembled.spans {
        assert!(assembled.messages[span.message].content[span.start..span.end].contains("LORE"));
    }
    assert_eq!(plan.seams(&prompt).unpick(&assembled.messages), Some(prompt));
    assembled.messages.into_iter().map(|message| message.content.into()).collect()
}

fn woven_prompt(text: &str, injections: &[Injection]) -> String {
    let body = Body::Prompt(text.to_owned());
    let request = Request { body, stop: vec!["\nWren:".to_owned()], ..Request::default() };
    let prompt = said(&[(User, text)]);
    let plan = layout(&request, false).plan(&prompt, injections);
    plan.apply(prompt).messages.remove(0).content.to_string()
}

const BUILT: [(Role, &str); 7] = [
    (System, "main"),
    (System, "card"),
    (System, "[Example Chat]"),
    (System, "[Start a new Chat]"),
    (Assistant, "Come in."),
    (User, "I do."),
    (System, "Be brief."),
];

#[test]
fn places_are_found_around_main_prompt_card_examples_and_chat() {
    for (place, at) in [
        (Place::BeforeMain, 0),
        (Place::AfterMain, 1),
        (Place::BeforeCharacter, 1),
        (Place::AfterCharacter, 2),
        (Place::BeforeExamples, 2),
        (Place::AfterExamples, 3),
        (Place::AtDepth(Depth(0)), 6),
        (Place::AtDepth(Depth(1)), 5),
        (Place::AtDepth(Depth(2)), 4),
        (Place::AtDepth(Depth(99)), 4),
        (Place::NoteTop, 4),
    ] {
        let found = woven(&BUILT, &lore(place.clone()), false);
        assert_eq!(found.iter().position(|text| text == "LORE"), Some(at), "{place:?}");
    }
}

#[test]
fn the_lorebook_stands_where_the_template_has_it_each_entry_a_message_in_its_order() {
    let slot = |role, text| injection(Place::Slot(LOREBOOK_SLOT.to_owned()), role, text);
    let all = [
        slot(System, "LORE 1"),
        slot(Assistant, "LORE 2"),
        slot(System, "LORE 3"),
        injection(Place::BeforeCharacter, System, "LORE before"),
        injection(Place::Slot("other".to_owned()), System, "LORE nowhere"),
    ];
    let found = woven(&BUILT, &all, false);
    assert_eq!(found[..6], ["main", "LORE 1", "LORE 2", "LORE 3", "LORE before", "card"]);
    assert_eq!(found.len(), BUILT.len() + 4);
    let strict = woven(&[(System, "card"), (User, "1")], &all[..2], true);
    assert_eq!(strict, ["LORE 1\n\nLORE 2\n\ncard", "1"]);
    let marked = [(System, "main {{loreloom::lorebook}}"), (System, "card"), (User, "1")];
    assert_eq!(woven(&marked, &all[..2], false), ["main", "LORE 1", "LORE 2", "card", "1"]);
}

#[test]
fn lore_of_the_note_stands_around_it() {
    let mut prompt = BUILT.to_vec();
    prompt.insert(5, (System, "[Keep it quiet.]"));
    let top = woven(&prompt, &lore(Place::NoteTop), false);
    assert_eq!(top[4..8], ["Come in.", "LORE", "[Keep it quiet.]", "I do."]);
    let bottom = woven(&prompt, &lore(Place::NoteBottom), false);
    assert_eq!(bottom[4..8], ["Come in.", "[Keep it quiet.]", "LORE", "I do."]);
}

#[test]
fn at_one_depth_the_model_is_on_top_and_the_system_at_the_bottom() {
    let at = |role, text| injection(Place::AtDepth(Depth(1)), role, text);
    let all = [at(System, "LORE s"), at(User, "LORE u"), at(Assistant, "LORE a")];
    let found = woven(&[(User, "1"), (Assistant, "2"), (User, "3")], &all, false);
    assert_eq!(found, ["1", "2", "LORE a", "LORE u", "LORE s", "3"]);
}

#[test]
fn strict_roles_stay_as_they_alternate() {
    let prompt = [(System, "card"), (User, "1"), (Assistant, "2"), (User, "3")];
    for (place, expected) in [
        (Place::AtDepth(Depth(0)), ["card", "1", "2", "3\n\nLORE"]),
        (Place::AtDepth(Depth(1)), ["card", "1", "2", "LORE\n\n3"]),
        (Place::AtDepth(Depth(2)), ["card", "1\n\nLORE", "2", "3"]),
        (Place::AfterCharacter, ["card\n\nLORE", "1", "2", "3"]),
        (Place::BeforeMain, ["LORE\n\ncard", "1", "2", "3"]),
    ] {
        assert_eq!(woven(&prompt, &lore(place.clone()), true), expected, "{place:?}");
    }
}

#[test]
fn a_merged_prompt_is_written_into() {
    let prompt = [
        (System, "main\n\ncard\n\n[Start a new Chat]"),
        (Assistant, "Come in."),
        (User, "One.\n\nTwo."),
    ];
    for (place, expected) in [
        (
            Place::AfterMain,
            ["main\n\nLORE\n\ncard\n\n[Start a new Chat]", "Come in.", "One.\n\nTwo."],
        ),
        (
            Place::AfterCharacter,
            ["main\n\ncard\n\nLORE\n\n[Start a new Chat]", "Come in.", "One.\n\nTwo."],
        ),
        (
            Place::AtDepth(Depth(1)),
            ["main\n\ncard\n\n[Start a new Chat]", "Come in.", "One.\n\nLORE\n\nTwo."],
        ),
    ] {
        assert_eq!(woven(&prompt, &lore(place.clone()), false), expected, "{place:?}");
    }
}

#[test]
fn texts_of_the_model_are_written_into_its_own_messages() {
    let prompt = [(System, "card"), (Assistant, "0"), (User, "1"), (Assistant, "2"), (User, "3")];
    let at = |depth| [injection(Place::AtDepth(Depth(depth)), Assistant, "LORE")];
    for (depth, expected) in [
        (0, ["card", "0", "1", "2\n\nLORE", "3"]),
        (1, ["card", "0", "1", "2\n\nLORE", "3"]),
        (2, ["card", "0", "1", "LORE\n\n2", "3"]),
        (9, ["card", "LORE\n\n0", "1", "2", "3"]),
    ] {
        assert_eq!(woven(&prompt, &at(depth), true), expected, "{depth}");
    }
}

#[test]
fn merged_prompts_with_system_messages_inside_get_others() {
    let prompt = [
        (System, "main\n\ncard\n\n[Start a new Chat]"),
        (Assistant, "Come in."),
        (User, "One.\n\nTwo."),
        (System, "[Be brief.]"),
    ];
    let found = woven(&prompt, &lore(Place::AtDepth(Depth(0))), false);
    assert_eq!(found[1..], ["Come in.", "One.\n\nTwo.", "LORE", "[Be brief.]"]);
    let found = woven(&prompt, &lore(Place::AtDepth(Depth(2))), false);
    assert_eq!(found[1..], ["Come in.", "LORE", "One.\n\nTwo.", "[Be brief.]"]);
    // Inside of a merged message there is no place for another.
    let found = woven(&prompt, &lore(Place::AtDepth(Depth(1))), false);
    assert_eq!(found[1..], ["Come in.", "One.\n\nLORE\n\nTwo.", "[Be brief.]"]);
}

#[test]
fn a_call_and_its_results_stay_together() {
    let prompt = [(User, "1"), (Assistant, "call"), (Tool, "a"), (Tool, "b"), (Assistant, "2")];
    let deep = woven(&prompt, &lore(Place::AtDepth(Depth(1))), false);
    assert_eq!(deep, ["1", "call", "a", "b", "LORE", "2"]);
    let open = &prompt[..4];
    assert_eq!(
        woven(open, &lore(Place::AtDepth(Depth(0))), false),
        ["1", "call", "a", "b", "LORE"]
    );
    assert_eq!(
        woven(open, &lore(Place::AtDepth(Depth(1))), false),
        ["LORE", "1", "call", "a", "b"]
    );
}

#[test]
fn markers_win_and_memory_answers_its_own() {
    let all = [
        injection(Place::Outlet("bells".to_owned()), System, "LORE o"),
        injection(Place::AtDepth(Depth(0)), System, "LORE m"),
    ];
    let prompt =
        [(System, "x {{outlet::bells}} y {{smartmemory-test}} {{loreloom::none}}."), (User, "1")];
    assert_eq!(woven(&prompt, &all, false), ["x LORE o y LORE m .", "1"]);
    let unasked = [injection(Place::Outlet("bells".to_owned()), System, "LORE")];
    assert_eq!(woven(&[(User, "1")], &unasked, false), ["1"]);
}

#[test]
fn text_prompts_are_written_in_their_own_separators() {
    let chatml = "<|im_start|>system\nmain\ncard<|im_end|>\n<|im_start|>user\n1<|im_end|>\n<|im_start|>assistant\n2<|im_end|>\n<|im_start|>user\n3<|im_end|>\n<|im_start|>assistant\n";
    assert_eq!(
        woven_prompt(chatml, &lore(Place::AtDepth(Depth(1)))),
        chatml.replace(
            "<|im_start|>user\n3",
            "<|im_start|>system\nLORE<|im_end|>\n<|im_start|>user\n3"
        )
    );
    assert_eq!(
        woven_prompt(chatml, &lore(Place::AtDepth(Depth(0)))),
        chatml.replace("3<|im_end|>\n", "3<|im_end|>\n<|im_start|>system\nLORE<|im_end|>\n")
    );
    assert_eq!(
        woven_prompt(chatml, &lore(Place::AfterCharacter)),
        chatml.replace("card", "card\nLORE")
    );
    let mistral = "[INST]main[/INST]Understood.</s>[INST]1[/INST]2</s>[INST]3[/INST]";
    assert_eq!(
        woven_prompt(mistral, &lore(Place::AtDepth(Depth(1)))),
        mistral.replace("[INST]3", "[INST]LORE[INST]3")
    );
    let names = "main\n***\nMira: 1\nWren: 2\nMira:";
    assert_eq!(
        woven_prompt(names, &lore(Place::AtDepth(Depth(1)))),
        "main\n***\nMira: 1\nLORE\nWren: 2\nMira:"
    );
}

#[test]
fn texts_of_one_depth_and_role_are_one_message_and_those_of_the_note_come_first() {
    let all = [
        injection(Place::AtDepth(Depth(4)), System, "LORE deep"),
        injection(Place::NoteBottom, System, "LORE bottom"),
        injection(Place::NoteTop, System, "LORE top"),
    ];
    let found = woven(&[(User, "1"), (Assistant, "2"), (User, "3")], &all, false);
    assert_eq!(found, ["LORE top\nLORE bottom\nLORE deep", "1", "2", "3"]);
}

#[test]
fn with_one_system_message_lore_before_the_card_stands_before_it() {
    let prompt = [(System, "main\n\ncard"), (User, "1")];
    let before = woven(&prompt, &lore(Place::BeforeCharacter), false);
    assert_eq!(before, ["LORE", "main\n\ncard", "1"]);
    let after = woven(&prompt, &lore(Place::AfterCharacter), false);
    assert_eq!(after, ["main\n\ncard", "LORE", "1"]);
}

#[test]
fn what_the_front_end_has_put_in_itself_is_not_put_in_again() {
    let prompt = [(System, "main"), (System, "The bell is cracked.\nLORE"), (User, "1")];
    let messages = said(&prompt);
    let all = [
        injection(Place::BeforeCharacter, System, "LORE"),
        injection(Place::BeforeCharacter, System, "LORE too"),
    ];
    let plan = layout(&chat(&prompt), false).plan(&messages, &all);
    assert_eq!(plan.already, [Provenance::Memory("test".to_owned())]);
    let told: Vec<loreloom_core::chat::Text> =
        plan.apply(messages).messages.into_iter().map(|message| message.content).collect();
    assert_eq!(told, ["main", "LORE too", "The bell is cracked.\nLORE", "1"]);
    let spoken = [(System, "main"), (User, "LORE")];
    assert_eq!(woven(&spoken, &lore(Place::AfterCharacter), false), ["main", "LORE", "LORE"]);
}

#[test]
fn what_the_front_end_has_put_in_itself_is_known_in_our_wrapper_too() {
    let prompt = [(System, "main"), (System, "LORE & more"), (User, "1")];
    let custom = "custom:<lore n=\"{{name}}\">\n{{content}}\n</lore>";
    for format in ["xml", "markdown", "lb", "world-info", custom] {
        let wrap: WrapFormat = format.parse().unwrap();
        let mut fields = WrapFields::new();
        fields.set(WrapField::Name, "Bell");
        let wrapped = |text: &str| {
            injection(Place::BeforeCharacter, System, &wrap_text(&wrap, &fields, text))
        };
        let all = [wrapped("LORE & more"), wrapped("Other LORE")];
        let mut layout = layout(&chat(&prompt), false);
        layout.wrap = wrap.clone();
        let plan = layout.plan(&said(&prompt), &all);
        assert_eq!(plan.already.len(), 1, "{format}");
        let told: String = plan
            .apply(said(&prompt))
            .messages
            .into_iter()
            .map(|one| one.content.to_string())
            .collect();
        assert_eq!(told.matches("LORE").count(), 2, "{format}: {told}");
    }
}

#[test]
fn markers_inside_markers_do_not_overlap() {
    let all = [injection(Place::Outlet("b".to_owned()), System, "LORE")];
    let nested = [(User, "{{outlet::{{outlet::b}} }} {{outlet::b")];
    assert_eq!(woven(&nested, &all, false), ["{{outlet::LORE }} {{outlet::b"]);
}
