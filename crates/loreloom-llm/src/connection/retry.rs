//! Retries: when, and after how long.
//!
//! Only a request that failed before the first byte of its answer is repeated, so a front end never
//! gets half of one reply and half of another.

use std::time::{Duration, SystemTime};

use http::{
    HeaderMap, StatusCode,
    header::{DATE, RETRY_AFTER},
};

/// How often and after how long a request is sent again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RetryRules {
    /// How often, after the first try.
    pub retries: u32,
    /// The first wait; each next one is twice as long.
    pub first: Duration,
    /// The longest wait. If a server asks for a longer one, the front end gets its answer and
    /// decides itself.
    pub longest: Duration,
}

impl Default for RetryRules {
    fn default() -> Self {
        Self { retries: 2, first: Duration::from_millis(500), longest: Duration::from_secs(10) }
    }
}

impl RetryRules {
    /// Never again.
    pub const NEVER: Self = Self { retries: 0, first: Duration::ZERO, longest: Duration::ZERO };

    /// How long to wait after failure `number` (from 0); `None` to give up. `asked` is what
    /// the server wants, `jitter` (from 0 to 1) spreads clients that failed together.
    pub fn wait(&self, number: u32, asked: Option<Duration>, jitter: f64) -> Option<Duration> {
        if number >= self.retries || asked.is_some_and(|asked| asked > self.longest) {
            return None;
        }
        let doubled = self.first.saturating_mul(2_u32.saturating_pow(number)).min(self.longest);
        let spread = doubled.mul_f64(0.5 + jitter.clamp(0.0, 1.0) / 2.0);
        Some(asked.map_or(spread, |asked| asked.max(spread)))
    }
}

/// Whether a status says that the same request may succeed a moment later.
pub fn may_pass(status: StatusCode) -> bool {
    matches!(
        status,
        StatusCode::TOO_MANY_REQUESTS
            | StatusCode::BAD_GATEWAY
            | StatusCode::SERVICE_UNAVAILABLE
            | StatusCode::GATEWAY_TIMEOUT
    )
}

/// How long a server asks to wait. A date is read against the server's own clock: ours may
/// be wrong.
pub fn retry_after(headers: &HeaderMap) -> Option<Duration> {
    let text = |name: &str| headers.get(name)?.to_str().ok().map(str::trim);
    let number = |name: &str| text(name)?.parse::<f64>().ok();
    let seconds = |wait: f64| Duration::try_from_secs_f64(wait).ok();
    let milliseconds = number("retry-after-ms").map(|wait| wait / 1000.0);
    if let Some(wait) = milliseconds.or_else(|| number(RETRY_AFTER.as_str())) {
        return seconds(wait);
    }
    let date = |name: &str| -> Option<SystemTime> { httpdate::parse_http_date(text(name)?).ok() };
    let (until, now) = (date(RETRY_AFTER.as_str())?, date(DATE.as_str())?);
    Some(until.duration_since(now).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    const RULES: RetryRules = RetryRules {
        retries: 3,
        first: Duration::from_millis(400),
        longest: Duration::from_secs(1),
    };

    #[test]
    fn waits_double_up_to_the_longest_and_end() {
        let millis = |wait: Option<Duration>| wait.map(|wait| wait.as_millis());
        for (number, asked, jitter, expected) in [
            (0, None, 1.0, Some(400)),
            (0, None, 0.0, Some(200)),
            (1, None, 1.0, Some(800)),
            (2, None, 1.0, Some(1000)),
            (3, None, 1.0, None),
            (0, Some(900), 1.0, Some(900)),
            (1, Some(100), 1.0, Some(800)),
            (0, Some(1001), 1.0, None),
        ] {
            let asked = asked.map(Duration::from_millis);
            assert_eq!(millis(RULES.wait(number, asked, jitter)), expected, "{number} {asked:?}");
        }
        assert_eq!(RetryRules::NEVER.wait(0, None, 0.5), None);
    }

    #[test]
    fn the_wait_a_server_asks_for_is_read() {
        let date = "Wed, 21 Oct 2026 07:28:00 GMT";
        for (headers, expected) in [
            (&[("retry-after", "7")] as &[_], Some(Duration::from_secs(7))),
            (&[("retry-after", " 1.5 ")], Some(Duration::from_millis(1500))),
            (&[("retry-after-ms", "250")], Some(Duration::from_millis(250))),
            (&[("retry-after", date)], None),
            (
                &[("retry-after", date), ("date", "Wed, 21 Oct 2026 07:27:48 GMT")],
                Some(Duration::from_secs(12)),
            ),
            (
                &[("retry-after", date), ("date", "Wed, 21 Oct 2026 07:29:00 GMT")],
                Some(Duration::ZERO),
            ),
            (&[("retry-after", "-1")], None),
            (&[("retry-after", "1e99")], None),
            (&[("other", "1")], None),
        ] {
            let mut map = HeaderMap::new();
            for (name, value) in headers {
                map.insert(*name, value.parse().unwrap());
            }
            assert_eq!(retry_after(&map), expected, "{headers:?}");
        }
    }
}
