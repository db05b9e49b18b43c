//! The mean of word-piece vectors.

use std::{borrow::Cow, sync::OnceLock};

use async_trait::async_trait;
use loreloom_core::digest::Hasher;
use loreloom_ports::{EmbedError, Embedder, Vector};

use super::{
    table_file::{TableError, TableFile},
    wordpiece::WordPiece,
};

/// Embeds texts by looking up their word pieces.
#[derive(Debug)]
pub struct StaticEmbedder {
    name: Cow<'static, str>,
    table: TableFile,
    words: WordPiece,
}

/// Stored beside every vector: change it whenever the table or the method changes.
const EMBEDDED: &str = "minilm-static-256";
const TABLE: &[u8] = include_bytes!("../../assets/minilm-static-256-int8.safetensors");
const VOCABULARY: &str = include_str!("../../assets/vocab.txt");

impl StaticEmbedder {
    /// The table in the binary, loaded when first used.
    #[expect(
        clippy::expect_used,
        clippy::missing_panics_doc,
        reason = "the embedded table is the same in every run, and tested"
    )]
    pub fn embedded() -> &'static Self {
        static LOADED: OnceLock<StaticEmbedder> = OnceLock::new();
        LOADED.get_or_init(|| {
            Self::read(Cow::Borrowed(EMBEDDED), Cow::Borrowed(TABLE), VOCABULARY)
                .expect("the embedded table is sound")
        })
    }

    /// Your own table: a safetensors file with `embeddings` and `scales`, and the `WordPiece`
    /// vocabulary of its rows.
    pub fn read(
        name: Cow<'static, str>,
        table: Cow<'static, [u8]>,
        vocabulary: &str,
    ) -> Result<Self, TableError> {
        let table = TableFile::read(table)?;
        let words = WordPiece::read(vocabulary)?;
        let (rows, found) = (table.scales.len(), vocabulary.lines().count());
        if rows != found {
            return Err(TableError::Vocabulary { rows, found });
        }
        Ok(Self { name, table, words })
    }

    /// The vocabulary in a `tokenizer.json`, a piece on each line.
    pub fn vocabulary(tokenizer: &[u8]) -> Result<String, TableError> {
        let file: serde_json::Value = serde_json::from_slice(tokenizer)
            .map_err(|error| TableError::Tokenizer { found: error.to_string() })?;
        let model = &file["model"];
        let pieces = model["vocab"].as_object().filter(|_| model["type"] == "WordPiece");
        let found = model["type"].to_string();
        let pieces = pieces.ok_or(TableError::Tokenizer { found })?;
        let mut pieces: Vec<(u64, &str)> = pieces
            .iter()
            .map(|(piece, row)| (row.as_u64().unwrap_or(u64::MAX), piece.as_str()))
            .collect();
        pieces.sort_unstable();
        Ok(pieces.into_iter().map(|(_, piece)| piece).collect::<Vec<_>>().join("\n"))
    }

    /// A short name of a table's bytes.
    pub fn digest(table: &[u8]) -> String {
        let digest = Hasher::new("embedding table").field(table).finish().to_string();
        digest.chars().take(12).collect()
    }

    /// The vector of a text, of length 1. A text without any word piece (empty, or only
    /// white space) has no direction: it gets the zero vector, whose cosine with every
    /// other is 0.
    pub fn embed_one(&self, text: &str) -> Vector {
        let mut sum = vec![0_f32; self.table.dimensions];
        for piece in self.words.pieces(text) {
            let row = piece.0 as usize;
            let scale = self.table.scales.get(row).copied().unwrap_or_default();
            for (part, byte) in sum.iter_mut().zip(self.table.row(row)) {
                *part += scale * f32::from(byte.cast_signed());
            }
        }
        // Dividing by the number of pieces would change the length only, which goes next.
        let length = sum.iter().map(|part| part * part).sum::<f32>().sqrt();
        if length > 0.0 {
            for part in &mut sum {
                *part /= length;
            }
        }
        sum
    }
}

#[async_trait]
impl Embedder for StaticEmbedder {
    fn model(&self) -> &str {
        &self.name
    }

    fn dimensions(&self) -> usize {
        self.table.dimensions
    }

    async fn embed(&self, texts: &[&str]) -> Result<Vec<Vector>, EmbedError> {
        Ok(texts.iter().map(|text| self.embed_one(text)).collect())
    }
}

#[async_trait]
impl Embedder for &'static StaticEmbedder {
    fn model(&self) -> &str {
        &self.name
    }

    fn dimensions(&self) -> usize {
        self.table.dimensions
    }

    async fn embed(&self, texts: &[&str]) -> Result<Vec<Vector>, EmbedError> {
        StaticEmbedder::embed(self, texts).await
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cosine(left: &str, right: &str) -> f32 {
        let embedder = StaticEmbedder::embedded();
        let (left, right) = (embedder.embed_one(left), embedder.embed_one(right));
        left.iter().zip(&right).map(|(left, right)| left * right).sum()
    }

    /// Computed once with numpy from the same table and the reference `WordPiece`.
    #[test]
    fn vectors_are_those_of_the_reference() {
        for (text, expected) in [
            ("The lighthouse keeper lit the lamp.", [-0.019_339, 0.027_934, -0.002_786, 0.004_273]),
            ("A man is eating food.", [0.048_179, -0.040_906, -0.045_03, 0.071_351]),
            ("A man is eating a piece of bread.", [0.043_779, -0.143_386, -0.026_437, 0.117_826]),
            ("Café Zoë, naïve façade!", [-0.003_369, 0.069_144, -0.056_309, 0.043_02]),
            ("日本 tower — “quoted” (x3)", [-0.041_092, -0.155_442, -0.034_001, -0.112_407]),
            (
                "antidisestablishmentarianism of Qwyxzzorth",
                [0.104_889, -0.155_931, 0.015_239, 0.187_55],
            ),
            ("hello", [0.117_198, 0.057_096, 0.039_066, -0.070_619]),
            ("ΑΣ İstanbul привет 🙂", [0.157_903, 0.052_971, -0.077_597, 0.159_582]),
        ] {
            let vector = StaticEmbedder::embedded().embed_one(text);
            assert_eq!(vector.len(), 256);
            for (found, expected) in vector.iter().zip(expected) {
                assert!((found - expected).abs() < 2e-6, "{text}: {found} for {expected}");
            }
        }
    }

    #[test]
    fn near_meanings_are_near() {
        let near = cosine("A man is eating food.", "A man is eating a piece of bread.");
        assert!((near - 0.766_142).abs() < 1e-5, "{near}");
        let far = cosine("The lighthouse keeper lit the lamp.", "A man is eating food.");
        assert!((far + 0.042_591).abs() < 1e-5, "{far}");
    }

    #[test]
    fn vectors_have_length_one_and_nothing_has_none() {
        let embedder = StaticEmbedder::embedded();
        for text in ["hello", "🙂", "a b c d e f g", "[UNK]"] {
            let length: f32 = embedder.embed_one(text).iter().map(|part| part * part).sum();
            assert!((length - 1.0).abs() < 1e-5, "{text}: {length}");
        }
        for text in ["", " \n\t", "\u{200b}"] {
            assert_eq!(embedder.embed_one(text), vec![0.0; 256], "{text:?}");
        }
    }

    #[test]
    fn a_vocabulary_of_another_table_is_refused() {
        let result = StaticEmbedder::read("x".into(), Cow::Borrowed(TABLE), "[UNK]\na");
        let message = "the vocabulary must have 30522 pieces, one for each row, found 2";
        assert_eq!(result.unwrap_err().to_string(), message);
    }
}
