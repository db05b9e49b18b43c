//! A turn that gave up what it can do without.
//!
//! What stays is what deciding it again needs (what it was given, its books) and what it left
//! behind (its delta, which is a column of its own). The prompt, the injections and the
//! verdicts go: deciding it again gives them back, but for what the front end itself had sent.

use loreloom_core::assemble::Seams;
use loreloom_ports::TurnRecord;

use super::prompt::Piece;
use super::{
    Body,
    pack::{pack, unpack},
    report_from,
};

/// A trimmed turn's columns.
pub(crate) struct Trimmed {
    /// The body.
    pub(crate) body: Vec<u8>,
    /// The report.
    pub(crate) report: Vec<u8>,
}

/// Trims a record.
pub(crate) fn record(turn: &mut TurnRecord) {
    turn.prompt.clear();
    turn.injections.clear();
    turn.report.verdicts.clear();
    turn.report.spans.clear();
    turn.report.warnings.clear();
    if let Some(given) = &mut turn.given {
        // Seams are places in the prompt.
        given.seams = Seams::default();
    }
}

/// Trims a record as it is stored.
pub(crate) fn columns(body: &[u8], report: &[u8]) -> Result<Trimmed, String> {
    let mut body = Body::from_bytes(body)?;
    body.prompt.clear();
    body.injections.clear();
    if let Some(given) = &mut body.given {
        given.seams = Seams::default();
    }
    match body.given.as_mut().map(|given| &mut given.fixed) {
        Some(Piece::Text(place)) => {
            let number = body.texts.get(*place).copied();
            body.texts = number.into_iter().collect();
            *place = 0;
        }
        Some(Piece::Short(_) | Piece::Message(_)) | None => body.texts.clear(),
    }
    let mut report = report_from(report)?;
    report.verdicts.clear();
    report.spans.clear();
    report.warnings.clear();
    let said = |error: serde_json::Error| error.to_string();
    let report = pack(&serde_json::to_vec(&report).map_err(said)?);
    Ok(Trimmed { body: body.to_bytes().map_err(said)?, report })
}

/// What a stored body refers to: its texts, and its books.
pub(crate) fn references(body: &[u8]) -> Result<(Vec<i64>, [u8; 16]), String> {
    let body: Body = serde_json::from_slice(&unpack(body)?).map_err(|error| error.to_string())?;
    Ok((body.texts, body.library.0.0))
}
