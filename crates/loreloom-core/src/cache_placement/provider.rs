//! What a kept beginning is worth with a provider.
//!
//! Providers differ in how long a beginning must be, in which steps it is reused, what a
//! reused token costs, and whether the request must say where to cut (breakpoints). That
//! is data: a new provider is a new row. Costs are estimates in tokens of the full price;
//! whether a cache is still warm is the provider's secret.

use serde::{Deserialize, Serialize};

use super::{SharedPrefix, TokenMemo};
use crate::{prompt::PromptMessage, units::Tokens};

/// How a provider caches. Prices are in thousandths of the full price of a prompt token.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct Provider {
    /// Its name.
    pub name: &'static str,
    /// The shortest beginning that is cached.
    pub minimum: Tokens,
    /// A reused beginning is a multiple of this.
    pub step: Tokens,
    /// The price of a reused token.
    pub read: u32,
    /// The price of a token that is written to the cache.
    pub write: u32,
    /// How many breakpoints a request may set; 0 where the beginning is found without.
    pub breakpoints: usize,
    /// How many messages before a breakpoint an older one is still found.
    pub lookback: usize,
}

/// The known ways of caching.
pub const PROVIDERS: [Provider; 4] = [
    Provider {
        name: "anthropic",
        minimum: Tokens(1024),
        step: Tokens(1),
        read: 100,
        write: 1250,
        breakpoints: 4,
        lookback: 20,
    },
    Provider {
        name: "openai",
        minimum: Tokens(1024),
        step: Tokens(128),
        read: 250,
        write: 1000,
        breakpoints: 0,
        lookback: 0,
    },
    Provider {
        name: "deepseek",
        minimum: Tokens(64),
        step: Tokens(64),
        read: 100,
        write: 1000,
        breakpoints: 0,
        lookback: 0,
    },
    // A local server computes what its slot does not hold; what it holds is free.
    Provider {
        name: "llama.cpp",
        minimum: Tokens(0),
        step: Tokens(1),
        read: 0,
        write: 1000,
        breakpoints: 0,
        lookback: 0,
    },
];

/// A breakpoint: the prompt up to and including a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema), schema(as = Mark))]
pub struct CacheMark {
    /// The message, counted from 0.
    pub message: usize,
    /// The tokens up to its end.
    pub tokens: Tokens,
}

/// What a prompt costs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct Bill {
    /// Tokens read from the cache.
    pub read: Tokens,
    /// Tokens written to it.
    pub written: Tokens,
    /// All other tokens.
    pub plain: Tokens,
    /// All of it, in tokens of the full price.
    pub cost: Tokens,
}

impl Provider {
    /// The provider of that name.
    pub fn named(name: &str) -> Option<Self> {
        PROVIDERS.into_iter().find(|provider| provider.name == name)
    }

    /// What a prompt costs after the one before. `before` and `now` are the breakpoints of
    /// both, which count where a provider needs them.
    pub fn bill(&self, kept: &SharedPrefix, before: &[CacheMark], now: &[CacheMark]) -> Bill {
        let (read, cached) = if self.breakpoints == 0 {
            let whole = kept.kept.0 - kept.kept.0 % self.step.0.max(1);
            (Tokens(whole), kept.total)
        } else {
            let reused = before.iter().filter(|mark| {
                let near = |now: &&CacheMark| {
                    now.message >= mark.message && now.message - mark.message <= self.lookback
                };
                mark.tokens <= kept.kept && now.iter().any(|now| near(&now))
            });
            let end = now.iter().map(|mark| mark.tokens).max();
            (reused.map(|mark| mark.tokens).max().unwrap_or_default(), end.unwrap_or_default())
        };
        let read = if read >= self.minimum { read } else { Tokens::ZERO };
        let cached = if cached >= self.minimum { cached } else { Tokens::ZERO };
        let written = Tokens(cached.0.saturating_sub(read.0));
        let plain = Tokens(kept.total.0.saturating_sub(read.0).saturating_sub(written.0));
        let price = |tokens: Tokens, price: u32| u64::from(tokens.0) * u64::from(price);
        let cost = price(read, self.read) + price(written, self.write) + price(plain, 1000);
        let cost = Tokens(u32::try_from(cost.div_ceil(1000)).unwrap_or(u32::MAX));
        Bill { read, written, plain, cost }
    }
}

/// Where a request should set its breakpoints: after the head, at up to two points of the
/// story that stay put for a while, and at the end of what the next prompt will repeat.
/// `head` is the number of messages before the chat, `stable` the number of messages that
/// come before the first moving text.
pub fn marks(
    provider: &Provider,
    prompt: &[PromptMessage],
    head: usize,
    stable: usize,
    memo: &mut TokenMemo<'_>,
) -> Vec<CacheMark> {
    let Some(end) = stable.min(prompt.len()).checked_sub(1) else { return Vec::new() };
    // Multiples of a fixed step do not move when the story grows.
    let step = (provider.lookback * 4 / 5).max(1);
    let last = end / step * step;
    let candidates = [head.checked_sub(1), last.checked_sub(step), Some(last), Some(end)];
    let mut chosen: Vec<usize> = candidates.into_iter().flatten().filter(|at| *at <= end).collect();
    chosen.sort_unstable();
    chosen.dedup();
    let mut tokens = Tokens::ZERO;
    let mut found = Vec::new();
    for (message, one) in prompt.iter().enumerate().take(end + 1) {
        tokens = tokens.saturating_add(memo.count(&one.content));
        if chosen.contains(&message) && tokens >= provider.minimum {
            found.push(CacheMark { message, tokens });
        }
    }
    let surplus = found.len().saturating_sub(provider.breakpoints);
    found.split_off(surplus)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{chat::Role, tokens::ByteEstimate};

    fn bill(name: &str, kept: u32, total: u32, marks: [u32; 2]) -> (u32, u32, u32, u32) {
        let kept =
            SharedPrefix { kept: Tokens(kept), previous: Tokens(total), total: Tokens(total) };
        let mark = |tokens| [CacheMark { message: 3, tokens: Tokens(tokens) }];
        let provider = Provider::named(name).unwrap();
        let bill = provider.bill(&kept, &mark(marks[0]), &mark(marks[1]));
        (bill.read.0, bill.written.0, bill.plain.0, bill.cost.0)
    }

    #[test]
    fn each_provider_bills_by_its_own_rules() {
        for (name, kept, total, marks, expected) in [
            ("openai", 1023, 2000, [0, 0], (0, 2000, 0, 2000)),
            ("openai", 1300, 2000, [0, 0], (1280, 720, 0, 1040)),
            ("deepseek", 130, 200, [0, 0], (128, 72, 0, 85)),
            ("llama.cpp", 150, 200, [0, 0], (150, 50, 0, 50)),
            // Only what a breakpoint of the last request closed can be read.
            ("anthropic", 1900, 2000, [1500, 1800], (1500, 300, 200, 725)),
            ("anthropic", 1400, 2000, [1500, 1800], (0, 1800, 200, 2450)),
            ("anthropic", 900, 900, [900, 900], (0, 0, 900, 900)),
        ] {
            assert_eq!(bill(name, kept, total, marks), expected, "{name} {kept} of {total}");
        }
    }

    #[test]
    fn breakpoints_stay_put_and_never_stand_on_moving_text() {
        let provider = Provider::named("anthropic").unwrap();
        let text = "word ".repeat(100);
        let message = PromptMessage { role: Role::User, name: None, content: text.into() };
        let prompt = vec![message; 60];
        let at = |stable: usize| -> Vec<usize> {
            let mut memo = TokenMemo::new(&ByteEstimate);
            marks(&provider, &prompt, 10, stable, &mut memo).iter().map(|one| one.message).collect()
        };
        assert_eq!(at(41), [9, 16, 32, 40]);
        assert_eq!(at(43), [9, 16, 32, 42]);
        assert_eq!(at(59), [9, 32, 48, 58]);
        // The head is too short to be cached alone.
        assert_eq!(at(9), [8]);
        assert_eq!(at(0), Vec::<usize>::new());
    }
}
