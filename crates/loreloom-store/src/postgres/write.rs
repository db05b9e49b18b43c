//! Writing to a chat. Each function is one transaction that holds the lock of the chat's row.

use deadpool_postgres::{Client, Transaction};
use loreloom_core::{
    chat::{Message, PathItem},
    ids::{ChatId, Digest, PrefixHash, TenantId},
    units::Timestamp,
};
use loreloom_ports::{ChatRecord, Reply, StoreError, StoredTurn, TurnId, WriteId, WriteKind};
use rustc_hash::FxHashMap;
use tokio_postgres::Row;

use super::{
    read::{find_chat, find_chat_if_any},
    statement::{Parameters, decode_all, execute, query},
};
use crate::{
    checks,
    codec::{DraftedRows, NodeColumns, TurnDraft, message_hash, pack, role_number, text_hash},
    errors::{DatabaseResult as _, DecodeResult as _, not_json},
    recent_paths::DraftOutcome,
    rows::{
        StoredRow as _,
        chat::{self, ChatRow, update_chat},
        node::TreePosition,
        signed, turn, write_log,
    },
    undo::{self, LoggedWrite},
};

/// Creates a chat if there is none.
pub(super) async fn open_chat(
    client: &mut Client,
    tenant: &TenantId,
    id: &ChatId,
    title: &str,
    now: Timestamp,
) -> Result<ChatRecord, StoreError> {
    // Chats of a tenant are numbered one after the other.
    const LOCK: &str = "SELECT pg_advisory_xact_lock(hashtextextended('loreloom ' || $1, 0))";
    let doing = "creating a chat";
    if let Some(row) = find_chat_if_any(client, chat::FIND, tenant, id).await? {
        return Ok(row.record);
    }
    let transaction = client.transaction().await.doing(doing)?;
    execute(&transaction, doing, LOCK, &[&tenant.as_str()]).await?;
    if let Some(row) = find_chat_if_any(&transaction, chat::FIND, tenant, id).await? {
        return Ok(row.record);
    }
    let tip = PrefixHash::default().0;
    let row: &Parameters<'_> =
        &[&tenant.as_str(), &id.as_str(), &title.as_bytes(), &tip.0.as_slice(), &now.0];
    execute(&transaction, doing, chat::INSERT, row).await?;
    let row = find_chat(&transaction, chat::FIND, tenant, id).await?;
    transaction.commit().await.doing(doing)?;
    Ok(row.record)
}

const DOING: &str = "writing to a chat";

const UPDATE: &str = update_chat!("pg_current_xact_id()");

/// Writes to one chat.
pub(super) struct ChatWriter<'client> {
    transaction: Transaction<'client>,
    tenant: &'client TenantId,
    row: ChatRow,
}

/// Positions of stored nodes.
type Positions = FxHashMap<PrefixHash, TreePosition>;

fn position(prefix: PrefixHash, stored: &Positions) -> Option<TreePosition> {
    TreePosition::if_root(prefix).or_else(|| stored.get(&prefix).copied())
}

impl<'client> ChatWriter<'client> {
    /// Begins to write to a chat. `seen` is the version that the caller has seen, if it matters.
    pub(super) async fn begin(
        client: &'client mut Client,
        tenant: &'client TenantId,
        chat: &ChatId,
        seen: Option<u64>,
    ) -> Result<Self, StoreError> {
        let transaction = client.transaction().await.doing("beginning a transaction")?;
        let row = find_chat(&transaction, chat::LOCK, tenant, chat).await?;
        checks::version_was_seen(&row.record, seen)?;
        Ok(Self { transaction, tenant, row })
    }

    /// Stores a drafted turn.
    pub(super) async fn commit_turn(
        mut self,
        draft: TurnDraft,
    ) -> Result<DraftOutcome, StoreError> {
        let Some(numbers) = self.path(&draft).await? else { return Ok(DraftOutcome::Stale) };
        let texts = self.texts(&draft.texts).await?;
        let rows = draft.finish(&numbers, texts)?;
        let id = self.insert_turn(&rows).await?;
        let (tip, created) = (rows.columns.tip_after(self.row.record.tip), rows.columns.created);
        let logged = LoggedWrite::new(WriteKind::Turn(id));
        let write = self.commit(tip, logged, created).await?.last_write();
        Ok(DraftOutcome::Stored(StoredTurn { id, write }, rows.path))
    }

    /// Stores a reply. Returns the number of its message as well.
    pub(super) async fn commit_reply(
        mut self,
        reply: &Reply,
    ) -> Result<(WriteId, i64), StoreError> {
        let chat = self.row.record.id.clone();
        let turn = signed(reply.turn.0);
        let rows = self.rows(turn::NODE_AND_REPLY, &[&turn]).await?;
        let row =
            rows.first().ok_or(StoreError::NoTurn { chat: chat.clone(), turn: reply.turn })?;
        let (at, before) = turn::node_and_reply(row).row_while(DOING)?;
        let node = &reply.node;
        let stored = self.positions(&[node.parent, node.prefix]).await?;
        let parent = position(node.parent, &stored);
        let parent = parent.ok_or(StoreError::NoNode { chat, node: node.parent })?;
        let numbers = self.messages(&[&node.message]).await?;
        let number = numbers.first().copied().unwrap_or_default();
        if !stored.contains_key(&node.prefix) {
            let (id, prefix) = (node.message_id, node.prefix);
            let item = PathItem { id, prefix, message: node.message.clone() };
            self.nodes(parent, &[(&item, number)]).await?;
        }
        self.rows(turn::SET_REPLY, &[&turn, &Some(node.prefix.0.0.as_slice())]).await?;
        let tip = self.row.record.tip;
        let tip = if tip == at { node.prefix } else { tip };
        let logged =
            LoggedWrite { reply: before, ..LoggedWrite::new(WriteKind::Reply(reply.turn)) };
        Ok((self.commit(tip, logged, reply.created).await?.last_write(), number))
    }

    /// Stores the nodes of a draft without a turn.
    pub(super) async fn commit_path(mut self, draft: &TurnDraft) -> Result<ChatRecord, StoreError> {
        self.path(draft).await?;
        let (tip, created) = (draft.columns.at, draft.columns.created);
        self.commit(tip, LoggedWrite::new(WriteKind::Path), created).await
    }

    /// Moves the tip to a stored node.
    pub(super) async fn move_tip(
        self,
        tip: PrefixHash,
        now: Timestamp,
    ) -> Result<ChatRecord, StoreError> {
        if position(tip, &self.positions(&[tip]).await?).is_none() {
            return Err(StoreError::NoNode { chat: self.row.record.id, node: tip });
        }
        self.commit(tip, LoggedWrite::new(WriteKind::Tip), now).await
    }

    /// Undoes a write.
    pub(super) async fn undo(
        self,
        write: WriteId,
        now: Timestamp,
    ) -> Result<ChatRecord, StoreError> {
        let log = self.rows(write_log::LIST, &[]).await?;
        let log = decode_all(&log, DOING, write_log::record)?;
        let plan = undo::plan(&self.row.record.id, &log, write)?;
        let mut logged = plan.logged();
        match plan.write.kind {
            WriteKind::Turn(turn) => {
                let (turn, undone) = (signed(turn.0), i64::from(plan.undone));
                self.rows(turn::SET_UNDONE, &[&turn, &undone]).await?;
            }
            WriteKind::Reply(turn) => {
                let turn = signed(turn.0);
                if let Some(row) = self.rows(turn::NODE_AND_REPLY, &[&turn]).await?.first() {
                    (_, logged.reply) = turn::node_and_reply(row).row_while(DOING)?;
                }
                let reply = plan.write.reply.as_ref().map(|reply| reply.0.0.as_slice());
                self.rows(turn::SET_REPLY, &[&turn, &reply]).await?;
            }
            WriteKind::Path | WriteKind::Tip => (),
        }
        self.commit(plan.write.tip, logged, now).await
    }

    /// Runs a statement whose first two parameters are the tenant and the chat.
    async fn rows(&self, sql: &str, more: &Parameters<'_>) -> Result<Vec<Row>, StoreError> {
        let tenant = self.tenant.as_str();
        let key: &Parameters<'_> = &[&tenant, &self.row.number];
        query(&self.transaction, DOING, sql, &[key, more].concat()).await
    }

    /// The positions of those nodes that are stored.
    async fn positions(&self, prefixes: &[PrefixHash]) -> Result<Positions, StoreError> {
        const FIND: &str = "SELECT prefix, branch, depth FROM nodes \
             WHERE tenant = $1 AND chat = $2 AND prefix = ANY ($3)";
        let hashes: Vec<&[u8]> = prefixes.iter().map(|prefix| prefix.0.0.as_slice()).collect();
        let found = decode_all(&self.rows(FIND, &[&hashes]).await?, DOING, |row| {
            Ok((PrefixHash(row.digest(0)?), TreePosition::of(row, 1)?))
        })?;
        Ok(found.into_iter().collect())
    }

    /// The index on the path at which new nodes start, and the position of their parent. `None` if
    /// the base of the draft is not stored.
    async fn junction(
        &self,
        draft: &TurnDraft,
    ) -> Result<Option<(usize, TreePosition)>, StoreError> {
        let mut prefixes = vec![draft.base];
        prefixes.extend(draft.rest.iter().map(|item| item.prefix));
        let found = self.positions(&prefixes).await?;
        let mut stored = prefixes.iter().map_while(|prefix| position(*prefix, &found));
        let Some(base) = stored.next() else { return Ok(None) };
        let (count, parent) = stored.fold((0, base), |(count, _), place| (count + 1, place));
        Ok(Some((draft.known() + count, parent)))
    }

    /// Stores the new nodes of a draft. Returns the numbers of its messages, or `None` if its base
    /// is not stored.
    async fn path(&mut self, draft: &TurnDraft) -> Result<Option<Vec<(usize, i64)>>, StoreError> {
        let Some((new, parent)) = self.junction(draft).await? else { return Ok(None) };
        let wanted = draft.messages(new);
        let messages: Vec<&Message> = wanted.iter().map(|(_, item)| &item.message).collect();
        let numbers = self.messages(&messages).await?;
        let numbers: Vec<(usize, i64)> = wanted.iter().map(|(at, _)| *at).zip(numbers).collect();
        let nodes: Vec<(&PathItem, i64)> = draft.new_nodes(new, &numbers).collect();
        self.nodes(parent, &nodes).await?;
        Ok(Some(numbers))
    }

    /// Stores a chain of new nodes.
    async fn nodes(
        &mut self,
        parent: TreePosition,
        items: &[(&PathItem, i64)],
    ) -> Result<(), StoreError> {
        const INSERT: &str = "INSERT INTO nodes SELECT $1, $2, $3, given.* FROM unnest( \
             $4::bigint[], $5::bytea[], $6::bytea[], $7::bigint[], $8::bytea[], $9::bigint[], \
             $10::text[]) AS given";
        if items.is_empty() {
            return Ok(());
        }
        let branch = self.branch_below(parent).await?;
        let mut columns = Vec::with_capacity(items.len());
        for (item, _) in items {
            columns.push(NodeColumns::of(&item.message).map_err(|error| not_json(&error))?);
        }
        let depths: Vec<i64> = (parent.depth + 1..).take(items.len()).collect();
        let prefixes: Vec<&[u8]> = items.iter().map(|(item, _)| &item.prefix.0.0[..]).collect();
        let ids: Vec<&[u8]> = items.iter().map(|(item, _)| &item.id.0.0[..]).collect();
        let numbers: Vec<i64> = items.iter().map(|(_, number)| *number).collect();
        let names: Vec<Option<&[u8]>> =
            columns.iter().map(|columns| columns.name.as_deref().map(str::as_bytes)).collect();
        let hidden: Vec<i64> = columns.iter().map(|columns| i64::from(columns.hidden)).collect();
        let extensions: Vec<Option<&str>> =
            columns.iter().map(|columns| columns.extensions.as_deref()).collect();
        let values: &Parameters<'_> =
            &[&branch, &depths, &prefixes, &ids, &numbers, &names, &hidden, &extensions];
        self.rows(INSERT, values).await.map(drop)
    }

    /// The branch of a child of `parent`: the same branch for the first child, else a new one.
    async fn branch_below(&mut self, parent: TreePosition) -> Result<i64, StoreError> {
        const TAKEN: &str = "SELECT 1 FROM nodes \
             WHERE tenant = $1 AND chat = $2 AND branch = $3 AND depth = $4";
        if let Some(branch) = parent.branch
            && self.rows(TAKEN, &[&branch, &(parent.depth + 1)]).await?.is_empty()
        {
            return Ok(branch);
        }
        self.row.last_branch += 1;
        let insert = "INSERT INTO branches VALUES ($1, $2, $3, $4, $5)";
        self.rows(insert, &[&self.row.last_branch, &parent.branch, &parent.depth]).await?;
        Ok(self.row.last_branch)
    }

    /// The numbers of messages, which are stored if they are new.
    async fn messages(&mut self, messages: &[&Message]) -> Result<Vec<i64>, StoreError> {
        const FIND: &str = "SELECT hash, message FROM messages \
             WHERE tenant = $1 AND chat = $2 AND hash = ANY ($3)";
        const INSERT: &str = "INSERT INTO messages SELECT $1, $2, given.* \
             FROM unnest($3::bigint[], $4::bytea[], $5::bigint[], $6::bytea[]) AS given";
        let hashes: Vec<Digest> =
            messages.iter().map(|message| message_hash(message.role, &message.text)).collect();
        let known = self.numbers_of(FIND, &hashes).await?;
        let (all, new) = number(&hashes, known, &mut self.row.last_message);
        if !new.is_empty() {
            let numbers: Vec<i64> = new.iter().map(|at| all[*at]).collect();
            let digests: Vec<&[u8]> = new.iter().map(|at| &hashes[*at].0[..]).collect();
            let roles: Vec<i64> = new.iter().map(|at| role_number(messages[*at].role)).collect();
            let texts: Vec<&[u8]> = new.iter().map(|at| messages[*at].text.as_bytes()).collect();
            self.rows(INSERT, &[&numbers, &digests, &roles, &texts]).await?;
        }
        Ok(all)
    }

    /// The numbers of texts, which are stored if they are new.
    async fn texts(&mut self, texts: &[String]) -> Result<Vec<i64>, StoreError> {
        const FIND: &str = "SELECT hash, text FROM texts \
             WHERE tenant = $1 AND chat = $2 AND hash = ANY ($3)";
        const INSERT: &str = "INSERT INTO texts SELECT $1, $2, given.* \
             FROM unnest($3::bigint[], $4::bytea[], $5::bytea[]) AS given";
        let hashes: Vec<Digest> = texts.iter().map(|text| text_hash(text)).collect();
        let known = self.numbers_of(FIND, &hashes).await?;
        let (all, new) = number(&hashes, known, &mut self.row.last_text);
        if !new.is_empty() {
            let numbers: Vec<i64> = new.iter().map(|at| all[*at]).collect();
            let digests: Vec<&[u8]> = new.iter().map(|at| &hashes[*at].0[..]).collect();
            let bodies: Vec<Vec<u8>> = new.iter().map(|at| pack(texts[*at].as_bytes())).collect();
            self.rows(INSERT, &[&numbers, &digests, &bodies]).await?;
        }
        Ok(all)
    }

    /// The numbers of those hashes that are stored.
    async fn numbers_of(
        &self,
        sql: &str,
        hashes: &[Digest],
    ) -> Result<FxHashMap<Digest, i64>, StoreError> {
        if hashes.is_empty() {
            return Ok(FxHashMap::default());
        }
        let bytes: Vec<&[u8]> = hashes.iter().map(|hash| hash.0.as_slice()).collect();
        let found = decode_all(&self.rows(sql, &[&bytes]).await?, DOING, |row| {
            Ok((row.digest(0)?, row.number(1)?))
        })?;
        Ok(found.into_iter().collect())
    }

    async fn insert_turn(&mut self, rows: &DraftedRows) -> Result<TurnId, StoreError> {
        self.row.last_turn += 1;
        let number = self.row.last_turn;
        let columns = &rows.columns;
        let values: &Parameters<'_> = &[
            &number,
            &columns.at.0.0.as_slice(),
            &columns.at_message.as_ref().map(|id| id.0.0.as_slice()),
            &columns.generation,
            &columns.created.0,
            &columns.delta,
        ];
        self.rows(turn::INSERT, values).await?;
        self.rows(turn::INSERT_RECORD, &[&number, &rows.body, &columns.report]).await?;
        Ok(TurnId(number.unsigned_abs()))
    }

    /// Moves the tip, writes the chat's row and the log, and commits.
    async fn commit(
        mut self,
        tip: PrefixHash,
        logged: LoggedWrite,
        now: Timestamp,
    ) -> Result<ChatRecord, StoreError> {
        let before = std::mem::replace(&mut self.row.record.tip, tip);
        self.row.record.version += 1;
        self.row.record.updated = now;
        let row = &self.row;
        let values: &Parameters<'_> = &[
            &tip.0.0.as_slice(),
            &now.0,
            &row.last_branch,
            &row.last_message,
            &row.last_text,
            &row.last_turn,
        ];
        self.rows(UPDATE, values).await?;
        let (kind, turn) = write_log::kind_columns(logged.kind);
        let values: &Parameters<'_> = &[
            &signed(row.record.version),
            &kind,
            &turn,
            &logged.undoes.map(|write| signed(write.0)),
            &before.0.0.as_slice(),
            &logged.reply.as_ref().map(|reply| reply.0.0.as_slice()),
            &now.0,
        ];
        self.rows(write_log::INSERT, values).await?;
        self.transaction.commit().await.doing("committing")?;
        Ok(self.row.record)
    }
}

/// A number for each hash: the known one, or the next after `last`. Also the indexes of new
/// hashes, each hash once.
fn number(
    hashes: &[Digest],
    mut known: FxHashMap<Digest, i64>,
    last: &mut i64,
) -> (Vec<i64>, Vec<usize>) {
    let mut new = Vec::new();
    let numbers = hashes.iter().enumerate().map(|(at, hash)| {
        *known.entry(*hash).or_insert_with(|| {
            *last += 1;
            new.push(at);
            *last
        })
    });
    (numbers.collect(), new)
}
