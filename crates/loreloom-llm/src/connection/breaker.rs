//! Pauses requests to a server that keeps failing.
//!
//! Without it, every request to a dead server waits. After some failures in a row, routine
//! requests are refused at once for a short while; then one is let through as a test. A request
//! that a person waits for is never refused untried: it is a test itself, and the server may have
//! come back. Time is an input, counted from any fixed moment.

use std::time::Duration;

/// When a server is left alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BreakerRules {
    /// After how many failures in a row; 0 never.
    pub failures: u32,
    /// For how long.
    pub pause: Duration,
}

impl Default for BreakerRules {
    fn default() -> Self {
        Self { failures: 5, pause: Duration::from_secs(10) }
    }
}

/// Whether a server is asked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Breaker {
    /// Failures in a row.
    failures: u32,
    /// Until when requests pause, after too many failures.
    resting_until: Option<Duration>,
}

/// Whether a person waits for a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Urgency {
    /// A person waits for the answer.
    Awaited,
    /// The front end repeats it anyway, for example a list of models.
    Routine,
}

/// It is left alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Resting {
    /// Failures in a row.
    pub failures: u32,
    /// For how much longer.
    pub left: Duration,
}

impl Breaker {
    /// Whether to ask now. After the pause one routine request may try. The others wait for its
    /// result, at most for another pause, because it may never end.
    pub fn ask(
        &mut self,
        rules: &BreakerRules,
        now: Duration,
        urgency: Urgency,
    ) -> Result<(), Resting> {
        match self.resting_until {
            Some(until) if now < until => {
                if urgency == Urgency::Awaited {
                    return Ok(());
                }
                Err(Resting { failures: self.failures, left: until.saturating_sub(now) })
            }
            Some(_) => {
                self.resting_until = Some(now + rules.pause);
                Ok(())
            }
            None => Ok(()),
        }
    }

    /// Whether requests pause now.
    pub fn rests(&self, now: Duration) -> bool {
        self.resting_until.is_some_and(|until| now < until)
    }

    /// It answered.
    pub fn succeeded(&mut self) {
        *self = Self::default();
    }

    /// It failed.
    pub fn failed(&mut self, rules: &BreakerRules, now: Duration) {
        self.failures = self.failures.saturating_add(1);
        if rules.failures > 0 && self.failures >= rules.failures {
            self.resting_until = Some(now + rules.pause);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RULES: BreakerRules = BreakerRules { failures: 3, pause: Duration::from_secs(10) };

    fn at(seconds: u64) -> Duration {
        Duration::from_secs(seconds)
    }

    const ROUTINE: Urgency = Urgency::Routine;

    fn broken() -> Breaker {
        let mut breaker = Breaker::default();
        for second in 0..3 {
            assert_eq!(breaker.ask(&RULES, at(second), ROUTINE), Ok(()), "{second}");
            breaker.failed(&RULES, at(second));
        }
        breaker
    }

    #[test]
    fn three_failures_in_a_row_give_it_a_rest() {
        let mut breaker = broken();
        let left = |seconds| Err(Resting { failures: 3, left: at(seconds) });
        assert_eq!(
            [0, 2, 11, 12].map(|second| breaker.rests(at(second))),
            [true, true, true, false]
        );
        assert_eq!(breaker.ask(&RULES, at(2), ROUTINE), left(10));
        assert_eq!(breaker.ask(&RULES, at(11), ROUTINE), left(1));
    }

    #[test]
    fn after_the_rest_one_may_try_and_the_others_wait_for_it() {
        let mut breaker = broken();
        assert_eq!(breaker.ask(&RULES, at(12), ROUTINE), Ok(()));
        assert!(breaker.ask(&RULES, at(12), ROUTINE).is_err());
        let mut better = breaker;
        better.succeeded();
        assert_eq!(better.ask(&RULES, at(13), ROUTINE), Ok(()));
        assert_eq!(better.ask(&RULES, at(13), ROUTINE), Ok(()));
        let mut worse = breaker;
        worse.failed(&RULES, at(20));
        assert_eq!(worse.ask(&RULES, at(25), ROUTINE), Err(Resting { failures: 4, left: at(5) }));
    }

    #[test]
    fn whoever_waits_is_never_refused_and_may_find_it_well_again() {
        let mut breaker = broken();
        for second in [2, 3, 11] {
            assert_eq!(breaker.ask(&RULES, at(second), Urgency::Awaited), Ok(()), "{second}");
            assert!(breaker.ask(&RULES, at(second), ROUTINE).is_err(), "{second}");
        }
        breaker.succeeded();
        assert_eq!(breaker.ask(&RULES, at(11), ROUTINE), Ok(()));
    }

    #[test]
    fn a_try_that_never_comes_back_is_followed_by_another() {
        let mut breaker = broken();
        assert_eq!(breaker.ask(&RULES, at(12), ROUTINE), Ok(()));
        assert!(breaker.ask(&RULES, at(21), ROUTINE).is_err());
        assert_eq!(breaker.ask(&RULES, at(22), ROUTINE), Ok(()));
    }

    #[test]
    fn an_answer_in_between_begins_the_count_anew() {
        let mut breaker = Breaker::default();
        for second in 0..9 {
            breaker.failed(&RULES, at(second));
            if second % 2 == 1 {
                breaker.succeeded();
            }
            assert_eq!(breaker.ask(&RULES, at(second), ROUTINE), Ok(()), "{second}");
        }
    }

    #[test]
    fn without_a_number_it_is_never_left_alone() {
        let never = BreakerRules { failures: 0, ..RULES };
        let mut breaker = Breaker::default();
        for second in 0..100 {
            breaker.failed(&never, at(second));
        }
        assert_eq!(breaker.ask(&never, at(100), ROUTINE), Ok(()));
    }
}
