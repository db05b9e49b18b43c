//! The version of the database schema.

use loreloom_ports::StoreError;

/// The version that this code reads and writes. Raise it with every change of the files in
/// `schema/`, and with every change of the shapes that `codec` stores.
pub(crate) const VERSION: i64 = 8;

/// Refuses a database of another version.
pub(crate) fn check(found: i64) -> Result<(), StoreError> {
    if found == VERSION {
        Ok(())
    } else {
        Err(StoreError::OtherVersion { found, expected: VERSION })
    }
}
