//! The frames of a write-ahead log, read without SQLite.
//!
//! SQLite reads a log up to the first frame that is not whole, and the next write replaces the
//! rest. After a crash this is right: the rest was never acknowledged. But if a frame in the
//! middle is damaged, later commits would be lost without a word. So every opening looks first,
//! and refuses such a log ([`refuse_damage`]).
//!
//! The two differ by what follows the broken frame. With `synchronous = FULL` a transaction is
//! written only after the one before it is on disk. So after a crash or a power failure, at most
//! one unfinished transaction follows. Frames that an earlier transaction left behind when it was
//! rolled back do not continue each other's checksums, or have no commit. **If two commits follow
//! a broken frame in one unbroken row, the first of them was acknowledged, and the log is
//! damaged.** A damaged last transaction looks like one that a crash cut off.

use std::{
    fs::File,
    io::{self, BufReader, Read},
    path::{Path, PathBuf},
    thread::sleep,
    time::Duration,
};

use loreloom_ports::StoreError;

/// The default page size of SQLite.
pub(super) const DEFAULT_PAGE: usize = 4096;

const HEADER: usize = 32;
const FRAME_HEADER: usize = 24;

/// The version in the header of every log.
const VERSION: usize = 3_007_000;

/// How often a log that looks damaged is read again: another process may be writing to it.
const LOOKS: usize = 5;

/// How long to wait between two looks. A frame is written in far less time.
const PAUSE: Duration = Duration::from_millis(50);

/// Where a log breaks off.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct LogBreak {
    /// The first frame that is not whole, counted from 1. 0 is the header.
    pub(super) frame: usize,
    /// Whole frames behind it.
    pub(super) behind: usize,
    /// The most commits behind it in one unbroken row.
    pub(super) commits: usize,
}

impl LogBreak {
    /// Whether acknowledged commits are behind the break. The header is on disk before the first
    /// frame is written, so one commit is enough if the header is broken.
    pub(super) fn is_damage(self) -> bool {
        self.commits >= if self.frame == 0 { 1 } else { 2 }
    }

    /// What is wrong, in words.
    pub(super) fn reason(self) -> String {
        let Self { frame, behind, .. } = self;
        let part = match frame {
            0 => "its header".to_owned(),
            frame => format!("its frame {frame}"),
        };
        format!("{part} is damaged, and {behind} frames with stored turns follow")
    }
}

/// A frame: one page of the database.
pub(super) struct LogFrame<'log> {
    /// The number of the page.
    pub(super) page: usize,
    pub(super) content: &'log [u8],
    /// Whether it is the last frame of a transaction.
    pub(super) is_commit: bool,
    /// Whether it belongs to the log and its checksum continues that of the frame before.
    pub(super) is_whole: bool,
}

/// The log beside a database.
pub(super) fn log_of(database: &Path) -> PathBuf {
    let mut log = database.as_os_str().to_owned();
    log.push("-wal");
    log.into()
}

/// Fails if acknowledged commits are behind a damaged frame of the log: SQLite would drop them.
pub(super) fn refuse_damage(database: &Path) -> Result<(), StoreError> {
    let broken = damage(database).map_err(|error| StoreError::Database {
        doing: "checking the write-ahead log",
        source: error.into(),
    })?;
    let Some(broken) = broken else { return Ok(()) };
    Err(StoreError::Damaged {
        what: format!("the write-ahead log `{}`", log_of(database).display()),
        reason: format!(
            "{}; opening would lose them: `loreloom doctor --repair NEW.sqlite` saves what can be \
             saved",
            broken.reason()
        ),
    })
}

/// The damage of the log beside a database, if it is damaged.
///
/// Needs no lock: a break counts only if two looks find the same one. A frame that another
/// process was writing during the first look is whole at the second.
pub(super) fn damage(database: &Path) -> io::Result<Option<LogBreak>> {
    let log = log_of(database);
    let mut before = None;
    for look in 0..LOOKS {
        if look > 0 {
            sleep(PAUSE);
        }
        let found = match find_break(&log) {
            // A server that stops removes its log.
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            found => found?,
        };
        let Some((header, broken)) = found.filter(|(_, broken)| broken.is_damage()) else {
            return Ok(None);
        };
        if before.replace((header, broken.frame)) == Some((header, broken.frame)) {
            return Ok(Some(broken));
        }
    }
    Ok(None)
}

/// The header of a log and where the log breaks off.
fn find_break(log: &Path) -> io::Result<Option<([u8; HEADER], LogBreak)>> {
    // The page size is in the header. If that is damaged, ours is the default.
    let reader = LogReader::begin(BufReader::new(File::open(log)?), DEFAULT_PAGE)?;
    let Some(mut reader) = reader else { return Ok(None) };
    let mut broken = (!reader.is_sound).then(LogBreak::default);
    let (mut read, mut row) = (0, 0);
    while let Some(frame) = reader.next_frame()? {
        read += 1;
        match &mut broken {
            None if frame.is_whole => {}
            None => {
                broken = Some(LogBreak { frame: read, ..LogBreak::default() });
                row = usize::from(frame.is_commit);
            }
            // It states its checksum, so the next frame can prove that it was there.
            Some(_) if !frame.is_whole => row = usize::from(frame.is_commit),
            Some(broken) => {
                row += usize::from(frame.is_commit);
                broken.behind += 1;
                broken.commits = broken.commits.max(row);
            }
        }
    }
    let mut again = [0; HEADER];
    if File::open(log)?.read_exact(&mut again).is_err() || again != reader.header {
        // Another process began the log anew meanwhile.
        return Ok(None);
    }
    Ok(broken.map(|broken| (again, broken)))
}

pub(super) fn is_page_size(size: usize) -> bool {
    size.is_power_of_two() && (512..=65_536).contains(&size)
}

/// Reads the frames of a log in order, also those behind a broken one.
pub(super) struct LogReader<R> {
    log: R,
    header: [u8; HEADER],
    /// Whether the checksum of the header is right.
    pub(super) is_sound: bool,
    chain: Chain,
    frame: Vec<u8>,
}

impl<R: Read> LogReader<R> {
    /// Reads the header. `None` if the log is too short to have one.
    ///
    /// If the header is damaged, `page_size` counts, and the salts of the first frame.
    pub(super) fn begin(mut log: R, page_size: usize) -> io::Result<Option<Self>> {
        let mut header = [0; HEADER];
        if !fill(&mut log, &mut header)? {
            return Ok(None);
        }
        let is_sound = is_sound(&header);
        let words = |at: usize| [word(&header, at, Order::Big), word(&header, at + 4, Order::Big)];
        let chain =
            Chain { order: Order::of(&header), sum: words(24), salts: is_sound.then(|| words(16)) };
        let stated = number(&header, 8, 4).filter(|_| is_sound);
        let frame = vec![0; FRAME_HEADER + stated.unwrap_or(page_size)];
        Ok(Some(Self { log, header, is_sound, chain, frame }))
    }

    /// The next frame. A last one that is cut off is left out.
    pub(super) fn next_frame(&mut self) -> io::Result<Option<LogFrame<'_>>> {
        if !fill(&mut self.log, &mut self.frame)? {
            return Ok(None);
        }
        let (head, content) = self.frame.split_at(FRAME_HEADER);
        let is_whole = self.chain.continues(head, content);
        Ok(Some(LogFrame {
            page: number(head, 0, 4).unwrap_or(0),
            content,
            is_commit: self.chain.has_salts(head) && number(head, 4, 4) != Some(0),
            is_whole,
        }))
    }
}

/// Fills a buffer. Returns `false` at the end of the data; a last part is left out.
fn fill(data: &mut impl Read, buffer: &mut [u8]) -> io::Result<bool> {
    match data.read_exact(buffer) {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Ok(false),
        Err(error) => Err(error),
    }
}

fn is_sound(header: &[u8; HEADER]) -> bool {
    let Some(order) = Order::of(header) else { return false };
    let stated = [word(header, 24, Order::Big), word(header, 28, Order::Big)];
    number(header, 4, 4) == Some(VERSION)
        && number(header, 8, 4).is_some_and(is_page_size)
        && checksum([0, 0], &header[..24], order) == stated
}

/// The order of bytes in checksums. Numbers in the log itself are big-endian.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Order {
    Big,
    Little,
}

impl Order {
    /// The order that a header states.
    fn of(header: &[u8]) -> Option<Self> {
        match number(header, 0, 4) {
            Some(0x377F_0683) => Some(Self::Big),
            Some(0x377F_0682) => Some(Self::Little),
            _ => None,
        }
    }
}

/// The checksums of a log: that of a frame continues that of the frame before, which each frame
/// states. So a damaged frame can be skipped, and the checksums of later ones still hold.
struct Chain {
    /// `None` until a frame shows it.
    order: Option<Order>,
    sum: [u32; 2],
    salts: Option<[u32; 2]>,
}

impl Chain {
    /// Whether a frame continues the checksum of the one before and has the salts of the log.
    fn continues(&mut self, head: &[u8], content: &[u8]) -> bool {
        let stated = [word(head, 16, Order::Big), word(head, 20, Order::Big)];
        let before = std::mem::replace(&mut self.sum, stated);
        if !self.has_salts(head) {
            return false;
        }
        let fits =
            |order: Order| checksum(checksum(before, &head[..8], order), content, order) == stated;
        if let Some(order) = self.order {
            return fits(order);
        }
        self.order = [Order::Big, Order::Little].into_iter().find(|order| fits(*order));
        self.order.is_some()
    }

    fn has_salts(&mut self, head: &[u8]) -> bool {
        let salts = [word(head, 8, Order::Big), word(head, 12, Order::Big)];
        *self.salts.get_or_insert(salts) == salts
    }
}

/// The big-endian number of `width` bytes at `at`.
pub(super) fn number(bytes: &[u8], at: usize, width: usize) -> Option<usize> {
    let bytes = bytes.get(at..at.checked_add(width)?)?;
    Some(bytes.iter().fold(0, |number, byte| number << 8 | usize::from(*byte)))
}

fn word(bytes: &[u8], at: usize, order: Order) -> u32 {
    let Some(Ok(word)) = bytes.get(at..at + 4).map(<[u8; 4]>::try_from) else { return 0 };
    match order {
        Order::Big => u32::from_be_bytes(word),
        Order::Little => u32::from_le_bytes(word),
    }
}

fn checksum([mut first, mut second]: [u32; 2], bytes: &[u8], order: Order) -> [u32; 2] {
    for pair in bytes.chunks_exact(8) {
        first = first.wrapping_add(word(pair, 0, order)).wrapping_add(second);
        second = second.wrapping_add(word(pair, 4, order)).wrapping_add(first);
    }
    [first, second]
}
