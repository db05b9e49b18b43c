//! Decorators: `@@name arguments` lines at the top of an entry's text.
//!
//! The text of an entry always keeps its decorators; this module reads them. The grammar
//! is one that all programs with decorators agree with, and lenient where they differ:
//! names are compared without case, a tab may end a name, blank lines may stand between
//! decorators. A line with three `@` is the fallback of the decorator above it.

mod lift;
mod lower;

pub use self::lift::{Lifted, lift};
pub(crate) use self::lower::lower;

/// The decorators of a text and what follows them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Block<'text> {
    /// Each decorator with its fallbacks, in order.
    pub chains: Vec<Vec<Decorator<'text>>>,
    /// The text without its decorators and without blank lines at its ends.
    pub body: &'text str,
}

/// One decorator line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Decorator<'text> {
    /// The name in lower case; empty if the line has none.
    pub name: String,
    /// Everything behind the name.
    pub arguments: &'text str,
}

impl Decorator<'_> {
    /// The arguments as a list: split at commas that are not escaped and not inside a
    /// pattern.
    pub fn list(&self) -> Vec<String> {
        crate::keys::split(self.arguments)
    }
}

/// Splits a text into its decorators and its body.
pub fn parse(content: &str) -> Block<'_> {
    let mut chains: Vec<Vec<Decorator<'_>>> = Vec::new();
    let mut rest = content;
    loop {
        let line = rest.split_inclusive('\n').next().unwrap_or_default();
        let trimmed = line.trim();
        if trimmed.is_empty() && !line.is_empty() {
            rest = &rest[line.len()..];
        } else if let Some(marked) = trimmed.strip_prefix("@@") {
            rest = &rest[line.len()..];
            add_line(marked, &mut chains);
        } else {
            return Block { chains, body: without_blank_ends(rest) };
        }
    }
}

fn add_line<'text>(marked: &'text str, chains: &mut Vec<Vec<Decorator<'text>>>) {
    let name_and_rest = marked.trim_start_matches('@');
    let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let end = name_and_rest.find(|c| !is_name(c)).unwrap_or(name_and_rest.len());
    let (name, rest) = name_and_rest.split_at(end);
    let is_whole = rest.is_empty() || rest.starts_with([' ', '\t']);
    let starts_well = !name.starts_with(|c: char| c.is_ascii_digit());
    let name = if is_whole && starts_well { name.to_lowercase() } else { String::new() };
    let decorator = Decorator { name, arguments: rest.trim() };
    let is_fallback = marked.starts_with('@') && decorator.name != "end";
    if !is_fallback {
        chains.push(vec![decorator]);
    } else if let Some(chain) = chains.last_mut() {
        chain.push(decorator);
    }
}

fn without_blank_ends(text: &str) -> &str {
    let mut start = 0;
    for line in text.split_inclusive('\n').take_while(|line| line.trim().is_empty()) {
        start += line.len();
    }
    let text = &text[start..];
    let kept = text.trim_end();
    // Blanks at the end of the last line are part of it; only blank lines go.
    let last_line = text[kept.len()..].find('\n').map_or(text.len(), |at| kept.len() + at);
    text[..last_line].trim_end_matches('\r')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(content: &str) -> (Vec<String>, &str) {
        let block = parse(content);
        let chain = |chain: &Vec<Decorator<'_>>| {
            let one = |d: &Decorator<'_>| format!("{}({})", d.name, d.arguments);
            chain.iter().map(one).collect::<Vec<_>>().join(" else ")
        };
        (block.chains.iter().map(chain).collect(), block.body)
    }

    #[test]
    fn the_block_is_the_run_of_decorators_at_the_top() {
        for (content, chains, body) in [
            ("Text", vec![], "Text"),
            ("@@depth 4\nText\n@@role user", vec!["depth(4)"], "Text\n@@role user"),
            (
                "\n  @@Depth\t4 \r\n\n@@role user\r\n\r\nText\r\n",
                vec!["depth(4)", "role(user)"],
                "Text",
            ),
            ("@@a\n@@@b 1\n@@@@c\nText", vec!["a() else b(1) else c()"], "Text"),
            ("@@@b\nText", vec![], "Text"),
            ("@@@end\nText", vec!["end()"], "Text"),
            ("@@depth4x! y\nText", vec!["(! y)"], "Text"),
            ("@@activate", vec!["activate()"], ""),
            ("", vec![], ""),
        ] {
            assert_eq!(
                shown(content),
                (chains.iter().map(ToString::to_string).collect(), body),
                "{content:?}"
            );
        }
    }

    #[test]
    fn arguments_split_at_commas_outside_patterns() {
        let block = parse("@@exclude_keys a, /b{1,2}/i, c\\, d");
        assert_eq!(block.chains[0][0].list(), ["a", "/b{1,2}/i", "c, d"]);
    }
}
