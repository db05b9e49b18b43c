//! What a connection's tokens cost, and what a turn is estimated to have cost.
//!
//! Prices are what somebody has written down, so a turn over a connection without them has no
//! cost: not one of 0. What a provider really charges is on its bill; these are estimates with
//! the tokens that were counted here.

use loreloom_core::cache_placement::{Bill, Provider};
use serde::Serialize;

use super::{ConnectionSettings, SettingsError};

/// What a million tokens cost.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Prices {
    /// Of the prompt.
    pub input: f64,
    /// Of its beginning that the provider has cached; by the provider's rules if it is not said.
    pub cached: Option<f64>,
    /// Of the reply; it is left out if it is not said.
    pub output: Option<f64>,
    /// In what: a word such as `EUR`.
    pub currency: Option<String>,
}

/// What a turn is estimated to have cost.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub(crate) struct Cost {
    /// Its prompt.
    prompt: f64,
    /// Its reply; none where there is none, or no price of output.
    reply: Option<f64>,
    /// Both.
    total: f64,
    /// In what; none where the connection does not say.
    currency: Option<String>,
}

/// The longest word for a currency.
const LONGEST_CURRENCY: usize = 12;

const MILLION: f64 = 1e6;

impl Prices {
    /// What a prompt costs that a provider bills so.
    pub(crate) fn of_bill(&self, bill: &Bill, provider: &Provider) -> f64 {
        let Some(cached) = self.cached else {
            return self.input * f64::from(bill.cost.0) / MILLION;
        };
        let written = f64::from(bill.written.0) * f64::from(provider.write) / 1000.0;
        let full = self.input * (written + f64::from(bill.plain.0));
        (full + cached * f64::from(bill.read.0)) / MILLION
    }

    /// What a prompt costs of which so many tokens were sent before, where nothing is known of
    /// the provider's cache: without a price of their own these cost what all others do.
    pub(crate) fn of_prompt(&self, tokens: u32, unchanged: u32) -> f64 {
        let same = unchanged.min(tokens);
        let cached = self.cached.unwrap_or(self.input);
        (self.input * f64::from(tokens - same) + cached * f64::from(same)) / MILLION
    }

    /// What a turn costs with that prompt and a reply of so many tokens.
    pub(crate) fn cost(&self, prompt: f64, reply: Option<u32>) -> Cost {
        let reply = reply.zip(self.output);
        let reply = reply.map(|(tokens, price)| price * f64::from(tokens) / MILLION);
        let total = prompt + reply.unwrap_or_default();
        Cost { prompt, reply, total, currency: self.currency.clone() }
    }
}

impl ConnectionSettings {
    /// What its tokens cost, if it is said.
    pub fn prices(&self) -> Option<Prices> {
        let input = self.price?;
        let (cached, output) = (self.cached_price, self.output_price);
        Some(Prices { input, cached, output, currency: self.currency.clone() })
    }

    pub(super) fn check_prices(&self) -> Result<(), SettingsError> {
        let prices = [
            ("price", self.price),
            ("cached_price", self.cached_price),
            ("output_price", self.output_price),
        ];
        for (field, price) in prices {
            let Some(price) = price else { continue };
            if !price.is_finite() || price < 0.0 {
                let rule = format!("must be a number that is not below 0, found {price}");
                return Err(SettingsError::new(field, rule));
            }
        }
        let others = [
            ("cached_price", self.cached_price.is_some()),
            ("output_price", self.output_price.is_some()),
            ("currency", self.currency.is_some()),
        ];
        if self.price.is_none()
            && let Some((field, _)) = others.into_iter().find(|(_, said)| *said)
        {
            return Err(SettingsError::new(field, "must not be set without `price`"));
        }
        let fits = |word: &str| {
            (1..=LONGEST_CURRENCY).contains(&word.chars().count())
                && !word.contains(|one: char| one.is_whitespace() || one.is_control())
        };
        match &self.currency {
            Some(word) if !fits(word) => {
                let rule = format!("must be a word of at most {LONGEST_CURRENCY} characters");
                Err(SettingsError::new("currency", rule))
            }
            Some(_) | None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use loreloom_core::units::Tokens;

    use super::*;

    #[test]
    #[expect(clippy::float_cmp, reason = "these numbers are exact")]
    fn what_is_cached_costs_its_own_price_or_what_the_provider_takes() {
        let provider = Provider::named("anthropic").unwrap();
        let bill = Bill {
            read: Tokens(1_000_000),
            written: Tokens(1_000_000),
            plain: Tokens(1_000_000),
            cost: Tokens(2_350_000),
        };
        let by_provider = Prices { input: 2.0, ..Prices::default() };
        assert_eq!(by_provider.of_bill(&bill, &provider), 4.7);
        let own = Prices { cached: Some(0.5), ..by_provider.clone() };
        assert_eq!(own.of_bill(&bill, &provider), 2.0 * 2.25 + 0.5);
        assert_eq!(own.of_prompt(3_000_000, 1_000_000), 4.5);
        assert_eq!(by_provider.of_prompt(3_000_000, 1_000_000), 6.0);
        assert_eq!(own.of_prompt(1_000_000, 9_000_000), 0.5);
    }

    #[test]
    fn a_reply_costs_where_output_has_a_price() {
        let mut prices =
            Prices { input: 2.0, currency: Some("EUR".to_owned()), ..Prices::default() };
        let currency = prices.currency.clone();
        let without = Cost { prompt: 1.0, reply: None, total: 1.0, currency: currency.clone() };
        assert_eq!(prices.cost(1.0, Some(500_000)), without);
        prices.output = Some(8.0);
        let with = Cost { prompt: 1.0, reply: Some(4.0), total: 5.0, currency };
        assert_eq!(prices.cost(1.0, Some(500_000)), with);
        assert_eq!(prices.cost(1.0, None), without);
    }
}
