//! Lore in text prompts goes where SillyTavern 1.19 puts its own, in every template.

use loreloom_core::{
    chat::{
        GenerationType,
        Role::{self, Assistant, System, User},
    },
    place::{Injection, Place, Provenance},
    prompt::PromptMessage,
    units::{Depth, Tokens},
};
use loreloom_recognise::{Body, Explicit, KnownStories, Request};

/// What comes before and after a text.
type Around = (&'static str, &'static str);

/// How SillyTavern writes the prompts of a model.
#[derive(Clone, Copy)]
struct Preset {
    name: &'static str,
    story: Around,
    user: Around,
    model: Around,
    system: Around,
    /// What opens the reply.
    open: &'static str,
    /// Whether the user's first turn is a filler, where the model speaks first.
    aligned: bool,
}

const fn preset(
    name: &'static str,
    story: Around,
    [user, model, system]: [Around; 3],
    open: &'static str,
) -> Preset {
    Preset { name, story, user, model, system, open, aligned: false }
}

const fn aligned(preset: Preset) -> Preset {
    Preset { aligned: true, ..preset }
}

const ALPACA: [Around; 3] =
    [("### Instruction:\n", "\n\n"), ("### Response:\n", "\n\n"), ("### Input:\n", "\n\n")];
const CHATML: [Around; 3] = [
    ("<|im_start|>user\n", "<|im_end|>\n"),
    ("<|im_start|>assistant\n", "<|im_end|>\n"),
    ("<|im_start|>system\n", "<|im_end|>\n"),
];
const NAMED: [Around; 3] = [
    ("<|im_start|>Wren\n", "<|im_end|>\n"),
    ("<|im_start|>Mira Vell\n", "<|im_end|>\n"),
    ("<|im_start|>system\n", "<|im_end|>\n"),
];
const LLAMA_2: [Around; 3] = [("[INST] ", " [/INST]\n"), ("", "\n"), ("[INST] ", " [/INST]\n")];
const LLAMA_3: [Around; 3] = [
    ("<|start_header_id|>user<|end_header_id|>\n\n", "<|eot_id|>"),
    ("<|start_header_id|>assistant<|end_header_id|>\n\n", "<|eot_id|>"),
    ("<|start_header_id|>system<|end_header_id|>\n\n", "<|eot_id|>"),
];
const LLAMA_4: [Around; 3] = [
    ("<|header_start|>user<|header_end|>\n\n", "<|eot|>"),
    ("<|header_start|>assistant<|header_end|>\n\n", "<|eot|>"),
    ("<|header_start|>system<|header_end|>\n\n", "<|eot|>"),
];
const MISTRAL_V1: [Around; 3] = [(" [INST] ", ""), (" [/INST] ", "</s>"), (" [INST] ", "")];
const MISTRAL_V2: [Around; 3] = [("[INST] ", ""), ("[/INST] ", "</s>"), ("[INST] ", "")];
const TEKKEN_V3: [Around; 3] = [("[INST]", ""), ("[/INST]", "</s>"), ("[INST]", "")];
const MISTRAL_V7: [Around; 3] =
    [("[INST] ", "[/INST]"), (" ", "</s>"), ("[SYSTEM_PROMPT] ", "[/SYSTEM_PROMPT]")];
const TEKKEN_V7: [Around; 3] =
    [("[INST]", "[/INST]"), ("", "</s>"), ("[SYSTEM_PROMPT]", "[/SYSTEM_PROMPT]")];
const GEMMA_2: [Around; 3] = [
    ("<start_of_turn>user\n", "<end_of_turn>\n"),
    ("<start_of_turn>model\n", "<end_of_turn>\n"),
    ("<start_of_turn>user\n", "<end_of_turn>\n"),
];
const GEMMA_4: [Around; 3] = [
    ("<|turn>user\n", "<turn|>\n"),
    ("<|turn>model\n", "<turn|>\n"),
    ("<|turn>system\n", "<turn|>\n"),
];
const COMMAND_R: [Around; 3] = [
    ("<|START_OF_TURN_TOKEN|><|USER_TOKEN|>", "<|END_OF_TURN_TOKEN|>"),
    ("<|START_OF_TURN_TOKEN|><|CHATBOT_TOKEN|>", "<|END_OF_TURN_TOKEN|>"),
    ("<|START_OF_TURN_TOKEN|><|SYSTEM_TOKEN|>", "<|END_OF_TURN_TOKEN|>"),
];
const METHARME: [Around; 3] = [("<|user|>", ""), ("<|model|>", ""), ("<|user|>", "")];
const VICUNA: [Around; 3] = [("\nUSER: ", ""), ("\nASSISTANT: ", "</s>"), ("\nUSER: ", "")];
const VICUNA_0: [Around; 3] =
    [("### Human:\n", "\n"), ("### Assistant:\n", "\n"), ("### Human:\n", "\n")];
const SYNTHIA: [Around; 3] = [("USER: ", "\n"), ("ASSISTANT: ", "\n"), ("SYSTEM: ", "\n")];
const PHI: [Around; 3] =
    [("<|user|>\n", "<|end|>\n"), ("<|assistant|>\n", "<|end|>\n"), ("<|system|>\n", "<|end|>\n")];
const TULU: [Around; 3] =
    [("<|user|>\n", "\n"), ("<|assistant|>\n", "<|end_of_text|>\n"), ("<|system|>\n", "\n")];
const GLM: [Around; 3] = [("<|user|>\n", ""), ("<|assistant|>\n", ""), ("<|user|>\n", "")];
const DEEPSEEK: [Around; 3] = [
    ("<\u{ff5c}User\u{ff5c}>", ""),
    ("<\u{ff5c}Assistant\u{ff5c}>", "<\u{ff5c}end\u{2581}of\u{2581}sentence\u{ff5c}>"),
    ("<\u{ff5c}User\u{ff5c}>", ""),
];
const HARMONY: [Around; 3] = [
    ("<|start|>user<|message|>", "<|end|>"),
    ("<|start|>assistant<|channel|>final<|message|>", "<|end|>"),
    ("<|start|>developer<|message|>", "<|end|>"),
];
const DOTS: [Around; 3] = [
    ("<|userprompt|>\n", "<|endofuserprompt|>\n"),
    ("<|response|>\n", "<|endofresponse|>\n"),
    ("<|system|>\n", "<|endofsystem|>\n"),
];

const KOBOLD: [Around; 3] = [
    ("{{[INPUT]}}", "{{[INPUT_END]}}"),
    ("{{[OUTPUT]}}", "{{[OUTPUT_END]}}"),
    ("{{[SYSTEM]}}", "{{[SYSTEM_END]}}"),
];

const PRESETS: [Preset; 30] = [
    preset("Alpaca", ("", "\n\n"), ALPACA, "### Response:\n"),
    preset("ChatML", CHATML[2], CHATML, "<|im_start|>assistant\n"),
    preset("ChatML-Names", NAMED[2], NAMED, "<|im_start|>Mira Vell\n"),
    aligned(preset("Llama 2", ("[INST] <<SYS>>\n", "\n<</SYS>> Understood. [/INST]"), LLAMA_2, "")),
    preset("Llama 3", LLAMA_3[2], LLAMA_3, LLAMA_3[1].0),
    preset(
        "Llama 4",
        ("<|begin_of_text|><|header_start|>system<|header_end|>\n\n", "<|eot|>"),
        LLAMA_4,
        LLAMA_4[1].0,
    ),
    aligned(preset("Mistral V1", (" [INST] ", " [/INST] Understood.</s>"), MISTRAL_V1, " [/INST]")),
    aligned(preset(
        "Mistral V2 & V3",
        ("[INST] ", "[/INST] Understood.</s>"),
        MISTRAL_V2,
        "[/INST]",
    )),
    aligned(preset(
        "Mistral V3-Tekken",
        ("[INST]", "[/INST]Understood.</s>"),
        TEKKEN_V3,
        "[/INST]",
    )),
    preset("Mistral V7", MISTRAL_V7[2], MISTRAL_V7, " "),
    preset("Mistral V7-Tekken", TEKKEN_V7[2], TEKKEN_V7, ""),
    preset("Gemma 2", GEMMA_2[2], GEMMA_2, "<start_of_turn>model\n"),
    preset("Gemma 4", GEMMA_4[2], GEMMA_4, "<|turn>model\n"),
    preset("Command R", COMMAND_R[2], COMMAND_R, COMMAND_R[1].0),
    preset("Metharme", ("<|system|>", ""), METHARME, "<|model|>"),
    preset("Vicuna 1.0", ("", "\n"), VICUNA_0, "### Assistant:\n"),
    preset("Vicuna 1.1", ("BEGINNING OF CONVERSATION: ", ""), VICUNA, "\nASSISTANT: "),
    aligned(preset("Synthia", SYNTHIA[2], SYNTHIA, "ASSISTANT: ")),
    preset("Phi", PHI[2], PHI, "<|assistant|>\n"),
    preset("Tulu", TULU[2], TULU, "<|assistant|>\n"),
    preset("GLM-4", ("[gMASK]<sop>", "\n"), GLM, "<|assistant|>\n"),
    preset("DeepSeek", ("", ""), DEEPSEEK, "<\u{ff5c}Assistant\u{ff5c}>"),
    preset("Harmony", ("<|start|>system<|message|>", "<|end|>"), HARMONY, HARMONY[1].0),
    preset("Dots", DOTS[2], DOTS, "<|response|>\n"),
    preset("Moonshot", MOONSHOT[2], MOONSHOT, MOONSHOT[1].0),
    preset("KoboldCpp", KOBOLD[2], KOBOLD, "{{[OUTPUT]}}"),
    // The line that parts the chat from the story string, after an end of its own and without.
    preset("Vicuna 1.0, ***", ("", "\n***\n"), VICUNA_0, "### Assistant:\n"),
    preset("Vicuna 1.1, ***", ("BEGINNING OF CONVERSATION: ", "***\n"), VICUNA, "\nASSISTANT: "),
    preset("Harmony, ***", ("<|start|>system<|message|>", "<|end|>***\n"), HARMONY, HARMONY[1].0),
    preset("Koala", ("BEGINNING OF CONVERSATION: ", "\n"), KOALA, "GPT: "),
];
const MOONSHOT: [Around; 3] = [
    ("<|im_user|>user<|im_middle|>", "<|im_end|>"),
    ("<|im_assistant|>assistant<|im_middle|>", "<|im_end|>"),
    ("<|im_system|>system<|im_middle|>", "<|im_end|>"),
];
const KOALA: [Around; 3] = [("USER: ", " "), ("GPT: ", "</s>"), ("USER: ", " ")];

const MAIN: &str = "Write Mira Vell's next reply in a fictional chat between Mira Vell and Wren.";
const CARD: &str = "Mira Vell keeps the ferry.\nWren is her guest.";
const FILLER: &str =
    "Let's get started. Please respond based on the information and instructions provided above.";
const CHAT: [(Role, &str); 4] = [
    (Assistant, "The door opens."),
    (User, "Who rang the bell?"),
    (Assistant, "Nobody did."),
    (User, "And now?"),
];

impl Preset {
    fn turn(&self, role: Role, text: &str) -> String {
        let (before, after) = match role {
            User => self.user,
            Assistant => self.model,
            System | Role::Tool => self.system,
        };
        format!("{before}{text}{after}")
    }

    /// The prompt with these lines before the chat.
    fn prompt(&self, story: &str, chat: &[(Role, &str)]) -> String {
        let mut prompt = format!("{}{story}{}", self.story.0, self.story.1);
        if self.aligned {
            prompt.push_str(&self.turn(User, FILLER));
        }
        for (role, text) in chat {
            prompt.push_str(&self.turn(*role, text));
        }
        prompt.push_str(self.open);
        prompt
    }

    /// The prompt whose last message is to be continued.
    fn continued(&self, chat: &[(Role, &str)], begun: &str) -> String {
        let prompt = self.prompt(&format!("{MAIN}\n{CARD}"), chat);
        // The reply is opened as any other.
        format!("{}{}{begun}", prompt.strip_suffix(self.open).unwrap(), self.model.0)
    }
}

fn woven(prompt: &str, place: Place, role: Role, generation: GenerationType) -> String {
    let source = Provenance::Memory("test".to_owned());
    let lore = Injection { place, role, text: "LORE".to_owned(), tokens: Tokens(1), source };
    let explicit = Explicit { generation: Some(generation), ..Explicit::default() };
    let body = Body::Prompt(prompt.to_owned());
    let stop = vec!["\nWren:".to_owned()];
    let request = Request { body, stop, explicit, ..Request::default() };
    let layout = KnownStories::new().recognise(&request).layout(&request, false);
    let message = PromptMessage { role: User, name: None, content: prompt.into() };
    let plan = layout.plan(std::slice::from_ref(&message), &[lore]);
    plan.apply(vec![message]).messages.remove(0).content.to_string()
}

#[test]
fn lore_at_a_depth_is_a_turn_of_its_own() {
    let story = format!("{MAIN}\n{CARD}");
    for preset in &PRESETS {
        let prompt = preset.prompt(&story, &CHAT);
        for depth in 0..=3 {
            for role in [System, User, Assistant] {
                let mut chat = CHAT.to_vec();
                chat.insert(CHAT.len() - depth, (role, "LORE"));
                let place = Place::AtDepth(Depth(u32::try_from(depth).unwrap()));
                let found = woven(&prompt, place, role, GenerationType::Normal);
                assert_eq!(found, preset.prompt(&story, &chat), "{} {depth} {role:?}", preset.name);
            }
        }
    }
}

#[test]
fn lore_around_the_card_is_in_the_story_string() {
    let story = format!("{MAIN}\n{CARD}");
    for preset in &PRESETS {
        let prompt = preset.prompt(&story, &CHAT);
        for (place, expected) in [
            (Place::BeforeMain, format!("LORE\n{MAIN}\n{CARD}")),
            (Place::AfterMain, format!("{MAIN}\nLORE\n{CARD}")),
            (Place::BeforeCharacter, format!("{MAIN}\nLORE\n{CARD}")),
            (Place::AfterCharacter, format!("{MAIN}\n{CARD}\nLORE")),
            (Place::AfterExamples, format!("{MAIN}\n{CARD}\nLORE")),
        ] {
            let found = woven(&prompt, place.clone(), System, GenerationType::Normal);
            assert_eq!(found, preset.prompt(&expected, &CHAT), "{} {place:?}", preset.name);
        }
    }
}

#[test]
fn a_reply_that_is_continued_begins_with_its_own_words() {
    for preset in &PRESETS {
        let (chat, begun) = (&CHAT[..2], "She walks to");
        let prompt = preset.continued(chat, begun);
        let with_lore = [CHAT[0], CHAT[1], (System, "LORE")];
        for depth in [0, 1] {
            let place = Place::AtDepth(Depth(depth));
            let found = woven(&prompt, place, System, GenerationType::Continue);
            assert_eq!(found, preset.continued(&with_lore, begun), "{} {depth}", preset.name);
        }
    }
}
