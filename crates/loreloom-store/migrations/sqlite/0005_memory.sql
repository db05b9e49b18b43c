-- What is remembered, as events; vectors; and the jobs that remember.

-- One row for each owner (a world, a character, a chat) that has events.
CREATE TABLE memory_owners (
    tenant TEXT    NOT NULL,
    kind   TEXT    NOT NULL,
    id     TEXT    NOT NULL,
    owner  INTEGER NOT NULL,
    last   INTEGER NOT NULL,
    PRIMARY KEY (tenant, kind, id),
    UNIQUE (tenant, owner)
) STRICT, WITHOUT ROWID;

-- One row for each write: its events were stored together.
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

-- Vectors of texts. Those of different models never meet: the model is part of the key.
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

-- A chat is a lane: the database itself refuses a second running job.
CREATE UNIQUE INDEX jobs_running ON jobs (tenant, chat) WHERE state = 'running';
CREATE INDEX jobs_waiting ON jobs (priority DESC, job) WHERE state = 'waiting';
-- Numbers are given out over all tenants.
CREATE UNIQUE INDEX jobs_numbers ON jobs (job);
