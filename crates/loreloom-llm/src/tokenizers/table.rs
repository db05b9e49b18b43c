//! The tokens of a vocabulary as one block of bytes, made by the build script and embedded as is:
//! nothing is parsed or built at first use.
//!
//! After the number of tokens come the end of each token, a hash table of their positions, and the
//! tokens. Numbers have four bytes, little-endian.

/// Tokens and their ranks.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Table<'bytes> {
    /// Where each token ends, by rank.
    ends: &'bytes [[u8; 4]],
    /// By hash: a rank, one up; 0 is free. At the most half of it is taken.
    places: &'bytes [[u8; 4]],
    /// All tokens, one after the other.
    tokens: &'bytes [u8],
}

impl<'bytes> Table<'bytes> {
    /// A table made by the build script; `None` if the bytes are not one.
    pub(crate) fn of(bytes: &'bytes [u8]) -> Option<Self> {
        let (count, rest) = bytes.split_first_chunk::<4>()?;
        let count = number(*count);
        let (ends, rest) = rest.split_at_checked(4 * count)?;
        let (places, tokens) = rest.split_at_checked(4 * size(count))?;
        Some(Self { ends: ends.as_chunks().0, places: places.as_chunks().0, tokens })
    }

    fn token(&self, rank: usize) -> &'bytes [u8] {
        let start = rank.checked_sub(1).map_or(0, |before| number(self.ends[before]));
        &self.tokens[start..number(self.ends[rank])]
    }

    pub(crate) fn rank(&self, token: &[u8]) -> Option<u32> {
        for at in walk(token, self.places.len()) {
            let rank = u32::from_le_bytes(self.places[at]).checked_sub(1)?;
            if self.token(rank as usize) == token {
                return Some(rank);
            }
        }
        None
    }
}

/// Places for so many tokens.
pub(crate) fn size(tokens: usize) -> usize {
    (tokens * 2).next_power_of_two()
}

fn number(bytes: [u8; 4]) -> usize {
    u32::from_le_bytes(bytes) as usize
}

/// The places where a token may be, the likeliest first.
pub(crate) fn walk(token: &[u8], size: usize) -> impl Iterator<Item = usize> + use<> {
    // FNV-1a, which is the same on every machine: a table may be made on another.
    let mixed = |hash: u64, &byte: &u8| (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3);
    let hash = token.iter().fold(0xcbf2_9ce4_8422_2325, mixed);
    let mask = size - 1;
    let first = usize::try_from((hash ^ hash >> 32) & mask as u64).unwrap_or_default();
    (0..=mask).map(move |step| (first + step) & mask)
}
