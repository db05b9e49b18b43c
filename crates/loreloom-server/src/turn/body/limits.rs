//! The limits that a request states: how large the context is and how long the reply may be.

use loreloom_core::{number::whole, units::Tokens};

use super::{OWN_FIELD, raw::RawFields};

/// The limits that a request states.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct StatedLimits {
    /// The size of the context.
    pub(crate) context: Option<Tokens>,
    /// The longest reply; 0 if the request does not say.
    pub(crate) reply: Tokens,
}

/// What servers call the longest reply: OpenAI and most others, the responses API, KoboldCpp,
/// llama.cpp, Ollama (in `options`).
const REPLY: [&str; 6] = [
    "max_tokens",
    "max_completion_tokens",
    "max_output_tokens",
    "max_length",
    "n_predict",
    "num_predict",
];

/// What servers call the size of the context: KoboldCpp, text-generation-webui, Ollama (in
/// `options`).
const CONTEXT: [&str; 3] = ["max_context_length", "truncation_length", "num_ctx"];

impl StatedLimits {
    /// These limits, and others where these say nothing.
    pub(crate) fn or(self, others: Self) -> Self {
        let reply = if self.reply.0 == 0 { others.reply } else { self.reply };
        Self { context: self.context.or(others.context), reply }
    }

    /// Reads the fields of a body.
    pub(super) fn of(fields: &RawFields<'_>) -> Self {
        let options = fields.get("options").and_then(RawFields::of);
        let own = fields.get(OWN_FIELD).and_then(RawFields::of);
        let find = |names: &[&str]| {
            let here = names.iter().find_map(|name| number(fields, name));
            here.or_else(|| names.iter().find_map(|name| number(options.as_ref()?, name)))
        };
        let stated = |name: &str| number(own.as_ref()?, name);
        let context = stated("context").or_else(|| find(&CONTEXT));
        let reply = stated("max_tokens").or_else(|| find(&REPLY));
        Self { context, reply: reply.unwrap_or_default() }
    }
}

/// A number of tokens. Servers take 0 and negative numbers for "no limit".
fn number(fields: &RawFields<'_>, name: &str) -> Option<Tokens> {
    let number: f64 = fields.get(name)?.parse().ok()?;
    (number >= 1.0).then_some(Tokens(whole(number)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_are_read_under_the_names_of_all_servers() {
        for (body, context, reply) in [
            (r#"{"messages":[]}"#, None, 0),
            (r#"{"max_tokens":300}"#, None, 300),
            (r#"{"max_completion_tokens":64.0}"#, None, 64),
            (r#"{"max_context_length":4096,"max_length":120}"#, Some(4096), 120),
            (r#"{"options":{"num_ctx":8192,"num_predict":-1}}"#, Some(8192), 0),
            (r#"{"max_tokens":null,"options":{"num_predict":9}}"#, None, 9),
            (r#"{"max_tokens":9,"loreloom":{"context":2048,"max_tokens":64}}"#, Some(2048), 64),
            (r#"{"max_tokens":"many"}"#, None, 0),
            (r#"{"max_tokens":1e99}"#, None, u32::MAX),
        ] {
            let found = StatedLimits::of(&RawFields::of(body).unwrap());
            let expected = StatedLimits { context: context.map(Tokens), reply: Tokens(reply) };
            assert_eq!(found, expected, "{body}");
        }
    }
}
