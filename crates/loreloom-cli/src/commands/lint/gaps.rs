//! What `DeepLore`'s Librarian looked for in a chat and did not find.

use std::path::Path;

use anyhow::Context as _;
use serde_json::Value;

use crate::files;

/// Where a chat file keeps it: in its first line, or at the top of an object.
const KEPT: &str = "/chat_metadata/deeplore_lore_gaps";

/// What was looked for in vain, and how often.
pub(super) fn unmet(chat: &Path) -> anyhow::Result<Vec<(String, u32)>> {
    let bytes = files::read(chat)?;
    let mut documents = serde_json::Deserializer::from_slice(&bytes).into_iter::<Value>();
    let head = documents.next().transpose();
    let head = head.with_context(|| format!("`{}` is no chat", chat.display()))?;
    let gaps = head.as_ref().and_then(|head| head.pointer(KEPT)).and_then(Value::as_array);
    Ok(gaps.into_iter().flatten().filter_map(gap).collect())
}

/// A search that found nothing, unless somebody wrote the note since.
fn gap(gap: &Value) -> Option<(String, u32)> {
    let is_search = gap["type"].as_str().is_none_or(|kind| kind == "search");
    let is_open = gap["status"].as_str() != Some("written");
    let query = gap["query"].as_str().map(str::trim).filter(|query| !query.is_empty())?;
    let times = gap["frequency"].as_u64().unwrap_or(1);
    (is_search && is_open).then(|| (query.to_owned(), u32::try_from(times).unwrap_or(u32::MAX)))
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "tests write the files they read")]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn searches_that_nobody_answered_are_read_from_a_chat() {
        let home = tempfile::tempdir().unwrap();
        let file = home.path().join("chat.jsonl");
        let gaps = json!([
            {"type": "search", "query": " the old king ", "frequency": 4, "status": "pending"},
            {"type": "search", "query": "the shoe", "frequency": 9, "status": "written"},
            {"type": "flag", "query": "a flag", "frequency": 9, "status": "pending"},
            {"type": "search", "query": "once"},
            {"type": "search"},
        ]);
        let head = json!({"user_name": "U", "chat_metadata": {"deeplore_lore_gaps": gaps}});
        std::fs::write(&file, format!("{head}\n{{\"mes\": \"Hi\"}}\n")).unwrap();
        let expected = [("the old king".to_owned(), 4), ("once".to_owned(), 1)];
        assert_eq!(unmet(&file).unwrap(), expected);
        std::fs::write(&file, "{\"mes\": \"Hi\"}\n").unwrap();
        assert_eq!(unmet(&file).unwrap(), []);
        std::fs::write(&file, "no chat").unwrap();
        unmet(&file).unwrap_err();
    }
}
