-- The whole schema. Raise `schema::VERSION` with every change of this file.
--
-- A chat has a number inside its tenant, and everything else has a number inside its chat:
-- rows stay small, and every primary key starts with the tenant. Tables with long rows keep
-- their rowid, because SQLite packs long rows badly into the trees of WITHOUT ROWID tables.

-- One row.
CREATE TABLE schema_version (version INTEGER NOT NULL) STRICT;

CREATE TABLE chats (
    tenant       TEXT    NOT NULL,
    chat         INTEGER NOT NULL,
    id           TEXT    NOT NULL,
    title        TEXT    NOT NULL,
    tip          BLOB    NOT NULL,
    created      INTEGER NOT NULL,
    updated      INTEGER NOT NULL,
    version      INTEGER NOT NULL,
    -- The highest numbers in use.
    last_branch  INTEGER NOT NULL DEFAULT 0,
    last_message INTEGER NOT NULL DEFAULT 0,
    last_text    INTEGER NOT NULL DEFAULT 0,
    last_turn    INTEGER NOT NULL DEFAULT 0,
    -- Grows with every write to a chat of the tenant: other processes look for new writes.
    changed      INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (tenant, chat),
    UNIQUE (tenant, id)
) STRICT, WITHOUT ROWID;

CREATE INDEX chats_changed ON chats (tenant, changed);

-- Each role and text once: nodes and prompts refer to it.
CREATE TABLE messages (
    tenant  TEXT    NOT NULL,
    chat    INTEGER NOT NULL,
    message INTEGER NOT NULL,
    hash    BLOB    NOT NULL,
    role    INTEGER NOT NULL,
    text    TEXT    NOT NULL,
    PRIMARY KEY (tenant, chat, message),
    UNIQUE (tenant, chat, hash),
    FOREIGN KEY (tenant, chat) REFERENCES chats (tenant, chat)
) STRICT;

-- A branch is a chain of nodes without a fork. It starts below a node of an older branch.
-- So a path is a few ranges of the nodes' primary key, however long it is.
CREATE TABLE branches (
    tenant        TEXT    NOT NULL,
    chat          INTEGER NOT NULL,
    branch        INTEGER NOT NULL,
    parent_branch INTEGER,
    parent_depth  INTEGER NOT NULL,
    PRIMARY KEY (tenant, chat, branch),
    FOREIGN KEY (tenant, chat) REFERENCES chats (tenant, chat)
) STRICT, WITHOUT ROWID;

CREATE TABLE nodes (
    tenant     TEXT    NOT NULL,
    chat       INTEGER NOT NULL,
    branch     INTEGER NOT NULL,
    depth      INTEGER NOT NULL,
    prefix     BLOB    NOT NULL,
    message_id BLOB    NOT NULL,
    message    INTEGER NOT NULL,
    name       TEXT,
    hidden     INTEGER NOT NULL,
    extensions TEXT,
    PRIMARY KEY (tenant, chat, branch, depth),
    UNIQUE (tenant, chat, prefix),
    FOREIGN KEY (tenant, chat, branch) REFERENCES branches (tenant, chat, branch),
    FOREIGN KEY (tenant, chat, message) REFERENCES messages (tenant, chat, message)
) STRICT, WITHOUT ROWID;

-- Short rows: the state of a path reads all turns of its chat. An undone turn is part of no
-- state. A trimmed turn has lost its prompt, injections and verdicts.
CREATE TABLE turns (
    tenant     TEXT    NOT NULL,
    chat       INTEGER NOT NULL,
    turn       INTEGER NOT NULL,
    at         BLOB    NOT NULL,
    at_message BLOB,
    generation INTEGER NOT NULL,
    created    INTEGER NOT NULL,
    reply      BLOB,
    delta      TEXT,
    undone     INTEGER NOT NULL DEFAULT 0,
    trimmed    INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (tenant, chat, turn),
    FOREIGN KEY (tenant, chat) REFERENCES chats (tenant, chat)
) STRICT, WITHOUT ROWID;

CREATE TABLE turn_records (
    tenant TEXT    NOT NULL,
    chat   INTEGER NOT NULL,
    turn   INTEGER NOT NULL,
    body   BLOB    NOT NULL,
    report BLOB    NOT NULL,
    PRIMARY KEY (tenant, chat, turn),
    FOREIGN KEY (tenant, chat, turn) REFERENCES turns (tenant, chat, turn)
) STRICT;

-- Texts of prompts and injections, each once.
CREATE TABLE texts (
    tenant TEXT    NOT NULL,
    chat   INTEGER NOT NULL,
    text   INTEGER NOT NULL,
    hash   BLOB    NOT NULL,
    body   BLOB    NOT NULL,
    PRIMARY KEY (tenant, chat, text),
    UNIQUE (tenant, chat, hash),
    FOREIGN KEY (tenant, chat) REFERENCES chats (tenant, chat)
) STRICT;

-- One row for each version of a chat: what the write changed and what was there before, so
-- that it can be undone. Rows are only added.
CREATE TABLE writes (
    tenant  TEXT    NOT NULL,
    chat    INTEGER NOT NULL,
    version INTEGER NOT NULL,
    kind    INTEGER NOT NULL,
    turn    INTEGER,
    undoes  INTEGER,
    tip     BLOB    NOT NULL,
    reply   BLOB,
    created INTEGER NOT NULL,
    PRIMARY KEY (tenant, chat, version),
    FOREIGN KEY (tenant, chat) REFERENCES chats (tenant, chat)
) STRICT, WITHOUT ROWID;

-- Where responses of the responses API ended, by the ids that their servers gave them.
CREATE TABLE responses (
    tenant TEXT    NOT NULL,
    id     TEXT    NOT NULL,
    chat   INTEGER NOT NULL,
    at     BLOB    NOT NULL,
    PRIMARY KEY (tenant, id),
    FOREIGN KEY (tenant, chat) REFERENCES chats (tenant, chat)
) STRICT, WITHOUT ROWID;

-- What a repair could not read.
CREATE TABLE losses (
    tenant TEXT    NOT NULL,
    loss   INTEGER NOT NULL,
    chat   TEXT,
    what   TEXT    NOT NULL,
    reason TEXT    NOT NULL,
    PRIMARY KEY (tenant, loss)
) STRICT;

-- The books and rules of past turns, named by their hash. Chats share books, so they belong
-- to the tenant.
CREATE TABLE libraries (
    tenant  TEXT NOT NULL,
    version BLOB NOT NULL,
    body    BLOB NOT NULL,
    PRIMARY KEY (tenant, version)
) STRICT;

-- Books in pieces, each named by its hash.
CREATE TABLE book_pieces (
    tenant TEXT NOT NULL,
    hash   BLOB NOT NULL,
    body   BLOB NOT NULL,
    PRIMARY KEY (tenant, hash)
) STRICT;

-- A tenant's named values. Each change of them is a revision that can be undone.
CREATE TABLE document_heads (
    tenant   TEXT    NOT NULL,
    -- The last revision.
    revision INTEGER NOT NULL,
    PRIMARY KEY (tenant)
) STRICT, WITHOUT ROWID;

CREATE TABLE documents (
    tenant   TEXT    NOT NULL,
    key      TEXT    NOT NULL,
    value    TEXT    NOT NULL,
    revision INTEGER NOT NULL,
    PRIMARY KEY (tenant, key)
) STRICT;

CREATE TABLE document_revisions (
    tenant   TEXT    NOT NULL,
    revision INTEGER NOT NULL,
    created  INTEGER NOT NULL,
    undoes   INTEGER,
    PRIMARY KEY (tenant, revision)
) STRICT, WITHOUT ROWID;

CREATE TABLE document_changes (
    tenant   TEXT    NOT NULL,
    revision INTEGER NOT NULL,
    place    INTEGER NOT NULL,
    key      TEXT    NOT NULL,
    before   TEXT,
    after    TEXT,
    PRIMARY KEY (tenant, revision, place),
    FOREIGN KEY (tenant, revision) REFERENCES document_revisions (tenant, revision)
) STRICT;

-- One row for each world, character or chat that has memory events.
CREATE TABLE memory_owners (
    tenant TEXT    NOT NULL,
    kind   TEXT    NOT NULL,
    id     TEXT    NOT NULL,
    owner  INTEGER NOT NULL,
    last   INTEGER NOT NULL,
    PRIMARY KEY (tenant, kind, id),
    UNIQUE (tenant, owner)
) STRICT, WITHOUT ROWID;

-- One row for each write to memory: its events are stored together.
CREATE TABLE memory_writes (
    tenant TEXT    NOT NULL,
    id     TEXT    NOT NULL,
    number INTEGER NOT NULL,
    author TEXT    NOT NULL,
    note   TEXT    NOT NULL,
    chat   TEXT,
    at     INTEGER NOT NULL,
    owners TEXT    NOT NULL,
    PRIMARY KEY (tenant, id),
    UNIQUE (tenant, number)
) STRICT;

CREATE TABLE memory_events (
    tenant TEXT    NOT NULL,
    owner  INTEGER NOT NULL,
    number INTEGER NOT NULL,
    write  INTEGER NOT NULL,
    body   TEXT    NOT NULL,
    PRIMARY KEY (tenant, owner, number),
    FOREIGN KEY (tenant, owner) REFERENCES memory_owners (tenant, owner),
    FOREIGN KEY (tenant, write) REFERENCES memory_writes (tenant, number)
) STRICT;

-- Vectors of different models cannot be compared: the model is part of the key.
CREATE TABLE memory_vectors (
    tenant TEXT NOT NULL,
    model  TEXT NOT NULL,
    hash   BLOB NOT NULL,
    vector BLOB NOT NULL,
    PRIMARY KEY (tenant, model, hash)
) STRICT;

CREATE TABLE jobs (
    tenant     TEXT    NOT NULL,
    job        INTEGER NOT NULL,
    chat       TEXT    NOT NULL,
    kind       TEXT    NOT NULL,
    connection TEXT    NOT NULL,
    priority   INTEGER NOT NULL,
    body       TEXT    NOT NULL,
    state      TEXT    NOT NULL,
    attempts   INTEGER NOT NULL,
    due        INTEGER NOT NULL,
    worker     TEXT,
    lease      INTEGER,
    error      TEXT,
    created    INTEGER NOT NULL,
    updated    INTEGER NOT NULL,
    PRIMARY KEY (tenant, job)
) STRICT;

-- At most one job of a chat runs at a time.
CREATE UNIQUE INDEX jobs_running ON jobs (tenant, chat) WHERE state = 'running';
CREATE INDEX jobs_waiting ON jobs (priority DESC, job) WHERE state = 'waiting';
-- Job numbers are unique across tenants.
CREATE UNIQUE INDEX jobs_numbers ON jobs (job);
