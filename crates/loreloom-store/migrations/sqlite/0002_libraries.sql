-- The books and rules that turns were decided with, packed, named by their hash. Kept for a
-- tenant and not for a chat: chats share books.

CREATE TABLE libraries (
    tenant  TEXT NOT NULL,
    version BLOB NOT NULL,
    body    BLOB NOT NULL,
    PRIMARY KEY (tenant, version)
) STRICT;
