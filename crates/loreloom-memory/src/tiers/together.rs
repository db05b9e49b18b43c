//! One prompt for several tiers and members, for models that can answer in JSON.
//!
//! The reply is a JSON object with a list of lines for each tier. Each tier then reads its lines
//! like a reply to its own prompt. If the reply is no such object, every tier asks for itself.

use serde_json::{Map, Value, json};

use super::{
    Config, GUARD, PassSource, bullets,
    epistemic::{self, FORM as KNOWLEDGE},
    longterm::{KINDS as LONG_TERM_KINDS, RULES, VALUES},
    numbered, part, prompt,
    relationships::{FORM as FEELINGS, known_feelings},
    session::KINDS as SESSION_KINDS,
};
use crate::{
    card::description,
    json_reply::{lines_of, object_with},
    pass::{ModelQuestion, Need, Purpose, Script},
    people::People,
    record::{Entity, Insight, Memory, Relationships, StateKind},
    reply::says_nothing,
    text::TextRules,
};

/// A character that long-term memories are asked for.
#[derive(Clone, Debug)]
pub struct TogetherMember<'pass> {
    /// Its name.
    pub name: &'pass str,
    /// Its card as text.
    pub card: &'pass str,
    /// Its long-term memories, as its own pass would show them.
    pub longterm: Vec<&'pass Memory>,
    /// What it feels, and what others feel for it.
    pub feelings: &'pass Relationships,
}

/// What the prompt is about.
#[derive(Clone, Debug)]
pub struct TogetherInput<'pass> {
    /// Settings, rules and model.
    pub config: Config<'pass>,
    /// What is read.
    pub source: PassSource<'pass>,
    /// Those whose long-term memory is kept.
    pub members: Vec<TogetherMember<'pass>>,
    /// Session memories, as their own pass would show them.
    pub session: Vec<&'pass Memory>,
    /// Open arcs.
    pub arcs: Vec<&'pass str>,
    /// Arcs that ended.
    pub ended: Vec<&'pass str>,
    /// The entities of characters and chat.
    pub entities: Vec<&'pass Entity>,
    /// Who knows what, as the epistemic pass would number it.
    pub insights: Vec<&'pass Insight>,
    /// Whether replies are checked against what is known.
    pub checks: bool,
}

/// The lines of each tier, as in a reply to its own prompt.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Replies {
    /// For the session pass.
    pub session: Option<String>,
    /// For the arcs pass.
    pub arcs: Option<String>,
    /// For the ledger.
    pub ledger: Option<String>,
    /// For the epistemic pass.
    pub knowledge: Option<String>,
    /// What the replies of the story contradict.
    pub contradictions: Option<String>,
    /// For the long-term pass of each member: its memories and its feelings.
    pub members: Vec<(Option<String>, Option<String>)>,
}

impl Replies {
    /// A model that has nothing new for any list often says just so. Asking for each list again
    /// would only cost calls.
    fn nothing(members: usize) -> Self {
        let none = || Some("NONE".to_owned());
        Self {
            session: none(),
            arcs: none(),
            ledger: none(),
            knowledge: none(),
            contradictions: none(),
            members: vec![(none(), none()); members],
        }
    }
}

/// The JSON schema of the reply. Long-term memories of several members are lists by name.
pub fn schema(question: &ModelQuestion) -> Option<Value> {
    let (_, names) = question.prompt.split_once(MEMBERS)?;
    let names: Vec<&str> = names.split_once('\n')?.0.split(", ").collect();
    let lines = json!({ "type": "array", "items": { "type": "string" } });
    let of_members = || {
        let lists: Map<String, Value> =
            names.iter().map(|name| ((*name).to_owned(), lines.clone())).collect();
        json!({
            "type": "object", "properties": lists, "required": names,
            "additionalProperties": false,
        })
    };
    let longterm = if names.len() == 1 { lines.clone() } else { of_members() };
    let asked: Vec<&str> =
        LISTS.into_iter().filter(|list| is_asked(&question.prompt, list)).collect();
    let list = |name: &str| if name == "long_term" { longterm.clone() } else { lines.clone() };
    let lists: Map<String, Value> =
        asked.iter().map(|name| ((*name).to_owned(), list(name))).collect();
    Some(json!({
        "type": "object", "properties": lists, "required": asked, "additionalProperties": false,
    }))
}

/// The lists of a reply.
const LISTS: [&str; 7] =
    ["session", "long_term", "threads", "state", "feelings", "knowledge", "contradictions"];

/// Whether a prompt asks for a list.
fn is_asked(prompt: &str, list: &str) -> bool {
    prompt.contains(&format!("\n{list}: "))
}

/// The beginning of the line that names the characters whose memory is kept.
const MEMBERS: &str = "Long-term memory is kept for: ";

/// The prompt.
pub fn prompt_for(input: &TogetherInput<'_>) -> ModelQuestion {
    const CARD: usize = 600;
    const INSIGHTS: usize = 12;
    let (people, lore, story) = input.source.shown();
    let names: Vec<&str> = input.members.iter().map(|member| member.name).collect();
    let mut parts = vec![GUARD.to_owned(), task(input), people];
    parts.push(format!("{MEMBERS}{}", names.join(", ")));
    for TogetherMember { name, card, longterm, .. } in &input.members {
        parts.push(part(&format!("About {name}"), &description(card, CARD)));
        parts.push(part(&format!("Known for good to {name}"), &numbered(longterm)));
    }
    parts.push(part("Noted in this conversation", &numbered(&input.session)));
    parts.push(part("Open threads", &bullets(input.arcs.iter().copied())));
    parts.push(part("Ended threads", &bullets(input.ended.iter().copied())));
    parts.push(part("Known feelings", &feelings(input)));
    let mut known = epistemic::numbered_lines(&input.insights);
    let known = known.split_off(known.len().saturating_sub(INSIGHTS));
    parts.push(part("Who knows what so far", &known.join("\n")));
    parts.extend([lore, story]);
    let parts: Vec<&str> = parts.iter().map(String::as_str).collect();
    ModelQuestion { purpose: Purpose::Together, prompt: prompt(&parts), max_tokens: 1600 }
}

/// What is asked for, with an example of each list.
fn task(input: &TogetherInput<'_>) -> String {
    let name = input.members.first().map_or("", |member| member.name);
    let (whose, form) = if input.members.len() > 1 {
        let lists: Vec<String> =
            input.members.iter().map(|member| format!("\"{}\": []", member.name)).collect();
        ("each of the characters below", format!("{{{}}}", lists.join(", ")))
    } else {
        (name, "[]".to_owned())
    };
    let heard = if input.members.len() > 1 {
        " A character's list has only what that character saw, heard or was told."
    } else {
        ""
    };
    let session = format!(
        "session: what must stay consistent for the rest of this conversation, as \
         \"[detail:1:scene:entity=Hanna/character] Hanna has hung her wet coat by the stove.\" \
         {SESSION_KINDS}"
    );
    let long_term = format!(
        "long_term: what will still matter to {whose} in later conversations, as \
         \"[fact:2:permanent:entity=Hanna/character,Old Mill/place] Hanna inherited the Old \
         Mill.\"{heard} {LONG_TERM_KINDS}"
    );
    let both = format!(
        "For both, a line is \"[kind:importance:expiry:entity=Name/type,Name/type] statement\". \
         {VALUES} Note {RULES} If a statement makes a note untrue or brings it up to date, add \
         that note's number to the end of the tag, as in \
         \"[kind:importance:expiry:entity=Name/type:replaces=3]\"; each list has its own numbers. Keep statements under 240 characters."
    );
    let threads = "threads: new promises, questions, dangers and goals that will need an answer, at \
         most five, as \"[arc] Hanna promised Ruben to find the bell.\"; open threads that came to \
         an end as \"[resolved] the thread\".";
    let feelings = format!("feelings: how people now feel about each other. {FEELINGS}");
    let mut lists = vec![session, long_term, both, threads.to_owned(), feelings];
    if input.config.settings.epistemic_enabled {
        lists.push(format!("knowledge: who knows what. {KNOWLEDGE}"));
    }
    lists.push(state(input));
    if input.checks {
        lists.push(
            "contradictions: statements in the newest replies of characters that cannot be true \
             together with the cards, the notes or the story before, one sentence each. A change that the story tells \
             of is no contradiction, nor is a lie."
                .to_owned(),
        );
    }
    lists.retain(|list| !list.is_empty());
    let lists = format!("\n{}", lists.join("\n"));
    let empty = |name: &&str| {
        let value = if *name == "long_term" { form.as_str() } else { "[]" };
        format!("\"{name}\": {value}")
    };
    let asked: Vec<&str> = LISTS.into_iter().filter(|list| is_asked(&lists, list)).collect();
    format!(
        "Answer with one JSON object and nothing else:\n{{{}}}\n\
         Each list holds lines of text. A list without anything new stays empty.{lists}",
        asked.iter().map(empty).collect::<Vec<_>>().join(", ")
    )
}

/// The form of state cards, if they are kept.
fn state(input: &TogetherInput<'_>) -> String {
    if !input.config.settings.state_ledger_enabled {
        return String::new();
    }
    let mut tracked: Vec<String> = Vec::new();
    let kind = |entity: &Entity| StateKind::of(entity.kind).map(StateKind::as_str);
    for (entity, kind) in input.entities.iter().filter_map(|one| Some((one, kind(one)?))) {
        let line = format!("{} ({kind})", entity.name);
        if !tracked.iter().any(|known| known.to_lowercase() == line.to_lowercase()) {
            tracked.push(line);
        }
    }
    let fields: Vec<String> = StateKind::ALL
        .iter()
        .map(|kind| format!("{}: {}", kind.as_str(), kind.fields().join(", ")))
        .collect();
    format!(
        "state: the current state of people and things, as \"[state:Hanna:character] \
         location=the mill loft | injuries=a sprained wrist\". If something is over, give the new \
         value. Fields by type: {}. Known: {}.",
        fields.join("; "),
        tracked.join(", ")
    )
}

/// The known feelings of all members, each pair once.
fn feelings(input: &TogetherInput<'_>) -> String {
    let mut lines: Vec<String> = Vec::new();
    for known in input.members.iter().map(|member| known_feelings(member.feelings)) {
        for line in known.lines() {
            if !lines.iter().any(|other| other == line) {
                lines.push(line.to_owned());
            }
        }
    }
    lines.join("\n")
}

/// Reads the first such JSON object of the reply, for these members. A missing list is no answer.
pub fn parse(reply: &str, members: &[&str]) -> Replies {
    let Some(lists) = object_with(reply, &LISTS) else { return Replies::default() };
    let lines = |name: &str| lines_of(lists.get(name)?);
    let joined = |lines: Vec<String>| {
        // An empty list is an answer: there is nothing new.
        if lines.is_empty() { "NONE".to_owned() } else { lines.join("\n") }
    };
    let cast = People::default().with(members.iter().copied());
    let mut by_member: Vec<Option<String>> = vec![None; members.len()];
    match lists.get("long_term") {
        Some(Value::Object(by_name)) => {
            for (name, list) in by_name {
                let at = members.iter().position(|member| cast.are_one(member, name));
                if let Some((at, list)) = at.zip(lines_of(list)) {
                    by_member[at] = Some(joined(list));
                }
            }
        }
        Some(list) if members.len() == 1 => by_member[0] = lines_of(list).map(joined),
        Some(_) | None => {}
    }
    let felt = lines("feelings");
    let feelings = |at: usize| {
        let concerns = |line: &&String| {
            let pair = line.split_once(':').map_or("", |(pair, _)| pair).replace('→', "->");
            let mut people = pair.split("->").map(str::trim);
            let is_member = |name: &str, member: &str| cast.are_one(name, member);
            let own = people.clone().any(|name| is_member(name, members[at]));
            own || at == 0 && !people.any(|name| members.iter().any(|one| is_member(name, one)))
        };
        let felt = felt.as_ref()?;
        Some(joined(felt.iter().filter(concerns).cloned().collect()))
    };
    let replies = Replies {
        members: by_member.into_iter().enumerate().map(|(at, long)| (long, feelings(at))).collect(),
        session: lines("session").map(joined),
        arcs: lines("threads").map(joined),
        ledger: lines("state").map(joined),
        knowledge: lines("knowledge").map(joined),
        contradictions: lines("contradictions").map(joined),
    };
    let is_read = LISTS.iter().any(|name| *name != "long_term" && lines(name).is_some());
    if is_read || replies.members.iter().any(|(long, _)| long.is_some()) {
        replies
    } else {
        Replies::default()
    }
}

/// The lists of a reply; `None` if it is no answer.
fn read(reply: &str, members: &[&str], rules: TextRules) -> Option<Replies> {
    let is_nothing = || !reply.trim().is_empty() && says_nothing(reply, rules);
    let nothing = || is_nothing().then(|| Replies::nothing(members.len()));
    Some(parse(reply, members)).filter(|replies| *replies != Replies::default()).or_else(nothing)
}

/// Asks for all tiers at once.
pub fn run(input: &TogetherInput<'_>, script: &mut Script<'_>) -> Result<Replies, Need> {
    let names: Vec<&str> = input.members.iter().map(|member| member.name).collect();
    let (question, rules) = (prompt_for(input), input.config.rules.text);
    let replies = script.ask_for(question, rules, |reply| read(reply, &names, rules));
    match replies {
        // Every tier then asks for itself.
        Err(Need::Unreadable(_)) => Ok(Replies::default()),
        replies => Ok(replies?.unwrap_or_default()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_is_an_answer_and_anything_else_is_none() {
        let replies = parse(
            "Here:\n{\"session\":[],\"long_term\":[\"[fact] a\",\"[event] b\"]} ok",
            &["Mara"],
        );
        assert_eq!(replies.session.as_deref(), Some("NONE"));
        assert_eq!(replies.members, [(Some("[fact] a\n[event] b".to_owned()), None)]);
        assert_eq!((replies.arcs, replies.ledger), (None, None));
        for reply in ["", "NONE", "[fact] x", "{\"sessions\": []}", "{\"session\": [1]}"] {
            assert_eq!(parse(reply, &["Mara"]), Replies::default(), "{reply}");
        }
    }

    #[test]
    fn a_model_with_nothing_to_note_answers_every_list() {
        let read = |reply: &str| read(reply, &["Mara"], TextRules::Tolerant);
        for reply in ["NONE", "There is nothing new to note."] {
            assert_eq!(read(reply), Some(Replies::nothing(1)), "{reply}");
        }
        for reply in ["", "I'm sorry, but I can't help with that.", "[fact] Mara keeps bees."] {
            assert_eq!(read(reply), None, "{reply}");
        }
        let lists = read("{\"session\": []}").map(|replies| replies.session);
        assert_eq!(lists, Some(Some("NONE".to_owned())));
    }

    #[test]
    fn a_reply_that_was_cut_off_counts_as_far_as_it_goes() {
        let replies =
            parse(r#"{"session": ["[detail] a"], "long_term": ["[fact] b", "[fac"#, &["M"]);
        assert_eq!(replies.session.as_deref(), Some("[detail] a"));
        assert_eq!(replies.members, [(Some("[fact] b".to_owned()), None)]);
        assert_eq!(replies.arcs, None);
    }

    #[test]
    fn each_member_gets_its_own_notes_and_feelings() {
        let reply = r#"{"long_term": {"Mara": ["[fact] a"], "Tobin Reed": []},
            "feelings": ["Mara -> Ines: fond", "Ines → Tobin: wary", "Odo -> Lis: shy"]}"#;
        let replies = parse(reply, &["Mara", "Tobin"]);
        let of = |long: &str, felt: &str| (Some(long.to_owned()), Some(felt.to_owned()));
        assert_eq!(
            replies.members,
            [
                of("[fact] a", "Mara -> Ines: fond\nOdo -> Lis: shy"),
                of("NONE", "Ines → Tobin: wary")
            ]
        );
        let nobodys = parse(r#"{"long_term": ["[fact] a"]}"#, &["Mara", "Tobin"]);
        assert_eq!(nobodys, Replies::default());
    }

    #[test]
    fn a_member_whose_name_is_part_of_anothers_does_not_get_its_notes() {
        let reply = r#"{"long_term": {"Captain Rook": ["[fact] a"], "Captain": ["[fact] b"]}}"#;
        let members = parse(reply, &["Captain", "Captain Rook"]).members;
        let longterm: Vec<Option<&str>> = members.iter().map(|one| one.0.as_deref()).collect();
        assert_eq!(longterm, [Some("[fact] b"), Some("[fact] a")]);
    }
}
