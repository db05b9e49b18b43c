//! The engine beside a real one.

use proptest::prelude::*;
use rquickjs::{Context, Function, Runtime, context::intrinsic};

use super::*;

/// QuickJS, which is only used to compare with.
struct Reference {
    _runtime: Runtime,
    context: Context,
}

const ALL: &str = "(pattern, flags, text) => { let re; \
    try { re = new RegExp(pattern, flags) } catch { return 'refused' } \
    const found = [], units = p => Array.from({ length: p.length }, (_, at) => p.charCodeAt(at)); \
    text.replace(re, (...parts) => { \
        if (typeof parts.at(-1) === 'object') parts.pop(); \
        parts.pop(); const start = parts.pop(); \
        found.push([start, parts.map(p => p === undefined ? null : units(p))]); \
        return ''; }); \
    return JSON.stringify(found); }";

type Parts = (
    intrinsic::Eval,
    intrinsic::Json,
    intrinsic::MapSet,
    intrinsic::RegExpCompiler,
    intrinsic::RegExp,
);

impl Reference {
    fn new() -> Self {
        let runtime = Runtime::new().unwrap();
        let left = Cell::new(100);
        runtime.set_interrupt_handler(Some(Box::new(move || {
            left.set(left.get() - 1);
            left.get() <= 0
        })));
        let context = Context::custom::<Parts>(&runtime).unwrap();
        Self { _runtime: runtime, context }
    }

    /// The matches as JSON, `refused`, or `None` if it takes too long.
    fn all(&self, pattern: &str, flags: &str, text: &str) -> Option<String> {
        self.context.with(|ctx| {
            let function: Function<'_> = ctx.eval(ALL).ok()?;
            function.call((pattern, flags, text)).ok()
        })
    }
}

/// The same from our engine.
fn ours(pattern: &str, flags: &str, text: &str) -> Option<String> {
    let Some(regex) = JsRegex::new(pattern, flags) else { return Some("refused".to_owned()) };
    let held = RegexText::new(text);
    let mut meter = Meter { taken: 0, limit: KEY_STEPS };
    let found = match held.ascii() {
        Some(bytes) => regex.search_all(bytes, &mut meter),
        None => regex.search_all(held.units(), &mut meter),
    };
    let units = |span: &[u32]| held.units().get(span[0] as usize..span[1] as usize);
    let found: Vec<(u32, Vec<Option<&[u16]>>)> =
        found.ok()?.iter().map(|one| (one[0], one.chunks_exact(2).map(units).collect())).collect();
    serde_json::to_string(&found).ok()
}

/// Every search that JavaScript's `replace` makes, also with failures remembered from the
/// beginning.
fn compare(pattern: &str, flags: &str, text: &str) -> Result<(), TestCaseError> {
    // QuickJS accepts `(?<m>a|b)(?<m>c)`, which the standard refuses.
    let twice = |name: &str| pattern.matches(name).count() > 1;
    if twice("(?<n>") || twice("(?<m>") {
        return Ok(());
    }
    let Some(theirs) = Reference::new().all(pattern, flags, text) else { return Ok(()) };
    // QuickJS refuses `/-/v`, which the standard accepts.
    if flags.contains('v') && theirs == "refused" {
        return Ok(());
    }
    let Some(found) = ours(pattern, flags, text) else { return Ok(()) };
    prop_assert_eq!(&found, &theirs, "/{}/{} in {:?}", pattern, flags, text);
    let Some(regex) = JsRegex::new(pattern, flags) else { return Ok(()) };
    let held = RegexText::new(text);
    let search = |remembers: bool| {
        let mut meter = Meter { taken: 0, limit: KEY_STEPS };
        let mut attempt = Attempt { remembers, ..Attempt::new(true, &mut meter) };
        let found = match held.ascii() {
            Some(bytes) => regex.search(bytes, 0, &mut attempt),
            None => regex.search(held.units(), 0, &mut attempt),
        };
        found.map(|found| (found, attempt.slots))
    };
    if let (Ok(plain), Ok(remembering)) = (search(false), search(true)) {
        prop_assert_eq!(plain, remembering, "/{}/{} in {:?}", pattern, flags, text);
    }
    Ok(())
}

/// Pieces of patterns, between middle dots.
const PIECES: &str = concat!(
    r"a·B·k·S·ß·ſ·µ·Μ·ı·İ·σ·ς·Σ·é·É·ǅ·K·я·.·\d·\D·\w·\W·\s·\S·\b·\B·^·$·\n·\.·\x41·\u00e9",
    r"· ·]·-·[a-c]·[^a]·[\w-]·[^\s]·[é-ÿ]·[\W\d]·[]·[^]·[σ-я]·[\u0000-\uffff]·[-a]·[^A-Zß]",
    r"·a·a·b·\1·\2·\k<n>·🐉·[🐉]·\u{1f409}·\ud83d\udc09·\012·\8·\cA·\c·[\c]·[\w-a]·[a-\d]·{·}",
    r"·{a·a{2·x{,2}·(?=a)·(?!a)·(?<=a)·(?<!a)·\p{L}·\P{Lu}·[\p{L}--[a-c]]·[a&&[ab]]·[^\p{Lu}]",
    r"·\-·[\-]·\/·[b-a]·(?i:a)·(?-i:B)·(?s:.)·(?m:^)·\0·\00·\u·\x4·[\b]·[[a]b]·\q{a}·(?<m>a)"
);
/// Pieces of texts.
const TEXTS: &str = "a·A·b·k·K·K·s·S·ſ·ß·µ·μ·Μ·ı·i·İ·σ·ς·Σ·é·É·ǅ·ǆ·я·Я·1·_·-·]·.· ·\u{a0}·\n·\r\
    ·\u{2028}·\u{85}·\u{180e}·🐉·\0·a·a·a·b·b·{·}·,·2·\u{1}·\\·c";

fn one_of(list: &'static str) -> impl Strategy<Value = String> {
    prop::sample::select(list.split('·').map(str::to_owned).collect::<Vec<_>>())
}

fn piece() -> impl Strategy<Value = String> {
    one_of(PIECES).prop_recursive(4, 16, 4, |inner| {
        let open = one_of("(·(·(?:·(?<n>·(?=·(?!·(?<=·(?<!·(?i:·(?<m>");
        let sign = one_of("··*·+·?·{2}·{1,}·{0,2}·+?·*?·??·{2,3}?·{0}·{2,1}");
        (prop::collection::vec(inner, 1..4), one_of("··|"), open, sign).prop_map(
            |(parts, between, open, sign)| format!("{open}{}){sign}", parts.join(&between)),
        )
    })
}

fn text() -> impl Strategy<Value = String> {
    prop::collection::vec(one_of(TEXTS), 0..12).prop_map(|parts| parts.concat())
}

fn flags() -> impl Strategy<Value = &'static str> {
    prop::sample::select(vec![
        "", "", "i", "m", "s", "im", "g", "g", "gi", "u", "gu", "iu", "giu", "y", "gy", "v", "iv",
        "gu", "uv", "gg", "x", "d",
    ])
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn it_finds_what_javascript_finds(
        pieces in prop::collection::vec(piece(), 1..4),
        flags in flags(),
        text in text(),
    ) {
        compare(&pieces.concat(), flags, &text)?;
    }

    #[test]
    fn simple_letters_find_many_matches(
        pieces in prop::collection::vec(one_of(
            r"a·b·.·(a·(b·(?:·(?=·(?<=·(?!·)·)·)·*·+·?·|·\1·*?·{2}·{1,3}·$·^·\b·a*·(a*)*·(?:a|b)*·(a|ab)(c|bcd)"
        ), 1..10),
        flags in prop::sample::select(vec!["", "g", "gi", "gm", "gu", "gy"]),
        text in "[abc \n]{0,16}",
    ) {
        compare(&pieces.concat(), flags, &text)?;
    }
}

fn find(pattern: &str, flags: &str, text: &str) -> RegexOutcome {
    JsRegex::new(pattern, flags).unwrap().find(text)
}

#[test]
fn matches_are_given_in_bytes() {
    for (pattern, flags, text, expected) in [
        ("drag(on|oon)", "", "a dragon", Some((2, 8))),
        ("DRAGON", "i", "a dragon", Some((2, 8))),
        ("猫.", "", "黒猫だ", Some((3, 9))),
        ("(?<=the )cat", "", "the cat", Some((4, 7))),
        ("\\bкот", "", "скот", None),
        ("^.$", "", "🐉", None),
        ("^.$", "u", "🐉", Some((0, 4))),
        ("", "", "x", Some((0, 0))),
    ] {
        let expected = expected
            .map_or(RegexOutcome::NotFound, |(start, end)| RegexOutcome::Found { start, end });
        assert_eq!(find(pattern, flags, text), expected, "/{pattern}/{flags} in {text}");
    }
}

#[test]
fn what_javascript_refuses_is_no_regex() {
    for (pattern, flags) in
        [("(", ""), ("a", "gg"), ("a", "x"), ("\\u{110000}", "u"), ("a**", ""), ("\\", "")]
    {
        assert_eq!(JsRegex::new(pattern, flags), None, "/{pattern}/{flags}");
    }
    assert_eq!(JsRegex::new(&"(".repeat(100_000), ""), None);
}

#[test]
fn expressions_that_only_try_too_often_are_answered() {
    let text = "a".repeat(30_000);
    for pattern in
        ["(a+)+$(?!b)b", "(a|a)*(?=b)b", "(?<=(a+)+)b", "(a*)*b", "(?:a?){20}c", "^(a+)+$b"]
    {
        assert_eq!(find(pattern, "", &text), RegexOutcome::NotFound, "{pattern}");
    }
}

#[test]
fn expressions_that_take_too_many_steps_stop_at_the_same_one_everywhere() {
    let text = "a".repeat(30_000);
    for pattern in ["(?=(a+))\\1b", "(.*)*\\1x", "(?=a*$)ab", "(?:(a+)x?){3,900}\\1b"] {
        let regex = JsRegex::new(pattern, "").unwrap();
        let steps = Steps::default();
        assert_eq!(
            regex.find_within(&RegexText::new(&*text), &steps),
            RegexOutcome::TooSlow,
            "{pattern}"
        );
        // No more than the limit, and at most what one instruction takes beyond it.
        let taken = TURN_STEPS - steps.left();
        assert!((KEY_STEPS..KEY_STEPS + 40_000).contains(&taken), "{pattern}: {taken}");
    }
    let regex = JsRegex::new("(?=(a+))\\1b", "").unwrap();
    let steps = Steps::within(StepLimits { key: 500, turn: 1_000_000 });
    assert_eq!(regex.find_within(&RegexText::new(&*text), &steps), RegexOutcome::TooSlow);
    assert!(steps.left() >= 1_000_000 - 500 - 40_000, "{}", steps.left());
    let steps = Steps::new(1000);
    assert_eq!(regex.find_within(&RegexText::new(&*text), &steps), RegexOutcome::NoStepsLeft);
    assert_eq!(steps.left(), 0);
}

#[test]
fn long_texts_are_read_in_few_steps() {
    let story = "The road was long and nobody said a word about it until evening. ".repeat(300);
    let whole = format!("{story}Then the dragon came.");
    let at = whole.find("dragon").unwrap();
    for (pattern, flags, found) in [
        (".*dragon.*", "", (0, whole.len())),
        ("the.*dragon", "i", (0, at + 6)),
        (r"(?:\w+\s)+dragon", "", (story.len(), at + 6)),
        (r"[^\x01]*dragon", "", (0, at + 6)),
        (r"\w+.*dragon\b", "g", (0, at + 6)),
    ] {
        let regex = JsRegex::new(pattern, flags).unwrap();
        let steps = Steps::default();
        let outcome = regex.find_within(&RegexText::new(&*whole), &steps);
        assert_eq!(outcome.span(), Some(found), "/{pattern}/{flags}");
        assert_eq!(regex.find_within(&RegexText::new(&*story), &steps), RegexOutcome::NotFound);
        let taken = TURN_STEPS - steps.left();
        assert!(taken < 60 * whole.len() as u64, "/{pattern}/{flags}: {taken}");
    }
}

#[test]
fn a_global_expression_keeps_no_memory_and_replaces_all() {
    let regex = JsRegex::new("(e)mber", "g").unwrap();
    for _ in 0..2 {
        assert_eq!(regex.find("ember"), RegexOutcome::Found { start: 0, end: 5 });
    }
    let all = regex.find_all("ember, ember", &Steps::default()).unwrap();
    let spans: Vec<_> =
        all.iter().map(|found| (found.start, found.end, found.group("1"))).collect();
    assert_eq!(spans, [(0, 5, Some("e")), (7, 12, Some("e"))]);
}
