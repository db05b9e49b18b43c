//! The form of a spill file: length, number and checksum before each record.

use std::io;

/// Length (4 bytes), checksum (4), number (8), all little-endian.
const HEAD: usize = 16;

/// A record and its number.
type Numbered = (u64, Vec<u8>);

/// A record as it is in the file.
pub(super) fn write(number: u64, record: &[u8]) -> io::Result<Vec<u8>> {
    let length = u32::try_from(record.len()).map_err(io::Error::other)?;
    let mut bytes = Vec::with_capacity(HEAD + record.len());
    bytes.extend_from_slice(&length.to_le_bytes());
    bytes.extend_from_slice(&checksum(number, record).to_le_bytes());
    bytes.extend_from_slice(&number.to_le_bytes());
    bytes.extend_from_slice(record);
    Ok(bytes)
}

/// The whole records of a file, up to the first that breaks off or is damaged.
pub(super) fn read(mut bytes: &[u8]) -> Vec<Numbered> {
    let mut found = Vec::new();
    while let Some((one, rest)) = first(bytes) {
        found.push(one);
        bytes = rest;
    }
    found
}

fn first(bytes: &[u8]) -> Option<(Numbered, &[u8])> {
    let (length, rest) = bytes.split_first_chunk()?;
    let (sum, rest) = rest.split_first_chunk()?;
    let (number, rest) = rest.split_first_chunk()?;
    let length = usize::try_from(u32::from_le_bytes(*length)).ok()?;
    let (record, rest) = rest.split_at_checked(length)?;
    let number = u64::from_le_bytes(*number);
    let is_whole = checksum(number, record) == u32::from_le_bytes(*sum);
    is_whole.then(|| ((number, record.to_vec()), rest))
}

fn checksum(number: u64, record: &[u8]) -> u32 {
    let mut sum = flate2::Crc::new();
    sum.update(&number.to_le_bytes());
    sum.update(record);
    sum.sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_are_read_up_to_the_first_damage() {
        let mut file = Vec::new();
        for (number, record) in [(7, &b"first"[..]), (8, b""), (9, b"third")] {
            file.extend(write(number, record).unwrap());
        }
        let all = [(7, b"first".to_vec()), (8, Vec::new()), (9, b"third".to_vec())];
        assert_eq!(read(&file), all);
        for cut in 0..file.len() {
            let whole = [21, 37, 58].iter().filter(|end| cut >= **end).count();
            assert_eq!(read(&file[..cut]), all[..whole], "cut at {cut}");
        }
        for at in 21..37 {
            let mut damaged = file.clone();
            damaged[at] ^= 1;
            assert_eq!(read(&damaged), all[..1], "damaged at {at}");
        }
    }
}
