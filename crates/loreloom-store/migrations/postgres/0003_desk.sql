-- What a tenant has laid out: named values, and every change of them.
-- Values are bytes: PostgreSQL's text cannot hold a NUL.

CREATE TABLE desks (
    tenant   TEXT    NOT NULL,
    -- The last revision.
    revision BIGINT NOT NULL,
    PRIMARY KEY (tenant)
);

CREATE TABLE desk_items (
    tenant   TEXT    NOT NULL,
    key      TEXT    NOT NULL,
    value    BYTEA   NOT NULL,
    revision BIGINT NOT NULL,
    PRIMARY KEY (tenant, key)
);

CREATE TABLE desk_revisions (
    tenant   TEXT    NOT NULL,
    revision BIGINT NOT NULL,
    created  BIGINT NOT NULL,
    undoes   BIGINT,
    PRIMARY KEY (tenant, revision)
);

CREATE TABLE desk_changes (
    tenant   TEXT    NOT NULL,
    revision BIGINT NOT NULL,
    place    BIGINT NOT NULL,
    key      TEXT    NOT NULL,
    before   BYTEA,
    after    BYTEA,
    PRIMARY KEY (tenant, revision, place),
    FOREIGN KEY (tenant, revision) REFERENCES desk_revisions (tenant, revision)
);

-- Books in pieces, packed, each named by its hash.
CREATE TABLE pieces (
    tenant TEXT NOT NULL,
    hash   BYTEA NOT NULL,
    body   BYTEA NOT NULL,
    PRIMARY KEY (tenant, hash)
);
