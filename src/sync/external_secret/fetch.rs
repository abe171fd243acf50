//! Provider data of an ExternalSecret: every entry in order, through its store or generator and the pipeline.

use std::collections::HashMap;
use std::time::Duration;

use super::class;
use super::generate;
use super::outcome::Retry;
use super::pass::Pass;
use super::sources;
use crate::api::external_secret::{DataEntry, DataFrom, DeletionPolicy, ExternalSecretSpec, StoreRef};
use crate::provider::{Provider, ProviderError};
use crate::secret::{SecretData, SecretValue, pipeline};
use crate::sync::queue::Key;
use crate::sync::recorder::Severity;
use crate::sync::store;
use crate::sync::store_access;

/// No single answer takes longer.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(120);

/// Why there is no data.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FetchError {
    /// A store has not been looked at yet in this process; the pass is taken up again when it has.
    Parked,
    /// ESO's whole text.
    Failed {
        /// The text.
        message: String,
        /// What comes next.
        retry: Retry,
    },
}

/// The failure of one entry, before the entry's own prefix.
#[derive(Debug)]
pub enum EntryError {
    /// A store has not been looked at yet.
    Parked(Key),
    /// The provider's dedicated not-found error.
    NoSecret(String),
    /// Anything else.
    Other(String, Retry),
}

impl From<ProviderError> for EntryError {
    fn from(error: ProviderError) -> Self {
        match error {
            ProviderError::NoSecret { message } => Self::NoSecret(message),
            ProviderError::Throttled { message, after } => {
                Self::Other(message, after.map_or(Retry::Backoff, Retry::AtLeast))
            }
            other => Self::Other(other.to_string(), Retry::Backoff),
        }
    }
}

impl EntryError {
    fn text(message: impl Into<String>) -> Self {
        Self::Other(message.into(), Retry::Backoff)
    }
}

/// Opened clients of one pass, by store.
#[derive(Default)]
struct Clients(HashMap<Key, Box<dyn Provider>>);

/// True where a generator that can be read names another class.
pub async fn is_foreign_generator(pass: &Pass<'_>, spec: &ExternalSecretSpec) -> bool {
    for reference in class::generators(spec) {
        if generate::is_foreign(&pass.owner(), reference).await {
            return true;
        }
    }
    false
}

/// Everything the spec asks for, merged: `dataFrom` in order, then `data` in order.
///
/// # Errors
/// The first failure; nothing of the rest is asked for.
pub async fn provider_data(pass: &Pass<'_>, spec: &ExternalSecretSpec) -> Result<SecretData, FetchError> {
    let mut generated = generate::Session::default();
    let result = collect(pass, spec, &mut generated).await;
    let kept = match &result {
        Ok(_) => generated.commit(&pass.owner()).await,
        Err(_) => generated.roll_back(&pass.owner()).await,
    };
    match (result, kept) {
        (Ok(_), Err(message)) => Err(FetchError::Failed {
            message,
            retry: Retry::Backoff,
        }),
        (result, _) => result,
    }
}

async fn collect(
    pass: &Pass<'_>,
    spec: &ExternalSecretSpec,
    generated: &mut generate::Session,
) -> Result<SecretData, FetchError> {
    let tolerant = spec.target.deletion_policy != DeletionPolicy::Retain;
    let mut clients = Clients::default();
    let mut all = SecretData::new();
    let mut nothing_before = false;
    for (index, entry) in spec.data_from.iter().enumerate() {
        let missing = || {
            let text = format!("secret does not exist at provider using spec.dataFrom[{index}]");
            pass.event(Severity::Normal, "MissingProviderSecret", text);
            pass.warn(format!(
                "dataFrom[{index}] {} does not exist at the provider; left out",
                named(entry)
            ));
        };
        match one_map(pass, spec, entry, index, &mut clients, generated).await {
            // An entry with nothing but a store repeats the event of a missing one before it (recorded).
            Ok(None) if nothing_before && tolerant => missing(),
            Ok(None) => {}
            Ok(Some(map)) => {
                nothing_before = false;
                if let Some(name) = entry
                    .find
                    .as_ref()
                    .and_then(|f| f.name.as_ref())
                    .filter(|_| map.is_empty())
                {
                    pass.warn(format!("0 remote names matched {}", name.regexp));
                }
                all.extend(map);
            }
            Err((_, EntryError::NoSecret(_))) if tolerant => {
                nothing_before = true;
                missing();
            }
            Err((part, error)) => {
                return Err(whole(pass, error, |e| {
                    format!("error processing spec.dataFrom[{index}].{part}, err: {e}")
                }));
            }
        }
    }
    for (index, entry) in spec.data.iter().enumerate() {
        let key = &entry.remote_ref.key;
        match one_value(pass, spec, entry, &mut clients).await {
            Ok(value) => {
                all.insert(entry.secret_key.clone(), value);
            }
            Err(EntryError::NoSecret(_)) if tolerant => {
                let text = format!("secret does not exist at provider using spec.dataFrom[{index}] (key={key})");
                pass.event(Severity::Normal, "MissingProviderSecret", text);
                pass.warn(format!(
                    "{key:?} does not exist at the provider; {} is left out",
                    entry.secret_key
                ));
            }
            Err(error) => {
                return Err(whole(pass, error, |e| {
                    format!("error processing spec.data[{index}] (key: {key}), err: {e}")
                }));
            }
        }
    }
    Ok(all)
}

/// What an entry asks for, for people.
fn named(entry: &DataFrom) -> String {
    let pattern = entry
        .find
        .as_ref()
        .and_then(|f| f.name.as_ref())
        .map(|n| n.regexp.as_str());
    let key = entry.extract.as_ref().map(|r| r.key.as_str());
    format!("{:?}", pattern.or(key).unwrap_or_default())
}

fn whole(pass: &Pass<'_>, error: EntryError, wrap: impl Fn(String) -> String) -> FetchError {
    match error {
        EntryError::Parked(store) if pass.cx.memory.park(&store, pass.key) => FetchError::Parked,
        EntryError::Parked(_) => FetchError::Failed {
            message: wrap("the store changed".to_owned()),
            retry: Retry::Backoff,
        },
        EntryError::NoSecret(text) => FetchError::Failed {
            message: wrap(text),
            retry: Retry::Backoff,
        },
        EntryError::Other(text, retry) => FetchError::Failed {
            message: wrap(text),
            retry,
        },
    }
}

type MapResult = Result<Option<SecretData>, (&'static str, EntryError)>;

async fn one_map(
    pass: &Pass<'_>,
    spec: &ExternalSecretSpec,
    entry: &DataFrom,
    index: usize,
    clients: &mut Clients,
    generated: &mut generate::Session,
) -> MapResult {
    let source = entry.source_ref.as_ref();
    let own = source.and_then(|s| s.store_ref.as_ref());
    if let Some(find) = &entry.find {
        let ask = async {
            let client = client(pass, spec, own, clients).await?;
            let found = bounded(client.find(find))
                .await
                .map_err(|e| e.wrap("error getting all secrets"))?;
            pipeline::find(found, find, &entry.rewrite, &mut sources::transform).map_err(EntryError::text)
        };
        generated.supersede(index);
        return ask.await.map(Some).map_err(|e| ("find", e));
    }
    if let Some(reference) = &entry.extract {
        let ask = async {
            let client = client(pass, spec, own, clients).await?;
            let found = bounded(client.get_map(reference)).await?;
            pipeline::extract(found, reference, &entry.rewrite, &mut sources::transform).map_err(EntryError::text)
        };
        generated.supersede(index);
        return ask.await.map(Some).map_err(|e| ("extract", e));
    }
    let Some(reference) = source.and_then(|s| s.generator_ref.as_ref()) else {
        return Ok(None);
    };
    let made = generated.generate(&pass.owner(), reference, index).await;
    let part = "sourceRef.generatorRef";
    let made = made.map_err(|e| (part, e))?;
    let made =
        pipeline::generated(made, &entry.rewrite, &mut sources::transform).map_err(|e| (part, EntryError::text(e)))?;
    Ok(Some(made))
}

async fn one_value(
    pass: &Pass<'_>,
    spec: &ExternalSecretSpec,
    entry: &DataEntry,
    clients: &mut Clients,
) -> Result<SecretValue, EntryError> {
    // A source without a store (a generator, under `data`) is read as a store without a name.
    let empty = StoreRef::default();
    let own = entry
        .source_ref
        .as_ref()
        .map(|s| s.store_ref.as_ref().unwrap_or(&empty));
    let client = client(pass, spec, own, clients).await?;
    let value = bounded(client.get(&entry.remote_ref)).await?;
    pipeline::value(value, &entry.secret_key, &entry.remote_ref).map_err(EntryError::text)
}

async fn bounded<T>(ask: impl Future<Output = Result<T, ProviderError>>) -> Result<T, ProviderError> {
    tokio::time::timeout(ANSWER_TIMEOUT, ask).await.unwrap_or_else(|_| {
        Err(ProviderError::Transport {
            message: "the store did not answer in 120 seconds".to_owned(),
        })
    })
}

async fn client<'c>(
    pass: &Pass<'_>,
    spec: &ExternalSecretSpec,
    own: Option<&StoreRef>,
    clients: &'c mut Clients,
) -> Result<&'c dyn Provider, EntryError> {
    let reference = own.unwrap_or(&spec.secret_store_ref);
    let namespace = pass.object.namespace();
    let key = class::store_key(reference, namespace);
    if !clients.0.contains_key(&key) {
        let store = store_access::usable(pass.cx, reference, namespace).await?;
        let opened = store::open(pass.cx, &store, namespace).await?;
        clients.0.insert(key.clone(), opened);
    }
    clients
        .0
        .get(&key)
        .map(AsRef::as_ref)
        .ok_or_else(|| EntryError::text("the store is not open"))
}
