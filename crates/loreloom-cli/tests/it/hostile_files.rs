//! Files made to do harm, each small enough to be made by a test.

use std::io::Write as _;

/// A file, and what the program must say about it.
pub(crate) struct Harmful {
    pub(crate) name: &'static str,
    pub(crate) bytes: Vec<u8>,
    pub(crate) message: &'static str,
}

fn harmful(name: &'static str, bytes: impl Into<Vec<u8>>, message: &'static str) -> Harmful {
    Harmful { name, bytes: bytes.into(), message }
}

/// Files that must be refused.
pub(crate) fn refused() -> Vec<Harmful> {
    [texts(), yaml(), pictures(), archives(), modules()].into_iter().flatten().collect()
}

fn texts() -> Vec<Harmful> {
    let members = |count: usize| {
        let members: Vec<String> = (0..count).map(|at| format!("\"k{at}\":1")).collect();
        members.join(",")
    };
    let strange = members(40_000);
    let entries: Vec<String> =
        (0..9).map(|at| format!("\"{at}\":{{\"key\":[],{strange}}}")).collect();
    let long = "a".repeat(9_000_000);
    vec![
        harmful("deep.json", "[".repeat(1_000_000), "JSON may nest 128 levels deep"),
        harmful("deep-object.json", "{\"a\":".repeat(300_000), "JSON may nest 128 levels deep"),
        harmful(
            "wide.json",
            format!("{{\"entries\":[{}0]}}", "0,".repeat(1_500_000)),
            "a file may have 200000 items in one list or object, found 200001",
        ),
        harmful(
            "wide-lists.json",
            format!(
                "{{\"entries\":[{}0]}}",
                format!("[{}0],", "{\"a\":0},".repeat(90_000)).repeat(9)
            ),
            "a file may have 1500000 JSON values, found 1500001",
        ),
        harmful(
            "many-keys.json",
            format!("{{\"entries\":{{\"0\":{{\"key\":[{}\"b\"]}}}}}}", "\"a\",".repeat(20_000)),
            "a file may have 10000 keys",
        ),
        harmful(
            "strange-keys.json",
            format!("{{\"entries\":{{\"0\":{{{}}}}}}}", members(60_000)),
            "a file may have 50000 values in one entry",
        ),
        harmful(
            "strange-book.json",
            format!(
                "{{\"a\":{{{0}}},\"b\":{{{0}}},\"entries\":{{\"0\":{{\"content\":\"x\"}}}}}}",
                members(125_000)
            ),
            "a file may have 200000 values outside of its entries",
        ),
        harmful(
            "strange-entries.json",
            format!("{{\"entries\":{{{}}}}}", entries.join(",")),
            "a file may have 300000 values that belong to no lorebook",
        ),
        harmful(
            "huge-string.json",
            format!("{{\"entries\":{{\"0\":{{\"content\":\"{long}\"}}}}}}"),
            "a file may have 4194304 bytes in one entry",
        ),
        harmful("huge.json", vec![b' '; 70 << 20], "a file may have "),
        harmful("paragraphs.txt", "a b\n\n".repeat(200_000), "a file may have 50000 entries"),
        harmful("empty.json", Vec::new(), "the file is empty"),
        harmful("control.json", b"{\"entries\": \0}".to_vec(), "not valid JSON"),
    ]
}

fn yaml() -> Vec<Harmful> {
    // Each line holds the one before ten times.
    let mut aliases = String::from("name: &a0 [x, x, x, x, x, x, x, x, x, x]\n");
    for level in 1..9 {
        let items = vec![format!("*a{}", level - 1); 10].join(", ");
        aliases.extend([format!("a{level}: &a{level} [{items}]\n")]);
    }
    vec![
        harmful("aliases.yaml", aliases, "not valid YAML"),
        harmful("cycle.yaml", "name: &a [*a]\n", "not valid YAML"),
        harmful("deep.yaml", format!("a: {}", "[".repeat(100_000)), "not valid YAML"),
    ]
}

/// Zeros without end, packed.
fn packed(bytes: usize) -> Vec<u8> {
    let mut packer = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::best());
    let block = vec![b'a'; 1 << 20];
    for _ in 0..bytes >> 20 {
        packer.write_all(&block).unwrap();
    }
    packer.finish().unwrap()
}

/// A picture of nothing with one chunk; checksums are not looked at.
fn picture(kind: &[u8], data: &[u8]) -> Vec<u8> {
    let chunk = |kind: &[u8], data: &[u8]| {
        let length = u32::try_from(data.len()).unwrap().to_be_bytes();
        [&length, kind, data, &[0; 4]].concat()
    };
    let parts = [chunk(b"IHDR", &[0; 13]), chunk(kind, data), chunk(b"IEND", &[])];
    [b"\x89PNG\r\n\x1a\n".to_vec(), parts.concat()].concat()
}

fn pictures() -> Vec<Harmful> {
    let bomb = packed(20 << 20);
    let too_large = "a file may have ";
    vec![
        harmful("bomb.png", picture(b"zTXt", &[b"chara\0\0", &*bomb].concat()), too_large),
        harmful("bomb-i.png", picture(b"iTXt", &[b"ccv3\0\x01\0\0\0", &*bomb].concat()), too_large),
        harmful("cut.png", b"\x89PNG\r\n\x1a\n\xff\xff\xff\xfftEXt".to_vec(), "not a usable PNG"),
        harmful("none.png", picture(b"tEXt", b"Title\0x"), "not a usable card"),
        harmful("rows.jpg", b"\xff\xd8\xff\xe1\xff\xff".repeat(1_000_000), "not a usable card"),
        harmful("rows.webp", b"RIFF\0\0\0\0WEBPABCD\0\0\0\0".repeat(9_999), "not a usable card"),
    ]
}

/// An archive of these files.
pub(crate) fn archive(files: &[(&str, &[u8])]) -> Vec<u8> {
    let mut zip = zip::ZipWriter::new(std::io::Cursor::new(Vec::new()));
    for (name, bytes) in files {
        zip.start_file(*name, zip::write::SimpleFileOptions::default()).unwrap();
        zip.write_all(bytes).unwrap();
    }
    zip.finish().unwrap().into_inner()
}

fn archives() -> Vec<Harmful> {
    const MANIFEST: &[u8] = br#"{"schemaVersion":1,"characters":["c/character.json"]}"#;
    const LEADS_OUT: &[u8] = br#"{"schemaVersion":1,"characters":["../../etc/passwd"]}"#;
    let blanks = vec![b' '; 20 << 20];
    let many: Vec<(String, &[u8])> = (0..10_001).map(|at| (at.to_string(), &b""[..])).collect();
    let many: Vec<(&str, &[u8])> =
        many.iter().map(|(name, bytes)| (name.as_str(), *bytes)).collect();
    let too_large = "a file may have ";
    vec![
        harmful("bomb.charx", archive(&[("card.json", &blanks)]), too_large),
        harmful("bomb.byaf", archive(&[("manifest.json", &blanks)]), too_large),
        harmful(
            "bomb-character.byaf",
            archive(&[("manifest.json", MANIFEST), ("c/character.json", &blanks)]),
            too_large,
        ),
        harmful("bomb-module.charx", archive(&[("module.risum", &blanks)]), too_large),
        harmful(
            "missing.byaf",
            archive(&[("manifest.json", MANIFEST)]),
            "not a usable zip archive",
        ),
        harmful(
            "out.byaf",
            archive(&[("manifest.json", LEADS_OUT), ("../../etc/passwd", b"{\"loreItems\":[]}")]),
            "the name `../../etc/passwd` leads out of the archive's folder",
        ),
        harmful("many.charx", archive(&many), "a file may have 10000 files, found 10001"),
        harmful("cut.charx", b"PK\x03\x04".to_vec(), "not a usable zip archive"),
        harmful("nothing.charx", archive(&[("a.txt", b"x")]), "not a usable card"),
    ]
}

fn modules() -> Vec<Harmful> {
    let module = |length: u32, body: &[u8]| [&[0x6f, 0][..], &length.to_le_bytes(), body].concat();
    vec![
        harmful("long.risum", module(u32::MAX, b"{}"), "not a usable Risu module"),
        harmful("cut.risum", vec![0x6f, 0], "not a usable Risu module"),
        // What stands for `[`, as often as it takes.
        harmful(
            "deep.risum",
            module(300_000, &vec![0xf4; 300_000]),
            "JSON may nest 128 levels deep",
        ),
        harmful("blank.risum", module(20 << 20, &vec![0x61; 20 << 20]), "not valid JSON"),
    ]
}
