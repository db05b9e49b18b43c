//! How Loreloom reaches models: connections, tokenizers and the embedder in the binary.
//!
//! Everything here implements traits of `loreloom-ports` and `loreloom-core`, so
//! that the server never names an HTTP client or a vocabulary.
//!
//! - [`connection`]: Loreloom's own calls to OpenAI-compatible servers and Ollama.
//! - [`upstream`]: a front end's requests, passed on byte for byte; [`steady`]: with limits,
//!   retries and rests.
//! - [`diagnose`]: tests a connection, step by step.
//! - [`offline`]: a storyteller in a model's place, for a first look.
//! - [`tokenizers`]: counting tokens as the connected model does.
//! - [`embed`]: vectors with nothing installed.
//! - [`sse`] and [`think`]: the pure parts of reading a model's answer.
//!
//! ```
//! use loreloom_core::{chat::Role, prompt::PromptMessage, tokens::TokenCounter, units::Tokens};
//! use loreloom_llm::{offline::OfflineModel, tokenizers::Tokenizer};
//! use loreloom_ports::{ChatModel, ChatRequest};
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let message = |role, content: &str| PromptMessage { role, name: None, content: content.into() };
//! let request = ChatRequest {
//!     messages: vec![
//!         message(Role::System, "You are Mira.\nThe Ashen Gate opens only to a key of bone."),
//!         message(Role::User, "How do I open the gate?"),
//!     ],
//!     ..ChatRequest::default()
//! };
//! let reply = OfflineModel.complete(&request).await?;
//! assert!(reply.text.contains("opens only to a key of bone"));
//!
//! assert_eq!(Tokenizer::for_model("gpt-4o").count("hello world"), Tokens(2));
//! # Ok(())
//! # }
//! ```

pub mod connection;
pub mod diagnose;
pub mod embed;
pub mod obsidian;
pub mod offline;
pub mod secret;
pub mod sse;
pub mod steady;
pub mod think;
pub mod tokenizers;
pub mod upstream;
