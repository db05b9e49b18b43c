//! Announces what happens to a tenant's data, to watchers of the API and to listeners of the host.

use std::sync::Arc;

use loreloom_core::ids::TenantId;
use loreloom_ports::Clock;

use crate::{
    events::{self, Events},
    figures::Figures,
    notices::{Happened, Notice, Notices},
};

/// Announces events of one tenant. Cloning it is cheap.
#[derive(Clone)]
pub(crate) struct Announcements {
    pub(crate) tenant: TenantId,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) events: Arc<Events>,
    pub(crate) notices: Notices,
    pub(crate) figures: Arc<Figures>,
}

impl Announcements {
    /// Tells watchers of the API.
    pub(crate) fn tell(&self, what: events::ServerEvent) {
        self.events.tell(&self.tenant, what);
    }

    /// Tells watchers and listeners.
    pub(crate) fn notice(&self, what: Happened) {
        if let Some(event) = events::ServerEvent::noticed(&what) {
            self.tell(event);
        }
        let (tenant, at) = (self.tenant.clone(), self.clock.now());
        if let Happened::FailedOpen { path, reason } = &what {
            self.figures.fail_opens.note(&tenant, at, path, reason);
        }
        self.notices.tell(Notice { tenant, at, what });
    }
}
