-- What a tenant has laid out: named values, and every change of them.

CREATE TABLE desks (
    tenant   TEXT    NOT NULL,
    -- The last revision.
    revision INTEGER NOT NULL,
    PRIMARY KEY (tenant)
) STRICT, WITHOUT ROWID;

CREATE TABLE desk_items (
    tenant   TEXT    NOT NULL,
    key      TEXT    NOT NULL,
    value    TEXT    NOT NULL,
    revision INTEGER NOT NULL,
    PRIMARY KEY (tenant, key)
) STRICT;

CREATE TABLE desk_revisions (
    tenant   TEXT    NOT NULL,
    revision INTEGER NOT NULL,
    created  INTEGER NOT NULL,
    undoes   INTEGER,
    PRIMARY KEY (tenant, revision)
) STRICT, WITHOUT ROWID;

CREATE TABLE desk_changes (
    tenant   TEXT    NOT NULL,
    revision INTEGER NOT NULL,
    place    INTEGER NOT NULL,
    key      TEXT    NOT NULL,
    before   TEXT,
    after    TEXT,
    PRIMARY KEY (tenant, revision, place),
    FOREIGN KEY (tenant, revision) REFERENCES desk_revisions (tenant, revision)
) STRICT;

-- Books in pieces, packed, each named by its hash.
CREATE TABLE pieces (
    tenant TEXT NOT NULL,
    hash   BLOB NOT NULL,
    body   BLOB NOT NULL,
    PRIMARY KEY (tenant, hash)
) STRICT;
