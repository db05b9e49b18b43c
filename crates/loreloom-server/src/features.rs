//! What asks a model, and which connection each of them asks.

use std::fmt;

use loreloom_core::ids::ConnectionId;
use serde::{Deserialize, Serialize};

/// A feature that asks a model. Its name is the field of [`Features`], and is shown to people.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Feature {
    /// Tells the story.
    Writer,
    /// Reads along and keeps memories.
    Extractor,
    /// Chooses notes of vaults.
    Selector,
    /// Finds entries by meaning.
    Embedder,
}

impl Feature {
    /// All of them, in the order in which they are shown.
    pub const ALL: [Self; 4] = [Self::Writer, Self::Extractor, Self::Selector, Self::Embedder];

    /// Those that ask questions of their own; the writer is asked by requests.
    pub const ASKING: [Self; 3] = [Self::Extractor, Self::Selector, Self::Embedder];

    /// Its name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Writer => "writer",
            Self::Extractor => "extractor",
            Self::Selector => "selector",
            Self::Embedder => "embedder",
        }
    }
}

impl fmt::Display for Feature {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A connection, and a model of it where it is not the connection's own.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[serde(untagged)]
pub enum FeatureChoice {
    /// The connection.
    Connection(ConnectionId),
    /// The connection and a model.
    Model(FeatureModel),
}

/// A connection and a model of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct FeatureModel {
    /// The connection.
    connection: ConnectionId,
    /// The model.
    model: String,
}

impl FeatureChoice {
    /// The connection.
    pub fn connection(&self) -> &ConnectionId {
        match self {
            Self::Connection(connection) | Self::Model(FeatureModel { connection, .. }) => {
                connection
            }
        }
    }

    /// The model, where it is not the connection's own.
    pub fn model(&self) -> Option<&str> {
        match self {
            Self::Connection(_) => None,
            Self::Model(FeatureModel { model, .. }) => Some(model),
        }
    }
}

/// Which connection does what.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[serde(default, deny_unknown_fields)]
pub struct Features {
    /// Tells the story: where requests go that no route names.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub writer: Option<FeatureChoice>,
    /// Reads along and keeps memories.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub extractor: Option<FeatureChoice>,
    /// Chooses notes of vaults.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub selector: Option<FeatureChoice>,
    /// Finds entries by meaning.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub embedder: Option<FeatureChoice>,
}

impl Features {
    /// What a feature asks, if that is said.
    pub fn of(&self, feature: Feature) -> Option<&FeatureChoice> {
        let choice = match feature {
            Feature::Writer => &self.writer,
            Feature::Extractor => &self.extractor,
            Feature::Selector => &self.selector,
            Feature::Embedder => &self.embedder,
        };
        choice.as_ref()
    }

    /// Where it is said what a feature asks.
    pub fn of_mut(&mut self, feature: Feature) -> &mut Option<FeatureChoice> {
        match feature {
            Feature::Writer => &mut self.writer,
            Feature::Extractor => &mut self.extractor,
            Feature::Selector => &mut self.selector,
            Feature::Embedder => &mut self.embedder,
        }
    }

    /// Those that are set.
    pub fn all(&self) -> impl Iterator<Item = (Feature, &FeatureChoice)> {
        Feature::ALL.into_iter().filter_map(|feature| Some((feature, self.of(feature)?)))
    }

    /// These, and where they say nothing the others.
    #[must_use]
    pub fn over(&self, others: &Self) -> Self {
        let mut all = self.clone();
        for feature in Feature::ALL {
            if all.of(feature).is_none() {
                *all.of_mut(feature) = others.of(feature).cloned();
            }
        }
        all
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_feature_has_one_name_in_settings_and_in_words() {
        for feature in Feature::ALL {
            let set: Features = serde_json::from_value(json!({feature.name(): "home"})).unwrap();
            let all: Vec<_> = set.all().collect();
            assert_eq!(all, [(feature, &FeatureChoice::Connection("home".into()))]);
            assert_eq!(serde_json::to_value(&set).unwrap(), json!({feature.name(): "home"}));
        }
    }

    #[test]
    fn what_is_not_set_is_the_others() {
        let features = |value| serde_json::from_value::<Features>(value).unwrap();
        let ours = features(json!({"writer": "a", "selector": "a"}));
        let theirs = features(json!({"writer": "b", "embedder": "b"}));
        let expected = features(json!({"writer": "a", "selector": "a", "embedder": "b"}));
        assert_eq!(ours.over(&theirs), expected);
    }
}
