//! Reading a chat. A snapshot is one read-only transaction.

use deadpool_postgres::{Client, GenericClient, Transaction};
use loreloom_core::ids::{ChatId, MessageId, PrefixHash, TenantId};
use loreloom_ports::{
    ChangeMark, ChangedChats, Node, StoreError, TurnId, TurnRecord, TurnSummary, WriteId,
    WriteRecord,
};
use rustc_hash::FxHashMap;
use tokio_postgres::{IsolationLevel, Row};

use super::statement::{Parameters, decode_all, query, query_first};
use crate::{
    codec::{ChosenDeltas, ReferencedTexts, TurnBody, unpack_text},
    errors::{DatabaseResult as _, DecodeResult as _, Decoded},
    rows::{
        StoredRow as _,
        chat::{self, ChatRow},
        node, signed,
        turn::{self, TurnRow},
        write_log,
    },
};

/// The row of a chat, if there is one. `sql` finds it or locks it.
pub(super) async fn find_chat_if_any(
    client: &impl GenericClient,
    sql: &str,
    tenant: &TenantId,
    id: &ChatId,
) -> Result<Option<ChatRow>, StoreError> {
    let doing = "reading a chat";
    let row = query_first(client, doing, sql, &[&tenant.as_str(), &id.as_str()]).await?;
    row.map(|row| ChatRow::of(&row).row_while(doing)).transpose()
}

/// The row of a chat that must exist.
pub(super) async fn find_chat(
    client: &impl GenericClient,
    sql: &str,
    tenant: &TenantId,
    id: &ChatId,
) -> Result<ChatRow, StoreError> {
    let found = find_chat_if_any(client, sql, tenant, id).await?;
    found.ok_or_else(|| StoreError::NoChat { chat: id.clone() })
}

/// The chats that were written to since a mark.
///
/// Transactions do not commit in the order of their numbers. So the mark is the oldest one that
/// was still running: what was not visible then has this number or a later one.
pub(super) async fn changed_chats(
    client: &Client,
    tenant: &TenantId,
    mark: ChangeMark,
) -> Result<ChangedChats, StoreError> {
    const FIND: &str = "SELECT now.mark, c.id, c.version \
         FROM (SELECT pg_snapshot_xmin(pg_current_snapshot())::text::bigint AS mark) now \
         LEFT JOIN chats c ON c.tenant = $1 AND c.changed >= ($2::bigint)::text::xid8 \
         ORDER BY c.changed";
    let doing = "looking for changes";
    let rows = query(client, doing, FIND, &[&tenant.as_str(), &signed(mark.0)]).await?;
    let found = decode_all(&rows, doing, |row| {
        let chat = row.optional_text(1)?.map(ChatId);
        let version = row.optional_number(2)?.unwrap_or(0).unsigned_abs();
        Ok((row.unsigned(0)?, chat.map(|chat| (chat, version))))
    })?;
    let mark = found.first().map_or(mark, |(mark, _)| ChangeMark(*mark));
    Ok(ChangedChats { mark, chats: found.into_iter().filter_map(|(_, chat)| chat).collect() })
}

/// The last write to a chat.
pub(super) async fn last_write(
    client: &Client,
    tenant: &TenantId,
    id: &ChatId,
) -> Result<Option<WriteId>, StoreError> {
    let doing = "reading a chat";
    let key: &Parameters<'_> = &[&tenant.as_str(), &id.as_str()];
    let row = query_first(client, doing, chat::LAST_WRITE, key).await?;
    row.map(|row| chat::last_write(&row).row_while(doing)).transpose()
}

/// Offers all turns of a chat, newest first. Returns the last write as well.
pub(super) async fn choose_deltas(
    client: &Client,
    tenant: &TenantId,
    id: &ChatId,
    mut choice: ChosenDeltas,
) -> Result<(WriteId, ChosenDeltas), StoreError> {
    let doing = "reading a chat's state";
    let mut last = None;
    for row in query(client, doing, turn::FOR_STATE, &[&tenant.as_str(), &id.as_str()]).await? {
        last = Some(turn::offer(&mut choice, &row).row_while(doing)?);
    }
    let last = last.ok_or_else(|| StoreError::NoChat { chat: id.clone() })?;
    Ok((last, choice))
}

/// A chat inside one snapshot.
pub(super) struct ChatSnapshot<'client> {
    transaction: Transaction<'client>,
    tenant: &'client TenantId,
    row: ChatRow,
}

impl<'client> ChatSnapshot<'client> {
    /// Begins to read a chat.
    pub(super) async fn begin(
        client: &'client mut Client,
        tenant: &'client TenantId,
        chat: &ChatId,
    ) -> Result<Self, StoreError> {
        let begin = client.build_transaction().read_only(true);
        let begin = begin.isolation_level(IsolationLevel::RepeatableRead);
        let transaction = begin.start().await.doing("beginning to read")?;
        let row = find_chat(&transaction, chat::FIND, tenant, chat).await?;
        Ok(Self { transaction, tenant, row })
    }

    /// Rows of a query whose first two parameters are the tenant and the chat.
    async fn rows(
        &self,
        doing: &'static str,
        sql: &str,
        more: &Parameters<'_>,
    ) -> Result<Vec<Row>, StoreError> {
        let tenant = self.tenant.as_str();
        let key: &Parameters<'_> = &[&tenant, &self.row.number];
        query(&self.transaction, doing, sql, &[key, more].concat()).await
    }

    /// Names a part of the chat.
    fn part(&self, part: &str) -> String {
        format!("{part} of chat `{}`", self.row.record.id)
    }

    /// The nodes from the first message to `tip`.
    pub(super) async fn path(&self, tip: PrefixHash) -> Result<Vec<Node>, StoreError> {
        const FIND: &str = "SELECT n.prefix, n.message_id, n.name, n.hidden, n.extensions, m.role, m.text \
             FROM unnest($3::bigint[], $4::bigint[]) AS range (branch, last) \
             JOIN nodes n ON n.branch = range.branch AND n.depth <= range.last \
             JOIN messages m USING (tenant, chat, message) \
             WHERE n.tenant = $1 AND n.chat = $2 ORDER BY n.depth";
        if tip == PrefixHash::default() {
            return Ok(Vec::new());
        }
        let (branches, lasts) = self.ranges(tip).await?;
        let mut parent = PrefixHash::default();
        let mut nodes = Vec::new();
        for row in self.rows("reading a path", FIND, &[&branches, &lasts]).await? {
            let node = self.node(&row, 0, parent)?;
            parent = node.prefix;
            nodes.push(node);
        }
        Ok(nodes)
    }

    /// The branches of the path to `tip`, and the depth of the last node in each.
    async fn ranges(&self, tip: PrefixHash) -> Result<(Vec<i64>, Vec<i64>), StoreError> {
        const END: &str =
            "SELECT branch, depth FROM nodes WHERE tenant = $1 AND chat = $2 AND prefix = $3";
        const BRANCHES: &str = "SELECT branch, parent_branch, parent_depth FROM branches \
             WHERE tenant = $1 AND chat = $2";
        let doing = "reading a path";
        let found = self.rows(doing, END, &[&tip.0.0.as_slice()]).await?;
        let missing = || StoreError::NoNode { chat: self.row.record.id.clone(), node: tip };
        let end = found.first().ok_or_else(missing)?;
        let branches = self.rows(doing, BRANCHES, &[]).await?;
        let branches = decode_all(&branches, doing, |row| {
            Ok((row.number(0)?, (row.optional_number(1)?, row.number(2)?)))
        })?;
        let mut above: FxHashMap<i64, (Option<i64>, i64)> = branches.into_iter().collect();
        let mut next = Some(end.number(0).row_while(doing)?);
        let mut last = end.number(1).row_while(doing)?;
        let (mut branches, mut lasts) = (Vec::new(), Vec::new());
        while let Some(branch) = next {
            branches.push(branch);
            lasts.push(last);
            // Removing the branch ends the loop even if damaged rows form a circle.
            let parent = above.remove(&branch);
            let parent = parent.ok_or_else(|| "it has no row, or is its own parent".to_owned());
            (next, last) = parent.reading(|| self.part(&format!("branch {branch}")))?;
        }
        Ok((branches, lasts))
    }

    /// All nodes, branch by branch: a branch starts below a node of an older one.
    pub(super) async fn tree(&self) -> Result<Vec<Node>, StoreError> {
        const FIND: &str = "SELECT n.branch, p.prefix, \
             n.prefix, n.message_id, n.name, n.hidden, n.extensions, m.role, m.text \
             FROM nodes n JOIN messages m USING (tenant, chat, message) \
             JOIN branches b USING (tenant, chat, branch) \
             LEFT JOIN nodes p ON p.tenant = b.tenant AND p.chat = b.chat \
             AND p.branch = b.parent_branch AND p.depth = b.parent_depth \
             WHERE n.tenant = $1 AND n.chat = $2 ORDER BY n.branch, n.depth";
        let doing = "reading nodes";
        let mut nodes: Vec<Node> = Vec::new();
        let mut last_branch = None;
        for row in self.rows(doing, FIND, &[]).await? {
            let branch = row.number(0).row_while(doing)?;
            let above = row.optional_digest(1).row_while(doing)?;
            let parent = match nodes.last().filter(|_| last_branch == Some(branch)) {
                Some(before) => before.prefix,
                None => above.map(PrefixHash).unwrap_or_default(),
            };
            nodes.push(self.node(&row, 2, parent)?);
            last_branch = Some(branch);
        }
        Ok(nodes)
    }

    /// The node in the seven columns from `first` on.
    fn node(&self, row: &Row, first: usize, parent: PrefixHash) -> Result<Node, StoreError> {
        let read = || -> Decoded<Node> {
            let prefix = PrefixHash(row.digest(first)?);
            let message_id = MessageId(row.digest(first + 1)?);
            let text = node::message_text(row, first + 5)?;
            let message = node::columns(row, first + 2)?.message(text)?;
            Ok(Node { prefix, parent, message_id, message })
        };
        read().reading(|| self.part("a node"))
    }

    pub(super) async fn turns(&self) -> Result<Vec<TurnSummary>, StoreError> {
        let doing = "listing turns";
        decode_all(&self.rows(doing, turn::LIST, &[]).await?, doing, turn::summary)
    }

    /// The log of writes.
    pub(super) async fn writes(&self) -> Result<Vec<WriteRecord>, StoreError> {
        let doing = "reading the log of writes";
        decode_all(&self.rows(doing, write_log::LIST, &[]).await?, doing, write_log::record)
    }

    pub(super) async fn turn(&self, turn: TurnId) -> Result<Option<TurnRecord>, StoreError> {
        let number = signed(turn.0);
        let what = || self.part(&format!("turn {number}"));
        let rows = self.rows("reading a turn", turn::FIND, &[&number]).await?;
        let Some(row) = rows.first() else { return Ok(None) };
        let row = TurnRow::of(row).reading(what)?;
        let body = row.body().reading(what)?;
        let texts = self.texts_of(&body).await?;
        row.record(&self.row.record.id, body, &texts).reading(what).map(Some)
    }

    async fn texts_of(&self, body: &TurnBody) -> Result<ReferencedTexts, StoreError> {
        const MESSAGES: &str = "SELECT m.message, m.role, m.text \
             FROM unnest($3::bigint[], $4::bigint[]) AS range (first, last) \
             JOIN messages m ON m.message BETWEEN range.first AND range.last \
             WHERE m.tenant = $1 AND m.chat = $2";
        const TEXTS: &str = "SELECT text, body FROM texts \
             WHERE tenant = $1 AND chat = $2 AND text = ANY ($3)";
        let doing = "reading a turn's texts";
        let (firsts, lasts): (Vec<i64>, Vec<i64>) = body.message_ranges().into_iter().unzip();
        let messages = self.rows(doing, MESSAGES, &[&firsts, &lasts]).await?;
        let messages =
            decode_all(&messages, doing, |row| Ok((row.number(0)?, node::message_text(row, 1)?)))?;
        let texts = self.rows(doing, TEXTS, &[&body.texts]).await?;
        let texts = decode_all(&texts, doing, |row| {
            let number = row.number(0)?;
            let text = unpack_text(row.bytes(1)?);
            Ok((number, text.map_err(|reason| format!("text {number}: {reason}"))?))
        })?;
        let texts: FxHashMap<i64, String> = texts.into_iter().collect();
        let mut found = ReferencedTexts::default();
        found.messages.extend(messages);
        for number in &body.texts {
            let text = texts.get(number).cloned().ok_or_else(|| "it is missing".to_owned());
            found.texts.push(text.reading(|| self.part(&format!("text {number}")))?);
        }
        Ok(found)
    }
}
