//! Routes of the API: which handler answers which method and path.
//!
//! Each resource lists its routes once, with `routes!`. What a handler says about itself is made
//! only with the feature `schema`; a test compares both. Every handler becomes a function of one
//! type, because the compiler makes a copy of axum's routing for every type of handler.

use std::pin::Pin;

use axum::{
    Router,
    extract::Request,
    handler::Handler,
    response::Response,
    routing::{MethodFilter, on},
};
use http::Method;

use super::tags::Unversioned;
use crate::app::App;

/// An answer that is being made.
type Answering = Pin<Box<dyn Future<Output = Response> + Send>>;

/// A handler of any type.
type AnyHandler = fn(Request, App) -> Answering;

/// A handler as axum knows it.
#[derive(Clone, Copy)]
struct Erased(AnyHandler);

impl Handler<(), App> for Erased {
    type Future = Answering;

    fn call(self, request: Request, app: App) -> Answering {
        (self.0)(request, app)
    }
}

/// Whether a handler compares the version that a caller has seen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SeenVersion {
    Compared,
    Refused,
}

/// One operation.
struct Route {
    method: Method,
    path: &'static str,
    seen: SeenVersion,
}

/// Routes, and what they are.
#[derive(Default)]
pub(super) struct Routes {
    router: Router<App>,
    list: Vec<Route>,
    #[cfg(feature = "schema")]
    described: utoipa_axum::router::OpenApiRouter<App>,
}

impl Routes {
    pub(super) fn add(
        &mut self,
        method: Method,
        path: &'static str,
        seen: SeenVersion,
        handler: AnyHandler,
    ) {
        // A method that axum does not know has no route; the test of the document finds it.
        if let Ok(filter) = MethodFilter::try_from(method.clone()) {
            self.router = std::mem::take(&mut self.router).route(path, on(filter, Erased(handler)));
            self.list.push(Route { method, path, seen });
        }
    }

    /// Adds what a handler says about itself.
    #[cfg(feature = "schema")]
    pub(super) fn describe(&mut self, handler: utoipa_axum::router::UtoipaMethodRouter<App>) {
        self.described = std::mem::take(&mut self.described).routes(handler);
    }

    pub(super) fn merge(mut self, mut other: Self) -> Self {
        self.list.append(&mut other.list);
        self.router = self.router.merge(other.router);
        #[cfg(feature = "schema")]
        {
            self.described = self.described.merge(other.described);
        }
        self
    }

    /// The writes that compare no version.
    pub(super) fn unversioned(&self) -> Unversioned {
        let is_write = |route: &&Route| {
            [Method::PUT, Method::POST, Method::DELETE, Method::PATCH].contains(&route.method)
        };
        let heedless = self.list.iter().filter(is_write);
        let heedless = heedless.filter(|route| route.seen == SeenVersion::Refused);
        heedless.map(|route| (route.method.clone(), route.path)).collect()
    }

    pub(super) fn into_router(self) -> Router<App> {
        self.router
    }

    /// What the handlers say about themselves.
    #[cfg(feature = "schema")]
    pub(super) fn into_document(self) -> utoipa::openapi::OpenApi {
        self.described.into_openapi()
    }
}

/// The routes of a resource: `GET "/path" => handler`. After the path of an operation that
/// compares versions is `versioned`.
macro_rules! routes {
    ($($method:ident $path:literal $($versioned:ident)? => $handler:ident),+ $(,)?) => {
        pub(super) fn routes() -> $crate::api::routes::Routes {
            let mut routes = $crate::api::routes::Routes::default();
            $(
                routes.add(
                    http::Method::$method,
                    $path,
                    $crate::api::routes::routes!(@seen $($versioned)?),
                    |request, app| axum::handler::Handler::call($handler, request, app),
                );
                #[cfg(feature = "schema")]
                routes.describe(utoipa_axum::routes!($handler));
            )+
            routes
        }
    };
    (@seen versioned) => { $crate::api::routes::SeenVersion::Compared };
    (@seen) => { $crate::api::routes::SeenVersion::Refused };
}
pub(super) use routes;

#[cfg(all(test, feature = "schema"))]
mod tests {
    use super::*;

    #[test]
    fn the_document_has_each_route_and_says_which_compare_versions() {
        let routes = super::super::all();
        let mut served: Vec<(String, String, bool)> = routes
            .list
            .iter()
            .map(|route| {
                let method = route.method.as_str().to_lowercase();
                (route.path.to_owned(), method, route.seen == SeenVersion::Compared)
            })
            .collect();
        let document = serde_json::to_value(routes.into_document()).unwrap();
        let mut described = Vec::new();
        for (path, item) in document["paths"].as_object().unwrap() {
            for (method, operation) in item.as_object().unwrap() {
                let parameters = operation["parameters"].as_array();
                let is_versioned = parameters
                    .into_iter()
                    .flatten()
                    .any(|one| one["name"].as_str().unwrap().eq_ignore_ascii_case("if-match"));
                described.push((path.clone(), method.clone(), is_versioned));
            }
        }
        served.sort();
        described.sort();
        assert_eq!(served, described);
    }
}
