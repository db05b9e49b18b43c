//! What a job asked its model, what it was answered, and what came of it.

use serde::{Deserialize, Serialize};

use super::{JobBody, JobOutcome, JobStep};

/// The replies that are kept of a job: its last ones.
const MOST_REPLIES: usize = 6;
/// The most characters that are kept of a reply.
const LONGEST_REPLY: usize = 4_000;
/// The most texts that are kept of a job's results, and the most characters of each.
const MOST_KEPT: usize = 40;
const LONGEST_KEPT: usize = 300;

/// What a job asked and was answered.
///
/// Replies stay only where somebody may want to look into them: where the job did not end well,
/// or nothing came of what was answered.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct JobAccount {
    /// Questions that were asked, with those that got no answer.
    pub questions: u32,
    /// Tokens of the questions, estimated.
    pub asked: u64,
    /// Tokens of the answers, estimated.
    pub answered: u64,
    /// The last replies, word for word.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub replies: Vec<RawReply>,
    /// What was read from the replies: the texts of what was noted.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub kept: Vec<String>,
    /// Whether a part of it could not be done.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub partial: bool,
}

/// A reply as the model gave it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct RawReply {
    /// The text, or its beginning.
    pub text: String,
    /// Whether there was more of it.
    pub cut: bool,
}

impl JobAccount {
    /// A question was asked.
    pub fn asks(&mut self, tokens: u32) {
        self.questions = self.questions.saturating_add(1);
        self.asked += u64::from(tokens);
    }

    /// It was answered.
    pub fn hears(&mut self, reply: &str, tokens: u32) {
        self.answered += u64::from(tokens);
        let text = head(reply, LONGEST_REPLY);
        if self.replies.len() == MOST_REPLIES {
            self.replies.remove(0);
        }
        self.replies.push(RawReply { text: text.to_owned(), cut: text.len() < reply.len() });
    }

    /// Something came of it; `partial` if a part of it could not be done.
    pub fn keeps<'text>(&mut self, texts: impl IntoIterator<Item = &'text str>, partial: bool) {
        let texts = texts.into_iter().take(MOST_KEPT);
        self.kept = texts.map(|text| head(text, LONGEST_KEPT).to_owned()).collect();
        self.partial = partial;
    }

    /// The account of a job that goes on like this: nobody looks into replies that were read well.
    fn after(mut self, outcome: &JobOutcome) -> Self {
        let went_well = match outcome {
            JobOutcome::Done | JobOutcome::Further(_) => !self.partial && !self.kept.is_empty(),
            JobOutcome::Again { .. } | JobOutcome::Failed { .. } | JobOutcome::Cancelled { .. } => {
                false
            }
        };
        if went_well {
            self.replies.clear();
            self.kept.clear();
        }
        self
    }
}

impl JobStep {
    /// The same step with what was asked and answered until now.
    #[must_use]
    pub fn accounted(mut self, account: JobAccount, body: &JobBody) -> Self {
        let account = account.after(&self.outcome);
        match &mut self.outcome {
            JobOutcome::Further(body) | JobOutcome::Again { body, .. } => body.account = account,
            JobOutcome::Done | JobOutcome::Failed { .. } | JobOutcome::Cancelled { .. } => {
                self.left = Some(JobBody { account, ..body.clone() });
            }
        }
        self
    }

    /// What the job keeps from now on, if that changes.
    pub fn body(&self) -> Option<&JobBody> {
        self.outcome.body().or(self.left.as_ref())
    }
}

/// The first `limit` characters.
fn head(text: &str, limit: usize) -> &str {
    text.char_indices().nth(limit).map_or(text, |(end, _)| &text[..end])
}

#[cfg(test)]
mod tests {
    use loreloom_core::units::Timestamp;

    use super::*;
    use crate::JobId;

    #[test]
    fn the_last_replies_are_kept_and_long_ones_are_cut() {
        let mut account = JobAccount::default();
        account.asks(7);
        account.hears(&"ä".repeat(LONGEST_REPLY + 1), 3);
        for number in 1..=6 {
            account.asks(1);
            account.hears(&format!("reply {number}"), 1);
            assert_eq!(account.replies[0].cut, number < 6, "{number}");
        }
        assert_eq!((account.questions, account.asked, account.answered), (7, 13, 9));
        assert_eq!(account.replies.len(), 6);
        assert_eq!(account.replies[0], RawReply { text: "reply 1".to_owned(), cut: false });
    }

    #[test]
    fn replies_stay_where_somebody_may_want_to_look_into_them() {
        let failed = || JobOutcome::Failed { error: "no".to_owned() };
        for (outcome, kept, partial, stays) in [
            (JobOutcome::Done, &["a"][..], false, false),
            (JobOutcome::Done, &[], false, true),
            (JobOutcome::Done, &["a"], true, true),
            (JobOutcome::Further(JobBody::default()), &["a"], false, false),
            (failed(), &["a"], false, true),
        ] {
            let mut account = JobAccount::default();
            account.asks(2);
            account.hears("[fact] a", 2);
            account.keeps(kept.iter().copied(), partial);
            let job = JobBody { seed: "s".to_owned(), ..JobBody::default() };
            let step = JobStep {
                job: JobId(1),
                worker: "w".to_owned(),
                now: Timestamp(1),
                outcome: outcome.clone(),
                left: None,
            };
            let body = step.accounted(account, &job).body().cloned().unwrap();
            assert_eq!(body.account.replies.len(), usize::from(stays), "{outcome:?} {partial}");
            assert_eq!((body.account.asked, body.account.answered), (2, 2));
        }
    }
}
