-- The log of writes: what each version of a chat did and what was so before, so that it can
-- be taken back. Rows are only ever added.
CREATE TABLE writes (
    tenant  TEXT NOT NULL,
    chat    INTEGER NOT NULL,
    version INTEGER NOT NULL,
    kind    INTEGER NOT NULL,
    turn    INTEGER,
    undoes  INTEGER,
    tip     BLOB NOT NULL,
    reply   BLOB,
    created INTEGER NOT NULL,
    PRIMARY KEY (tenant, chat, version),
    FOREIGN KEY (tenant, chat) REFERENCES chats (tenant, chat)
) STRICT, WITHOUT ROWID;

-- A turn that was taken back is part of no state; one that was trimmed has given up its
-- prompt, injections and verdicts.
ALTER TABLE turns ADD COLUMN undone INTEGER NOT NULL DEFAULT 0;
ALTER TABLE turns ADD COLUMN trimmed INTEGER NOT NULL DEFAULT 0;

-- What a repair could not read: named, so that nothing is lost in silence.
CREATE TABLE losses (
    tenant TEXT NOT NULL,
    loss   INTEGER NOT NULL,
    chat   TEXT,
    what   TEXT NOT NULL,
    reason TEXT NOT NULL,
    PRIMARY KEY (tenant, loss)
) STRICT;
