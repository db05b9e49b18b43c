//! Rows of `connection`, `features`, `server`, `store` and `limits`.

use crate::setting::{Setting, choice, number, switch, text, texts, whole};

const U32: u64 = u32::MAX as u64;
const DAY: f64 = 86_400.0;

const fn seconds(name: &'static str, help: &'static str) -> Setting {
    number(name, (0.001, DAY), "s", help).or_none().after_restart()
}

pub(super) const CONNECTION: &[Setting] = &[
    switch(
        "connection.strict_roles",
        "Models refuse prompts whose roles do not alternate: write lore into messages.",
    )
    .after_restart(),
    seconds("connection.connect_seconds", "How long a connection may take to be made."),
    seconds("connection.first_byte_seconds", "How long the beginning of an answer may take."),
    seconds("connection.silence_seconds", "How long a stream may be silent."),
    whole(
        "connection.retries",
        (0, 100),
        "",
        "How often a request is sent again after a failure that may pass.",
    )
    .or_none()
    .after_restart(),
    seconds("connection.longest_wait_seconds", "The longest wait between two tries."),
    whole(
        "connection.breaker_failures",
        (0, U32),
        "",
        "After how many failures in a row a server is left alone; 0 for never.",
    )
    .or_none()
    .after_restart(),
    seconds("connection.breaker_seconds", "For how long it is left alone then."),
    whole(
        "connection.at_once",
        (1, U32),
        "requests",
        "How many requests run at once on one connection.",
    )
    .or_none()
    .after_restart(),
    whole(
        "features.embedder_timeout_ms",
        (1, 600_000),
        "ms",
        "How long a turn waits for a configured embedder.",
    )
    .after_restart(),
    text(
        "features.embedding_table",
        "A safetensors file with a vector for each word piece, used instead of the table in the \
         binary, for every language. Its vocabulary is beside it.",
    )
    .or_none()
    .at_start(),
];

pub(super) const ROWS: &[Setting] = &[
    text(
        "server.listen",
        "The address and port to listen on. Beyond this machine everybody needs a key.",
    )
    .at_start()
    .flag("listen"),
    texts("server.hosts", "Names that the server may be called by, besides those of this machine.")
        .at_start(),
    texts("server.origins", "Pages that may use the server, besides its own.").at_start(),
    texts("server.trusted_proxies", "Addresses of proxies whose forwarding headers are believed.")
        .at_start(),
    switch("server.require_key", "A key is needed on this machine too.").at_start(),
    texts("server.vault_roots", "Folders in which callers with a key may register vaults.")
        .at_start(),
    choice(
        "server.log_format",
        &["text", "json"],
        "How the log is written to standard error: for people, or one JSON object in a line.",
    )
    .after_restart(),
    whole("server.limits.body_mb", (1, 65_536), "MiB", "The largest body of a request.")
        .after_restart(),
    whole("server.limits.head_kb", (1, 65_536), "KiB", "The largest head of a request.")
        .after_restart(),
    number(
        "server.limits.head_seconds",
        (0.001, DAY),
        "s",
        "How long the head of a request may take, and a connection stay idle.",
    )
    .after_restart(),
    number(
        "server.limits.stall_seconds",
        (0.001, DAY),
        "s",
        "How long a client may neither send what it announced nor take what it asked for.",
    )
    .after_restart(),
    whole(
        "server.limits.least_kb_per_second",
        (1, 1_000_000),
        "KiB/s",
        "How much of a body a client must send on average.",
    )
    .after_restart(),
    whole(
        "server.limits.connections",
        (1, 10_000_000),
        "connections",
        "How many connections are open at once.",
    )
    .after_restart(),
    text("store.data", "The folder that stories are kept in.").or_none().at_start(),
    text("store.address", "The database: a file, or a server as `postgres://user@host/database`.")
        .or_none()
        .at_start(),
];

const fn limit(name: &'static str, unit: &'static str, help: &'static str) -> Setting {
    whole(name, (1, 1 << 40), unit, help).after_restart()
}

pub(super) const LIMITS: &[Setting] = &[
    limit("limits.text", "bytes", "The largest text file, and file inside an archive.")
        .at("/limits/text_bytes"),
    limit("limits.chat", "bytes", "The largest chat.").at("/limits/chat_bytes"),
    limit("limits.container", "bytes", "The largest picture or archive.")
        .at("/limits/container_bytes"),
    limit("limits.entries", "entries", "The most entries of a book."),
    limit("limits.entry", "bytes", "The largest entry.").at("/limits/entry_bytes"),
    limit("limits.keys", "keys", "The most keys of one entry."),
    whole("limits.nesting", (1, 512), "levels", "The most levels of nested JSON.").after_restart(),
    limit("limits.messages", "messages", "The most messages of a chat."),
    limit("limits.files", "files", "The most files of an archive."),
    limit("limits.unpacked", "bytes", "The most that all files of an archive unpack to.")
        .at("/limits/unpacked_bytes"),
    limit("limits.ratio", "times", "How many times larger than its packed form a file may be.")
        .at("/limits/unpack_ratio"),
    limit("limits.values", "values", "The most JSON values of a text."),
    limit("limits.items", "items", "The most items of one list or object."),
    limit("limits.entry-values", "values", "The most values of one entry.")
        .at("/limits/entry_values"),
    limit("limits.outside-values", "values", "The most values outside of entries.")
        .at("/limits/outside_values"),
    limit(
        "limits.unknown-values",
        "values",
        "The most values of entries that belong to no lorebook.",
    )
    .at("/limits/unknown_values"),
];
