-- Stories: chats, their trees of messages, and the turns computed on them.
-- Inside a tenant a chat has a number, inside a chat everything else has one: rows stay
-- small and every primary key leads with the tenant. What people write is BYTEA, because
-- TEXT cannot hold the character NUL and would refuse the message.

-- One row: the number of the last migration.
CREATE TABLE schema_version (version BIGINT NOT NULL);
INSERT INTO schema_version VALUES (0);

CREATE TABLE chats (
    tenant       TEXT    NOT NULL,
    chat         BIGINT NOT NULL,
    id           TEXT    NOT NULL,
    title        BYTEA   NOT NULL,
    tip          BYTEA    NOT NULL,
    created      BIGINT NOT NULL,
    updated      BIGINT NOT NULL,
    version      BIGINT NOT NULL,
    -- The last numbers given out.
    last_branch  BIGINT NOT NULL DEFAULT 0,
    last_message BIGINT NOT NULL DEFAULT 0,
    last_text    BIGINT NOT NULL DEFAULT 0,
    last_turn    BIGINT NOT NULL DEFAULT 0,
    PRIMARY KEY (tenant, chat),
    UNIQUE (tenant, id)
);

-- What was said, once for each role and text: nodes and prompts point here.
CREATE TABLE messages (
    tenant  TEXT    NOT NULL,
    chat    BIGINT NOT NULL,
    message BIGINT NOT NULL,
    hash    BYTEA    NOT NULL,
    role    BIGINT NOT NULL,
    text    BYTEA   NOT NULL,
    PRIMARY KEY (tenant, chat, message),
    UNIQUE (tenant, chat, hash),
    FOREIGN KEY (tenant, chat) REFERENCES chats (tenant, chat)
);

-- A branch is a run of nodes without a fork; it hangs on a node of an older branch.
-- A path is then a few ranges of the nodes' primary key, whatever its length.
CREATE TABLE branches (
    tenant        TEXT    NOT NULL,
    chat          BIGINT NOT NULL,
    branch        BIGINT NOT NULL,
    parent_branch BIGINT,
    parent_depth  BIGINT NOT NULL,
    PRIMARY KEY (tenant, chat, branch),
    FOREIGN KEY (tenant, chat) REFERENCES chats (tenant, chat)
);

CREATE TABLE nodes (
    tenant     TEXT    NOT NULL,
    chat       BIGINT NOT NULL,
    branch     BIGINT NOT NULL,
    depth      BIGINT NOT NULL,
    prefix     BYTEA    NOT NULL,
    message_id BYTEA    NOT NULL,
    message    BIGINT NOT NULL,
    name       BYTEA,
    hidden     BIGINT NOT NULL,
    extensions TEXT,
    PRIMARY KEY (tenant, chat, branch, depth),
    UNIQUE (tenant, chat, prefix),
    FOREIGN KEY (tenant, chat, branch) REFERENCES branches (tenant, chat, branch),
    FOREIGN KEY (tenant, chat, message) REFERENCES messages (tenant, chat, message)
);

-- Narrow on purpose: the state of a path reads all turns of its chat.
CREATE TABLE turns (
    tenant     TEXT    NOT NULL,
    chat       BIGINT NOT NULL,
    turn       BIGINT NOT NULL,
    at         BYTEA    NOT NULL,
    at_message BYTEA,
    generation BIGINT NOT NULL,
    created    BIGINT NOT NULL,
    reply      BYTEA,
    delta      TEXT,
    PRIMARY KEY (tenant, chat, turn),
    FOREIGN KEY (tenant, chat) REFERENCES chats (tenant, chat)
);

CREATE TABLE turn_records (
    tenant TEXT    NOT NULL,
    chat   BIGINT NOT NULL,
    turn   BIGINT NOT NULL,
    body   BYTEA    NOT NULL,
    report BYTEA    NOT NULL,
    PRIMARY KEY (tenant, chat, turn),
    FOREIGN KEY (tenant, chat, turn) REFERENCES turns (tenant, chat, turn)
);

-- Pieces of prompts and injections, once for each text.
CREATE TABLE texts (
    tenant TEXT    NOT NULL,
    chat   BIGINT NOT NULL,
    text   BIGINT NOT NULL,
    hash   BYTEA    NOT NULL,
    body   BYTEA    NOT NULL,
    PRIMARY KEY (tenant, chat, text),
    UNIQUE (tenant, chat, hash),
    FOREIGN KEY (tenant, chat) REFERENCES chats (tenant, chat)
);
