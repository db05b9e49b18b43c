//! The tokens of a vocabulary and their ranks.
//!
//! A vocabulary's file has the number of tokens in four bytes, little-endian, then the length of
//! each token in one byte, then the tokens. Where each token is found is worked out at first use,
//! which takes milliseconds: with it, the binary would have 5 MB more.
//!
//! A place has some bits of a token's hash beside its rank. So a text that is no token is compared
//! with almost no token, and places can be three quarters full.

/// Tokens and their ranks.
#[derive(Clone, Debug)]
pub(crate) struct Table<'bytes> {
    /// Where each block of tokens begins, by rank. With a number for each token, the largest
    /// vocabulary would take 0.7 MB more.
    starts: Vec<u32>,
    /// The length of each token, by rank.
    lengths: &'bytes [u8],
    /// By hash: [`RANK`] bits with rank + 1, the others with bits of the hash; 0 is free.
    places: Vec<u32>,
    /// All tokens, one after the other.
    tokens: &'bytes [u8],
}

/// Tokens in a block.
const BLOCK: usize = 8;

/// The bits of a place that have a rank.
const RANK: u32 = (1 << 18) - 1;

impl<'bytes> Table<'bytes> {
    /// The table of a file's first tokens; `None` if the bytes are no vocabulary.
    pub(crate) fn of(bytes: &'bytes [u8], most: usize) -> Option<Self> {
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
        let count = lengths.len().min(most);
        if count > RANK as usize {
            return None;
        }
        // At least a fifth stays free.
        let places = vec![0; (count + count / 4 + 1).next_power_of_two()];
        let mut table = Self { starts, lengths, places, tokens };
        for rank in (0..).take(count) {
            let token = table.token(rank);
            // A rank of no token is empty.
            if !token.is_empty() {
                let hash = hash_of(token);
                let free = walk(hash, table.places.len()).find(|&at| table.places[at] == 0)?;
                table.places[free] = mark_of(hash) | (rank + 1);
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
        let hash = hash_of(token);
        let mark = mark_of(hash);
        for at in walk(hash, self.places.len()) {
            let place = self.places[at];
            let rank = (place & RANK).checked_sub(1)?;
            if place & !RANK == mark && self.token(rank) == token {
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

/// FNV-1a.
fn hash_of(token: &[u8]) -> u64 {
    let mixed = |hash: u64, &byte: &u8| (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3);
    token.iter().fold(0xcbf2_9ce4_8422_2325, mixed)
}

/// Bits of a hash that do not decide the place.
fn mark_of(hash: u64) -> u32 {
    u32::try_from(hash >> 32).unwrap_or_default() & !RANK
}

/// The places where a token may be, the most likely first.
fn walk(hash: u64, size: usize) -> impl Iterator<Item = usize> + use<> {
    let mask = size - 1;
    let first = usize::try_from((hash ^ hash >> 32) & mask as u64).unwrap_or_default();
    (0..=mask).map(move |step| (first + step) & mask)
}
