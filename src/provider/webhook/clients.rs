//! HTTP clients kept between reconciles, one per store or generator and TLS setting.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use crate::provider::http::{self, HttpSettings, Proxies};

/// What makes two uses share a client: the same store, CA, way of logging in and time limit.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct ClientKey {
    /// Kind, namespace and name of the store or generator.
    pub owner: (String, String, String),
    /// CA in PEM.
    pub ca: Option<Vec<u8>>,
    /// True if connections are authenticated: such a client is never shared.
    pub ntlm: bool,
    /// Upper bound of a request.
    pub timeout: Duration,
}

/// Clients by key. Cheap to clone; clones share them.
#[derive(Clone, Default)]
pub struct Clients(Arc<Mutex<HashMap<ClientKey, (reqwest::Client, Instant)>>>);

impl Clients {
    /// The most clients kept; the one used longest ago goes first.
    const MOST: usize = 128;
    /// A client nobody used for so long is dropped.
    const IDLE: Duration = Duration::from_secs(900);

    /// The client for `key`; the error is Go's text for settings that cannot work.
    pub fn get(&self, key: ClientKey) -> Result<reqwest::Client, String> {
        if key.ntlm {
            return build(&key);
        }
        let mut clients = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let now = Instant::now();
        if let Some((client, used)) = clients.get_mut(&key) {
            *used = now;
            return Ok(client.clone());
        }
        clients.retain(|_, (_, used)| now.duration_since(*used) < Self::IDLE);
        while clients.len() >= Self::MOST {
            let oldest = clients
                .iter()
                .min_by_key(|(_, (_, used))| *used)
                .map(|(key, _)| key.clone());
            let Some(oldest) = oldest else { break };
            clients.remove(&oldest);
        }
        let client = build(&key)?;
        clients.insert(key, (client.clone(), now));
        Ok(client)
    }
}

/// With a CA ESO uses a bare transport: no proxy, HTTP/1.1. With NTLM too; that one also forgets the CA in ESO, here it
/// keeps it.
fn build(key: &ClientKey) -> Result<reqwest::Client, String> {
    let plain = key.ca.is_none() && !key.ntlm;
    http::client(&HttpSettings {
        ca: key.ca.as_deref(),
        proxies: if plain { Proxies::Environment } else { Proxies::Never },
        http2: plain,
        timeout: key.timeout,
        single_connection: key.ntlm,
    })
}
