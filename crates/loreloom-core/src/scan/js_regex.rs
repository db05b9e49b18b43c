//! JavaScript regular expressions, with a limit that does not depend on the machine.
//!
//! Lore is written for JavaScript's engine (UTF-16 units, ASCII `\b`, look-behind, back
//! references), so a real one runs it: QuickJS. It is stopped after a fixed number of its
//! own steps, never by a clock, so that a replay gives the same verdict. What it gives up on is
//! read by an engine that needs no more steps than the text has, where that can say the same
//! ([`Linear`]).
//!
//! An engine belongs to one thread; expressions are compiled there on first use and kept.

use std::{
    cell::{Cell, RefCell},
    rc::Rc,
};

use rquickjs::{Context, Ctx, Function, Object, Persistent, Runtime, context::intrinsic};
use rustc_hash::FxHashMap;

use super::{linear::Linear, required::required_literals};

/// How often a running expression may be interrupted: QuickJS asks every 10,000 steps.
const INTERRUPTS: u32 = 100;
/// What one thread's engine may allocate.
const MEMORY: usize = 64 << 20;
/// Expressions a thread keeps compiled.
const KEPT: usize = 20_000;
/// Translations of slow ones that a thread keeps: they take more room.
const KEPT_SLOW: usize = 200;

/// A regular expression that compiles.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct JsRegex {
    pattern: Box<str>,
    flags: Box<str>,
}

/// What running an expression gave.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RegexOutcome {
    /// The first match, in bytes of the text.
    Found {
        /// First byte.
        start: usize,
        /// One past the last byte.
        end: usize,
    },
    /// No match.
    NotFound,
    /// It needed more steps or memory than allowed.
    TooSlow,
}

impl RegexOutcome {
    /// The bytes of the match, if there is one.
    pub fn span(self) -> Option<(usize, usize)> {
        match self {
            Self::Found { start, end } => Some((start, end)),
            Self::NotFound | Self::TooSlow => None,
        }
    }
}

impl JsRegex {
    /// The expression, or `None` if JavaScript would refuse it.
    pub fn new(pattern: &str, flags: &str) -> Option<Self> {
        let regex = Self { pattern: pattern.into(), flags: flags.into() };
        with_engine(|engine| engine.run(&regex, |_, _| Ok(()))).ok().map(|()| regex)
    }

    /// The pattern.
    pub fn pattern(&self) -> &str {
        &self.pattern
    }

    /// The flags.
    pub fn flags(&self) -> &str {
        &self.flags
    }

    /// Literals of which the text must hold at least one, ignoring case, for the
    /// expression to match; `None` if none can be told.
    pub fn required_literals(&self) -> Option<Vec<String>> {
        required_literals(&self.pattern, &self.flags)
    }

    /// The first match in a text. A fresh run each time: `g` and `y` keep no memory.
    pub fn find(&self, text: &str) -> RegexOutcome {
        let known = known_slow(self);
        let read = |slow: &Slow| self.read(slow.linear.as_deref()?, text);
        if let Some(outcome) = known.as_ref().and_then(read) {
            return outcome;
        }
        let outcome = self.try_at(text, 0);
        if outcome == RegexOutcome::TooSlow && known.is_none() {
            return read(&found_slow(self)).unwrap_or(outcome);
        }
        outcome
    }

    /// The same without trying, if the text allows that. Which of the two is asked does not
    /// matter: where the first match begins they agree on, and how far it goes is tried there.
    fn read(&self, linear: &Linear, text: &str) -> Option<RegexOutcome> {
        let found = linear.find(text)?;
        let Some((start, _)) = found.span() else { return Some(found) };
        let flags = format!("{}y", self.flags);
        let here = Self { pattern: self.pattern.clone(), flags: flags.into() };
        let tried = here.try_at(text, text[..start].encode_utf16().count());
        Some(if tried.span().is_some() { tried } else { found })
    }

    /// The first match, looked for from a UTF-16 unit of the text on.
    pub(super) fn try_at(&self, text: &str, unit: usize) -> RegexOutcome {
        let unit = u32::try_from(unit).unwrap_or(u32::MAX);
        let found = with_engine(|engine| {
            engine.run(self, |functions, regex| {
                let find = functions.find.clone().restore(regex.ctx())?;
                find.call::<_, Vec<i32>>((regex.clone(), text, unit))
            })
        });
        match found.as_deref() {
            Ok(&[start, end]) => RegexOutcome::Found {
                start: byte_of(text, start.unsigned_abs() as usize),
                end: byte_of(text, end.unsigned_abs() as usize),
            },
            Ok(_) => RegexOutcome::NotFound,
            Err(_) => RegexOutcome::TooSlow,
        }
    }

    /// The matches that JavaScript's `replace` would replace, with their groups; `None` if
    /// it needed too much.
    pub fn find_all<'text>(&self, text: &'text str) -> Option<Vec<RegexMatch<'text>>> {
        let found = with_engine(|engine| {
            engine.run(self, |functions, regex| {
                let find_all = functions.find_all.clone().restore(regex.ctx())?;
                find_all.call::<_, String>((regex.clone(), text))
            })
        });
        let found: Vec<FoundParts> = serde_json::from_str(&found.ok()?).ok()?;
        let matches = found.into_iter().map(|(start, numbered, named)| {
            let start = byte_of(text, start);
            let length = numbered.first().and_then(Option::as_ref).map_or(0, String::len);
            let end = (start + length).min(text.len());
            RegexMatch { text: &text[start..end], start, end, numbered, named }
        });
        Some(matches.collect())
    }
}

/// A match as the engine reports it: its first UTF-16 unit, its groups by number and by name.
type FoundParts = (usize, Vec<Option<String>>, Vec<(String, Option<String>)>);

/// One match of an expression.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RegexMatch<'text> {
    /// What matched.
    pub text: &'text str,
    /// First byte.
    pub start: usize,
    /// One past the last byte.
    pub end: usize,
    numbered: Vec<Option<String>>,
    named: Vec<(String, Option<String>)>,
}

impl RegexMatch<'_> {
    /// What a group matched, by number (0 is all of it) or by name.
    pub fn group(&self, name: &str) -> Option<&str> {
        match name.parse::<usize>() {
            Ok(number) => self.numbered.get(number)?.as_deref(),
            Err(_) => self.named.iter().find(|(known, _)| known == name)?.1.as_deref(),
        }
    }

    /// How many groups the expression has, besides the match itself.
    pub fn groups(&self) -> usize {
        self.numbered.len().saturating_sub(1)
    }
}

/// The byte of the UTF-16 unit `unit` of a text.
fn byte_of(text: &str, unit: usize) -> usize {
    if text.is_ascii() {
        return unit.min(text.len());
    }
    let mut units = 0;
    for (byte, character) in text.char_indices() {
        if units >= unit {
            return byte;
        }
        units += character.len_utf16();
    }
    text.len()
}

/// Fields are dropped in this order: what lives in the context before the context.
struct Engine {
    compiled: FxHashMap<JsRegex, Persistent<Object<'static>>>,
    functions: Functions,
    left: Rc<Cell<u32>>,
    context: Context,
}

struct Functions {
    find: Persistent<Function<'static>>,
    find_all: Persistent<Function<'static>>,
}

const FIND: &str = "(re, text, at) => { re.lastIndex = at; const m = re.exec(text); \
                    return m === null ? [] : [m.index, m.index + m[0].length]; }";
const FIND_ALL: &str = "(re, text) => { const found = []; re.lastIndex = 0; \
    text.replace(re, (...parts) => { \
        const groups = typeof parts.at(-1) === 'object' ? parts.pop() : {}; \
        parts.pop(); const start = parts.pop(); \
        found.push([start, parts.map(p => p === undefined ? null : p), \
            Object.keys(groups).map(k => [k, groups[k] === undefined ? null : groups[k]])]); \
        return ''; }); \
    return JSON.stringify(found); }";

impl Engine {
    fn new() -> Result<Self, rquickjs::Error> {
        let runtime = Runtime::new()?;
        runtime.set_memory_limit(MEMORY);
        let left = Rc::new(Cell::new(INTERRUPTS));
        let counter = Rc::clone(&left);
        runtime.set_interrupt_handler(Some(Box::new(move || {
            counter.set(counter.get().saturating_sub(1));
            counter.get() == 0
        })));
        let context = Context::custom::<(
            intrinsic::Eval,
            intrinsic::Json,
            intrinsic::RegExpCompiler,
            intrinsic::RegExp,
        )>(&runtime)?;
        let functions = context.with(|ctx| {
            let function = |source: &str| {
                ctx.eval::<Function<'_>, _>(source).map(|function| Persistent::save(&ctx, function))
            };
            Ok::<_, rquickjs::Error>(Functions {
                find: function(FIND)?,
                find_all: function(FIND_ALL)?,
            })
        })?;
        Ok(Self { context, functions, left, compiled: FxHashMap::default() })
    }

    fn run<R>(
        &mut self,
        regex: &JsRegex,
        call: impl for<'js> FnOnce(&Functions, Object<'js>) -> rquickjs::Result<R>,
    ) -> rquickjs::Result<R> {
        self.left.set(INTERRUPTS);
        if self.compiled.len() >= KEPT {
            self.compiled.clear();
        }
        let Self { context, functions, compiled, .. } = self;
        context
            .with(|ctx| {
                let object = if let Some(known) = compiled.get(regex) {
                    known.clone().restore(&ctx)?
                } else {
                    let object = compile(&ctx, regex)?;
                    compiled.insert(regex.clone(), Persistent::save(&ctx, object.clone()));
                    object
                };
                call(functions, object)
            })
            .inspect_err(|_| {
                // A pending exception would surface in the next call.
                context.with(|ctx| drop(ctx.catch()));
            })
    }
}

fn compile<'js>(ctx: &Ctx<'js>, regex: &JsRegex) -> rquickjs::Result<Object<'js>> {
    let constructor: rquickjs::function::Constructor<'js> = ctx.globals().get("RegExp")?;
    constructor.construct((&*regex.pattern, &*regex.flags))
}

thread_local! {
    static ENGINE: RefCell<Option<Engine>> = const { RefCell::new(None) };
    static SLOW: RefCell<FxHashMap<JsRegex, Slow>> = RefCell::default();
}

/// An expression that once took too many steps.
#[derive(Clone)]
struct Slow {
    /// Its translation, where it has one.
    linear: Option<Rc<Linear>>,
}

/// What is known of an expression that has been too slow before.
fn known_slow(regex: &JsRegex) -> Option<Slow> {
    SLOW.with_borrow(|slow| slow.get(regex).cloned())
}

/// Keeps in mind that an expression is too slow.
fn found_slow(regex: &JsRegex) -> Slow {
    SLOW.with_borrow_mut(|slow| {
        if slow.len() >= KEPT_SLOW {
            slow.clear();
        }
        let linear = Linear::new(&regex.pattern, &regex.flags).map(Rc::new);
        slow.entry(regex.clone()).or_insert(Slow { linear }).clone()
    })
}

/// Runs with this thread's engine, which is made on first use.
fn with_engine<R>(run: impl FnOnce(&mut Engine) -> rquickjs::Result<R>) -> rquickjs::Result<R> {
    ENGINE.with_borrow_mut(|slot| match slot {
        Some(engine) => run(engine),
        None => run(slot.insert(Engine::new()?)),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

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
            [("(", ""), ("a", "gg"), ("a", "x"), ("\\u{110000}", "u"), ("a**", "")]
        {
            assert_eq!(JsRegex::new(pattern, flags), None, "/{pattern}/{flags}");
        }
    }

    #[test]
    fn catastrophic_patterns_stop_and_the_engine_goes_on() {
        let text = "a".repeat(40);
        for pattern in ["(a+)+$(?!b)b", "(a|a)*(?=b)b", "(.*)*\\1x"] {
            assert_eq!(find(pattern, "", &text), RegexOutcome::TooSlow, "{pattern}");
            assert_eq!(find("a", "", "a"), RegexOutcome::Found { start: 0, end: 1 });
        }
    }

    #[test]
    fn what_takes_too_many_tries_is_read_once() {
        let story = "The road was long and nobody said a word about it until evening. ".repeat(300);
        let told = format!("{story}Then the dragon came.");
        let at = told.find("dragon").unwrap();
        for (pattern, flags, found) in [
            (".*dragon.*", "", (0, told.len())),
            ("the.*dragon", "i", (0, at + 6)),
            (r"(?:\w+\s)+dragon", "", (story.len(), at + 6)),
            (r"[^\x01]*dragon", "", (0, at + 6)),
            (r"\w+.*dragon\b", "g", (0, at + 6)),
        ] {
            let regex = JsRegex::new(pattern, flags).unwrap();
            let found = RegexOutcome::Found { start: found.0, end: found.1 };
            // Once it is known to be slow it is read at once, with the same outcome.
            for _ in 0..2 {
                assert_eq!(regex.find(&told), found, "/{pattern}/{flags}");
                assert_eq!(regex.find(&story), RegexOutcome::NotFound, "/{pattern}/{flags}");
            }
            assert_eq!(regex.find("the dragon").span().map(|(_, end)| end), Some(10));
        }
        assert_eq!(find("(a+)+$b", "", &"a".repeat(40)), RegexOutcome::NotFound);
    }

    #[test]
    fn a_global_expression_keeps_no_memory_and_replaces_all() {
        let regex = JsRegex::new("(e)mber", "g").unwrap();
        for _ in 0..2 {
            assert_eq!(regex.find("ember"), RegexOutcome::Found { start: 0, end: 5 });
        }
        let all = regex.find_all("ember, ember").unwrap();
        let spans: Vec<_> =
            all.iter().map(|found| (found.start, found.end, found.group("1"))).collect();
        assert_eq!(spans, [(0, 5, Some("e")), (7, 12, Some("e"))]);
    }
}
