-- Stories: chats, their trees of messages, and the turns computed on them.
-- Inside a tenant a chat has a number, inside a chat everything else has one: rows stay
-- small and every primary key leads with the tenant. Tables with long rows keep their
-- rowid: SQLite packs long rows badly into the index trees of tables without.

-- One row: the number of the last migration.
CREATE TABLE schema_version (version INTEGER NOT NULL) STRICT;
INSERT INTO schema_version VALUES (0);

CREATE TABLE chats (
    tenant       TEXT    NOT NULL,
    chat         INTEGER NOT NULL,
    id           TEXT    NOT NULL,
    title        TEXT    NOT NULL,
    tip          BLOB    NOT NULL,
    created      INTEGER NOT NULL,
    updated      INTEGER NOT NULL,
    version      INTEGER NOT NULL,
    -- The last numbers given out.
    last_branch  INTEGER NOT NULL DEFAULT 0,
    last_message INTEGER NOT NULL DEFAULT 0,
    last_text    INTEGER NOT NULL DEFAULT 0,
    last_turn    INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (tenant, chat),
    UNIQUE (tenant, id)
) STRICT, WITHOUT ROWID;

-- What was said, once for each role and text: nodes and prompts point here.
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

-- A branch is a run of nodes without a fork; it hangs on a node of an older branch.
-- A path is then a few ranges of the nodes' primary key, whatever its length.
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

-- Narrow on purpose: the state of a path reads all turns of its chat.
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

-- Pieces of prompts and injections, once for each text.
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
