//! Notes that a model selects: what it reads, and what its answer means. Asking it is the
//! caller's work.

mod manifest;
mod question;
mod reply;
mod topics;

pub use self::{
    manifest::{Manifest, ManifestStyle, ManifestWords, SummaryMode, manifest},
    question::{Occasion, SelectionQuestion, answer_schema, question},
    reply::{
        Confidence, NoteChoice, closest_title, normalise, normalise_strictly, parse_reply,
        parse_truncated, similar_title,
    },
    topics::{Cluster, cluster, cluster_manifest},
};
