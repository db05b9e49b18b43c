//! Memory events, vectors and jobs as columns.

use loreloom_ports::{Author, JobBody, NewMemoryEvent, Owner, Vector};
use serde::{Serialize, de::DeserializeOwned};

/// An event's body.
pub(crate) fn event_body(event: &NewMemoryEvent) -> Result<String, serde_json::Error> {
    serde_json::to_string(event)
}

pub(crate) fn event_from(body: &str) -> Result<NewMemoryEvent, String> {
    from_json(body)
}

/// A job's body.
pub(crate) fn job_body(body: &JobBody) -> Result<String, serde_json::Error> {
    serde_json::to_string(body)
}

pub(crate) fn job_from(body: &str) -> Result<JobBody, String> {
    from_json(body)
}

/// Owners as a column.
pub(crate) fn owners_body(owners: &[Owner]) -> Result<String, serde_json::Error> {
    serde_json::to_string(owners)
}

/// The owners in a column.
pub(crate) fn owners_from(body: &str) -> Result<Vec<Owner>, String> {
    from_json(body)
}

/// An author as a column.
pub(crate) fn author_name(author: Author) -> &'static str {
    match author {
        Author::Pass => "pass",
        Author::Person => "person",
        Author::Import => "import",
    }
}

/// The author in a column.
pub(crate) fn author_from(name: &str) -> Result<Author, String> {
    [Author::Pass, Author::Person, Author::Import]
        .into_iter()
        .find(|author| author_name(*author) == name)
        .ok_or_else(|| format!("author `{name}` is unknown"))
}

/// A vector as little-endian bytes.
pub(crate) fn vector_bytes(vector: &[f32]) -> Vec<u8> {
    vector.iter().flat_map(|number| number.to_le_bytes()).collect()
}

pub(crate) fn vector_from(bytes: &[u8]) -> Result<Vector, String> {
    let (numbers, rest) = bytes.as_chunks::<4>();
    if !rest.is_empty() {
        return Err(format!("a vector has four bytes for each number, found {}", bytes.len()));
    }
    Ok(numbers.iter().map(|bytes| f32::from_le_bytes(*bytes)).collect())
}

fn from_json<T: DeserializeOwned + Serialize>(text: &str) -> Result<T, String> {
    serde_json::from_slice(text.as_bytes()).map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_vector_reads_back_and_a_cut_one_is_refused() {
        let vector = vec![1.5, -0.25, 0.0];
        let bytes = vector_bytes(&vector);
        assert_eq!(vector_from(&bytes), Ok(vector));
        assert_eq!(
            vector_from(&bytes[1..]),
            Err("a vector has four bytes for each number, found 11".to_owned())
        );
    }
}
