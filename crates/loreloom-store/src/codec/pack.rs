//! Compressing what is stored.
//!
//! Deflate at its fastest level shrinks reports to about a fifth, in a fraction of the time of a
//! commit, and the crate is pure Rust. Short texts would grow, so the first byte says whether the
//! rest is compressed.

use std::{cell::RefCell, io::Read};

use flate2::{Compress, Compression, FlushCompress, Status, read::DeflateDecoder};

const PLAIN: u8 = 0;
const DEFLATED: u8 = 1;

thread_local! {
    /// Shared, because creating its hundreds of kilobytes of tables takes longer than compressing
    /// a text.
    static DEFLATER: RefCell<Compress> = RefCell::new(new_deflater());
}

fn new_deflater() -> Compress {
    Compress::new(Compression::fast(), false)
}

/// Shorter texts are not compressed: they would save some thirty bytes, and clearing the tables
/// costs more.
const SHORT: usize = 192;

/// Compresses bytes, if that makes them smaller.
pub(crate) fn pack(bytes: &[u8]) -> Vec<u8> {
    if bytes.len() < SHORT {
        return [&[PLAIN], bytes].concat();
    }
    // The buffer need not grow: a result that is longer than the input is not used.
    let mut packed = Vec::with_capacity(bytes.len() + 1);
    packed.push(DEFLATED);
    let status = DEFLATER.with_borrow_mut(|deflater| {
        deflater.reset();
        let status = deflater.compress_vec(bytes, &mut packed, FlushCompress::Finish);
        // `reset` does not clear what an unfinished stream still had to write: it would end up in
        // the next text.
        if !matches!(status, Ok(Status::StreamEnd)) {
            *deflater = new_deflater();
        }
        status
    });
    match status {
        Ok(Status::StreamEnd) if packed.len() <= bytes.len() => packed,
        Ok(_) | Err(_) => [&[PLAIN], bytes].concat(),
    }
}

/// The original bytes.
pub(crate) fn unpack(packed: &[u8]) -> Result<Vec<u8>, String> {
    match packed.split_first() {
        Some((&PLAIN, bytes)) => Ok(bytes.to_vec()),
        Some((&DEFLATED, bytes)) => {
            let mut plain = Vec::new();
            DeflateDecoder::new(bytes)
                .read_to_end(&mut plain)
                .map_err(|error| error.to_string())?;
            Ok(plain)
        }
        Some((form, _)) => Err(format!("packed form {form} is unknown")),
        None => Err("there are no bytes".to_owned()),
    }
}

/// The original text.
pub(crate) fn unpack_text(packed: &[u8]) -> Result<String, String> {
    String::from_utf8(unpack(packed)?).map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packing_gives_back_every_byte_and_never_adds_more_than_one() {
        let noise: Vec<u8> = (0..=255).collect();
        let short = [b'a'; SHORT - 1];
        for bytes in [&b""[..], b"a", &short, &[b'a'; SHORT], &noise] {
            let packed = pack(bytes);
            assert_eq!(unpack(&packed).unwrap(), bytes);
            assert!(packed.len() <= bytes.len() + 1, "{} from {}", packed.len(), bytes.len());
        }
        assert!(pack(&noise.repeat(4)).len() < 600);
        assert_eq!(pack(&short).len(), SHORT);
        assert!(pack(&[b'a'; SHORT]).len() < 20);
    }

    #[test]
    fn bytes_that_cannot_be_compressed_do_not_harm_the_next_ones() {
        // A picture of a card, then a lorebook. The picture does not fit into its buffer.
        let mut seed = 1_u32;
        let mut noise = || {
            seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            seed.to_be_bytes()[0]
        };
        for length in (10_000..400_000).step_by(30_011) {
            let picture: Vec<u8> = (0..length).map(|_| noise()).collect();
            assert_eq!(unpack(&pack(&picture)).unwrap(), picture, "{length}");
            let book = "The bell of Harrow is cracked. ".repeat(length / 100);
            assert_eq!(unpack(&pack(book.as_bytes())).unwrap(), book.as_bytes(), "{length}");
        }
    }

    #[test]
    fn damaged_bytes_are_refused() {
        assert_eq!(unpack(b""), Err("there are no bytes".to_owned()));
        assert_eq!(unpack(b"\x07abc"), Err("packed form 7 is unknown".to_owned()));
        assert!(unpack(b"\x01\xff\xff\xff").is_err());
    }
}
