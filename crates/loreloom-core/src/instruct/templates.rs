//! The separators that models are trained on.
//!
//! Only facts: what opens and ends a turn in each family's prompts.

use crate::chat::Role;

/// How a family of models separates turns.
#[derive(Debug, PartialEq, Eq)]
pub struct Template {
    /// Its common name.
    pub name: &'static str,
    /// What opens a turn of each role.
    pub openings: &'static [(Role, &'static str)],
    /// What may end a turn.
    pub closings: &'static [&'static str],
    /// Whether prompts begin with instructions as the user's turn, or without any role.
    pub system_as_user: bool,
    /// How texts of the system between other turns are written.
    pub system_turns: SystemTurns,
    /// What front ends write before and after a turn of each role.
    pub writes: &'static [(Role, &'static str, &'static str)],
    /// Whether the end of the user's turn is what opens the model's.
    pub answer_closes: bool,
    /// The text before and after the speaker's name, if a name may replace the role.
    pub named: Option<(&'static str, &'static str)>,
    /// Whether text that follows the end of a turn is the model's next.
    pub model_unopened: bool,
    /// What its prompts also hold, where its openings alone may be people's names.
    pub holds: Option<&'static str>,
    /// The text before and after the speaker's name, if a turn may begin with a line that is only
    /// that.
    pub heading: Option<(&'static str, &'static str)>,
}

/// How a template writes texts of the system between other turns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SystemTurns {
    /// As turns of their own.
    Own,
    /// As turns of their own, if the prompt has one already; else as the user's.
    IfShown,
    /// As the user's turns.
    AsUser,
}

/// What most of them have.
const PLAIN: Template = Template {
    name: "",
    openings: &[],
    closings: &[],
    system_as_user: false,
    system_turns: SystemTurns::Own,
    writes: &[],
    answer_closes: false,
    named: None,
    model_unopened: false,
    holds: None,
    heading: None,
};

/// What the templates of Llama 2 and Mistral have in common.
const INST: Template = Template {
    openings: &[
        (Role::System, "[SYSTEM_PROMPT]"),
        (Role::User, "[INST]"),
        (Role::Assistant, "[/INST]"),
        (Role::Assistant, "[/SYSTEM_PROMPT]"),
    ],
    closings: &["</s>"],
    system_as_user: true,
    model_unopened: true,
    ..PLAIN
};

/// Known templates; the first that opens a turn in a prompt is the prompt's.
pub const TEMPLATES: &[Template] = &[
    Template {
        name: "ChatML",
        openings: &[
            (Role::System, "<|im_start|>system"),
            (Role::User, "<|im_start|>user"),
            (Role::Assistant, "<|im_start|>assistant"),
        ],
        closings: &["<|im_end|>"],
        named: Some(("<|im_start|>", "\n")),
        writes: &[
            (Role::System, "<|im_start|>system\n", "<|im_end|>\n"),
            (Role::User, "<|im_start|>user\n", "<|im_end|>\n"),
            (Role::Assistant, "<|im_start|>assistant\n", "<|im_end|>\n"),
        ],
        ..PLAIN
    },
    Template {
        name: "Llama 3",
        openings: &[
            (Role::System, "<|start_header_id|>system<|end_header_id|>"),
            (Role::User, "<|start_header_id|>user<|end_header_id|>"),
            (Role::Assistant, "<|start_header_id|>assistant<|end_header_id|>"),
        ],
        closings: &["<|eot_id|>"],
        named: Some(("<|start_header_id|>", "<|end_header_id|>")),
        writes: &[
            (Role::System, "<|start_header_id|>system<|end_header_id|>\n\n", "<|eot_id|>"),
            (Role::User, "<|start_header_id|>user<|end_header_id|>\n\n", "<|eot_id|>"),
            (Role::Assistant, "<|start_header_id|>assistant<|end_header_id|>\n\n", "<|eot_id|>"),
        ],
        ..PLAIN
    },
    Template {
        name: "Llama 4",
        openings: &[
            (Role::System, "<|header_start|>system<|header_end|>"),
            (Role::User, "<|header_start|>user<|header_end|>"),
            (Role::Assistant, "<|header_start|>assistant<|header_end|>"),
        ],
        closings: &["<|eot|>"],
        named: Some(("<|header_start|>", "<|header_end|>")),
        writes: &[
            (Role::System, "<|header_start|>system<|header_end|>\n\n", "<|eot|>"),
            (Role::User, "<|header_start|>user<|header_end|>\n\n", "<|eot|>"),
            (Role::Assistant, "<|header_start|>assistant<|header_end|>\n\n", "<|eot|>"),
        ],
        ..PLAIN
    },
    Template {
        name: "Gemma",
        openings: &[
            (Role::System, "<start_of_turn>system"),
            (Role::User, "<start_of_turn>user"),
            (Role::Assistant, "<start_of_turn>model"),
        ],
        closings: &["<end_of_turn>"],
        system_as_user: true,
        system_turns: SystemTurns::AsUser,
        writes: &[
            (Role::User, "<start_of_turn>user\n", "<end_of_turn>\n"),
            (Role::Assistant, "<start_of_turn>model\n", "<end_of_turn>\n"),
        ],
        ..PLAIN
    },
    Template {
        name: "Command R",
        openings: &[
            (Role::System, "<|START_OF_TURN_TOKEN|><|SYSTEM_TOKEN|>"),
            (Role::User, "<|START_OF_TURN_TOKEN|><|USER_TOKEN|>"),
            (Role::Assistant, "<|START_OF_TURN_TOKEN|><|CHATBOT_TOKEN|>"),
        ],
        closings: &["<|END_OF_TURN_TOKEN|>"],
        writes: &[
            (Role::System, "<|START_OF_TURN_TOKEN|><|SYSTEM_TOKEN|>", "<|END_OF_TURN_TOKEN|>"),
            (Role::User, "<|START_OF_TURN_TOKEN|><|USER_TOKEN|>", "<|END_OF_TURN_TOKEN|>"),
            (Role::Assistant, "<|START_OF_TURN_TOKEN|><|CHATBOT_TOKEN|>", "<|END_OF_TURN_TOKEN|>"),
        ],
        ..PLAIN
    },
    Template {
        name: "DeepSeek",
        openings: &[(Role::User, "<｜User｜>"), (Role::Assistant, "<｜Assistant｜>")],
        closings: &["<｜end▁of▁sentence｜>"],
        system_as_user: true,
        system_turns: SystemTurns::AsUser,
        writes: &[
            (Role::User, "<｜User｜>", ""),
            (Role::Assistant, "<｜Assistant｜>", "<｜end▁of▁sentence｜>"),
        ],
        ..PLAIN
    },
    Template {
        name: "Gemma 4",
        openings: &[
            (Role::System, "<|turn>system"),
            (Role::User, "<|turn>user"),
            (Role::Assistant, "<|turn>model"),
        ],
        closings: &["<turn|>"],
        writes: &[
            (Role::System, "<|turn>system\n", "<turn|>\n"),
            (Role::User, "<|turn>user\n", "<turn|>\n"),
            (Role::Assistant, "<|turn>model\n", "<turn|>\n"),
        ],
        ..PLAIN
    },
    Template {
        name: "Moonshot",
        openings: &[
            (Role::System, "<|im_system|>system<|im_middle|>"),
            (Role::User, "<|im_user|>user<|im_middle|>"),
            (Role::Assistant, "<|im_assistant|>assistant<|im_middle|>"),
        ],
        closings: &["<|im_end|>"],
        writes: &[
            (Role::System, "<|im_system|>system<|im_middle|>", "<|im_end|>"),
            (Role::User, "<|im_user|>user<|im_middle|>", "<|im_end|>"),
            (Role::Assistant, "<|im_assistant|>assistant<|im_middle|>", "<|im_end|>"),
        ],
        ..PLAIN
    },
    Template {
        name: "Harmony",
        openings: &[
            (Role::System, "<|start|>system<|message|>"),
            (Role::System, "<|start|>developer<|message|>"),
            (Role::User, "<|start|>user<|message|>"),
            (Role::Assistant, "<|start|>assistant<|channel|>final<|message|>"),
        ],
        closings: &["<|end|>", "<|return|>"],
        writes: &[
            (Role::System, "<|start|>developer<|message|>", "<|end|>"),
            (Role::User, "<|start|>user<|message|>", "<|end|>"),
            (Role::Assistant, "<|start|>assistant<|channel|>final<|message|>", "<|end|>"),
        ],
        ..PLAIN
    },
    // What KoboldCpp replaces with the template of the model that it has loaded.
    Template {
        name: "KoboldCpp",
        openings: &[
            (Role::System, "{{[SYSTEM]}}"),
            (Role::User, "{{[INPUT]}}"),
            (Role::Assistant, "{{[OUTPUT]}}"),
        ],
        closings: &["{{[SYSTEM_END]}}", "{{[INPUT_END]}}", "{{[OUTPUT_END]}}"],
        writes: &[
            (Role::System, "{{[SYSTEM]}}", "{{[SYSTEM_END]}}"),
            (Role::User, "{{[INPUT]}}", "{{[INPUT_END]}}"),
            (Role::Assistant, "{{[OUTPUT]}}", "{{[OUTPUT_END]}}"),
        ],
        ..PLAIN
    },
    Template {
        name: "dots",
        openings: &[
            (Role::System, "<|system|>"),
            (Role::User, "<|userprompt|>"),
            (Role::Assistant, "<|response|>"),
        ],
        closings: &["<|endofsystem|>", "<|endofuserprompt|>", "<|endofresponse|>"],
        writes: &[
            (Role::System, "<|system|>\n", "<|endofsystem|>\n"),
            (Role::User, "<|userprompt|>\n", "<|endofuserprompt|>\n"),
            (Role::Assistant, "<|response|>\n", "<|endofresponse|>\n"),
        ],
        ..PLAIN
    },
    Template {
        name: "Metharme",
        openings: &[
            (Role::System, "<|system|>"),
            (Role::User, "<|user|>"),
            (Role::Assistant, "<|model|>"),
        ],
        closings: &["</s>"],
        system_as_user: true,
        system_turns: SystemTurns::AsUser,
        writes: &[(Role::User, "<|user|>", ""), (Role::Assistant, "<|model|>", "")],
        ..PLAIN
    },
    Template {
        name: "GLM",
        openings: &[
            (Role::System, "<|system|>"),
            (Role::User, "<|user|>"),
            (Role::Assistant, "<|assistant|>"),
        ],
        closings: &[],
        holds: Some("[gMASK]"),
        system_turns: SystemTurns::IfShown,
        writes: &[
            (Role::System, "<|system|>\n", ""),
            (Role::User, "<|user|>\n", ""),
            (Role::Assistant, "<|assistant|>\n", ""),
        ],
        ..PLAIN
    },
    Template {
        name: "Zephyr",
        openings: &[
            (Role::System, "<|system|>"),
            (Role::User, "<|user|>"),
            (Role::Assistant, "<|assistant|>"),
        ],
        closings: &["<|end|>", "</s>", "<|end_of_text|>", "<|endoftext|>"],
        writes: &[
            (Role::System, "<|system|>\n", "<|end|>\n"),
            (Role::User, "<|user|>\n", "<|end|>\n"),
            (Role::Assistant, "<|assistant|>\n", "<|end|>\n"),
        ],
        ..PLAIN
    },
    Template {
        name: "Llama 2",
        system_turns: SystemTurns::AsUser,
        writes: &[(Role::User, "[INST] ", " [/INST]\n"), (Role::Assistant, "", "\n")],
        answer_closes: true,
        holds: Some("<<SYS>>"),
        ..INST
    },
    Template {
        name: "Mistral V7",
        writes: &[
            (Role::System, "[SYSTEM_PROMPT] ", "[/SYSTEM_PROMPT]"),
            (Role::User, "[INST] ", "[/INST]"),
            (Role::Assistant, " ", "</s>"),
        ],
        answer_closes: true,
        holds: Some("[SYSTEM_PROMPT]"),
        ..INST
    },
    Template {
        name: "Mistral",
        system_turns: SystemTurns::AsUser,
        writes: &[(Role::User, "[INST] ", ""), (Role::Assistant, "[/INST] ", "</s>")],
        ..INST
    },
    Template {
        name: "Alpaca",
        openings: &[
            (Role::System, "### Input:"),
            (Role::User, "### Instruction:"),
            (Role::Assistant, "### Response:"),
        ],
        closings: &["</s>"],
        system_as_user: true,
        heading: Some(("#### ", ":")),
        writes: &[
            (Role::System, "### Input:\n", "\n\n"),
            (Role::User, "### Instruction:\n", "\n\n"),
            (Role::Assistant, "### Response:\n", "\n\n"),
        ],
        ..PLAIN
    },
    Template {
        name: "Vicuna",
        openings: &[
            (Role::System, "\nSYSTEM:"),
            (Role::User, "\nUSER:"),
            (Role::Assistant, "\nASSISTANT:"),
        ],
        closings: &["</s>"],
        system_as_user: true,
        system_turns: SystemTurns::IfShown,
        writes: &[
            (Role::System, "\nSYSTEM: ", ""),
            (Role::User, "\nUSER: ", ""),
            (Role::Assistant, "\nASSISTANT: ", "</s>"),
        ],
        ..PLAIN
    },
    Template {
        name: "Human and assistant",
        openings: &[(Role::User, "### Human:"), (Role::Assistant, "### Assistant:")],
        closings: &["</s>"],
        system_as_user: true,
        system_turns: SystemTurns::AsUser,
        writes: &[(Role::User, "### Human:\n", "\n"), (Role::Assistant, "### Assistant:\n", "\n")],
        ..PLAIN
    },
    Template {
        name: "OpenOrca",
        openings: &[(Role::User, "\nUser:"), (Role::Assistant, "\nAssistant:")],
        closings: &["<|end_of_turn|>"],
        system_as_user: true,
        holds: Some("<|end_of_turn|>"),
        system_turns: SystemTurns::AsUser,
        writes: &[
            (Role::User, "\nUser: ", "<|end_of_turn|>"),
            (Role::Assistant, "\nAssistant: ", "<|end_of_turn|>"),
        ],
        ..PLAIN
    },
    Template {
        name: "Koala",
        openings: &[
            (Role::System, "BEGINNING OF CONVERSATION:"),
            (Role::User, "USER: "),
            (Role::Assistant, "GPT:"),
        ],
        closings: &["</s>"],
        system_as_user: true,
        holds: Some("BEGINNING OF CONVERSATION:"),
        system_turns: SystemTurns::AsUser,
        writes: &[(Role::User, "USER: ", " "), (Role::Assistant, "GPT: ", "</s>")],
        ..PLAIN
    },
];
