//! Groups: several characters that play together.

use axum::{
    extract::State,
    response::{IntoResponse as _, Response},
};
use http::StatusCode;
use serde::{Deserialize, Serialize};

use super::{
    caller::Caller,
    caller_cast::{CallerCast, Removed, ShownDocument},
    editing::Wrote,
    extract::{Json, Path},
    problem::Problem,
    routes::routes,
    tags::{IfMatch, Tagged},
};
use crate::{
    app::App,
    cast::{CastDocuments, Kept, KeptCharacter, KeptGroup, TurnOrder},
};

routes! {
    GET "/groups" => list,
    POST "/groups" => create,
    PATCH "/groups/{group}" versioned => change,
    DELETE "/groups/{group}" versioned => remove,
}

/// A group.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub(super) struct GroupView {
    /// Its id.
    id: String,
    /// The revision that last changed it.
    revision: u64,
    /// The name. Books that are attached to a group go by it.
    name: String,
    /// The ids of its characters.
    members: Vec<String>,
    /// Members who do not speak unless they are chosen.
    muted: Vec<String>,
    /// Who speaks next.
    order: TurnOrder,
}

impl ShownDocument for KeptGroup {
    type View = GroupView;

    fn name(&self) -> &str {
        &self.name
    }

    fn view(Kept { id, revision, value }: Kept<Self>) -> GroupView {
        let KeptGroup { name, members, muted, order } = value;
        GroupView { id, revision, name, members, muted, order }
    }
}

/// All groups.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
struct GroupsView {
    /// The groups, by name.
    items: Vec<GroupView>,
}

/// All groups, by name.
#[cfg_attr(feature = "schema", utoipa::path(get, path = "/groups", tag = "characters", responses((status = 200, body = GroupsView))))]
async fn list(State(app): State<App>, caller: Caller) -> Result<Json<GroupsView>, Problem> {
    let items = CallerCast::of(&app, &caller).by_name::<KeptGroup>().await?;
    Ok(Json(GroupsView { items }))
}

/// A group, or changes of one. What is not given stays.
#[derive(Debug, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
struct GroupBody {
    /// The id of a new one; made of its name without it.
    #[cfg_attr(feature = "schema", schema(pattern = "^[A-Za-z0-9_.-]{1,120}$"))]
    id: Option<String>,
    /// The name.
    name: Option<String>,
    /// The ids of its characters.
    members: Option<Vec<String>>,
    /// Members who do not speak unless they are chosen.
    muted: Option<Vec<String>>,
    /// Who speaks next.
    order: Option<TurnOrder>,
}

impl GroupBody {
    async fn apply(
        self,
        documents: &CastDocuments<'_>,
        group: &mut KeptGroup,
    ) -> Result<(), Problem> {
        let members = self.members.unwrap_or_else(|| group.members.clone());
        let (mut there, mut gone) = (Vec::new(), Vec::new());
        for id in members {
            if documents.find::<KeptCharacter>(&id).await?.is_some() {
                there.push(id);
            } else if group.members.contains(&id) {
                // A member that was removed since is left out.
                gone.push(id);
            } else {
                let rule = "must name characters that are there";
                return Err(Problem::value("members", rule, id));
            }
        }
        group.members = there;
        group.name = self.name.unwrap_or_else(|| std::mem::take(&mut group.name));
        group.muted = self.muted.unwrap_or_else(|| std::mem::take(&mut group.muted));
        group.muted.retain(|id| !gone.contains(id));
        group.order = self.order.unwrap_or(group.order);
        if group.name.trim().is_empty() {
            return Err(Problem::value("name", "must not be empty", group.name.as_str()));
        }
        let stranger = group.muted.iter().find(|id| !group.members.contains(id));
        if let Some(stranger) = stranger {
            return Err(Problem::value("muted", "must be members", stranger.as_str()));
        }
        Ok(())
    }
}

/// Makes a group.
#[cfg_attr(feature = "schema", utoipa::path(
    post, path = "/groups", tag = "characters", request_body = GroupBody,
    responses((status = 201, body = Wrote<GroupView>))
))]
async fn create(
    State(app): State<App>,
    caller: Caller,
    Json(mut new): Json<GroupBody>,
) -> Result<Response, Problem> {
    let id = new.id.take();
    let mut group = KeptGroup::default();
    let edit = CallerCast::of(&app, &caller).edit().await?;
    new.apply(&edit.cast.documents(), &mut group).await?;
    let id = edit.cast.new_id::<KeptGroup>((id, &group.name)).await?;
    let wrote = edit.put(&id, &group, Vec::new()).await?;
    Ok((StatusCode::CREATED, wrote).into_response())
}

/// Changes a group.
#[cfg_attr(feature = "schema", utoipa::path(
    patch, path = "/groups/{group}", tag = "characters",
    params(
        ("group" = String, Path, description = "The group's id"),
        ("if-match" = Option<String>, Header, description = "The version the caller has seen")
    ),
    request_body = GroupBody,
    responses((status = 200, body = Wrote<GroupView>))
))]
async fn change(
    State(app): State<App>,
    caller: Caller,
    Path(group): Path<String>,
    seen: IfMatch,
    Json(patch): Json<GroupBody>,
) -> Result<Tagged<Wrote<GroupView>>, Problem> {
    let edit = CallerCast::of(&app, &caller).edit().await?;
    let mut kept: Kept<KeptGroup> = edit.find_seen(&group, &seen).await?;
    if let Some(id) = patch.id {
        return Err(Problem::value("id", "cannot be changed", id));
    }
    patch.apply(&edit.cast.documents(), &mut kept.value).await?;
    edit.put(&group, &kept.value, Vec::new()).await
}

/// Removes a group. Its characters stay.
#[cfg_attr(feature = "schema", utoipa::path(
    delete, path = "/groups/{group}", tag = "characters",
    params(
        ("group" = String, Path, description = "The group's id"),
        ("if-match" = Option<String>, Header, description = "The version the caller has seen")
    ),
    responses((status = 200, body = Wrote<Removed>))
))]
async fn remove(
    State(app): State<App>,
    caller: Caller,
    Path(group): Path<String>,
    seen: IfMatch,
) -> Result<Json<Wrote<Removed>>, Problem> {
    CallerCast::of(&app, &caller).edit().await?.remove::<KeptGroup>(group, &seen).await
}
