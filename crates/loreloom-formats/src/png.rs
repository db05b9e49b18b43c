//! Text chunks of PNG pictures: where cards travel.
//!
//! The picture itself is never decoded; chunks are copied byte for byte, so nothing about
//! it can change and a picture that unpacks to gigabytes costs nothing.

use std::{borrow::Cow, io::Read as _};

use base64::{
    Engine as _, alphabet,
    engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig},
};

use crate::{
    error::FormatError,
    limits::{Limit, Limits},
};

/// How every PNG begins.
pub(crate) const SIGNATURE: [u8; 8] = *b"\x89PNG\r\n\x1a\n";

/// Keywords under which lore travels, best first.
const KEYWORDS: [&str; 3] = ["ccv3", "chara", "naidata"];

/// One chunk, with its length and checksum.
struct Chunk<'bytes> {
    kind: [u8; 4],
    data: &'bytes [u8],
    whole: &'bytes [u8],
}

/// A text chunk that holds lore.
#[derive(Debug)]
pub(crate) struct Payload {
    /// The keyword in lower case.
    pub(crate) keyword: &'static str,
    /// What it holds, out of its base64.
    pub(crate) bytes: Result<Vec<u8>, FormatError>,
}

fn chunks(bytes: &[u8]) -> impl Iterator<Item = Result<Chunk<'_>, FormatError>> {
    let mut at = SIGNATURE.len();
    std::iter::from_fn(move || {
        let rest = bytes.get(at..).filter(|rest| !rest.is_empty())?;
        let cut = FormatError::Container {
            kind: "PNG",
            problem: format!("cut off in the chunk at byte {at}"),
        };
        let head: Option<([u8; 4], [u8; 4])> =
            rest.first_chunk().copied().zip(rest.get(4..8).and_then(|kind| kind.try_into().ok()));
        let Some((length, kind)) = head else {
            at = bytes.len();
            return Some(Err(cut));
        };
        let length = u32::from_be_bytes(length) as usize;
        let Some(whole) = length.checked_add(12).and_then(|end| rest.get(..end)) else {
            at = bytes.len();
            return Some(Err(cut));
        };
        at += whole.len();
        if kind == *b"IEND" {
            at = bytes.len();
        }
        Some(Ok(Chunk { kind, data: &whole[8..8 + length], whole }))
    })
}

/// The chunks that hold lore: best keyword first, in the order of the file. All together
/// may have as much text as one file may.
pub(crate) fn payloads(bytes: &[u8], limits: &Limits) -> Result<Vec<Payload>, FormatError> {
    let mut found = Vec::new();
    let mut left = *limits;
    for chunk in chunks(bytes) {
        let chunk = chunk?;
        let Some((keyword, rest)) = keyword_of(&chunk) else { continue };
        let known = KEYWORDS.iter().find(|known| known.as_bytes().eq_ignore_ascii_case(keyword));
        let Some(known) = known else { continue };
        // Only what may be lore is unpacked: a picture may hold any amount of other texts. One
        // that cannot be is no reason not to read the next.
        let bytes = match text_of(chunk.kind, rest, &left) {
            Ok(Some(text)) => Ok(out_of_base64(&text)),
            Ok(None) => continue,
            Err(fault) => Err(fault),
        };
        let length = bytes.as_ref().map_or(0, Vec::len);
        let too_large =
            FormatError::TooLarge { which: Limit::Text, limit: left.text_bytes, found: length };
        left.text_bytes = left.text_bytes.checked_sub(length).ok_or(too_large)?;
        found.push(Payload { keyword: known, bytes });
    }
    found.sort_by_key(|payload| KEYWORDS.iter().position(|known| *known == payload.keyword));
    Ok(found)
}

/// The names and sizes of the files that a card's picture carries in its texts.
pub(crate) fn assets(bytes: &[u8]) -> Vec<(String, usize)> {
    const MARK: &[u8] = b"chara-ext-asset_";
    let texts = chunks(bytes).map_while(Result::ok);
    let named = texts.filter_map(|chunk| {
        let (keyword, rest) = keyword_of(&chunk)?;
        let name = keyword.strip_prefix(MARK)?;
        let name = String::from_utf8_lossy(name.strip_prefix(b":").unwrap_or(name)).into_owned();
        Some((name, rest.len()))
    });
    named.collect()
}

/// The EXIF data of a picture.
pub(crate) fn exif(bytes: &[u8]) -> Option<&[u8]> {
    chunks(bytes).map_while(Result::ok).find(|chunk| chunk.kind == *b"eXIf").map(|chunk| chunk.data)
}

/// The keyword of a text chunk, and what follows it.
fn keyword_of<'chunk>(chunk: &Chunk<'chunk>) -> Option<(&'chunk [u8], &'chunk [u8])> {
    if !matches!(&chunk.kind, b"tEXt" | b"zTXt" | b"iTXt") {
        return None;
    }
    let end = chunk.data.iter().position(|byte| *byte == 0)?;
    Some((&chunk.data[..end], &chunk.data[end + 1..]))
}

/// The text of a text chunk, out of what follows its keyword.
fn text_of<'chunk>(
    kind: [u8; 4],
    rest: &'chunk [u8],
    limits: &Limits,
) -> Result<Option<Cow<'chunk, [u8]>>, FormatError> {
    Ok(match (&kind, rest) {
        (b"tEXt", text) => Some(Cow::Borrowed(text)),
        (b"zTXt", [0, packed @ ..]) => Some(Cow::Owned(inflate(packed, limits)?)),
        (b"iTXt", [is_packed, _method, rest @ ..]) => {
            let mut parts = rest.splitn(3, |byte| *byte == 0);
            match (parts.next(), parts.next(), parts.next()) {
                (Some(_), Some(_), Some(text)) if *is_packed == 0 => Some(Cow::Borrowed(text)),
                (Some(_), Some(_), Some(packed)) => Some(Cow::Owned(inflate(packed, limits)?)),
                _ => None,
            }
        }
        _ => None,
    })
}

/// Unpacks, but not more than a text may have.
fn inflate(packed: &[u8], limits: &Limits) -> Result<Vec<u8>, FormatError> {
    let ratio = limits.unpack_ratio;
    let by_ratio = packed.len().saturating_mul(ratio).max(1 << 16);
    let limit = limits.text_bytes.min(by_ratio);
    let mut unpacked = Vec::new();
    let mut reader = flate2::read::ZlibDecoder::new(packed).take(limit as u64 + 1);
    reader.read_to_end(&mut unpacked).map_err(|fault| FormatError::Container {
        kind: "PNG",
        problem: format!("a packed text chunk cannot be unpacked: {fault}"),
    })?;
    if unpacked.len() > limit {
        return Err(if limit == by_ratio {
            FormatError::Exploding { ratio, limit }
        } else {
            FormatError::TooLarge { which: Limit::Text, limit, found: unpacked.len() }
        });
    }
    Ok(unpacked)
}

/// Base64 with or without padding, with line breaks; what is not base64 stays as it is,
/// because some programs write the JSON itself.
pub(crate) fn out_of_base64(text: &[u8]) -> Vec<u8> {
    let config =
        GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent);
    let engine = GeneralPurpose::new(&alphabet::STANDARD, config);
    let end = text.iter().rposition(|byte| *byte != 0).map_or(0, |last| last + 1);
    // Some writers use the alphabet of web addresses.
    let standard = |byte: &u8| match byte {
        b'-' => b'+',
        b'_' => b'/',
        byte => *byte,
    };
    let compact = text[..end].iter().filter(|byte| !byte.is_ascii_whitespace());
    let compact: Vec<u8> = compact.map(standard).collect();
    engine.decode(&compact).unwrap_or_else(|_| text[..end].to_vec())
}

/// The picture with these texts instead of its lore. All other chunks stay, and so does what
/// follows the end; the new chunks come right before the end. A picture without an end gets one.
pub(crate) fn with_texts(bytes: &[u8], texts: &[(&str, &[u8])]) -> Result<Vec<u8>, FormatError> {
    let mut out = Vec::with_capacity(bytes.len());
    out.extend_from_slice(&SIGNATURE);
    let replaces = |keyword: &[u8]| {
        let is = |known: &str| known.as_bytes().eq_ignore_ascii_case(keyword);
        texts.iter().any(|(new, _)| is(new)) || KEYWORDS[..2].iter().any(|known| is(known))
    };
    let mut read = SIGNATURE.len();
    let mut has_end = false;
    for chunk in chunks(bytes) {
        let chunk = chunk?;
        read += chunk.whole.len();
        if chunk.kind == *b"IEND" {
            has_end = true;
            push_texts(&mut out, texts)?;
        }
        let is_lore = keyword_of(&chunk).is_some_and(|(keyword, _)| replaces(keyword));
        if !is_lore {
            out.extend_from_slice(chunk.whole);
        }
    }
    if !has_end {
        push_texts(&mut out, texts)?;
        push_chunk(&mut out, *b"IEND", &[])?;
    }
    out.extend_from_slice(&bytes[read..]);
    Ok(out)
}

fn push_texts(out: &mut Vec<u8>, texts: &[(&str, &[u8])]) -> Result<(), FormatError> {
    texts.iter().try_for_each(|(keyword, text)| push_text(out, keyword, text))
}

fn push_text(out: &mut Vec<u8>, keyword: &str, text: &[u8]) -> Result<(), FormatError> {
    let mut data = keyword.as_bytes().to_vec();
    data.push(0);
    data.extend_from_slice(base64::engine::general_purpose::STANDARD.encode(text).as_bytes());
    push_chunk(out, *b"tEXt", &data)
}

fn push_chunk(out: &mut Vec<u8>, kind: [u8; 4], data: &[u8]) -> Result<(), FormatError> {
    const LIMIT: usize = i32::MAX as usize;
    let length = u32::try_from(data.len())
        .ok()
        .filter(|length| *length as usize <= LIMIT)
        .ok_or_else(|| FormatError::Container {
            kind: "PNG",
            problem: format!("a chunk may have {LIMIT} bytes, found {}", data.len()),
        })?;
    out.extend_from_slice(&length.to_be_bytes());
    let start = out.len();
    out.extend_from_slice(&kind);
    out.extend_from_slice(data);
    let sum = crc32fast::hash(&out[start..]);
    out.extend_from_slice(&sum.to_be_bytes());
    Ok(())
}

/// A picture of one grey point, for cards that have none.
pub(crate) fn blank() -> Result<Vec<u8>, FormatError> {
    let mut out = SIGNATURE.to_vec();
    push_chunk(&mut out, *b"IHDR", &[0, 0, 0, 1, 0, 0, 0, 1, 8, 0, 0, 0, 0])?;
    // A stored block of zlib: no filter, one grey value.
    push_chunk(&mut out, *b"IDAT", &[0x78, 1, 1, 2, 0, 0xFD, 0xFF, 0, 0x80, 0, 0x82, 0, 0x81])?;
    push_chunk(&mut out, *b"IEND", &[])?;
    Ok(out)
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use super::*;

    fn picture(texts: &[([u8; 4], Vec<u8>)]) -> Vec<u8> {
        let mut out = SIGNATURE.to_vec();
        push_chunk(&mut out, *b"IHDR", &[0; 13]).unwrap();
        for (kind, data) in texts {
            push_chunk(&mut out, *kind, data).unwrap();
        }
        push_chunk(&mut out, *b"IEND", &[]).unwrap();
        out
    }

    fn packed(text: &[u8]) -> Vec<u8> {
        let mut encoder = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::best());
        encoder.write_all(text).unwrap();
        encoder.finish().unwrap()
    }

    fn read(bytes: &[u8]) -> Vec<(&'static str, String)> {
        let found = payloads(bytes, &Limits::default()).unwrap();
        found
            .into_iter()
            .map(|payload| (payload.keyword, String::from_utf8(payload.bytes.unwrap()).unwrap()))
            .collect()
    }

    #[test]
    fn every_kind_of_text_chunk_is_read_and_the_newer_card_comes_first() {
        let ztxt = [b"chara\0\0".to_vec(), packed(b"e30=")].concat();
        let itxt = [b"chara\0\x01\0\0\0".to_vec(), packed(b"e30")].concat();
        let bytes = picture(&[
            (*b"tEXt", b"Title\0x".to_vec()),
            (*b"tEXt", b"Chara\0e\n3\n0=".to_vec()),
            (*b"zTXt", ztxt),
            (*b"iTXt", itxt),
            (*b"tEXt", b"chara\0{\"a\":1}".to_vec()),
            (*b"tEXt", b"ccv3\0e30=".to_vec()),
        ]);
        let expected: Vec<(&str, String)> = vec![
            ("ccv3", "{}".into()),
            ("chara", "{}".into()),
            ("chara", "{}".into()),
            ("chara", "{}".into()),
            ("chara", "{\"a\":1}".into()),
        ];
        assert_eq!(read(&bytes), expected);
    }

    #[test]
    fn a_text_that_cannot_be_unpacked_hides_no_other() {
        let bytes = picture(&[
            (*b"zTXt", b"ccv3\0\0not packed".to_vec()),
            (*b"tEXt", b"chara\0e30=".to_vec()),
        ]);
        let found = payloads(&bytes, &Limits::default()).unwrap();
        let read: Vec<_> = found.iter().map(|one| (one.keyword, one.bytes.is_ok())).collect();
        assert_eq!(read, [("ccv3", false), ("chara", true)]);
    }

    #[test]
    fn base64_of_web_addresses_and_zeros_at_the_end_are_read() {
        for (text, expected) in [
            (&b"eyJhIjoiPz8_In0="[..], &b"{\"a\":\"???\"}"[..]),
            (b"eyJhIjoiPj4-In0", b"{\"a\":\">>>\"}"),
            (b"e30=\0\0", b"{}"),
            (b"{\"a_b\":1}\0", b"{\"a_b\":1}"),
        ] {
            assert_eq!(out_of_base64(text), expected);
        }
    }

    #[test]
    fn writing_keeps_every_other_chunk_and_drops_the_old_card() {
        let title = (*b"tEXt", b"Title\0x".to_vec());
        let bytes = picture(&[
            (*b"tEXt", b"CHARA\0e30=".to_vec()),
            title.clone(),
            (*b"tEXt", b"ccv3\0e30=".to_vec()),
        ]);
        let written = with_texts(&bytes, &[("chara", b"{1}")]).unwrap();
        let expected = picture(&[title, (*b"tEXt", b"chara\0ezF9".to_vec())]);
        assert_eq!(written, expected);
    }

    #[test]
    fn what_follows_the_end_stays_and_a_missing_end_is_added() {
        let whole = picture(&[(*b"tEXt", b"chara\0ezF9".to_vec())]);
        let written = |bytes: &[u8]| with_texts(bytes, &[("chara", b"{1}")]);
        let behind = [whole.as_slice(), b"behind"].concat();
        assert_eq!(written(&behind).unwrap(), behind);
        assert_eq!(written(&whole[..whole.len() - 12]).unwrap(), whole);
    }

    #[test]
    fn a_cut_or_exploding_picture_is_an_error() {
        let bytes = picture(&[(*b"tEXt", b"chara\0e30=".to_vec())]);
        let error = payloads(&bytes[..bytes.len() - 20], &Limits::default()).unwrap_err();
        assert_eq!(error.to_string(), "not a usable PNG: cut off in the chunk at byte 33");
        let bomb = [b"chara\0\0".to_vec(), packed(&vec![b'a'; 50 << 20])].concat();
        let mut found = payloads(&picture(&[(*b"zTXt", bomb)]), &Limits::default()).unwrap();
        let error = found.remove(0).bytes.unwrap_err();
        assert!(matches!(error, FormatError::Exploding { ratio: 100, .. }), "{error}");
        // Texts that are no lore are not unpacked, and all lore together has one limit.
        let other = [b"Title\0\0".to_vec(), packed(&vec![b'a'; 50 << 20])].concat();
        assert_eq!(payloads(&picture(&[(*b"zTXt", other)]), &Limits::default()).unwrap().len(), 0);
        let half = (*b"tEXt", [b"chara\0".to_vec(), vec![b'{'; 60]].concat());
        let limits = Limits { text_bytes: 100, ..Limits::default() };
        let error = payloads(&picture(&[half.clone(), half]), &limits).unwrap_err();
        assert_eq!(error, FormatError::TooLarge { which: Limit::Text, limit: 40, found: 60 });
    }

    #[test]
    fn the_blank_picture_has_a_valid_stream() {
        let blank = blank().unwrap();
        let data = chunks(&blank).map(|chunk| chunk.unwrap()).find(|chunk| chunk.kind == *b"IDAT");
        let unpacked = inflate(data.unwrap().data, &Limits::default()).unwrap();
        assert_eq!(unpacked, [0, 0x80]);
    }
}
