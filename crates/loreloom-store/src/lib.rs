//! Where stories are kept: in memory, in an SQLite file or in PostgreSQL, behind
//! [`loreloom_ports::StoryStore`].
//!
//! All stores keep the same things and agree to the byte; one suite
//! (`loreloom_testkit::store_suite`) runs over each. The two databases share their layout
//! and the `codec` that keeps a turn small: a prompt repeats the whole story on every
//! turn, so it is stored as references to messages and to texts seen before.
//!
//! ```
//! use loreloom_core::{ids::TenantId, units::Timestamp};
//! use loreloom_ports::{StoreError, StoryStore};
//! use loreloom_store::MemoryStore;
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), StoreError> {
//! let store = MemoryStore::default();
//! let tenant = TenantId::local();
//! store.open_chat(&tenant, &"harbour".into(), "The harbour", Timestamp(0)).await?;
//! assert_eq!(store.chats(&tenant).await?[0].chat.title, "The harbour");
//! # Ok(())
//! # }
//! ```

mod address;
mod codec;
mod desk;
pub mod doctor;
mod in_process;
mod memory;
mod memory_desk;
#[cfg(feature = "postgres")]
mod postgres;
mod recent_states;
mod schema;
mod sqlite;
mod undo;

use loreloom_ports::history::{checks, fold};

#[cfg(feature = "postgres")]
pub use self::postgres::PostgresStore;
pub use self::{
    address::StoreAddress,
    memory::MemoryStore,
    sqlite::{Diagnosis, Salvage, SqliteStore},
    undo::counting,
};
