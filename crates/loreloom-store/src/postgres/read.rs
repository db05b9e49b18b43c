//! Reading: each snapshot is one read-only transaction.

use deadpool_postgres::{Client, Transaction};
use loreloom_core::{
    ids::{ChatId, MessageId, PrefixHash, TenantId},
    units::Timestamp,
};
use loreloom_ports::{
    ChatSummary, Node, StoreError, TurnId, TurnRecord, TurnSummary, WriteId, WriteRecord,
};
use rustc_hash::FxHashMap;
use tokio_postgres::{IsolationLevel, Row, types::ToSql};

use super::{
    rows::{ChatRow, Doing, Purpose, damaged, digest, optional_digest, select_chat, text},
    write::{LOG, log_from},
};
use crate::{
    codec::{
        Body, ChosenDeltas, NodeColumns, Restored, Told, Wanted, delta_from, generation_from,
        report_from, unpack,
    },
    fold::Candidate,
};

/// All chats of a tenant.
pub(super) async fn chats(
    client: &Client,
    tenant: &TenantId,
) -> Result<Vec<ChatSummary>, StoreError> {
    const SQL: &str = select_chat!(
        ", (SELECT depth FROM nodes n \
         WHERE n.tenant = c.tenant AND n.chat = c.chat AND n.prefix = c.tip) \
         FROM chats c WHERE c.tenant = $1 ORDER BY c.updated DESC, c.id COLLATE \"C\""
    );
    let doing = "listing chats";
    let all = client.prepare_cached(SQL).await.doing(doing)?;
    let rows = client.query(&all, &[&tenant.as_str()]).await.doing(doing)?;
    let summary = |row: &Row| {
        let chat = ChatRow::of(row)?;
        let messages: Option<i64> = row.try_get(11).doing(doing)?;
        Ok(ChatSummary {
            messages: messages.unwrap_or(0).unsigned_abs(),
            turns: chat.last_turn.unsigned_abs(),
            chat: chat.record,
        })
    };
    rows.iter().map(summary).collect()
}

/// A chat inside one snapshot.
pub(super) struct Snapshot<'client> {
    transaction: Transaction<'client>,
    tenant: &'client TenantId,
    row: ChatRow,
}

impl<'client> Snapshot<'client> {
    /// Begins reading a chat.
    pub(super) async fn of(
        client: &'client mut Client,
        tenant: &'client TenantId,
        chat: &ChatId,
    ) -> Result<Self, StoreError> {
        let begin = client.build_transaction().read_only(true);
        let begin = begin.isolation_level(IsolationLevel::RepeatableRead);
        let transaction = begin.start().await.doing("beginning to read")?;
        let row = ChatRow::get(&transaction, tenant, chat, Purpose::Read).await?;
        Ok(Self { transaction, tenant, row })
    }

    /// The last write to the chat.
    pub(super) fn last_write(&self) -> WriteId {
        self.row.record.last_write()
    }

    /// Rows of a query whose first two parameters are the tenant and the chat.
    async fn rows(
        &self,
        doing: &'static str,
        sql: &str,
        more: &[&(dyn ToSql + Sync)],
    ) -> Result<Vec<Row>, StoreError> {
        let tenant = self.tenant.as_str();
        let mut values: Vec<&(dyn ToSql + Sync)> = vec![&tenant, &self.row.number];
        values.extend(more);
        let statement = self.transaction.prepare_cached(sql).await.doing(doing)?;
        self.transaction.query(&statement, &values).await.doing(doing)
    }

    /// The nodes from the first message to `tip`.
    pub(super) async fn path(&self, tip: PrefixHash) -> Result<Vec<Node>, StoreError> {
        if tip == PrefixHash::default() {
            return Ok(Vec::new());
        }
        let doing = "reading a path";
        let (branches, lasts) = self.runs(tip).await?;
        let sql = "SELECT n.prefix, n.message_id, n.name, n.hidden, n.extensions, m.role, m.text \
             FROM unnest($3::bigint[], $4::bigint[]) AS run (branch, last) \
             JOIN nodes n ON n.branch = run.branch AND n.depth <= run.last \
             JOIN messages m USING (tenant, chat, message) \
             WHERE n.tenant = $1 AND n.chat = $2 ORDER BY n.depth";
        let rows = self.rows(doing, sql, &[&branches, &lasts]).await?;
        let mut parent = PrefixHash::default();
        let mut nodes = Vec::with_capacity(rows.len());
        for row in &rows {
            let node = node(row, 0, parent)?;
            parent = node.prefix;
            nodes.push(node);
        }
        Ok(nodes)
    }

    /// The branches that make up the path to `tip`, and the depth to which they do.
    async fn runs(&self, tip: PrefixHash) -> Result<(Vec<i64>, Vec<i64>), StoreError> {
        let doing = "reading a path";
        let find = "SELECT branch, depth FROM nodes \
             WHERE tenant = $1 AND chat = $2 AND prefix = $3";
        let found = self.rows(doing, find, &[&tip.0.0.as_slice()]).await?;
        let missing = || StoreError::NoNode { chat: self.row.record.id.clone(), node: tip };
        let end = found.first().ok_or_else(missing)?;
        let all = "SELECT branch, parent_branch, parent_depth FROM branches \
             WHERE tenant = $1 AND chat = $2";
        let mut above: FxHashMap<i64, (Option<i64>, i64)> = FxHashMap::default();
        for row in self.rows(doing, all, &[]).await? {
            let parent = (row.try_get(1).doing(doing)?, row.try_get(2).doing(doing)?);
            above.insert(row.try_get(0).doing(doing)?, parent);
        }
        let mut next = Some(end.try_get(0).doing(doing)?);
        let mut last = end.try_get(1).doing(doing)?;
        let (mut branches, mut lasts) = (Vec::new(), Vec::new());
        while let Some(branch) = next {
            branches.push(branch);
            lasts.push(last);
            // Removing it ends the walk even through damaged rows.
            let parent = above.remove(&branch);
            (next, last) = parent.ok_or_else(|| {
                damaged(
                    self.what(&format!("branch {branch}")),
                    "it has no row, or is its own parent",
                )
            })?;
        }
        Ok((branches, lasts))
    }

    /// All nodes, branch by branch: a branch hangs on an older one.
    pub(super) async fn tree(&self) -> Result<Vec<Node>, StoreError> {
        let doing = "reading a chat's tree";
        let sql = "SELECT n.branch, p.prefix, \
             n.prefix, n.message_id, n.name, n.hidden, n.extensions, m.role, m.text \
             FROM nodes n JOIN messages m USING (tenant, chat, message) \
             JOIN branches b USING (tenant, chat, branch) \
             LEFT JOIN nodes p ON p.tenant = b.tenant AND p.chat = b.chat \
             AND p.branch = b.parent_branch AND p.depth = b.parent_depth \
             WHERE n.tenant = $1 AND n.chat = $2 ORDER BY n.branch, n.depth";
        let mut nodes: Vec<Node> = Vec::new();
        let mut last_branch = None;
        for row in self.rows(doing, sql, &[]).await? {
            let branch: i64 = row.try_get(0).doing(doing)?;
            let parent = match nodes.last().filter(|_| last_branch == Some(branch)) {
                Some(before) => before.prefix,
                None => optional_digest(&row, 1)?.map(PrefixHash).unwrap_or_default(),
            };
            nodes.push(node(&row, 2, parent)?);
            last_branch = Some(branch);
        }
        Ok(nodes)
    }

    /// Offers all turns, newest first.
    pub(super) async fn choose(
        &self,
        mut choice: ChosenDeltas,
    ) -> Result<ChosenDeltas, StoreError> {
        let doing = "reading a chat's state";
        let sql = "SELECT at, at_message, generation, delta FROM turns \
             WHERE tenant = $1 AND chat = $2 AND undone = 0 ORDER BY turn DESC";
        for row in self.rows(doing, sql, &[]).await? {
            let generation = generation_from(row.try_get(2).doing(doing)?);
            let turn = Candidate {
                at: PrefixHash(digest(&row, 0)?),
                message: optional_digest(&row, 1)?.map(MessageId),
                generation: generation.map_err(|reason| damaged(self.what("a turn"), reason))?,
            };
            choice.offer(turn, || row.try_get(3).doing(doing))?;
        }
        Ok(choice)
    }

    /// All turns.
    pub(super) async fn turns(&self) -> Result<Vec<TurnSummary>, StoreError> {
        let doing = "listing turns";
        let sql = "SELECT turn, at, generation, created, reply, undone, trimmed FROM turns \
             WHERE tenant = $1 AND chat = $2 ORDER BY turn";
        let rows = self.rows(doing, sql, &[]).await?;
        let summary = |row: &Row| {
            let number = |at| row.try_get::<_, i64>(at).doing(doing);
            let generation = generation_from(number(2)?);
            Ok(TurnSummary {
                id: TurnId(number(0)?.unsigned_abs()),
                at: PrefixHash(digest(row, 1)?),
                generation: generation.map_err(|reason| damaged(self.what("a turn"), reason))?,
                created: Timestamp(number(3)?),
                reply: optional_digest(row, 4)?.map(PrefixHash),
                undone: number(5)? != 0,
                trimmed: number(6)? != 0,
            })
        };
        rows.iter().map(summary).collect()
    }

    /// The log of writes.
    pub(super) async fn writes(&self) -> Result<Vec<WriteRecord>, StoreError> {
        let rows = self.rows("reading the log of writes", LOG, &[]).await?;
        log_from(&self.row.record.id, &rows)
    }

    /// One turn.
    pub(super) async fn turn(&self, turn: TurnId) -> Result<Option<TurnRecord>, StoreError> {
        let doing = "reading a turn";
        let Ok(number) = i64::try_from(turn.0) else { return Ok(None) };
        let sql = "SELECT t.at, t.generation, t.created, t.delta, r.body, r.report \
             FROM turns t JOIN turn_records r USING (tenant, chat, turn) \
             WHERE t.tenant = $1 AND t.chat = $2 AND t.turn = $3";
        let rows = self.rows(doing, sql, &[&number]).await?;
        let Some(row) = rows.first() else { return Ok(None) };
        let broken = |reason| damaged(self.what(&format!("turn {number}")), reason);
        let body = Body::from_bytes(row.try_get(4).doing(doing)?).map_err(broken)?;
        let wanted = self.wanted(&body).await?;
        let (answers, library) = (body.answers, body.library);
        let Restored { injections, prompt, given } = body.restore(&wanted).map_err(broken)?;
        Ok(Some(TurnRecord {
            chat: self.row.record.id.clone(),
            at: PrefixHash(digest(row, 0)?),
            answers,
            generation: generation_from(row.try_get(1).doing(doing)?).map_err(broken)?,
            library,
            delta: delta_from(row.try_get(3).doing(doing)?).map_err(broken)?,
            injections,
            prompt,
            report: report_from(row.try_get(5).doing(doing)?).map_err(broken)?,
            created: Timestamp(row.try_get(2).doing(doing)?),
            given,
        }))
    }

    /// What a turn's body refers to.
    async fn wanted(&self, body: &Body) -> Result<Wanted, StoreError> {
        let doing = "reading a turn's texts";
        let mut wanted = Wanted::default();
        let (firsts, lasts): (Vec<i64>, Vec<i64>) = body.message_ranges().into_iter().unzip();
        let sql = "SELECT m.message, m.role, m.text \
             FROM unnest($3::bigint[], $4::bigint[]) AS run (first, last) \
             JOIN messages m ON m.message BETWEEN run.first AND run.last \
             WHERE m.tenant = $1 AND m.chat = $2";
        for row in self.rows(doing, sql, &[&firsts, &lasts]).await? {
            let number = row.try_get(0).doing(doing)?;
            let told = told(&row, 1)?;
            wanted.told.insert(number, told);
        }
        let sql = "SELECT text, body FROM texts \
             WHERE tenant = $1 AND chat = $2 AND text = ANY ($3)";
        let mut texts: FxHashMap<i64, String> = FxHashMap::default();
        for row in self.rows(doing, sql, &[&body.texts]).await? {
            let number: i64 = row.try_get(0).doing(doing)?;
            let unpacked = unpack(row.try_get(1).doing(doing)?);
            let text = unpacked
                .and_then(|bytes| String::from_utf8(bytes).map_err(|error| error.to_string()));
            let broken = |reason| damaged(self.what(&format!("text {number}")), reason);
            texts.insert(number, text.map_err(broken)?);
        }
        for number in &body.texts {
            let missing = || damaged(self.what(&format!("text {number}")), "it is missing");
            wanted.texts.push(texts.get(number).cloned().ok_or_else(missing)?);
        }
        Ok(wanted)
    }

    fn what(&self, part: &str) -> String {
        format!("{part} of chat `{}`", self.row.record.id)
    }
}

fn told(row: &Row, first: usize) -> Result<Told, StoreError> {
    let role = row.try_get(first).doing("reading a message")?;
    let text = text(row, first + 1)?.unwrap_or_default();
    Told::from_columns(role, text).map_err(|reason| damaged("a message", reason))
}

/// The node in the seven columns from `first` on.
fn node(row: &Row, first: usize, parent: PrefixHash) -> Result<Node, StoreError> {
    let doing = "reading a node";
    let prefix = PrefixHash(digest(row, first)?);
    let columns = NodeColumns {
        name: text(row, first + 2)?,
        hidden: row.try_get::<_, i64>(first + 3).doing(doing)? != 0,
        extensions: row.try_get(first + 4).doing(doing)?,
    };
    let message = columns.message(told(row, first + 5)?);
    let message = message.map_err(|reason| damaged(format!("node {prefix}"), reason))?;
    Ok(Node { prefix, parent, message_id: MessageId(digest(row, first + 1)?), message })
}
