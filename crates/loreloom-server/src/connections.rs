//! The model servers that requests go to, and which request goes where.

use std::{
    collections::HashMap,
    str::Chars,
    sync::{Arc, PoisonError, RwLock},
};

use loreloom_core::{
    cache_placement::Provider, ids::ConnectionId, tokens::TokenCounter, units::Tokens,
};
use loreloom_ports::{Diagnosis, Upstream};

use crate::{
    connection_settings::{ConnectionKind, ConnectionSettings, KeySource, Prices},
    feature_switch::Started,
    own_connections::ConnectionReach,
    questions::Questions,
    routing::{RouteSetting, Routing},
    unopened,
};

/// Chooses what the tokens of a model are counted with.
pub type Counting = Arc<dyn Fn(&str) -> Arc<dyn TokenCounter> + Send + Sync>;

/// Makes what tries out a server that is not configured, or says why it cannot.
pub type Prospecting = Arc<dyn Fn(Prospect) -> Result<Arc<dyn Diagnosis>, String> + Send + Sync>;

/// A server that a caller wants to be tried out. Its address is a stranger's: only what
/// everybody can reach may be asked.
pub struct Prospect {
    /// Its address.
    pub url: String,
    /// Whether it speaks as Ollama does, and not as `OpenAI`.
    pub ollama: bool,
    /// Its key.
    pub key: Option<String>,
    /// The model to ask.
    pub model: Option<String>,
}

/// Opens a connection of the API's own, or says why it cannot. It may take its time: keyrings
/// ask people.
pub type Opening = Arc<
    dyn Fn(&str, &ConnectionSettings, ConnectionReach) -> Result<Connection, String> + Send + Sync,
>;

/// Keeps keys of connections where only the server's owner can read them. It may take its time:
/// keyrings ask people.
pub trait KeyKeeper: Send + Sync {
    /// Keeps a key under a name. Returns its source, or says why it cannot.
    fn keep(&self, name: &str, key: &str) -> Result<KeySource, String>;

    /// Deletes a key that was kept here. Other sources stay as they are.
    fn forget(&self, source: &KeySource) -> Result<(), String>;
}

/// Takes up the key that a front end sent, for work that goes on without it.
pub type Holding = Arc<dyn Fn(&str) + Send + Sync>;

/// A model server with a name.
pub struct Connection {
    /// The name.
    pub name: ConnectionId,
    /// Its address, as it may be shown.
    pub shown: String,
    /// How it is spoken to.
    pub kind: ConnectionKind,
    /// The model of features that name none.
    pub model: Option<String>,
    /// Where its key comes from, in words.
    pub key: String,
    /// Where requests are passed on to.
    pub upstream: Arc<dyn Upstream>,
    /// What tokens are counted with.
    pub counting: Counting,
    /// The context size of its models, where it is configured.
    pub context: Option<Tokens>,
    /// Whether it refuses prompts whose roles do not alternate.
    pub strict_roles: bool,
    /// How its prompt cache works.
    pub cache: Option<Provider>,
    /// What its tokens cost.
    pub prices: Option<Prices>,
    /// How it is tried out.
    pub diagnosis: Arc<dyn Diagnosis>,
    /// Who gets the keys that front ends send; nobody by default.
    pub holding: Option<Holding>,
    /// What Loreloom's own questions are asked through, if it can be asked any.
    pub questions: Option<Arc<dyn Questions>>,
    /// Why it cannot be used. Every request to it returns this.
    pub problem: Option<String>,
}

impl Connection {
    /// What Loreloom's own questions are asked through, or why they cannot be.
    pub(crate) fn questions(&self) -> Result<&dyn Questions, String> {
        match (&self.problem, &self.questions) {
            (None, Some(questions)) => Ok(questions.as_ref()),
            (Some(problem), _) => Err(format!("connection `{}`: {problem}", self.name)),
            (None, None) => Err(format!("connection `{}` only passes requests on", self.name)),
        }
    }
}

/// All connections.
///
/// A set never changes: a request keeps the one it began with, and the next request gets
/// the newer one.
pub struct Connections {
    /// Those of the configuration first.
    all: Vec<Arc<Connection>>,
    /// How many are of the configuration.
    configured: usize,
    routes: Vec<(String, usize)>,
    /// How many routes come from the API; they come first.
    own_routes: usize,
    default: usize,
    sizes: RwLock<Sizes>,
    prospecting: Option<Prospecting>,
    opening: Option<Opening>,
    keeping: Option<Arc<dyn KeyKeeper>>,
    started: Arc<Started>,
}

/// Context sizes that servers reported, by connection and model; `None` while one is asked.
type Sizes = HashMap<(ConnectionId, String), Option<Tokens>>;

/// Connections that cannot be used together.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ConnectionsError {
    /// There is none.
    #[error("there must be a connection, found none")]
    None,
    /// Two have one name.
    #[error("two connections have the name `{name}`")]
    Two {
        /// The name.
        name: ConnectionId,
    },
    /// There is none of that name.
    #[error("there is no connection `{name}`, only {known}")]
    Unknown {
        /// The name.
        name: ConnectionId,
        /// The names there are.
        known: String,
    },
}

/// The connection of one request, and what is counted on it.
#[derive(Clone)]
pub(crate) struct ModelRoute {
    pub(crate) connection: Arc<Connection>,
    pub(crate) model: String,
    pub(crate) counter: Arc<dyn TokenCounter>,
    pub(crate) context: Tokens,
    /// Whether a setting or the model's server stated that size.
    pub(crate) context_stated: bool,
}

impl Connections {
    /// Connections with their routes, the first that fits wins; what no route names goes to
    /// `default`, or to the first.
    pub fn new(
        all: Vec<Connection>,
        routes: Vec<RouteSetting>,
        default: Option<&ConnectionId>,
    ) -> Result<Self, ConnectionsError> {
        let all: Vec<Arc<Connection>> = all.into_iter().map(Arc::new).collect();
        if all.is_empty() {
            return Err(ConnectionsError::None);
        }
        for (at, one) in all.iter().enumerate() {
            if all[..at].iter().any(|other| other.name == one.name) {
                return Err(ConnectionsError::Two { name: one.name.clone() });
            }
        }
        let find = |name: &ConnectionId| place(&all, name);
        let default = default.map(find).transpose()?.unwrap_or_default();
        let routes = routes.into_iter().map(|route| Ok((route.models, find(&route.connection)?)));
        let routes = routes.collect::<Result<_, ConnectionsError>>()?;
        Ok(Self::of_all(all, routes, default))
    }

    fn of_all(all: Vec<Arc<Connection>>, routes: Vec<(String, usize)>, default: usize) -> Self {
        Self {
            configured: all.len(),
            all,
            routes,
            own_routes: 0,
            default,
            sizes: RwLock::default(),
            prospecting: None,
            opening: None,
            keeping: None,
            started: Arc::default(),
        }
    }

    /// One connection for everything.
    pub fn only(connection: Connection) -> Self {
        Self::of_all(vec![Arc::new(connection)], Vec::new(), 0)
    }

    /// The same, and servers that are not configured can be tried out.
    #[must_use]
    pub fn prospecting(self, prospecting: Prospecting) -> Self {
        Self { prospecting: Some(prospecting), ..self }
    }

    /// The same, and connections can be set up while the server runs.
    #[must_use]
    pub fn opening(self, opening: Opening) -> Self {
        Self { opening: Some(opening), ..self }
    }

    /// The same, and keys can be given to connections while the server runs.
    #[must_use]
    pub fn keeping(self, keeping: Arc<dyn KeyKeeper>) -> Self {
        Self { keeping: Some(keeping), ..self }
    }

    /// What keeps keys; `None` if nothing does.
    pub(crate) fn keeper(&self) -> Option<&Arc<dyn KeyKeeper>> {
        self.keeping.as_ref()
    }

    /// The same, with what the server was started with.
    #[must_use]
    pub fn started(self, started: Started) -> Self {
        Self { started: Arc::new(started), ..self }
    }

    /// What opens connections while the server runs; `None` if nothing does.
    pub(crate) fn opener(&self) -> Option<&Opening> {
        self.opening.as_ref()
    }

    /// What the server was started with.
    pub(crate) fn start(&self) -> &Started {
        &self.started
    }

    /// These connections of the configuration with those of the API behind them, and its
    /// routes before their own. What routes name and nobody knows is there too and cannot be
    /// used: a request must not go elsewhere instead. Of connections that are in `before` as
    /// well, context sizes stay known.
    pub(crate) fn with_own(
        &self,
        own: Vec<Arc<Connection>>,
        routing: &Routing,
        before: &Self,
    ) -> Self {
        let mut all = self.all.clone();
        all.extend(own.into_iter().filter(|one| place(&self.all, &one.name).is_err()));
        let mut find = |name: &ConnectionId| {
            place(&all, name).unwrap_or_else(|error| {
                all.push(Arc::new(unopened::missing(name, &error)));
                all.len() - 1
            })
        };
        let own_routes = routing.routes.iter();
        let mut routes: Vec<_> =
            own_routes.map(|route| (route.models.clone(), find(&route.connection))).collect();
        let own_routes = routes.len();
        let writer = routing.features.writer.as_ref();
        let default = writer.map_or(self.default, |writer| find(writer.connection()));
        routes.extend(self.routes.iter().cloned());
        Self {
            configured: self.all.len(),
            sizes: RwLock::new(before.sizes_of(&all)),
            all,
            routes,
            own_routes,
            default,
            prospecting: self.prospecting.clone(),
            opening: self.opening.clone(),
            keeping: self.keeping.clone(),
            started: Arc::clone(&self.started),
        }
    }

    /// The context sizes that are known of these connections, if they are the same ones.
    fn sizes_of(&self, wanted: &[Arc<Connection>]) -> Sizes {
        let is_same = |name: &ConnectionId| {
            let of = |all: &[Arc<Connection>]| place(all, name).ok().map(|at| Arc::clone(&all[at]));
            let (ours, theirs) = (of(&self.all), of(wanted));
            ours.zip(theirs).is_some_and(|(ours, theirs)| Arc::ptr_eq(&ours, &theirs))
        };
        let sizes = self.sizes.read().unwrap_or_else(PoisonError::into_inner);
        let known = sizes.iter().filter(|((name, _), size)| size.is_some() && is_same(name));
        known.map(|(key, size)| (key.clone(), *size)).collect()
    }

    /// Whether a connection is of the configuration, by its place in [`Connections::all`].
    pub(crate) fn is_configured(&self, at: usize) -> bool {
        at < self.configured
    }

    /// Whether the configuration has one of that name.
    pub(crate) fn has_configured(&self, name: &ConnectionId) -> bool {
        self.all[..self.configured].iter().any(|one| one.name == *name)
    }

    /// All routes in their order, each with its connection and whether it is the API's own.
    pub(crate) fn all_routes(&self) -> impl Iterator<Item = (&str, &ConnectionId, bool)> {
        self.routes.iter().enumerate().map(|(at, (models, connection))| {
            (models.as_str(), &self.all[*connection].name, at < self.own_routes)
        })
    }

    /// What tries out a server that is not configured; `None` if nothing can.
    pub(crate) fn prospect(
        &self,
        prospect: Prospect,
    ) -> Option<Result<Arc<dyn Diagnosis>, String>> {
        self.prospecting.as_ref().map(|prospecting| prospecting(prospect))
    }

    /// All of them.
    pub fn all(&self) -> &[Arc<Connection>] {
        &self.all
    }

    /// The one that nothing else was said for.
    pub fn default(&self) -> &Arc<Connection> {
        &self.all[self.default]
    }

    /// The one of that name.
    pub fn named(&self, name: &ConnectionId) -> Result<&Arc<Connection>, ConnectionsError> {
        place(&self.all, name).map(|at| &self.all[at])
    }

    /// Whether a request has to be looked at to know where it goes.
    pub(crate) fn is_choice(&self) -> bool {
        self.all.len() > 1
    }

    /// Where requests for a model go.
    pub fn of(&self, model: Option<&str>) -> &Arc<Connection> {
        let model = model.unwrap_or_default();
        let route = self.routes.iter().find(|(models, _)| fits(models, model));
        &self.all[route.map_or(self.default, |(_, at)| *at)]
    }

    /// The connection that a model's name begins with (`CONNECTION/MODEL`), and the name that
    /// it has there. A name in a route is not such a name.
    pub(crate) fn addressed<'a>(&self, model: &'a str) -> Option<(&Arc<Connection>, &'a str)> {
        let (name, model) = model.split_once('/').filter(|(_, model)| !model.is_empty())?;
        let connection = self.all.iter().find(|one| one.name.as_str() == name)?;
        let whole = format!("{name}/{model}");
        let is_routed = self.routes.iter().any(|(models, _)| fits(models, &whole));
        (self.is_choice() && !is_routed).then_some((connection, model))
    }

    /// Whether a connection that a request names gets the front end's key: only the default
    /// connection, and others that inherit from it.
    pub(crate) fn gets_front_end_keys(&self, connection: &Connection) -> bool {
        connection.holding.is_some() || connection.name == self.default().name
    }

    /// What a model of a connection is called here, so that requests for it go there.
    pub(crate) fn called(&self, connection: &Connection, model: &str) -> String {
        let leads_there =
            self.of(Some(model)).name == connection.name && self.addressed(model).is_none();
        if leads_there { model.to_owned() } else { format!("{}/{model}", connection.name) }
    }

    /// The context size that a server reported for a model; `Err` if it was never asked.
    pub(crate) fn context_size(
        &self,
        connection: &ConnectionId,
        model: &str,
    ) -> Result<Option<Tokens>, ()> {
        let sizes = self.sizes.read().unwrap_or_else(PoisonError::into_inner);
        sizes.get(&(connection.clone(), model.to_owned())).copied().ok_or(())
    }

    /// Keeps what a server reported for a model; `false` if there is no room.
    pub(crate) fn tell(
        &self,
        connection: &ConnectionId,
        model: &str,
        size: Option<Tokens>,
    ) -> bool {
        let mut sizes = self.sizes.write().unwrap_or_else(PoisonError::into_inner);
        let key = (connection.clone(), model.to_owned());
        // Names come from requests: nobody may fill the memory with them.
        let fits = sizes.len() < MOST_SIZES || sizes.contains_key(&key);
        if fits {
            sizes.insert(key, size);
        }
        fits
    }
}

/// Models whose context size is remembered.
const MOST_SIZES: usize = 1000;

fn place(all: &[Arc<Connection>], name: &ConnectionId) -> Result<usize, ConnectionsError> {
    all.iter().position(|one| one.name == *name).ok_or_else(|| {
        let known = all.iter().map(|one| format!("`{}`", one.name)).collect::<Vec<_>>();
        ConnectionsError::Unknown { name: name.clone(), known: known.join(", ") }
    })
}

/// Whether a name fits a pattern with `*` and `?`. Every request asks it of every route.
fn fits(pattern: &str, name: &str) -> bool {
    let (mut wanted, mut left) = (pattern.chars(), name.chars());
    // What follows the last `*`, and the name behind what that one has swallowed.
    let mut star: Option<(Chars<'_>, Chars<'_>)> = None;
    loop {
        let mut rest = left.clone();
        let Some(letter) = rest.next() else { return wanted.all(|one| one == '*') };
        match wanted.next() {
            Some('*') => star = Some((wanted.clone(), left.clone())),
            Some(one) if one == '?' || one == letter => left = rest,
            Some(_) | None => {
                let Some((follows, swallowed)) = &mut star else { return false };
                swallowed.next();
                (wanted, left) = (follows.clone(), swallowed.clone());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_remembered_while_there_is_room_and_kept_up_to_date_after() {
        let name = ConnectionId::from("a");
        let connections = Connections::only(unopened::missing(&name, &ConnectionsError::None));
        for model in 0..MOST_SIZES {
            assert!(connections.tell(&name, &model.to_string(), None));
        }
        assert!(!connections.tell(&name, "one more", None));
        assert_eq!(connections.context_size(&name, "one more"), Err(()));
        assert!(connections.tell(&name, "0", Some(Tokens(8))));
        assert_eq!(connections.context_size(&name, "0"), Ok(Some(Tokens(8))));
    }

    #[test]
    fn names_fit_patterns() {
        for (pattern, name, expected) in [
            ("gpt-4o", "gpt-4o", true),
            ("gpt-4o", "gpt-4o-mini", false),
            ("gpt-*", "gpt-4o-mini", true),
            ("gpt-*", "gpt", false),
            ("*", "", true),
            ("*:8b", "qwen3:8b", true),
            ("*:8b", "qwen3:8b:8", false),
            ("a*b*c", "aXbYbZc", true),
            ("a*b*c", "aXbYbZ", false),
            ("a?c", "abc", true),
            ("a?c", "ac", false),
            ("a?c", "a名c", true),
            ("", "a", false),
            ("***", "abc", true),
            ("*", "abc", true),
            ("*ab", "aab", true),
            ("*名?", "a名名b", true),
            ("a", "", false),
            ("", "", true),
        ] {
            assert_eq!(fits(pattern, name), expected, "{pattern} {name}");
        }
    }
}
