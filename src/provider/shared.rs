//! What providers keep between two openings of a store: connections and, for the provider `fake`, what was pushed.
//!
//! One [`Shared`] hangs on the credentials of one cluster and goes with them.

use super::fake::Tables;
use super::kubernetes::connection::Connections;
use super::kubernetes::sources::SourceWatches;
use super::webhook::Clients;

/// State that outlives a reconcile. Bounded; never shared between identities.
#[derive(Default)]
pub(crate) struct Shared {
    /// Connections of the provider `kubernetes`.
    pub connections: Connections,
    /// Watches of the provider `kubernetes`.
    pub sources: SourceWatches,
    /// HTTP clients of the provider `webhook`.
    pub webhook_clients: Clients,
    /// Entries of the provider `fake`.
    pub fake: Tables,
}
