//! Trimming old turns.
//!
//! What stays is what deciding a turn again needs (its input and books) and what it left behind
//! (its delta, a column of its own). Prompt, injections and verdicts go: deciding the turn again
//! gives them back, except for what the front end itself sent.

use loreloom_core::assemble::Seams;

use super::{TurnBody, pack::pack, report_from, text_list::TextPiece};

/// The columns of a trimmed turn.
pub(crate) struct TrimmedColumns {
    pub(crate) body: Vec<u8>,
    pub(crate) report: Vec<u8>,
}

/// Trims a stored turn.
pub(crate) fn columns(body: &[u8], report: &[u8]) -> Result<TrimmedColumns, String> {
    let mut body = TurnBody::from_bytes(body)?;
    body.prompt.clear();
    body.injections.clear();
    if let Some(input) = &mut body.input {
        input.seams = Seams::default();
    }
    match body.input.as_mut().map(|input| &mut input.fixed) {
        Some(TextPiece::Text(index)) => {
            let number = body.texts.get(*index).copied();
            body.texts = number.into_iter().collect();
            *index = 0;
        }
        Some(TextPiece::Short(_) | TextPiece::Message(_)) | None => body.texts.clear(),
    }
    let mut report = report_from(report)?;
    report.verdicts.clear();
    report.spans.clear();
    report.warnings.clear();
    let no_json = |error: serde_json::Error| error.to_string();
    let report = pack(&serde_json::to_vec(&report).map_err(no_json)?);
    Ok(TrimmedColumns { body: body.to_bytes().map_err(no_json)?, report })
}
