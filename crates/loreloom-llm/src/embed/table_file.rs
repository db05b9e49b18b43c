//! Reading the two tensors of a table from a safetensors file.
//!
//! The format: eight bytes with the length of a JSON header, the header, the tensors. Only
//! what a table needs is read; everything is checked before it is used.

use std::{borrow::Cow, collections::HashMap, ops::Range};

use serde::Deserialize;

/// A table file cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum TableError {
    /// The header is cut off or no JSON.
    #[error("the header of the table cannot be read: {reason}")]
    Header {
        /// What is wrong.
        reason: String,
    },
    /// A tensor is missing or of another form.
    #[error("tensor `{name}` must be {expected}, found {found}")]
    Tensor {
        /// The tensor.
        name: &'static str,
        /// What it should be.
        expected: String,
        /// What it is.
        found: String,
    },
    /// The vocabulary does not belong to the table.
    #[error("the vocabulary must have {rows} pieces, one for each row, found {found}")]
    Vocabulary {
        /// Rows of the table.
        rows: usize,
        /// Pieces of the vocabulary.
        found: usize,
    },
    /// The tokenizer splits words in another way.
    #[error("the tokenizer must be `WordPiece`, found {found}")]
    Tokenizer {
        /// What it is.
        found: String,
    },
    /// The vocabulary has nothing for unknown words.
    #[error("the vocabulary must have the piece `[UNK]`")]
    NoUnknown,
}

/// The tensors of a table.
#[derive(Debug)]
pub(super) struct TableFile {
    bytes: Cow<'static, [u8]>,
    rows_at: Range<usize>,
    /// A factor for each row.
    pub(super) scales: Vec<f32>,
    /// The length of a row.
    pub(super) dimensions: usize,
}

#[derive(Deserialize)]
struct TensorHeader {
    dtype: String,
    shape: Vec<usize>,
    data_offsets: (usize, usize),
}

/// The length of the header's length.
const LENGTH: usize = 8;

impl TableFile {
    /// Reads a file with `embeddings` (rows by dimensions): int8 with `scales` (float32), or float32.
    pub(super) fn read(bytes: Cow<'static, [u8]>) -> Result<Self, TableError> {
        let (header, start) = header(&bytes)?;
        let data = start..bytes.len();
        if header.get("embeddings").is_some_and(|tensor| tensor["dtype"] == "F32") {
            return Self::packed(&bytes, &header, &data);
        }
        let (shape, rows_at) = tensor(&header, "embeddings", ("I8", 1), &data)?;
        let &[rows, dimensions] = shape.as_slice() else {
            return Err(wrong("embeddings", "two-dimensional", &format!("{shape:?}")));
        };
        let (shape, scales_at) = tensor(&header, "scales", ("F32", 4), &data)?;
        if shape != [rows] {
            return Err(wrong("scales", &format!("[{rows}]"), &format!("{shape:?}")));
        }
        let (numbers, _none) = bytes[scales_at].as_chunks::<4>();
        let scales = numbers.iter().map(|number| f32::from_le_bytes(*number)).collect();
        Ok(Self { bytes, rows_at, scales, dimensions })
    }

    /// A table of floats, packed into bytes.
    fn packed(
        bytes: &[u8],
        header: &HashMap<String, serde_json::Value>,
        data: &Range<usize>,
    ) -> Result<Self, TableError> {
        let (shape, at) = tensor(header, "embeddings", ("F32", 4), data)?;
        let &[rows, dimensions] = shape.as_slice() else {
            return Err(wrong("embeddings", "two-dimensional", &format!("{shape:?}")));
        };
        let (numbers, _none) = bytes[at].as_chunks::<4>();
        let numbers: Vec<f32> = numbers.iter().map(|number| f32::from_le_bytes(*number)).collect();
        let (mut scales, mut packed) =
            (Vec::with_capacity(rows), Vec::with_capacity(numbers.len()));
        for row in numbers.chunks(dimensions.max(1)) {
            let largest = row.iter().fold(0_f32, |most, number| most.max(number.abs()));
            let scale = largest / f32::from(i8::MAX);
            let by = if scale > 0.0 { scale } else { 1.0 };
            packed.extend(row.iter().map(|number| byte(number / by)));
            scales.push(scale);
        }
        let rows_at = 0..packed.len();
        Ok(Self { bytes: Cow::Owned(packed), rows_at, scales, dimensions })
    }

    /// The row of a piece.
    pub(super) fn row(&self, index: usize) -> &[u8] {
        let rows = &self.bytes[self.rows_at.clone()];
        let start = index * self.dimensions;
        rows.get(start..start + self.dimensions).unwrap_or_default()
    }
}

#[expect(clippy::cast_possible_truncation, reason = "the largest number is 127")]
fn byte(number: f32) -> u8 {
    (number.round() as i8).cast_unsigned()
}

fn wrong(name: &'static str, expected: &str, found: &str) -> TableError {
    TableError::Tensor { name, expected: expected.to_owned(), found: found.to_owned() }
}

/// The tensors' headers and where their data begins.
fn header(bytes: &[u8]) -> Result<(HashMap<String, serde_json::Value>, usize), TableError> {
    let unreadable = |reason: &str| TableError::Header { reason: reason.to_owned() };
    let (length, rest) =
        bytes.split_first_chunk::<LENGTH>().ok_or_else(|| unreadable("the file is cut off"))?;
    let length = usize::try_from(u64::from_le_bytes(*length))
        .ok()
        .filter(|length| *length <= rest.len())
        .ok_or_else(|| unreadable("it is longer than the file"))?;
    let header =
        serde_json::from_slice(&rest[..length]).map_err(|error| unreadable(&error.to_string()))?;
    Ok((header, LENGTH + length))
}

/// The shape of a tensor and its range in the file.
fn tensor(
    header: &HashMap<String, serde_json::Value>,
    name: &'static str,
    (dtype, width): (&str, usize),
    data: &Range<usize>,
) -> Result<(Vec<usize>, Range<usize>), TableError> {
    let found = header.get(name).ok_or_else(|| wrong(name, dtype, "nothing"))?;
    let found: TensorHeader = serde_json::from_value(found.clone())
        .map_err(|error| wrong(name, "described", &error.to_string()))?;
    if found.dtype != dtype {
        return Err(wrong(name, dtype, &found.dtype));
    }
    let (from, to) = found.data_offsets;
    let size = found.shape.iter().try_fold(width, |size, length| size.checked_mul(*length));
    let place = data.start.checked_add(from).zip(data.start.checked_add(to));
    match place {
        Some((from, to)) if from <= to && to <= data.end && Some(to - from) == size => {
            Ok((found.shape, from..to))
        }
        _ => Err(wrong(name, "within the file", &format!("{:?} at {from}..{to}", found.shape))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(header: &str, data: &[u8]) -> Cow<'static, [u8]> {
        let length = (header.len() as u64).to_le_bytes();
        Cow::Owned([&length[..], header.as_bytes(), data].concat())
    }

    const HEADER: &str = r#"{"__metadata__":{"a":"b"},
        "scales":{"dtype":"F32","shape":[2],"data_offsets":[0,8]},
        "embeddings":{"dtype":"I8","shape":[2,3],"data_offsets":[8,14]}}"#;

    fn data() -> Vec<u8> {
        [&0.5_f32.to_le_bytes()[..], &2_f32.to_le_bytes(), &[1, 2, 3, 4, 5, 255]].concat()
    }

    #[test]
    fn rows_and_scales_are_found() {
        let table = TableFile::read(file(HEADER, &data())).unwrap();
        assert_eq!((table.dimensions, table.scales.as_slice()), (3, &[0.5, 2.0][..]));
        assert_eq!(
            (table.row(0), table.row(1), table.row(2)),
            (&[1, 2, 3][..], &[4, 5, 255][..], &[][..])
        );
    }

    #[test]
    fn a_table_of_floats_is_packed() {
        let header = r#"{"embeddings":{"dtype":"F32","shape":[2,2],"data_offsets":[0,16]}}"#;
        let numbers = [1.27_f32, -0.5, 0.0, 0.0].map(f32::to_le_bytes).concat();
        let table = TableFile::read(file(header, &numbers)).unwrap();
        assert_eq!((table.row(0), table.row(1)), (&[127, 206][..], &[0, 0][..]));
        assert!((table.scales[0] - 0.01).abs() < 1e-6 && table.scales[1] == 0.0);
    }

    #[test]
    fn a_damaged_file_is_refused_with_its_reason() {
        let good = data();
        for (bytes, message) in [
            (
                Cow::Borrowed(&b"123"[..]),
                "the header of the table cannot be read: the file is cut off",
            ),
            (
                Cow::Borrowed(&[255_u8; 20][..]),
                "the header of the table cannot be read: it is longer than the file",
            ),
            (file("{}", &good), "tensor `embeddings` must be I8, found nothing"),
            (
                file(&HEADER.replace("\"I8\"", "\"U8\""), &good),
                "tensor `embeddings` must be I8, found U8",
            ),
            (
                file(HEADER, &good[..13]),
                "tensor `embeddings` must be within the file, found [2, 3] at 8..14",
            ),
            (
                file(&HEADER.replace("[2,3]", "[2,18446744073709551615]"), &good),
                "tensor `embeddings` must be within the file, \
                 found [2, 18446744073709551615] at 8..14",
            ),
            (
                file(&HEADER.replace("[2,3]", "[6]"), &good),
                "tensor `embeddings` must be two-dimensional, found [6]",
            ),
            (
                file(&HEADER.replace("[2,3]", "[3,2]"), &good),
                "tensor `scales` must be [3], found [2]",
            ),
        ] {
            assert_eq!(TableFile::read(bytes).unwrap_err().to_string(), message);
        }
    }
}
