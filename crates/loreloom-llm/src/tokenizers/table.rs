//! The tokens of a vocabulary and their ranks.
//!
//! The build script embeds the number of tokens in four bytes, little-endian, then the length of
//! each token in one byte, then the tokens. Where each token is found is worked out at first use,
//! which takes milliseconds: with it, the binary would have 5 MB more.

/// Tokens and their ranks.
#[derive(Clone, Debug)]
pub(crate) struct Table<'bytes> {
    /// Where each block of tokens begins, by rank. With a number for each token, the largest
    /// vocabulary would take 0.7 MB more.
    starts: Vec<u32>,
    /// The length of each token, by rank.
    lengths: &'bytes [u8],
    /// By hash: rank + 1; 0 is free. At most half of it is used.
    places: Vec<u32>,
    /// All tokens, one after the other.
    tokens: &'bytes [u8],
}

/// Tokens in a block.
const BLOCK: usize = 8;

impl<'bytes> Table<'bytes> {
    /// The table of a block that the build script made; `None` if the bytes are not one.
    pub(crate) fn of(bytes: &'bytes [u8]) -> Option<Self> {
        let (count, rest) = bytes.split_first_chunk::<4>()?;
        let (lengths, tokens) = rest.split_at_checked(u32::from_le_bytes(*count) as usize)?;
        let mut end = 0;
        let starts = lengths
            .chunks(BLOCK)
            .map(|block| {
                let start = end;
                end += total(block);
                start
            })
            .collect();
        if end as usize != tokens.len() {
            return None;
        }
        let places = vec![0; (lengths.len() * 2).next_power_of_two()];
        let mut table = Self { starts, lengths, places, tokens };
        for rank in (0..).take(lengths.len()) {
            let token = table.token(rank);
            // A rank of no token is empty.
            if !token.is_empty() {
                let free = walk(token, table.places.len()).find(|&at| table.places[at] == 0)?;
                table.places[free] = rank + 1;
            }
        }
        Some(table)
    }

    fn token(&self, rank: u32) -> &'bytes [u8] {
        let rank = rank as usize;
        let block = rank / BLOCK;
        let start = self.starts[block] + total(&self.lengths[block * BLOCK..rank]);
        &self.tokens[start as usize..][..usize::from(self.lengths[rank])]
    }

    pub(crate) fn rank(&self, token: &[u8]) -> Option<u32> {
        for at in walk(token, self.places.len()) {
            let rank = self.places[at].checked_sub(1)?;
            if self.token(rank) == token {
                return Some(rank);
            }
        }
        None
    }
}

/// The length of tokens together.
fn total(lengths: &[u8]) -> u32 {
    lengths.iter().copied().map(u32::from).sum()
}

/// The places where a token may be, the most likely first.
fn walk(token: &[u8], size: usize) -> impl Iterator<Item = usize> + use<> {
    // FNV-1a.
    let mixed = |hash: u64, &byte: &u8| (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3);
    let hash = token.iter().fold(0xcbf2_9ce4_8422_2325, mixed);
    let mask = size - 1;
    let first = usize::try_from((hash ^ hash >> 32) & mask as u64).unwrap_or_default();
    (0..=mask).map(move |step| (first + step) & mask)
}
