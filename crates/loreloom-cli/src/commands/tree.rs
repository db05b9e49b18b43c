//! The tree of a chat, drawn.

use std::io::Write;

use clap::Args;
use loreloom_core::ids::{PrefixHash, TenantId};
use loreloom_ports::Node;
use serde::Serialize;

use super::serve::runtime;
use crate::{
    store::StoreArguments,
    stored::{self, excerpt, speaker},
};

/// Messages of a run that are drawn at its beginning and at its end.
const SHOWN: usize = 3;
/// The longest text that is drawn whole.
const WIDEST: usize = 60;

/// Draw the branches of a chat. `*` marks where the story is.
#[derive(Debug, Args)]
pub(crate) struct Tree {
    /// The chat
    #[arg(value_name = "CHAT")]
    chat: String,

    /// Draw every message of long runs
    #[arg(long)]
    all: bool,

    /// Print a JSON list of all messages for scripts
    #[arg(long)]
    json: bool,

    #[command(flatten)]
    store: StoreArguments,
}

/// A message of the tree, for scripts.
#[derive(Serialize)]
struct Listed<'chat> {
    #[serde(flatten)]
    node: &'chat Node,
    current: bool,
    turns: Vec<u64>,
}

/// A run that is still to be drawn: its first node, and the prefix of its lines.
struct Waiting {
    node: usize,
    depth: usize,
    first: String,
    rest: String,
}

struct Drawing<'chat> {
    nodes: &'chat [Node],
    /// Places of children, by place; the last list is that of the roots.
    children: Vec<Vec<usize>>,
    current: Vec<bool>,
    turns: Vec<usize>,
    all: bool,
}

impl Tree {
    pub(super) fn run(self, out: &mut dyn Write) -> anyhow::Result<()> {
        let (chat, nodes) = runtime()?.block_on(async {
            let store = self.store.open().await?;
            let chat = stored::read(store.as_ref(), &self.chat).await?;
            let nodes = store.tree(&TenantId::local(), &chat.record.id).await?;
            anyhow::Ok((chat, nodes))
        })?;
        let is_current = |node: &Node| chat.nodes.iter().any(|other| other.prefix == node.prefix);
        if self.json {
            let turns = |node: &Node| chat.turns_at(node.prefix).map(|turn| turn.id.0).collect();
            let listed = nodes
                .iter()
                .map(|node| Listed { node, current: is_current(node), turns: turns(node) })
                .collect::<Vec<_>>();
            writeln!(out, "{}", serde_json::to_string_pretty(&listed)?)?;
            return Ok(());
        }
        let drawing = Drawing {
            children: children(&nodes),
            current: nodes.iter().map(is_current).collect(),
            turns: nodes.iter().map(|node| chat.turns_at(node.prefix).count()).collect(),
            nodes: &nodes,
            all: self.all,
        };
        drawing.draw(out)
    }
}

fn children(nodes: &[Node]) -> Vec<Vec<usize>> {
    let place = |prefix: PrefixHash| nodes.iter().position(|node| node.prefix == prefix);
    let mut children = vec![Vec::new(); nodes.len() + 1];
    let mut last: Option<(PrefixHash, usize)> = None;
    for (at, node) in nodes.iter().enumerate() {
        // Most messages follow the one before.
        let parent = match last {
            Some((prefix, place)) if prefix == node.parent => Some(place),
            _ => place(node.parent),
        };
        children[parent.unwrap_or(nodes.len())].push(at);
        last = Some((node.prefix, at));
    }
    children
}

impl Drawing<'_> {
    fn draw(&self, out: &mut dyn Write) -> anyhow::Result<()> {
        let mut waiting = Vec::new();
        self.fork(&mut waiting, self.nodes.len(), 1, String::new());
        while let Some(Waiting { node, depth, first, rest }) = waiting.pop() {
            let mut run = vec![node];
            let mut end = node;
            while let [only] = self.children[end][..] {
                run.push(only);
                end = only;
            }
            let left_out = if self.all { 0 } else { run.len().saturating_sub(2 * SHOWN) };
            for (at, &place) in run.iter().enumerate() {
                let before = if at == 0 { &first } else { &rest };
                if left_out > 1 && at == SHOWN {
                    writeln!(out, "  {before}… {left_out} messages")?;
                }
                if left_out <= 1 || at < SHOWN || at >= SHOWN + left_out {
                    self.line(out, place, depth + at, before)?;
                }
            }
            self.fork(&mut waiting, end, depth + run.len(), rest);
        }
        Ok(())
    }

    /// Side branches are drawn first and set off; the trunk, which is the current path or
    /// else the newest branch, goes on at the same indent.
    fn fork(&self, waiting: &mut Vec<Waiting>, parent: usize, depth: usize, indent: String) {
        let children = &self.children[parent];
        let trunk = children.iter().position(|&child| self.current[child]);
        let Some(trunk) = trunk.or(children.len().checked_sub(1)) else { return };
        let sides = children.iter().enumerate().rev().filter(|(at, _)| *at != trunk);
        let sides = sides.map(|(_, &node)| Waiting {
            node,
            depth,
            first: format!("{indent}├─ "),
            rest: format!("{indent}│  "),
        });
        let sides: Vec<Waiting> = sides.collect();
        let (first, rest) = (indent.clone(), indent);
        waiting.push(Waiting { node: children[trunk], depth, first, rest });
        waiting.extend(sides);
    }

    fn line(
        &self,
        out: &mut dyn Write,
        place: usize,
        depth: usize,
        before: &str,
    ) -> anyhow::Result<()> {
        let message = &self.nodes[place].message;
        let mark = if self.current[place] { '*' } else { ' ' };
        let turns = match self.turns[place] {
            0 => String::new(),
            1 => "  [1 turn]".to_owned(),
            count => format!("  [{count} turns]"),
        };
        let (name, text) = (speaker(message), excerpt(&message.text, WIDEST));
        writeln!(out, "{mark} {before}{depth} {name}: {text}{turns}")?;
        Ok(())
    }
}
