//! Rows in a page, in SQLite's file format.
//!
//! Only a page itself is used: its kind, the offsets of its cells, and the chain of pages that
//! continue a long cell. A cell that makes no sense is skipped.

use super::pages::PageReader;
use crate::sqlite::log::number;

/// A value of a row.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum CarvedValue {
    Null,
    Int(i64),
    Blob(Vec<u8>),
    Text(String),
}

impl CarvedValue {
    pub(super) fn int(&self) -> Option<i64> {
        match self {
            Self::Int(number) => Some(*number),
            Self::Null | Self::Blob(_) | Self::Text(_) => None,
        }
    }

    pub(super) fn text(&self) -> Option<&str> {
        match self {
            Self::Text(text) => Some(text),
            Self::Null | Self::Int(_) | Self::Blob(_) => None,
        }
    }

    pub(super) fn blob(&self) -> Option<&[u8]> {
        match self {
            Self::Blob(bytes) => Some(bytes),
            Self::Null | Self::Int(_) | Self::Text(_) => None,
        }
    }
}

/// Kinds of pages that hold rows.
const INDEX_INNER: u8 = 2;
const INDEX_LEAF: u8 = 10;
const TABLE_LEAF: u8 = 13;

/// No row is longer than this, but a damaged length may be.
const LONGEST: usize = 256 << 20;

/// All rows of a page that can be read.
pub(super) fn rows(pages: &PageReader, at: usize) -> Vec<Vec<CarvedValue>> {
    let Some(page) = pages.page(at) else { return Vec::new() };
    let head = if at == 1 { 100 } else { 0 };
    let Some(&kind) = page.get(head) else { return Vec::new() };
    let first = match kind {
        INDEX_INNER => head + 12,
        INDEX_LEAF | TABLE_LEAF => head + 8,
        _ => return Vec::new(),
    };
    let count = number(&page, head + 3, 2).unwrap_or(0);
    let places = (0..count).filter_map(|cell| number(&page, first + 2 * cell, 2));
    places.filter_map(|place| row(pages, &page, kind, place)).collect()
}

fn row(pages: &PageReader, page: &[u8], kind: u8, place: usize) -> Option<Vec<CarvedValue>> {
    let mut at = if kind == INDEX_INNER { place + 4 } else { place };
    let length = usize::try_from(varint(page, &mut at)?).ok().filter(|size| *size <= LONGEST)?;
    if kind == TABLE_LEAF {
        varint(page, &mut at)?;
    }
    record(&payload(pages, page, kind, at, length)?)
}

/// The bytes of a cell. Most of a long cell is in other pages.
fn payload(pages: &PageReader, page: &[u8], kind: u8, at: usize, length: usize) -> Option<Vec<u8>> {
    let usable = page.len();
    let small = (usable - 12) * 32 / 255 - 23;
    let most = if kind == TABLE_LEAF { usable - 35 } else { (usable - 12) * 64 / 255 - 23 };
    if length <= most {
        return page.get(at..at + length).map(<[u8]>::to_vec);
    }
    let here = small + (length - small) % (usable - 4);
    let here = if here <= most { here } else { small };
    let mut bytes = page.get(at..at + here)?.to_vec();
    let mut next = number(page, at + here, 4)?;
    while bytes.len() < length {
        let more = pages.page(next).filter(|_| next != 0)?;
        let rest = (length - bytes.len()).min(usable - 4);
        bytes.extend(more.get(4..4 + rest)?);
        next = number(&more, 0, 4)?;
    }
    Some(bytes)
}

fn record(bytes: &[u8]) -> Option<Vec<CarvedValue>> {
    let mut at = 0;
    let head = usize::try_from(varint(bytes, &mut at)?).ok()?;
    let mut body = head;
    let mut values = Vec::new();
    while at < head {
        let kind = varint(bytes, &mut at)?;
        let (value, width) = value(bytes, body, kind)?;
        body += width;
        values.push(value);
    }
    (at == head && body == bytes.len()).then_some(values)
}

fn value(bytes: &[u8], at: usize, kind: u64) -> Option<(CarvedValue, usize)> {
    let int = |width: usize| {
        let digits = bytes.get(at..at + width)?;
        let sign = if digits.first()? & 0x80 == 0 { 0 } else { -1 };
        let number = digits.iter().fold(sign, |number, byte| number << 8 | i64::from(*byte));
        Some((CarvedValue::Int(number), width))
    };
    match kind {
        0 => Some((CarvedValue::Null, 0)),
        1..=4 => int(usize::try_from(kind).ok()?),
        5 => int(6),
        6 => int(8),
        8 | 9 => Some((CarvedValue::Int(i64::from(kind == 9)), 0)),
        12.. => {
            let width = usize::try_from((kind - 12) / 2).ok()?;
            let content = bytes.get(at..at.checked_add(width)?)?.to_vec();
            let value = if kind.is_multiple_of(2) {
                CarvedValue::Blob(content)
            } else {
                CarvedValue::Text(String::from_utf8(content).ok()?)
            };
            Some((value, width))
        }
        // No column has fractions.
        _ => None,
    }
}

fn varint(bytes: &[u8], at: &mut usize) -> Option<u64> {
    let mut number = 0;
    for place in 0..9 {
        let byte = *bytes.get(*at)?;
        *at += 1;
        if place == 8 {
            return Some(number << 8 | u64::from(byte));
        }
        number = number << 7 | u64::from(byte & 0x7F);
        if byte & 0x80 == 0 {
            return Some(number);
        }
    }
    None
}
