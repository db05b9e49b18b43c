//! Vectors from a model server.

use async_trait::async_trait;
use http::{HeaderValue, header::AUTHORIZATION};
use loreloom_ports::{EmbedError, Embedder, Vector};
use serde_json::{Value, json};

use crate::{
    connection::{Address, ClientRules, ConnectionError, bearer, browserless_client, causes},
    diagnose::Speech,
    secret::Secret,
};

/// An embedding model of a server.
#[derive(Debug)]
pub struct HttpEmbedder {
    address: Address,
    speech: Speech,
    model: String,
    key: Option<HeaderValue>,
    client: reqwest::Client,
    timeout: std::time::Duration,
    dimensions: usize,
}

impl HttpEmbedder {
    /// A model of a server, which is asked once how long its vectors are.
    pub async fn open(
        address: Address,
        speech: Speech,
        model: &str,
        key: Option<&Secret>,
        rules: ClientRules,
    ) -> Result<Self, OpenError> {
        let client = browserless_client(&address, rules)?;
        let key = key.map(|key| bearer(key, address.shown())).transpose()?;
        let timeout = std::time::Duration::from_secs(30);
        let model = model.to_owned();
        let mut embedder = Self { address, speech, model, key, client, timeout, dimensions: 0 };
        let one = embedder.ask(&["How long is a vector?"]).await?;
        embedder.dimensions = one.first().map(Vec::len).unwrap_or_default();
        Ok(embedder)
    }

    async fn ask(&self, texts: &[&str]) -> Result<Vec<Vector>, EmbedError> {
        let failed = |reason: String| EmbedError::Failed { model: self.model.clone(), reason };
        let path = match self.speech {
            Speech::OpenAi => "embeddings",
            Speech::Ollama => "api/embed",
        };
        let body = json!({ "model": self.model, "input": texts });
        let mut request =
            self.client.post(self.address.join(path)).timeout(self.timeout).json(&body);
        if let Some(key) = &self.key {
            request = request.header(AUTHORIZATION, key);
        }
        let response = request.send().await.map_err(|error| failed(causes(error)))?;
        let status = response.status();
        if !status.is_success() {
            return Err(failed(format!("{} answered {status}", self.address.shown())));
        }
        let answer: Value = response.json().await.map_err(|error| failed(causes(error)))?;
        let vectors =
            read(&answer).ok_or_else(|| failed("its answer has no vectors".to_owned()))?;
        if vectors.len() != texts.len() {
            let (model, found) = (self.model.clone(), vectors.len());
            return Err(EmbedError::Count { model, found, wanted: texts.len() });
        }
        Ok(vectors)
    }
}

/// An embedding model cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// Its connection is wrong.
    #[error(transparent)]
    Connection(#[from] ConnectionError),
    /// It does not answer.
    #[error(transparent)]
    Embed(#[from] EmbedError),
}

#[async_trait]
impl Embedder for HttpEmbedder {
    fn model(&self) -> &str {
        &self.model
    }

    fn dimensions(&self) -> usize {
        self.dimensions
    }

    async fn embed(&self, texts: &[&str]) -> Result<Vec<Vector>, EmbedError> {
        if texts.is_empty() {
            return Ok(Vec::new());
        }
        self.ask(texts).await
    }
}

/// Vectors in OpenAI's order or in Ollama's, each of length 1.
fn read(answer: &Value) -> Option<Vec<Vector>> {
    let vector = |value: &Value| -> Option<Vector> {
        #[expect(clippy::cast_possible_truncation, reason = "vectors are of single precision")]
        let numbers: Option<Vector> =
            value.as_array()?.iter().map(|one| one.as_f64().map(|one| one as f32)).collect();
        numbers.map(unit)
    };
    if let Some(vectors) = answer["embeddings"].as_array() {
        return vectors.iter().map(vector).collect();
    }
    let mut data: Vec<&Value> = answer["data"].as_array()?.iter().collect();
    data.sort_by_key(|one| one["index"].as_u64().unwrap_or_default());
    data.into_iter().map(|one| vector(&one["embedding"])).collect()
}

fn unit(mut vector: Vector) -> Vector {
    let length = vector.iter().map(|part| part * part).sum::<f32>().sqrt();
    if length > 0.0 {
        for part in &mut vector {
            *part /= length;
        }
    }
    vector
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn vectors_are_read_in_order_and_made_of_length_one() {
        let openai = json!({"data": [
            {"index": 1, "embedding": [0.0, 2.0]}, {"index": 0, "embedding": [3.0, 4.0]},
        ]});
        assert_eq!(read(&openai).unwrap(), [[0.6, 0.8], [0.0, 1.0]]);
        let ollama = json!({"embeddings": [[0.0, 0.0]]});
        assert_eq!(read(&ollama).unwrap(), [[0.0, 0.0]]);
        assert_eq!(read(&json!({"error": "no"})), None);
    }
}
