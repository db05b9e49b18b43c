//! A place beside the store for turns that the store did not take.

use std::{fmt::Debug, io};

/// Keeps records on this machine until the store takes them. It is used only while the store
/// fails, so it must not depend on it.
pub trait TurnSpill: Debug + Send + Sync {
    /// Adds a record. It is on disk when this returns.
    fn append(&self, record: &[u8]) -> io::Result<()>;

    /// All whole records, oldest first. A record that breaks off or is damaged ends the list.
    fn records(&self) -> io::Result<Vec<Vec<u8>>>;

    /// Forgets all records.
    fn clear(&self) -> io::Result<()>;

    /// Free bytes on the disk of the data, if it is known.
    fn free_bytes(&self) -> Option<u64>;

    /// Gives a reserve of space back to a disk that is full. Returns whether there was one.
    fn make_room(&self) -> bool;

    /// Takes the reserve again, if the disk has enough space.
    fn keep_room(&self);
}
