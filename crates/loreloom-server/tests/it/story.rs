//! A long story over HTTP, as a front end tells it: the store has one chat and the right
//! tree.

use std::collections::BTreeSet;

use loreloom_core::{chat::Role, ids::TenantId};
use loreloom_ports::{Node, StoryStore as _};
use loreloom_server::past::stored::StoredChat;
use loreloom_testkit::model_server::{ModelServer, Reply, Script};
use serde_json::{Value, json};

use crate::harness::{Loreloom, Setup};

const CHAT: &str = "/v1/chat/completions";
const NUDGE: &str = "[Continue your last message without repeating its original content.]";

/// A front end that keeps replies as SillyTavern does.
struct Teller<'a> {
    model: &'a ModelServer,
    client: reqwest::Client,
    chat: Vec<(&'static str, String)>,
}

impl<'a> Teller<'a> {
    fn new(model: &'a ModelServer) -> Self {
        let chat = vec![("assistant", "Mira Vell opens the door.".to_owned())];
        Self { model, client: reqwest::Client::new(), chat }
    }

    fn body(&self, after: &[(&str, &str)], window: usize) -> Value {
        let mut messages = vec![
            json!({"role": "system", "content": "Write Mira Vell's next reply in a fictional chat between Mira Vell and Wren."}),
            json!({"role": "system", "content": "Mira Vell keeps the lighthouse of Harrow. She counts gulls, distrusts the harbour master and hums when she lies."}),
            json!({"role": "system", "content": "[Start a new Chat]"}),
        ];
        let skipped = self.chat.len().saturating_sub(window);
        let told = self.chat.iter().skip(skipped);
        messages.extend(told.map(|(role, text)| json!({"role": role, "content": text})));
        messages.extend(after.iter().map(|(role, text)| json!({"role": role, "content": text})));
        json!({"model": "m", "stream": true, "messages": messages, "stop": ["\nWren:"]})
    }

    async fn ask(&self, loreloom: &Loreloom, body: &Value, reply: &str) -> String {
        self.model.push(CHAT, Reply::text(reply));
        let request = self.client.post(loreloom.url(CHAT)).header("user-agent", "teller");
        let response = request.json(body).send().await.unwrap();
        assert_eq!(response.status(), 200);
        let warning = response.headers().get("x-loreloom-warning").cloned();
        assert_eq!(warning, None);
        let kind = response.headers()["x-loreloom-type"].to_str().unwrap().to_owned();
        let text = response.text().await.unwrap();
        assert!(text.ends_with("data: [DONE]\n\n"), "{text}");
        kind
    }

    /// The user says something and the model answers; what the front end keeps is `kept`.
    async fn turn(&mut self, loreloom: &Loreloom, said: &str, reply: &str, kept: &str) {
        self.chat.push(("user", said.to_owned()));
        let kind = self.ask(loreloom, &self.body(&[], 99), reply).await;
        assert_eq!(kind, "normal", "{said}");
        self.chat.push(("assistant", kept.to_owned()));
    }

    /// Another version of the last reply.
    async fn swipe(&mut self, loreloom: &Loreloom, reply: &str) {
        self.chat.pop();
        assert_eq!(self.ask(loreloom, &self.body(&[], 99), reply).await, "swipe");
        self.chat.push(("assistant", reply.to_owned()));
    }

    /// More of the last reply.
    async fn go_on(&mut self, loreloom: &Loreloom, more: &str) {
        let body = self.body(&[("system", NUDGE)], 99);
        assert_eq!(self.ask(loreloom, &body, more).await, "continue");
        let last = &mut self.chat.last_mut().unwrap().1;
        *last = format!("{last} {more}");
    }
}

async fn tree(loreloom: &Loreloom) -> Vec<Node> {
    let tenant = TenantId::local();
    let chats = loreloom.store.chats(&tenant).await.unwrap();
    assert_eq!(chats.len(), 1);
    let title = &chats[0].chat.title;
    assert!(title.starts_with("Mira Vell: Wren asks"), "{title}");
    loreloom.store.tree(&tenant, &chats[0].chat.id).await.unwrap()
}

async fn path(loreloom: &Loreloom) -> Vec<(Role, String)> {
    let tenant = TenantId::local();
    let chat = loreloom.store.chats(&tenant).await.unwrap().remove(0).chat;
    let path = loreloom.store.path(&tenant, &chat.id, chat.tip).await.unwrap();
    path.into_iter().map(|node| (node.message.role, node.message.text.into())).collect()
}

fn told(teller: &Teller<'_>) -> Vec<(Role, String)> {
    let role = |role: &str| if role == "user" { Role::User } else { Role::Assistant };
    teller.chat.iter().map(|(who, text)| (role(who), text.clone())).collect()
}

#[tokio::test]
async fn a_story_of_thirty_turns_is_one_chat_without_forks() {
    let model = ModelServer::start(Script::new()).unwrap();
    let loreloom = Loreloom::before(&model).await;
    let mut wren = Teller::new(&model);
    let mut extra = 0;
    for turn in 0..30 {
        let said = format!("Wren asks for the {turn}th time about the bell.");
        let plain = format!("Mira answers, number {turn}.");
        let (reply, kept) = match turn % 5 {
            0 => (format!("<think>Plan {turn}.</think>\n\n{plain}"), plain.clone()),
            1 => (format!("  {plain} \n"), plain.clone()),
            2 => (format!("Mira Vell: {plain}"), plain.clone()),
            3 => (format!("{plain}\nWren: And then I go."), plain.clone()),
            _ => (plain.clone(), plain.clone()),
        };
        wren.turn(&loreloom, &said, &reply, &kept).await;
        assert_eq!(path(&loreloom).await, told(&wren), "turn {turn}");
        match turn {
            4 | 11 | 23 => {
                wren.swipe(&loreloom, &format!("Mira answers otherwise, number {turn}.")).await;
                extra += 1;
            }
            7 | 19 => {
                wren.go_on(&loreloom, "And she goes on.").await;
                // The shorter version stays in the tree.
                extra += 1;
            }
            _ => {}
        }
        assert_eq!(path(&loreloom).await, told(&wren), "after turn {turn}");
    }
    let nodes = tree(&loreloom).await;
    assert_eq!(nodes.len(), 1 + 60 + extra);
    let prefixes: BTreeSet<_> = nodes.iter().map(|node| node.prefix).collect();
    assert_eq!(prefixes.len(), nodes.len());
}

#[tokio::test]
async fn background_impersonation_edits_and_trimming_leave_the_right_tree() {
    let model = ModelServer::start(Script::new()).unwrap();
    let loreloom = Loreloom::before(&model).await;
    let mut wren = Teller::new(&model);
    for turn in 0..6 {
        let reply = format!("Mira answers, number {turn}.");
        wren.turn(&loreloom, &format!("Wren asks, number {turn}."), &reply, &reply).await;
    }
    let before = tree(&loreloom).await;

    let mut quiet = wren.body(&[("system", "Describe the weather in five words.")], 99);
    quiet["stream"] = json!(false);
    model.push(CHAT, Reply::text("Grey, wet, cold, loud, short."));
    let request = wren.client.post(loreloom.url(CHAT)).header("user-agent", "teller");
    let response = request.json(&quiet).send().await.unwrap();
    assert_eq!(response.headers()["x-loreloom-type"], "quiet");
    response.bytes().await.unwrap();
    let speak =
        "[Write your next reply from the point of view of Wren, using the chat history so far.]";
    let body = wren.body(&[("system", speak)], 99);
    assert_eq!(wren.ask(&loreloom, &body, "I look at the sea.").await, "impersonate");
    assert_eq!(tree(&loreloom).await, before);
    assert_eq!(path(&loreloom).await, told(&wren));

    // A window that leaves the beginning out goes on with the whole story.
    wren.chat.push(("user", "Wren asks about the sea.".to_owned()));
    let body = wren.body(&[], 5);
    assert_eq!(wren.ask(&loreloom, &body, "It is grey.").await, "normal");
    wren.chat.push(("assistant", "It is grey.".to_owned()));
    assert_eq!(path(&loreloom).await, told(&wren));

    // An edit of an old message is a branch of the same chat.
    wren.chat[3].1 = "Wren asks something else entirely.".to_owned();
    wren.turn(&loreloom, "And now?", "Now it rains.", "Now it rains.").await;
    assert_eq!(path(&loreloom).await, told(&wren));
    let nodes = tree(&loreloom).await;
    assert_eq!(nodes.len(), before.len() + 2 + (wren.chat.len() - 3));
}

#[tokio::test]
async fn a_try_after_one_that_failed_is_no_swipe() {
    let model = ModelServer::start(Script::new()).unwrap();
    let loreloom = Loreloom::start(&model, Setup::default()).await;
    let mut teller = Teller::new(&model);
    teller.turn(&loreloom, "Is anybody there?", "Come in.", "Come in.").await;
    teller.chat.push(("user", "It rains.".to_owned()));
    let body = teller.body(&[], 99);
    model.push(CHAT, Reply::status(500, "oops"));
    let request = teller.client.post(loreloom.url(CHAT)).header("user-agent", "teller");
    assert_eq!(request.json(&body).send().await.unwrap().status(), 500);
    assert_eq!(teller.ask(&loreloom, &body, "It pours.").await, "normal");
    loreloom.story(5).await;
    assert_eq!(teller.ask(&loreloom, &body, "It drips.").await, "swipe");
}

#[tokio::test]
async fn a_restarted_server_knows_its_stories() {
    let model = ModelServer::start(Script::new()).unwrap();
    let first = Loreloom::before(&model).await;
    let mut wren = Teller::new(&model);
    for turn in 0..3 {
        let reply = format!("Mira answers, number {turn}.");
        wren.turn(&first, &format!("Wren asks, number {turn}."), &reply, &reply).await;
    }
    let store = std::sync::Arc::clone(&first.store);
    let second = Loreloom::start(&model, Setup { store, ..Setup::default() }).await;
    wren.turn(&second, "Wren asks again.", "<think>x</think>Again.", "Again.").await;
    assert_eq!(path(&second).await, told(&wren));
    assert_eq!(tree(&second).await.len(), wren.chat.len());
}

#[tokio::test]
async fn choices_are_versions_of_one_reply_and_a_named_chat_keeps_its_name() {
    let model = ModelServer::start(Script::new()).unwrap();
    let loreloom = Loreloom::before(&model).await;
    let choice = |index: u32, text: &str| json!({"index": index, "message": {"role": "assistant", "content": text}, "finish_reason": "stop"});
    let choices = json!([choice(0, "Mira: One."), choice(1, "Two.\nWren: Three.")]);
    model.push(CHAT, Reply::json(json!({"choices": choices})));
    let body = json!({
        "model": "m", "n": 2, "loreloom": {"chat": "inn", "user": "Wren", "char": "Mira"},
        "messages": [{"role": "user", "content": "Ring the bell!"}],
    });
    let client = reqwest::Client::new();
    let response = client.post(loreloom.url(CHAT)).json(&body).send().await.unwrap();
    assert_eq!(response.headers()["x-loreloom-chat"], "inn");
    response.bytes().await.unwrap();
    assert_eq!(model.received()[0].json.get("loreloom"), None);
    let (tenant, chat) = (TenantId::local(), "inn".into());
    let nodes = loreloom.store.tree(&tenant, &chat).await.unwrap();
    let told: Vec<(&str, Option<&str>)> =
        nodes.iter().map(|node| (&*node.message.text, node.message.name.as_deref())).collect();
    assert_eq!(
        told,
        [("Ring the bell!", Some("Wren")), ("One.", Some("Mira")), ("Two.", Some("Mira"))]
    );
    assert_eq!(nodes[1].parent, nodes[2].parent);
    let tip = loreloom.store.chat(&tenant, &chat).await.unwrap().unwrap().tip;
    assert_eq!(tip, nodes[1].prefix);
    let stored = StoredChat::read(loreloom.store.as_ref(), &tenant, &chat).await.unwrap();
    let turns = [1, 2].map(|at| stored.turn_of(&nodes[at]).map(|turn| turn.id));
    assert_eq!(turns, [Some(stored.turns[0].id); 2], "each of them answers the turn");
}
