//! The document of the API, made from the handlers, with what layers do for all of them.
//!
//! What the standard demands of every operation is filled in here, not at a hundred handlers:
//! an id that no other operation has, a description of each response, and the ways to send a key.

use utoipa::{
    OpenApi,
    openapi::{
        ContentBuilder, KnownFormat, ObjectBuilder, Ref, RefOr, Required, ResponseBuilder, Schema,
        SchemaFormat, Type,
        path::{Operation, Parameter, ParameterBuilder, ParameterIn, PathItem},
        security::{
            ApiKey, ApiKeyValue, Http, HttpAuthScheme, SecurityRequirement, SecurityScheme,
        },
    },
};

use super::{ROOT, problem::ProblemBody};

#[derive(OpenApi)]
#[openapi(
    info(
        title = "Loreloom",
        description = "Lore and memory for long stories: books, chats, turns and why each was \
                       decided as it was. Lists that grow come in pages (`cursor`, `limit`); \
                       writes answer with an `undo`; `ETag` and `If-Match` guard against lost \
                       updates; `Idempotency-Key` makes a repeated POST safe; refused calls are \
                       RFC 9457 problems.",
        license(name = "MIT OR Apache-2.0")
    ),
    servers((url = "/api/v1")),
    components(schemas(ProblemBody)),
    tags(
        (name = "characters", description = "Characters, personas and groups"),
        (name = "books", description = "Lorebooks and what they are attached to"),
        (name = "entries", description = "Entries of all books"),
        (name = "chats", description = "Stories: paths, branches, messages"),
        (name = "turns", description = "What each turn decided, and why"),
        (name = "weave", description = "Deciding a turn, for front ends that build their own prompt"),
        (name = "replay", description = "Stories played again with other lore"),
        (name = "memory", description = "What stories remember"),
        (name = "jobs", description = "Work beside the stories"),
        (name = "settings", description = "What can be changed while the server runs"),
        (name = "system", description = "Health, events, the API itself"),
    )
)]
struct Base;

/// The document of the API.
pub fn document() -> utoipa::openapi::OpenApi {
    let mut document = Base::openapi();
    document.merge(super::all().into_document());
    debug_assert_eq!(ROOT, "/api/v1");
    secure(&mut document);
    name_nested(&mut document);
    for (path, item) in &mut document.paths.paths {
        for (method, operation) in operations(item) {
            operation.operation_id = Some(id_of(method, path));
            describe(method, operation);
            say_binary(operation);
        }
        if let Some(get) = item.get.as_mut().filter(|get| answers_json(get)) {
            take(get, if_none_match());
            get.responses.responses.insert("304".to_owned(), known());
        }
        if let Some(post) = &mut item.post {
            take(post, idempotency_key());
        }
        for (_, operation) in operations(item) {
            operation.responses.responses.insert("4XX".to_owned(), refused("The call is refused"));
            operation.responses.responses.insert("5XX".to_owned(), refused("The server failed"));
        }
    }
    document
}

/// Whether an operation answers with JSON: the others are streams and texts without a version.
fn answers_json(operation: &Operation) -> bool {
    let Some(RefOr::T(answer)) = operation.responses.responses.get("200") else { return false };
    answer.content.contains_key("application/json")
}

fn take(operation: &mut Operation, header: Parameter) {
    operation.parameters.get_or_insert_default().push(RefOr::T(header));
}

fn if_none_match() -> Parameter {
    let description = "The version the caller has: answered with 304 if it still is so";
    header("If-None-Match", description, ObjectBuilder::new())
}

fn known() -> RefOr<utoipa::openapi::Response> {
    RefOr::T(ResponseBuilder::new().description("The caller has this version").build())
}

fn idempotency_key() -> Parameter {
    let description = "Names the call, so that its repetition is not carried out again";
    let text = ObjectBuilder::new().min_length(Some(1)).max_length(Some(200));
    header("Idempotency-Key", description, text)
}

fn header(name: &str, description: &str, text: ObjectBuilder) -> Parameter {
    ParameterBuilder::new()
        .name(name)
        .parameter_in(ParameterIn::Header)
        .required(Required::False)
        .description(Some(description))
        .schema(Some(text.schema_type(Type::String).build()))
        .build()
}

fn operations(item: &mut PathItem) -> impl Iterator<Item = (&'static str, &mut Operation)> {
    let PathItem { get, put, post, delete, patch, .. } = item;
    ["get", "put", "post", "delete", "patch"]
        .into_iter()
        .zip([get, put, post, delete, patch])
        .filter_map(|(method, operation)| Some((method, operation.as_mut()?)))
}

/// An id made from method and path, because those are unique and names of handlers are not:
/// `GET /chats/{chat}/turns` is `get_chats_chat_turns`.
fn id_of(method: &str, path: &str) -> String {
    let words = path.split(|letter: char| !letter.is_ascii_alphanumeric());
    let words = words.filter(|word| !word.is_empty());
    std::iter::once(method).chain(words).collect::<Vec<_>>().join("_")
}

/// Describes the responses whose handlers do not. What a GET answers with is what it is.
fn describe(method: &str, operation: &mut Operation) {
    let summary = operation.summary.as_deref().filter(|_| method == "get");
    let summary = summary.map(|summary| summary.trim_end_matches('.').to_owned());
    for (status, response) in &mut operation.responses.responses {
        let RefOr::T(response) = response else { continue };
        if response.description.is_empty() {
            let usual = match status.as_str() {
                "201" => "It is created",
                "202" => "Accepted: the work runs in the background",
                _ => "The result",
            };
            response.description = summary.clone().unwrap_or_else(|| usual.to_owned());
        }
    }
}

/// A body of bytes is a file. Its type in Rust would make clients send a list of numbers.
fn say_binary(operation: &mut Operation) {
    let Some(RefOr::T(body)) = &mut operation.request_body else { return };
    if let Some(RefOr::T(content)) = body.content.get_mut("application/octet-stream") {
        let binary = SchemaFormat::KnownFormat(KnownFormat::Binary);
        let file = ObjectBuilder::new().schema_type(Type::String).format(Some(binary));
        content.schema = Some(file.build().into());
    }
}

/// Moves objects inside the variants of a type to the named schemas. Generators of clients give
/// each inline object a name of its own, and stumble if a variant is used in two places.
fn name_nested(document: &mut utoipa::openapi::OpenApi) {
    let Some(components) = &mut document.components else { return };
    let mut moved = Vec::new();
    for (name, schema) in &mut components.schemas {
        let RefOr::T(Schema::OneOf(variants)) = schema else { continue };
        for variant in &mut variants.items {
            let RefOr::T(Schema::Object(variant)) = variant else { continue };
            for (property, inner) in &mut variant.properties {
                if matches!(inner, RefOr::T(Schema::Object(inner)) if !inner.properties.is_empty())
                {
                    let own = format!("{name}_{property}");
                    let named = RefOr::Ref(Ref::from_schema_name(&own));
                    moved.push((own, std::mem::replace(inner, named)));
                }
            }
        }
    }
    components.schemas.extend(moved);
}

/// The ways to send a key, and that a server may need none.
fn secure(document: &mut utoipa::openapi::OpenApi) {
    let header = |name: &str| {
        let value = ApiKeyValue::with_description(name, "A key of this server");
        SecurityScheme::ApiKey(ApiKey::Header(value))
    };
    let schemes = [
        ("bearer", SecurityScheme::Http(Http::new(HttpAuthScheme::Bearer))),
        ("loreloom_key", header("X-Loreloom-Key")),
        ("api_key", header("X-Api-Key")),
    ];
    let mut ways = vec![SecurityRequirement::default()];
    for (name, scheme) in schemes {
        document.components.get_or_insert_default().add_security_scheme(name, scheme);
        ways.push(SecurityRequirement::new(name, [""; 0]));
    }
    document.security = Some(ways);
}

fn refused(description: &str) -> RefOr<utoipa::openapi::Response> {
    let schema = Ref::from_schema_name("Problem");
    let content = ContentBuilder::new().schema(Some(schema)).build();
    let response = ResponseBuilder::new()
        .description(description)
        .content("application/problem+json", content)
        .build();
    RefOr::T(response)
}
