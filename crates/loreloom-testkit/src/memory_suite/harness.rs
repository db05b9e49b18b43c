//! Memory services over a store, with a scripted model.

use std::sync::{
    Arc, Mutex, PoisonError,
    atomic::{AtomicI64, Ordering},
};
use std::time::Duration;

use async_trait::async_trait;
use loreloom_core::{
    chat::{Message, Path, PathItem, Role},
    ids::{ChatId, ConnectionId, TenantId},
    units::{Timestamp, Tokens},
};
use loreloom_memory::{
    cycle::Backend,
    model_profile::ModelProfile,
    service::{
        JobRun, MemoryServices, ModelUse, NewReply, Options, Policy, Ports, TurnMemory,
        TurnRequest, Who,
    },
    text::QuarterEstimate,
};
use loreloom_ports::{ChatModel, ChatReply, ChatRequest, Clock, JobOutcome, ModelError};
use tokio::sync::watch;

use super::{Keeper, fixture};
use crate::store_suite::Failure;

/// A clock that moves by one each time it is read.
#[derive(Debug, Default)]
pub struct TickingClock(AtomicI64);

impl Clock for TickingClock {
    fn now(&self) -> Timestamp {
        Timestamp(self.0.fetch_add(1, Ordering::Relaxed))
    }
}

impl TickingClock {
    /// Lets time pass.
    pub fn pass(&self, by: i64) {
        self.0.fetch_add(by, Ordering::Relaxed);
    }
}

/// A model that returns a fact for every word `secretN` in the story of its prompt.
#[derive(Debug, Default)]
pub struct SecretsModel {
    /// Prompts it was asked, oldest first.
    pub asked: Mutex<Vec<String>>,
    /// How many of the next questions fail.
    pub failing: Mutex<u32>,
}

#[async_trait]
impl ChatModel for SecretsModel {
    async fn complete(&self, request: &ChatRequest) -> Result<ChatReply, ModelError> {
        let prompt = request.messages.first().map(|message| message.content.clone());
        let prompt = prompt.unwrap_or_default();
        self.asked.lock().unwrap_or_else(PoisonError::into_inner).push(prompt.to_string());
        {
            let mut failing = self.failing.lock().unwrap_or_else(PoisonError::into_inner);
            if *failing > 0 {
                *failing -= 1;
                return Err(ModelError::TimedOut { address: "test".into(), seconds: 1 });
            }
        }
        let story = prompt.rsplit_once("Story:").map_or("", |(_, story)| story);
        let found = story.split_whitespace().filter_map(|word| {
            let number =
                word.trim_matches(|c: char| !c.is_alphanumeric()).strip_prefix("secret")?;
            number.parse::<u32>().ok()
        });
        if prompt.contains("Compare the newest reply with the facts") {
            let reply = prompt.rsplit_once("Reply of ").map_or("", |(_, reply)| reply);
            let wrong = reply.contains("lantern1 is dark");
            let text =
                if wrong { "The reply puts out lantern1 of harbour1 secret1" } else { "NONE" };
            return Ok(ChatReply { text: text.to_owned() });
        }
        let last = found.clone().next_back();
        let mut numbers: Vec<u32> = found.collect();
        numbers.sort_unstable();
        numbers.dedup();
        let of_each =
            |line: fn(&u32) -> String| -> Vec<String> { numbers.iter().map(line).collect() };
        let mut lines = if prompt.contains("will still matter") {
            of_each(|n| format!("[fact:2:entity=Odo/character] lantern{n} harbour{n} secret{n}"))
        } else if prompt.contains("must stay consistent") {
            of_each(|n| format!("[detail:2] lantern{n} harbour{n} secret{n}"))
        } else if prompt.contains("threads of this story") {
            of_each(|n| format!("[arc] quest{n} errand{n} vow{n} secret{n}"))
        } else if prompt.contains("the current state of these people") {
            last.iter().map(|n| format!("[state:Odo:character] injuries=secret{n}")).collect()
        } else {
            Vec::new()
        };
        // A fact that no message has.
        if prompt.contains("will still matter") && story.contains("forgery7") {
            lines.push("[event:2] The king owes 4711 marks to Zebulon, says forgery7".to_owned());
        }
        let text = if lines.is_empty() { "NONE".to_owned() } else { lines.join("\n") };
        Ok(ChatReply { text })
    }
}

/// Everything a test of memory needs: store, services, model, clock.
pub struct MemoryHarness {
    /// The store.
    pub store: Arc<dyn Keeper>,
    /// The memory services.
    pub service: MemoryServices,
    /// The model.
    pub model: SecretsModel,
    /// The clock.
    pub clock: Arc<TickingClock>,
    /// The tenant.
    pub tenant: TenantId,
}

impl MemoryHarness {
    /// Over a store; memories are extracted after every reply.
    pub fn new(store: Arc<dyn Keeper>) -> Self {
        Self::with(store, fixture::tenant(), 1)
    }

    /// The same for a tenant; memories are extracted after `every` replies.
    pub fn with(store: Arc<dyn Keeper>, tenant: TenantId, every: usize) -> Self {
        let options = options(&tenant, every);
        Self::of(store, tenant, options)
    }

    /// The same with these options.
    pub fn of(store: Arc<dyn Keeper>, tenant: TenantId, options: Options) -> Self {
        let clock = Arc::new(TickingClock::default());
        let service = MemoryServices::new(&ports(&store, &clock), options);
        Self { store, service, model: SecretsModel::default(), clock, tenant }
    }

    /// Sets the policy for a character's memory.
    pub fn set_policy(&mut self, character: &str, policy: Policy) {
        let mut options = Options::clone(&self.service.options);
        options.policies.insert(character.to_owned(), policy);
        self.service = MemoryServices::new(&ports(&self.store, &self.clock), options);
    }

    /// Stores these messages as the chat's current path.
    pub async fn commit(&self, path: &Path) -> Result<(), Failure> {
        let chat = path.chat();
        self.store.open_chat(&self.tenant, chat, "Story", Timestamp(0)).await?;
        self.store.commit_path(&self.tenant, path, None, self.clock.now()).await?;
        Ok(())
    }

    /// Queues the jobs that are due after the last reply.
    pub async fn queue(&self, path: &Path, character: &str) -> Result<(), Failure> {
        let speakers = [Who::named(character)];
        let spoken = NewReply {
            tenant: &self.tenant,
            chat: path.chat(),
            path: path.items(),
            speakers: &speakers,
        };
        self.service.planner.after_reply(&spoken).await?;
        Ok(())
    }

    /// Runs one job.
    pub async fn run_one(&self) -> Result<Option<JobRun>, Failure> {
        let (_keep, mut stop) = watch::channel(false);
        let backend = Backend { model: &self.model, embedder: None };
        Ok(self.service.worker.run_next_job("worker", backend, &mut stop).await?)
    }

    /// Runs all jobs that are due. Returns their outcomes.
    pub async fn run_all(&self) -> Result<Vec<Option<JobOutcome>>, Failure> {
        let mut outcomes = Vec::new();
        while let Some(ran) = self.run_one().await? {
            outcomes.push(ran.outcome);
        }
        Ok(outcomes)
    }

    /// Stores the path, queues its jobs and runs them.
    pub async fn play(&self, path: &Path, character: &str) -> Result<(), Failure> {
        self.commit(path).await?;
        self.queue(path, character).await?;
        self.run_all().await?;
        Ok(())
    }

    /// The numbers of the secrets that are remembered on a path, in order: in long-term memory, and
    /// in the chat's session memory.
    pub async fn secrets(
        &self,
        path: &Path,
        character: &str,
    ) -> Result<(Vec<u32>, Vec<u32>), Failure> {
        let who = Who::named(character);
        let view = self.service.views.view(&self.tenant, path.chat(), path.items(), &who).await?;
        let numbers = |memories: &[loreloom_memory::record::Memory]| {
            let active = memories.iter().filter(|memory| memory.is_active());
            let mut found: Vec<u32> = active
                .filter_map(|memory| memory.content.rsplit_once("secret")?.1.parse().ok())
                .collect();
            found.sort_unstable();
            found
        };
        Ok((numbers(&view.character.memories), numbers(&view.chat.session_memories)))
    }

    /// What memory has for the next turn on a path.
    pub async fn turn(
        &self,
        path: &[PathItem],
        chat: &ChatId,
        character: &str,
        seen_from: usize,
    ) -> Result<TurnMemory, Failure> {
        let speaker = Who::named(character);
        let asked = TurnRequest {
            tenant: &self.tenant,
            chat,
            path,
            speaker: &speaker,
            group: &[],
            seen_from,
            cap: None,
            settings: None,
            counter: &QuarterEstimate,
            embed_within: Duration::ZERO,
        };
        Ok(self.service.recall.for_turn(&asked).await?)
    }
}

fn ports(store: &Arc<dyn Keeper>, clock: &Arc<TickingClock>) -> Ports {
    Ports {
        story: store.clone(),
        log: store.clone(),
        jobs: store.clone(),
        clock: clock.clone(),
        table: None,
        embedder: None,
    }
}

/// Memory that keeps everything and asks one question for each tier and reply.
pub fn options(tenant: &TenantId, every: usize) -> Options {
    let model = ModelUse {
        connection: ConnectionId(format!("model of {tenant}")),
        profile: ModelProfile::B,
        at_once: 1,
        context: Tokens(100_000),
    };
    let mut options = Options { model: Some(model), ..Options::default() };
    options.settings.extract_every = every;
    // One question for each tier and reply keeps the tests readable.
    options.settings.profiles_enabled = false;
    options.settings.consolidation_enabled = false;
    options.settings.scene_enabled = false;
    options.settings.continuity_auto_check = false;
    // No memory is retired or dropped, so that only the path decides what is visible.
    options.rules.retire_unconfirmed_after = None;
    options.settings.longterm_max_memories = 1000;
    options.settings.session_max_memories = 1000;
    options.settings.arcs_max = 1000;
    options
}

/// A path of alternating messages, the user's first; `Mara` replies.
pub fn story(chat: &str, texts: &[String]) -> Path {
    let message = |(at, text): (usize, &String)| {
        let (role, name) =
            if at.is_multiple_of(2) { (Role::User, "Player") } else { (Role::Assistant, "Mara") };
        Message::new(role, Some(name), text.clone())
    };
    Path::of(ChatId::from(chat), texts.iter().enumerate().map(message))
}
