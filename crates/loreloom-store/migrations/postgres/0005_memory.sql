-- What is remembered, as events; vectors; and the jobs that remember. What people and models
-- write is BYTEA, because TEXT cannot hold the character NUL.

-- One row for each owner (a world, a character, a chat) that has events.
CREATE TABLE memory_owners (
    tenant TEXT   NOT NULL,
    kind   TEXT   NOT NULL,
    id     TEXT   NOT NULL,
    owner  BIGINT NOT NULL,
    last   BIGINT NOT NULL,
    PRIMARY KEY (tenant, kind, id),
    UNIQUE (tenant, owner)
);

-- One row for each write: its events were stored together.
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

-- The last numbers given out to owners and writes of a tenant.
CREATE TABLE memory_numbers (
    tenant     TEXT   NOT NULL,
    last_owner BIGINT NOT NULL,
    last_write BIGINT NOT NULL,
    PRIMARY KEY (tenant)
);

-- Vectors of texts. Those of different models never meet: the model is part of the key.
CREATE TABLE memory_vectors (
    tenant TEXT  NOT NULL,
    model  TEXT  NOT NULL,
    hash   BYTEA NOT NULL,
    vector BYTEA NOT NULL,
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

-- A chat is a lane: the database itself refuses a second running job.
CREATE UNIQUE INDEX jobs_running ON jobs (tenant, chat) WHERE state = 'running';
CREATE INDEX jobs_waiting ON jobs (priority DESC, job) WHERE state = 'waiting';
