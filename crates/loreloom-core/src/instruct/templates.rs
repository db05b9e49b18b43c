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
    /// Whether instructions inside the chat are written as the user's turns.
    pub system_as_user: bool,
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

/// What most of them have.
const PLAIN: Template = Template {
    name: "",
    openings: &[],
    closings: &[],
    system_as_user: false,
    named: None,
    model_unopened: false,
    holds: None,
    heading: None,
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
        ..PLAIN
    },
    Template {
        name: "DeepSeek",
        openings: &[(Role::User, "<｜User｜>"), (Role::Assistant, "<｜Assistant｜>")],
        closings: &["<｜end▁of▁sentence｜>"],
        system_as_user: true,
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
        ..PLAIN
    },
    Template {
        name: "Mistral",
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
        ..PLAIN
    },
    Template {
        name: "Human and assistant",
        openings: &[(Role::User, "### Human:"), (Role::Assistant, "### Assistant:")],
        closings: &["</s>"],
        system_as_user: true,
        ..PLAIN
    },
    Template {
        name: "OpenOrca",
        openings: &[(Role::User, "\nUser:"), (Role::Assistant, "\nAssistant:")],
        closings: &["<|end_of_turn|>"],
        system_as_user: true,
        holds: Some("<|end_of_turn|>"),
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
        ..PLAIN
    },
];
