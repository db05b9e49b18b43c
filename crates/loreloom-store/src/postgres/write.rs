//! Writing: each function is one transaction that holds the chat's row.

use deadpool_postgres::{Client, Transaction};
use loreloom_core::{
    chat::{Message, PathItem},
    ids::{ChatId, Digest, PrefixHash, TenantId},
    units::Timestamp,
};
use loreloom_ports::{
    ChatRecord, Reply, StoreError, StoredTurn, TurnId, WriteId, WriteKind, WriteRecord,
};
use rustc_hash::FxHashMap;
use tokio_postgres::{Row, types::ToSql};

use super::rows::{ChatRow, Doing, Purpose, damaged, digest, optional_digest};
use crate::{
    checks,
    codec::{Committed, Draft, Finished, NodeColumns, Told, not_json, pack, text_hash, told_hash},
    undo::{self, Did},
};

/// Makes a chat if there is none.
pub(super) async fn open_chat(
    client: &mut Client,
    tenant: &TenantId,
    chat: &ChatId,
    title: &str,
    now: Timestamp,
) -> Result<ChatRecord, StoreError> {
    // Chats of a tenant are numbered one after the other.
    const LOCK: &str = "SELECT pg_advisory_xact_lock(hashtextextended('loreloom ' || $1, 0))";
    const INSERT: &str = "INSERT INTO chats \
         (tenant, chat, id, title, tip, created, updated, version) \
         SELECT $1, coalesce(max(chat), 0) + 1, $2, $3, $4, $5, $5, 0 FROM chats WHERE tenant = $1";
    let doing = "making a chat";
    if let Some(row) = ChatRow::find(client, tenant, chat).await.doing(doing)? {
        return Ok(ChatRow::of(&row)?.record);
    }
    let transaction = client.transaction().await.doing(doing)?;
    transaction.execute(LOCK, &[&tenant.as_str()]).await.doing(doing)?;
    if let Some(row) = ChatRow::find(&transaction, tenant, chat).await.doing(doing)? {
        return Ok(ChatRow::of(&row)?.record);
    }
    let tip = PrefixHash::default().0;
    let values: [&(dyn ToSql + Sync); 5] =
        [&tenant.as_str(), &chat.as_str(), &title.as_bytes(), &tip.0.as_slice(), &now.0];
    transaction.execute(INSERT, &values).await.doing(doing)?;
    let row = ChatRow::get(&transaction, tenant, chat, Purpose::Read).await?;
    transaction.commit().await.doing(doing)?;
    Ok(row.record)
}

/// Stores a drafted turn.
pub(super) async fn commit_turn(
    client: &mut Client,
    tenant: &TenantId,
    chat: &ChatId,
    draft: Draft,
    seen: Option<u64>,
) -> Result<Committed, StoreError> {
    let mut writer = Writer::begin(client, tenant, chat).await?;
    checks::version_was_seen(&writer.row.record, seen)?;
    let Some(numbers) = writer.path(&draft).await? else { return Ok(Committed::Stale) };
    let texts = writer.texts(&draft.texts).await?;
    let finished = draft.finish(&numbers, texts)?;
    writer.turn(&finished).await?;
    writer.row.record.tip = finished.columns.tip_after(writer.tip);
    let id = TurnId(writer.row.last_turn.unsigned_abs());
    let did = Did::new(WriteKind::Turn(id));
    let record = writer.finish(did, finished.columns.created).await?;
    Ok(Committed::Stored(StoredTurn { id, write: record.last_write() }, finished.path))
}

/// Stores the nodes of a draft without a turn.
pub(super) async fn commit_path(
    client: &mut Client,
    tenant: &TenantId,
    chat: &ChatId,
    draft: &Draft,
    seen: Option<u64>,
) -> Result<ChatRecord, StoreError> {
    let mut writer = Writer::begin(client, tenant, chat).await?;
    checks::version_was_seen(&writer.row.record, seen)?;
    writer.path(draft).await?;
    writer.row.record.tip = draft.columns.at;
    writer.finish(Did::new(WriteKind::Path), draft.columns.created).await
}

/// Stores a reply; returns the number of its message as well.
pub(super) async fn commit_reply(
    client: &mut Client,
    tenant: &TenantId,
    chat: &ChatId,
    reply: &Reply,
) -> Result<(WriteId, i64), StoreError> {
    let mut writer = Writer::begin(client, tenant, chat).await?;
    let no_turn = || StoreError::NoTurn { chat: chat.clone(), turn: reply.turn };
    let turn = i64::try_from(reply.turn.0).map_err(|_| no_turn())?;
    let find = "SELECT at, reply FROM turns WHERE tenant = $1 AND chat = $2 AND turn = $3";
    let rows = writer.rows(find, &[&turn]).await?;
    let row = rows.first().ok_or_else(no_turn)?;
    let (at, before) = (PrefixHash(digest(row, 0)?), optional_digest(row, 1)?.map(PrefixHash));
    let node = &reply.node;
    let places = writer.positions(&[node.parent, node.prefix]).await?;
    let parent = Position::of(node.parent, &places);
    let parent =
        parent.ok_or_else(|| StoreError::NoNode { chat: chat.clone(), node: node.parent })?;
    let numbers = writer.messages(&[&node.message]).await?;
    let number = numbers.first().copied().unwrap_or_default();
    if !places.contains_key(&node.prefix) {
        let (id, prefix) = (node.message_id, node.prefix);
        let item = PathItem { id, prefix, message: node.message.clone() };
        writer.nodes(parent, &[(&item, number)]).await?;
    }
    writer.rows(SET_REPLY, &[&turn, &Some(node.prefix.0.0.as_slice())]).await?;
    if writer.row.record.tip == at {
        writer.row.record.tip = node.prefix;
    }
    let did = Did { reply: before, ..Did::new(WriteKind::Reply(reply.turn)) };
    let record = writer.finish(did, reply.created).await?;
    Ok((record.last_write(), number))
}

/// Moves the tip to a stored node.
pub(super) async fn move_tip(
    client: &mut Client,
    tenant: &TenantId,
    chat: &ChatId,
    tip: PrefixHash,
    seen: Option<u64>,
    now: Timestamp,
) -> Result<ChatRecord, StoreError> {
    let mut writer = Writer::begin(client, tenant, chat).await?;
    checks::version_was_seen(&writer.row.record, seen)?;
    let places = writer.positions(&[tip]).await?;
    if Position::of(tip, &places).is_none() {
        return Err(StoreError::NoNode { chat: chat.clone(), node: tip });
    }
    writer.row.record.tip = tip;
    writer.finish(Did::new(WriteKind::Tip), now).await
}

/// Takes a write back.
pub(super) async fn undo(
    client: &mut Client,
    tenant: &TenantId,
    chat: &ChatId,
    write: WriteId,
    now: Timestamp,
) -> Result<ChatRecord, StoreError> {
    let mut writer = Writer::begin(client, tenant, chat).await?;
    let log = log_from(chat, &writer.rows(LOG, &[]).await?)?;
    let undo = undo::plan(chat, &log, write)?;
    let mut did = Did { undoes: Some(undo.write.id), ..Did::new(undo.write.kind) };
    match undo.write.kind {
        WriteKind::Turn(turn) => {
            let set = "UPDATE turns SET undone = $4 WHERE tenant = $1 AND chat = $2 AND turn = $3";
            let (turn, undone) = (turn.0.cast_signed(), i64::from(undo.undone));
            writer.rows(set, &[&turn, &undone]).await?;
        }
        WriteKind::Reply(turn) => {
            let turn = turn.0.cast_signed();
            let find = "SELECT reply FROM turns WHERE tenant = $1 AND chat = $2 AND turn = $3";
            if let Some(row) = writer.rows(find, &[&turn]).await?.first() {
                did.reply = optional_digest(row, 0)?.map(PrefixHash);
            }
            let reply = undo.write.reply.as_ref().map(|reply| reply.0.0.as_slice());
            writer.rows(SET_REPLY, &[&turn, &reply]).await?;
        }
        WriteKind::Path | WriteKind::Tip => (),
    }
    writer.row.record.tip = undo.write.tip;
    writer.finish(did, now).await
}

/// A chat's log of writes, for [`log_from`].
pub(super) const LOG: &str = "SELECT version, kind, turn, undoes, tip, reply, created FROM writes \
     WHERE tenant = $1 AND chat = $2 ORDER BY version";

const SET_REPLY: &str = "UPDATE turns SET reply = $4 WHERE tenant = $1 AND chat = $2 AND turn = $3";

/// The log of writes in rows.
pub(super) fn log_from(chat: &ChatId, rows: &[Row]) -> Result<Vec<WriteRecord>, StoreError> {
    let doing = "reading the log of writes";
    let line = |row: &Row| {
        let kind = undo::kind_from(row.try_get(1).doing(doing)?, row.try_get(2).doing(doing)?);
        let undoes: Option<i64> = row.try_get(3).doing(doing)?;
        Ok(WriteRecord {
            id: WriteId(row.try_get::<_, i64>(0).doing(doing)?.unsigned_abs()),
            kind: kind.map_err(|reason| damaged(format!("the log of chat `{chat}`"), reason))?,
            undoes: undoes.map(|version| WriteId(version.unsigned_abs())),
            tip: PrefixHash(digest(row, 4)?),
            reply: optional_digest(row, 5)?.map(PrefixHash),
            created: Timestamp(row.try_get(6).doing(doing)?),
        })
    };
    rows.iter().map(line).collect()
}

/// Where a node is: its branch, `None` above the first message, and its depth.
#[derive(Clone, Copy, Debug)]
struct Position {
    branch: Option<i64>,
    depth: i64,
}

impl Position {
    fn of(prefix: PrefixHash, places: &FxHashMap<PrefixHash, Self>) -> Option<Self> {
        if prefix == PrefixHash::default() {
            return Some(Self { branch: None, depth: 0 });
        }
        places.get(&prefix).copied()
    }
}

const DOING: &str = "writing to a chat";

struct Writer<'client> {
    transaction: Transaction<'client>,
    tenant: &'client TenantId,
    row: ChatRow,
    /// The tip before.
    tip: PrefixHash,
}

impl<'client> Writer<'client> {
    async fn begin(
        client: &'client mut Client,
        tenant: &'client TenantId,
        chat: &ChatId,
    ) -> Result<Self, StoreError> {
        let transaction = client.transaction().await.doing("beginning a transaction")?;
        let row = ChatRow::get(&transaction, tenant, chat, Purpose::Write).await?;
        let tip = row.record.tip;
        Ok(Self { transaction, tenant, row, tip })
    }

    /// Runs a statement whose first two parameters are the tenant and the chat.
    async fn rows(&self, sql: &str, more: &[&(dyn ToSql + Sync)]) -> Result<Vec<Row>, StoreError> {
        let tenant = self.tenant.as_str();
        let mut values: Vec<&(dyn ToSql + Sync)> = vec![&tenant, &self.row.number];
        values.extend(more);
        let statement = self.transaction.prepare_cached(sql).await.doing(DOING)?;
        self.transaction.query(&statement, &values).await.doing(DOING)
    }

    /// Where those of the nodes are that are stored.
    async fn positions(
        &self,
        prefixes: &[PrefixHash],
    ) -> Result<FxHashMap<PrefixHash, Position>, StoreError> {
        let find = "SELECT prefix, branch, depth FROM nodes \
             WHERE tenant = $1 AND chat = $2 AND prefix = ANY ($3)";
        let hashes: Vec<&[u8]> = prefixes.iter().map(|prefix| prefix.0.0.as_slice()).collect();
        let rows = self.rows(find, &[&hashes]).await?;
        let place = |row: &Row| {
            let branch = Some(row.try_get(1).doing(DOING)?);
            let depth = row.try_get(2).doing(DOING)?;
            Ok((PrefixHash(digest(row, 0)?), Position { branch, depth }))
        };
        rows.iter().map(place).collect()
    }

    /// The place on the path at which new nodes begin, and where their parent is. `None` if
    /// the draft's base is not stored.
    async fn junction(&self, draft: &Draft) -> Result<Option<(usize, Position)>, StoreError> {
        let mut prefixes = vec![draft.base];
        prefixes.extend(draft.rest.iter().map(|item| item.prefix));
        let places = self.positions(&prefixes).await?;
        let mut stored = prefixes.iter().map_while(|prefix| Position::of(*prefix, &places));
        let Some(base) = stored.next() else { return Ok(None) };
        let (count, parent) = stored.fold((0, base), |(count, _), place| (count + 1, place));
        Ok(Some((draft.known() + count, parent)))
    }

    /// Stores the nodes of a draft that are new. The numbers of the messages it asks for, or
    /// `None` if its base is not stored.
    async fn path(&mut self, draft: &Draft) -> Result<Option<Vec<(usize, i64)>>, StoreError> {
        let Some((new, parent)) = self.junction(draft).await? else { return Ok(None) };
        let wanted = draft.messages(new);
        let said: Vec<&Message> = wanted.iter().map(|(_, item)| &item.message).collect();
        let numbers = self.messages(&said).await?;
        let numbers: Vec<(usize, i64)> = wanted.iter().map(|(at, _)| *at).zip(numbers).collect();
        let first = numbers.partition_point(|(at, _)| *at < new);
        let items = draft.rest[new - draft.known()..].iter();
        let numbered = items.zip(numbers[first..].iter().map(|(_, number)| *number));
        self.nodes(parent, &numbered.collect::<Vec<_>>()).await?;
        Ok(Some(numbers))
    }

    /// Stores new nodes in a row, each the child of the one before.
    async fn nodes(
        &mut self,
        parent: Position,
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
        let values: [&(dyn ToSql + Sync); 8] =
            [&branch, &depths, &prefixes, &ids, &numbers, &names, &hidden, &extensions];
        self.rows(INSERT, &values).await.map(drop)
    }

    /// The branch that a child of `parent` goes on: its own if it is the first child, else
    /// a new one.
    async fn branch_below(&mut self, parent: Position) -> Result<i64, StoreError> {
        if let Some(branch) = parent.branch {
            let taken = "SELECT 1 FROM nodes \
                 WHERE tenant = $1 AND chat = $2 AND branch = $3 AND depth = $4";
            if self.rows(taken, &[&branch, &(parent.depth + 1)]).await?.is_empty() {
                return Ok(branch);
            }
        }
        self.row.last_branch += 1;
        let insert = "INSERT INTO branches VALUES ($1, $2, $3, $4, $5)";
        let values: [&(dyn ToSql + Sync); 3] =
            [&self.row.last_branch, &parent.branch, &parent.depth];
        self.rows(insert, &values).await?;
        Ok(self.row.last_branch)
    }

    /// The numbers of what messages say, stored where they are new.
    async fn messages(&mut self, messages: &[&Message]) -> Result<Vec<i64>, StoreError> {
        const INSERT: &str = "INSERT INTO messages SELECT $1, $2, given.* \
             FROM unnest($3::bigint[], $4::bytea[], $5::bigint[], $6::bytea[]) AS given";
        let hashes: Vec<Digest> =
            messages.iter().map(|message| told_hash(message.role, &message.text)).collect();
        let known = self
            .known(
                "SELECT hash, message FROM messages \
             WHERE tenant = $1 AND chat = $2 AND hash = ANY ($3)",
                &hashes,
            )
            .await?;
        let (all, new) = number(&hashes, known, &mut self.row.last_message);
        if !new.is_empty() {
            let numbers: Vec<i64> = new.iter().map(|at| all[*at]).collect();
            let digests: Vec<&[u8]> = new.iter().map(|at| &hashes[*at].0[..]).collect();
            let roles: Vec<i64> =
                new.iter().map(|at| Told::role_number(messages[*at].role)).collect();
            let texts: Vec<&[u8]> = new.iter().map(|at| messages[*at].text.as_bytes()).collect();
            self.rows(INSERT, &[&numbers, &digests, &roles, &texts]).await?;
        }
        Ok(all)
    }

    /// The numbers of texts, stored where they are new.
    async fn texts(&mut self, texts: &[String]) -> Result<Vec<i64>, StoreError> {
        const INSERT: &str = "INSERT INTO texts SELECT $1, $2, given.* \
             FROM unnest($3::bigint[], $4::bytea[], $5::bytea[]) AS given";
        let hashes: Vec<Digest> = texts.iter().map(|text| text_hash(text)).collect();
        let known = self
            .known(
                "SELECT hash, text FROM texts \
             WHERE tenant = $1 AND chat = $2 AND hash = ANY ($3)",
                &hashes,
            )
            .await?;
        let (all, new) = number(&hashes, known, &mut self.row.last_text);
        if !new.is_empty() {
            let numbers: Vec<i64> = new.iter().map(|at| all[*at]).collect();
            let digests: Vec<&[u8]> = new.iter().map(|at| &hashes[*at].0[..]).collect();
            let bodies: Vec<Vec<u8>> = new.iter().map(|at| pack(texts[*at].as_bytes())).collect();
            self.rows(INSERT, &[&numbers, &digests, &bodies]).await?;
        }
        Ok(all)
    }

    async fn known(
        &self,
        sql: &str,
        hashes: &[Digest],
    ) -> Result<FxHashMap<Digest, i64>, StoreError> {
        if hashes.is_empty() {
            return Ok(FxHashMap::default());
        }
        let bytes: Vec<&[u8]> = hashes.iter().map(|hash| hash.0.as_slice()).collect();
        let rows = self.rows(sql, &[&bytes]).await?;
        rows.iter().map(|row| Ok((digest(row, 0)?, row.try_get(1).doing(DOING)?))).collect()
    }

    async fn turn(&mut self, turn: &Finished) -> Result<(), StoreError> {
        self.row.last_turn += 1;
        let number = self.row.last_turn;
        let columns = &turn.columns;
        let at_message = columns.at_message.as_ref().map(|id| id.0.0.as_slice());
        let insert = "INSERT INTO turns VALUES ($1, $2, $3, $4, $5, $6, $7, NULL, $8, 0, 0)";
        let values: [&(dyn ToSql + Sync); 6] = [
            &number,
            &columns.at.0.0.as_slice(),
            &at_message,
            &columns.generation,
            &columns.created.0,
            &columns.delta,
        ];
        self.rows(insert, &values).await?;
        let insert = "INSERT INTO turn_records VALUES ($1, $2, $3, $4, $5)";
        self.rows(insert, &[&number, &turn.body, &columns.report]).await.map(drop)
    }

    /// Writes the chat's row and the log, and commits. The chat as it now is.
    async fn finish(self, did: Did, now: Timestamp) -> Result<ChatRecord, StoreError> {
        const UPDATE: &str = "UPDATE chats SET tip = $3, updated = $4, version = version + 1, \
             last_branch = $5, last_message = $6, last_text = $7, last_turn = $8 \
             WHERE tenant = $1 AND chat = $2";
        let row = &self.row;
        let values: [&(dyn ToSql + Sync); 6] = [
            &row.record.tip.0.0.as_slice(),
            &now.0,
            &row.last_branch,
            &row.last_message,
            &row.last_text,
            &row.last_turn,
        ];
        self.rows(UPDATE, &values).await?;
        let version = row.record.version + 1;
        let (kind, turn) = did.columns();
        let values: [&(dyn ToSql + Sync); 7] = [
            &version.cast_signed(),
            &kind,
            &turn,
            &did.undoes.map(|write| write.0.cast_signed()),
            &self.tip.0.0.as_slice(),
            &did.reply.as_ref().map(|reply| reply.0.0.as_slice()),
            &now.0,
        ];
        let log = "INSERT INTO writes VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)";
        self.rows(log, &values).await?;
        let record = ChatRecord { updated: now, version, ..self.row.record };
        self.transaction.commit().await.doing("committing")?;
        Ok(record)
    }
}

/// A number for each hash: the known one, else the next after `last`; and the places of
/// those that are new, each hash once.
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
