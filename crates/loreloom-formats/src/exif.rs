//! Cards in the EXIF data of JPEG, WebP and PNG pictures: the user's comment.
//!
//! Some sites cannot keep text chunks and put the card there, as JSON or as base64.

use crate::png;

/// The eight bytes that name a comment's character set; files without them exist.
const SETS: [&[u8]; 4] = [b"ASCII\0\0\0", UNICODE, b"JIS\0\0\0\0\0", &[0; 8]];
/// Said of UTF-16, and by some writers of UTF-8.
const UNICODE: &[u8] = b"UNICODE\0";

/// The user's comment of a JPEG, WebP or PNG picture, without the mark of its character set.
pub(crate) fn user_comment(bytes: &[u8]) -> Option<Vec<u8>> {
    let comment = comment_in(tiff_of(bytes)?)?;
    let decoded = comment.strip_prefix(UNICODE).and_then(out_of_utf16);
    let comment = decoded.as_deref().map_or(comment, str::as_bytes);
    let text = SETS.iter().find_map(|set| comment.strip_prefix(*set)).unwrap_or(comment);
    let end = text.iter().rposition(|byte| !matches!(byte, 0 | b' ')).map_or(0, |last| last + 1);
    Some(text[..end].to_vec()).filter(|text| !text.is_empty())
}

/// Decodes UTF-16. A card begins with ASCII, so the position of its first zero byte gives the byte
/// order, even if the block claims another.
fn out_of_utf16(bytes: &[u8]) -> Option<String> {
    let (bytes, unit): (_, fn([u8; 2]) -> u16) = match bytes {
        [0xFF, 0xFE, rest @ ..] => (rest, u16::from_le_bytes),
        [0xFE, 0xFF, rest @ ..] => (rest, u16::from_be_bytes),
        [first, 0, ..] if *first != 0 => (bytes, u16::from_le_bytes),
        [0, second, ..] if *second != 0 => (bytes, u16::from_be_bytes),
        _ => return None,
    };
    let (pairs, _) = bytes.as_chunks::<2>();
    let decoded = char::decode_utf16(pairs.iter().map(|pair| unit(*pair)));
    Some(decoded.map(|one| one.unwrap_or(char::REPLACEMENT_CHARACTER)).collect())
}

/// The EXIF block of a picture.
fn tiff_of(bytes: &[u8]) -> Option<&[u8]> {
    let block = if bytes.starts_with(&[0xFF, 0xD8]) {
        jpeg_block(bytes)?
    } else if bytes.starts_with(b"RIFF") {
        webp_block(bytes)?
    } else if bytes.starts_with(&png::SIGNATURE) {
        png::exif(bytes)?
    } else {
        return None;
    };
    Some(block.strip_prefix(b"Exif\0\0").unwrap_or(block))
}

/// The EXIF segment of a JPEG.
fn jpeg_block(bytes: &[u8]) -> Option<&[u8]> {
    let mut rest = &bytes[2..];
    loop {
        let [0xFF, marker, high, low, ..] = rest else { return None };
        // The picture itself begins: no segments after that.
        if *marker == 0xDA {
            return None;
        }
        let length = usize::from(u16::from_be_bytes([*high, *low]));
        let segment = rest.get(4..2 + length)?;
        if *marker == 0xE1 && segment.starts_with(b"Exif\0\0") {
            return Some(segment);
        }
        rest = &rest[2 + length..];
    }
}

/// The EXIF chunk of a WebP.
fn webp_block(bytes: &[u8]) -> Option<&[u8]> {
    let mut rest = bytes.get(12..)?;
    loop {
        let length = u32::from_le_bytes(rest.get(4..8)?.try_into().ok()?) as usize;
        let data = rest.get(8..8_usize.checked_add(length)?)?;
        if rest.starts_with(b"EXIF") {
            return Some(data);
        }
        // Chunks are padded to even lengths.
        rest = rest.get(8 + length + length % 2..)?;
    }
}

/// Where the directory of camera data is, and the comment in it.
const CAMERA_DATA: u16 = 0x8769;
const USER_COMMENT: u16 = 0x9286;

fn comment_in(tiff: &[u8]) -> Option<&[u8]> {
    let tiff = Tiff { bytes: tiff, is_little: tiff.starts_with(b"II") };
    let (_, camera) = tiff.find(tiff.u32(4)?, CAMERA_DATA)?;
    let (count, at) = tiff.find(camera, USER_COMMENT)?;
    let start = at as usize;
    tiff.bytes.get(start..start.checked_add(count as usize)?)
}

struct Tiff<'bytes> {
    bytes: &'bytes [u8],
    is_little: bool,
}

impl Tiff<'_> {
    fn u16(&self, at: usize) -> Option<u16> {
        let pair = self.bytes.get(at..at.checked_add(2)?)?.try_into().ok()?;
        Some(if self.is_little { u16::from_le_bytes(pair) } else { u16::from_be_bytes(pair) })
    }

    fn u32(&self, at: usize) -> Option<u32> {
        let four = self.bytes.get(at..at.checked_add(4)?)?.try_into().ok()?;
        Some(if self.is_little { u32::from_le_bytes(four) } else { u32::from_be_bytes(four) })
    }

    /// Count and value of a tag in the directory at `at`.
    fn find(&self, at: u32, tag: u16) -> Option<(u32, u32)> {
        let start = at as usize;
        let count = usize::from(self.u16(start)?);
        let rows = (0..count).map(|row| start.saturating_add(2 + row * 12));
        let row = rows.take_while(|row| *row < self.bytes.len());
        let row = row.into_iter().find(|row| self.u16(*row) == Some(tag))?;
        Some((self.u32(row.checked_add(4)?)?, self.u32(row.checked_add(8)?)?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A block with one directory that leads to one comment.
    fn tiff(comment: &[u8], is_little: bool) -> Vec<u8> {
        let two = |n: u16| if is_little { n.to_le_bytes() } else { n.to_be_bytes() };
        let four = |n: u32| if is_little { n.to_le_bytes() } else { n.to_be_bytes() };
        let row = |tag: u16, kind: u16, count: u32, value: u32| {
            [&two(tag)[..], &two(kind), &four(count), &four(value)].concat()
        };
        let length = u32::try_from(comment.len()).unwrap();
        [
            if is_little { b"II".to_vec() } else { b"MM".to_vec() },
            two(42).to_vec(),
            four(8).to_vec(),
            two(1).to_vec(),
            row(CAMERA_DATA, 4, 1, 26),
            four(0).to_vec(),
            two(1).to_vec(),
            row(USER_COMMENT, 7, length, 44),
            four(0).to_vec(),
            comment.to_vec(),
        ]
        .concat()
    }

    fn jpeg(tiff: &[u8]) -> Vec<u8> {
        let segment = [b"Exif\0\0", tiff].concat();
        let length = u16::try_from(segment.len() + 2).unwrap().to_be_bytes();
        let start: &[u8] = &[0xFF, 0xD8, 0xFF, 0xE0, 0, 4, 1, 2, 0xFF, 0xE1];
        [start, &length, &segment, &[0xFF, 0xDA]].concat()
    }

    fn webp(tiff: &[u8]) -> Vec<u8> {
        let length = u32::try_from(tiff.len()).unwrap().to_le_bytes();
        [&b"RIFF\0\0\0\0WEBPVP8 \x03\0\0\0abc\0EXIF"[..], &length, tiff].concat()
    }

    #[test]
    fn the_comment_is_found_in_either_byte_order_and_picture() {
        for is_little in [true, false] {
            let block = tiff(b"ASCII\0\0\0{\"a\":1}\0\0", is_little);
            for picture in [jpeg(&block), webp(&block)] {
                assert_eq!(user_comment(&picture).as_deref(), Some(&b"{\"a\":1}"[..]));
            }
        }
        assert_eq!(user_comment(&jpeg(&tiff(b"e30=", true))).as_deref(), Some(&b"e30="[..]));
    }

    #[test]
    fn a_comment_in_utf_16_is_read_in_either_order() {
        let little: Vec<u8> = "{\"é\":1}\0".encode_utf16().flat_map(u16::to_le_bytes).collect();
        let big: Vec<u8> = "{\"é\":1}\0".encode_utf16().flat_map(u16::to_be_bytes).collect();
        for (text, is_little) in [
            (&little, true),
            (&big, false),
            (&little, false),
            (&"{\"é\":1}".as_bytes().to_vec(), true),
            (&[&[0xFF, 0xFE], &little[..]].concat(), true),
        ] {
            let picture = webp(&tiff(&[b"UNICODE\0", &text[..]].concat(), is_little));
            let found = user_comment(&picture).map(String::from_utf8);
            assert_eq!(found, Some(Ok("{\"é\":1}".to_owned())), "{text:?} {is_little}");
        }
    }

    #[test]
    fn the_comment_of_a_png_is_found_in_its_chunk() {
        let block = tiff(b"ASCII\0\0\0{\"a\":1}", false);
        let length = u32::try_from(block.len()).unwrap().to_be_bytes();
        let chunk = [&length[..], b"eXIf", &block, &[0; 4]].concat();
        let end = b"\0\0\0\0IEND\0\0\0\0";
        let picture = [&png::SIGNATURE[..], &chunk, end].concat();
        assert_eq!(user_comment(&picture).as_deref(), Some(&b"{\"a\":1}"[..]));
        assert_eq!(user_comment(&[&png::SIGNATURE[..], end].concat()), None);
    }

    #[test]
    fn a_cut_or_lying_block_has_no_comment() {
        let picture = jpeg(&tiff(b"ASCII\0\0\0{}", true));
        for end in 0..picture.len() {
            let _found = user_comment(&picture[..end]);
        }
        let mut lying = tiff(b"ASCII\0\0\0{}", true);
        lying[22..26].copy_from_slice(&u32::MAX.to_le_bytes());
        lying[18..22].copy_from_slice(&u32::MAX.to_le_bytes());
        assert_eq!(user_comment(&webp(&lying)), None);
    }
}
