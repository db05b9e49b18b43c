-- The whole schema. Raise `schema::VERSION` with every change of this file.
--
-- A chat has a number inside its tenant, and everything else has a number inside its chat:
-- rows stay small, and every primary key starts with the tenant. Texts of people and models
-- are BYTEA, because TEXT cannot hold the character NUL.

-- One row.
CREATE TABLE schema_version (version BIGINT NOT NULL);

CREATE TABLE chats (
    tenant       TEXT   NOT NULL,
    chat         BIGINT NOT NULL,
    id           TEXT   NOT NULL,
    title        BYTEA  NOT NULL,
    tip          BYTEA  NOT NULL,
    created      BIGINT NOT NULL,
    updated      BIGINT NOT NULL,
    version      BIGINT NOT NULL,
    -- The highest numbers in use.
    last_branch  BIGINT NOT NULL DEFAULT 0,
    last_message BIGINT NOT NULL DEFAULT 0,
    last_text    BIGINT NOT NULL DEFAULT 0,
    last_turn    BIGINT NOT NULL DEFAULT 0,
    -- The transaction of the last write: other processes look for new writes.
    changed      XID8   NOT NULL DEFAULT pg_current_xact_id(),
    PRIMARY KEY (tenant, chat),
    UNIQUE (tenant, id)
);

CREATE INDEX chats_changed ON chats (tenant, changed);

-- Each role and text once: nodes and prompts refer to it.
CREATE TABLE messages (
    tenant  TEXT   NOT NULL,
    chat    BIGINT NOT NULL,
    message BIGINT NOT NULL,
    hash    BYTEA  NOT NULL,
    role    BIGINT NOT NULL,
    text    BYTEA  NOT NULL,
    PRIMARY KEY (tenant, chat, message),
    UNIQUE (tenant, chat, hash),
    FOREIGN KEY (tenant, chat) REFERENCES chats (tenant, chat)
);

-- A branch is a chain of nodes without a fork. It starts below a node of an older branch.
-- So a path is a few ranges of the nodes' primary key, however long it is.
CREATE TABLE branches (
    tenant        TEXT   NOT NULL,
    chat          BIGINT NOT NULL,
    branch        BIGINT NOT NULL,
    parent_branch BIGINT,
    parent_depth  BIGINT NOT NULL,
    PRIMARY KEY (tenant, chat, branch),
    FOREIGN KEY (tenant, chat) REFERENCES chats (tenant, chat)
);

CREATE TABLE nodes (
    tenant     TEXT   NOT NULL,
    chat       BIGINT NOT NULL,
    branch     BIGINT NOT NULL,
    depth      BIGINT NOT NULL,
    prefix     BYTEA  NOT NULL,
    message_id BYTEA  NOT NULL,
    message    BIGINT NOT NULL,
    name       BYTEA,
    hidden     BIGINT NOT NULL,
    extensions TEXT,
    PRIMARY KEY (tenant, chat, branch, depth),
    UNIQUE (tenant, chat, prefix),
    FOREIGN KEY (tenant, chat, branch) REFERENCES branches (tenant, chat, branch),
    FOREIGN KEY (tenant, chat, message) REFERENCES messages (tenant, chat, message)
);

-- Short rows: the state of a path reads all turns of its chat. An undone turn is part of no
-- state. A trimmed turn has lost its prompt, injections and verdicts.
CREATE TABLE turns (
    tenant     TEXT   NOT NULL,
    chat       BIGINT NOT NULL,
    turn       BIGINT NOT NULL,
    at         BYTEA  NOT NULL,
    at_message BYTEA,
    generation BIGINT NOT NULL,
    created    BIGINT NOT NULL,
    reply      BYTEA,
    delta      TEXT,
    undone     BIGINT NOT NULL DEFAULT 0,
    trimmed    BIGINT NOT NULL DEFAULT 0,
    PRIMARY KEY (tenant, chat, turn),
    FOREIGN KEY (tenant, chat) REFERENCES chats (tenant, chat)
);

CREATE TABLE turn_records (
    tenant TEXT   NOT NULL,
    chat   BIGINT NOT NULL,
    turn   BIGINT NOT NULL,
    body   BYTEA  NOT NULL,
    report BYTEA  NOT NULL,
    PRIMARY KEY (tenant, chat, turn),
    FOREIGN KEY (tenant, chat, turn) REFERENCES turns (tenant, chat, turn)
);

-- Texts of prompts and injections, each once.
CREATE TABLE texts (
    tenant TEXT   NOT NULL,
    chat   BIGINT NOT NULL,
    text   BIGINT NOT NULL,
    hash   BYTEA  NOT NULL,
    body   BYTEA  NOT NULL,
    PRIMARY KEY (tenant, chat, text),
    UNIQUE (tenant, chat, hash),
    FOREIGN KEY (tenant, chat) REFERENCES chats (tenant, chat)
);

-- One row for each version of a chat: what the write changed and what was there before, so
-- that it can be undone. Rows are only added.
CREATE TABLE writes (
    tenant  TEXT   NOT NULL,
    chat    BIGINT NOT NULL,
    version BIGINT NOT NULL,
    kind    BIGINT NOT NULL,
    turn    BIGINT,
    undoes  BIGINT,
    tip     BYTEA  NOT NULL,
    reply   BYTEA,
    created BIGINT NOT NULL,
    PRIMARY KEY (tenant, chat, version),
    FOREIGN KEY (tenant, chat) REFERENCES chats (tenant, chat)
);

-- Where responses of the responses API ended, by the ids that their servers gave them.
CREATE TABLE responses (
    tenant TEXT   NOT NULL,
    id     BYTEA  NOT NULL,
    chat   BIGINT NOT NULL,
    at     BYTEA  NOT NULL,
    PRIMARY KEY (tenant, id),
    FOREIGN KEY (tenant, chat) REFERENCES chats (tenant, chat)
);

-- What a repair could not read.
CREATE TABLE losses (
    tenant TEXT   NOT NULL,
    loss   BIGINT NOT NULL,
    chat   TEXT,
    what   TEXT   NOT NULL,
    reason TEXT   NOT NULL,
    PRIMARY KEY (tenant, loss)
);

-- The books and rules of past turns, named by their hash. Chats share books, so they belong
-- to the tenant.
CREATE TABLE libraries (
    tenant  TEXT   NOT NULL,
    version BYTEA  NOT NULL,
    body    BYTEA  NOT NULL,
    PRIMARY KEY (tenant, version)
);

-- Books in pieces, each named by its hash.
CREATE TABLE book_pieces (
    tenant TEXT   NOT NULL,
    hash   BYTEA  NOT NULL,
    body   BYTEA  NOT NULL,
    PRIMARY KEY (tenant, hash)
);

-- A tenant's named values. Each change of them is a revision that can be undone.
CREATE TABLE document_heads (
    tenant   TEXT   NOT NULL,
    -- The last revision.
    revision BIGINT NOT NULL,
    PRIMARY KEY (tenant)
);

CREATE TABLE documents (
    tenant   TEXT   NOT NULL,
    key      TEXT   NOT NULL,
    value    BYTEA  NOT NULL,
    revision BIGINT NOT NULL,
    PRIMARY KEY (tenant, key)
);

CREATE TABLE document_revisions (
    tenant   TEXT   NOT NULL,
    revision BIGINT NOT NULL,
    created  BIGINT NOT NULL,
    undoes   BIGINT,
    PRIMARY KEY (tenant, revision)
);

CREATE TABLE document_changes (
    tenant   TEXT   NOT NULL,
    revision BIGINT NOT NULL,
    place    BIGINT NOT NULL,
    key      TEXT   NOT NULL,
    before   BYTEA,
    after    BYTEA,
    PRIMARY KEY (tenant, revision, place),
    FOREIGN KEY (tenant, revision) REFERENCES document_revisions (tenant, revision)
);

-- One row for each world, character or chat that has memory events.
CREATE TABLE memory_owners (
    tenant TEXT   NOT NULL,
    kind   TEXT   NOT NULL,
    id     TEXT   NOT NULL,
    owner  BIGINT NOT NULL,
    last   BIGINT NOT NULL,
    PRIMARY KEY (tenant, kind, id),
    UNIQUE (tenant, owner)
);

-- One row for each write to memory: its events are stored together.
CREATE TABLE memory_writes (
    tenant TEXT   NOT NULL,
    id     TEXT   NOT NULL,
    number BIGINT NOT NULL,
    author TEXT   NOT NULL,
    note   BYTEA  NOT NULL,
    chat   TEXT,
    at     BIGINT NOT NULL,
    owners BYTEA  NOT NULL,
    PRIMARY KEY (tenant, id),
    UNIQUE (tenant, number)
);

CREATE TABLE memory_events (
    tenant TEXT   NOT NULL,
    owner  BIGINT NOT NULL,
    number BIGINT NOT NULL,
    write  BIGINT NOT NULL,
    body   BYTEA  NOT NULL,
    PRIMARY KEY (tenant, owner, number),
    FOREIGN KEY (tenant, owner) REFERENCES memory_owners (tenant, owner),
    FOREIGN KEY (tenant, write) REFERENCES memory_writes (tenant, number)
);

-- The highest numbers of owners and writes in use.
CREATE TABLE memory_numbers (
    tenant     TEXT   NOT NULL,
    last_owner BIGINT NOT NULL,
    last_write BIGINT NOT NULL,
    PRIMARY KEY (tenant)
);

-- Vectors of different models cannot be compared: the model is part of the key.
CREATE TABLE memory_vectors (
    tenant TEXT   NOT NULL,
    model  TEXT   NOT NULL,
    hash   BYTEA  NOT NULL,
    vector BYTEA  NOT NULL,
    PRIMARY KEY (tenant, model, hash)
);

CREATE SEQUENCE job_numbers;

CREATE TABLE jobs (
    tenant     TEXT   NOT NULL,
    job        BIGINT NOT NULL,
    chat       TEXT   NOT NULL,
    kind       TEXT   NOT NULL,
    connection TEXT   NOT NULL,
    priority   BIGINT NOT NULL,
    body       BYTEA  NOT NULL,
    state      TEXT   NOT NULL,
    attempts   BIGINT NOT NULL,
    due        BIGINT NOT NULL,
    worker     TEXT,
    lease      BIGINT,
    error      BYTEA,
    created    BIGINT NOT NULL,
    updated    BIGINT NOT NULL,
    PRIMARY KEY (tenant, job)
);

-- At most one job of a chat runs at a time.
CREATE UNIQUE INDEX jobs_running ON jobs (tenant, chat) WHERE state = 'running';
CREATE INDEX jobs_waiting ON jobs (priority DESC, job) WHERE state = 'waiting';
