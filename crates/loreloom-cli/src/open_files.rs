//! How many files and connections the process may have open.

/// Raises the limit of open files as far as the system allows. Each stream needs two
/// connections, and many systems begin with a limit of 1,024.
#[cfg(unix)]
pub(crate) fn raise_limit() {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

    let limit = getrlimit(Resource::Nofile);
    if limit.current < limit.maximum || limit.maximum.is_none() {
        let current = limit.maximum.or(Some(1 << 20));
        if let Err(error) = setrlimit(Resource::Nofile, Rlimit { current, ..limit }) {
            tracing::warn!(%error, found = ?limit.current, "the limit of open files stays");
        }
    }
}

#[cfg(not(unix))]
pub(crate) fn raise_limit() {}
