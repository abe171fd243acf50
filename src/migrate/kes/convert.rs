//! KES objects → stores and `ExternalSecrets`.
//!
//! Objects with an `E_` finding are not written and do not count among the namespaces of a store; all others are.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

use super::backend;
use super::entries::{self, mapping};
use super::finding::{Code, Finding, Findings};
use super::object::{self, Backend, Source, scalar};
use super::options::{Options, Refresh, StoreKind, StoreTarget};
use super::store::{self, Identity};
use super::target;
use crate::api::yaml_tree::{Mapping, Value};

/// What became of one object.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum State {
    /// Written.
    Converted,
    /// Written without some template fields, as the user allowed.
    Partial,
    /// Not written.
    Refused,
    /// KES does not handle it.
    Skipped,
}

/// One KES object and its result.
#[derive(Debug, Clone)]
pub struct Converted {
    /// Namespace.
    pub namespace: String,
    /// Name.
    pub name: String,
    /// What became of it.
    pub state: State,
    /// What there is to say.
    pub findings: Vec<Finding>,
    /// The store it uses.
    pub store: Option<StoreTarget>,
    /// The `ExternalSecret`, when it is written.
    pub manifest: Option<Value>,
    /// Position among the documents given, lists counted with their items.
    pub position: (usize, Option<usize>),
}

/// The result of a conversion.
#[derive(Debug, Clone, Default)]
pub struct Conversion {
    /// Stores, sorted by namespace and name.
    pub stores: Vec<Value>,
    /// Objects in the order they were given.
    pub objects: Vec<Converted>,
}

impl Conversion {
    /// Stores first, then `ExternalSecrets` sorted by namespace and name.
    #[must_use]
    pub fn stream(&self) -> Vec<&Value> {
        let mut objects: Vec<&Converted> = self.objects.iter().filter(|o| o.manifest.is_some()).collect();
        objects.sort_by(|a, b| (&a.namespace, &a.name).cmp(&(&b.namespace, &b.name)));
        self.stores
            .iter()
            .chain(objects.into_iter().filter_map(|o| o.manifest.as_ref()))
            .collect()
    }

    /// 0 all converted, 1 all refused, 3 some refused or converted in part.
    #[must_use]
    pub fn exit_code(&self) -> u8 {
        let count = |s: State| self.objects.iter().filter(|o| o.state == s).count();
        let (good, partial, bad) = (count(State::Converted), count(State::Partial), count(State::Refused));
        match (good + partial, partial + bad) {
            (_, 0) => 0,
            (0, _) => 1,
            _ => 3,
        }
    }
}

/// A KES object among the documents: its position, the position inside a list, the object.
type Found<'a> = (usize, Option<usize>, &'a Value);

/// KES objects, also inside lists of any kind.
#[must_use]
pub fn find(documents: &[Value]) -> Vec<Found<'_>> {
    let mut out = Vec::new();
    for (i, document) in documents.iter().enumerate() {
        if object::is_kes(document) {
            out.push((i, None, document));
        } else if let Some(items) = list_items(document) {
            out.extend(
                items
                    .iter()
                    .enumerate()
                    .filter(|(_, item)| object::is_kes(item))
                    .map(|(j, item)| (i, Some(j), item)),
            );
        }
    }
    out
}

/// `items` of `kind: List` and of typed lists.
#[must_use]
pub fn list_items(document: &Value) -> Option<&Vec<Value>> {
    let kind = object::text(document.get("kind"))?;
    if !kind.ends_with("List") {
        return None;
    }
    document.get("items").and_then(Value::as_sequence)
}

#[derive(Debug)]
struct Draft {
    provider: Mapping,
    namespaces: BTreeSet<String>,
}

/// Converts every KES object among the documents; other kinds are looked at only for namespace annotations.
#[must_use]
pub fn convert(documents: &[Value], options: &Options) -> Conversion {
    let mut drafts = BTreeMap::new();
    let permissions = permissions(documents, options);
    let objects = find(documents)
        .into_iter()
        .map(|(i, j, document)| {
            let mut result = one(document, options, &permissions, &mut drafts);
            result.position = (i, j);
            result
        })
        .collect();
    Conversion {
        stores: stores(&drafts, options),
        objects,
    }
}

fn stores(drafts: &BTreeMap<String, Draft>, options: &Options) -> Vec<Value> {
    let kind = options.settings.store_kind;
    let mut out = Vec::new();
    match kind {
        StoreKind::ClusterSecretStore => {
            out.extend(
                drafts
                    .iter()
                    .map(|(name, d)| store::manifest(name, kind, &d.provider, &d.namespaces, options)),
            );
        }
        StoreKind::SecretStore => {
            let mut pairs: Vec<(&String, &String, &Draft)> = drafts
                .iter()
                .flat_map(|(name, d)| d.namespaces.iter().map(move |ns| (ns, name, d)))
                .collect();
            pairs.sort_by_key(|(ns, name, _)| (*ns, *name));
            out.extend(
                pairs
                    .into_iter()
                    .map(|(ns, name, d)| store::manifest(name, kind, &d.provider, &[ns.clone()].into(), options)),
            );
        }
    }
    out
}

type Permissions = BTreeMap<String, BTreeMap<String, String>>;

/// Annotations of namespaces, from the options and from Namespace objects among the documents.
fn permissions(documents: &[Value], options: &Options) -> Permissions {
    let mut out = options.namespaces.clone();
    let items = documents
        .iter()
        .flat_map(|d| list_items(d).map_or_else(|| std::slice::from_ref(d), Vec::as_slice));
    for document in items
        .filter(|d| object::text(d.get("kind")) == Some("Namespace") && object::text(d.get("apiVersion")) == Some("v1"))
    {
        let (_, name) = object::identity(document, "");
        let annotations = document
            .get("metadata")
            .and_then(|m| m.get("annotations"))
            .and_then(Value::as_mapping);
        for (key, value) in annotations.into_iter().flatten() {
            if let (Some(key), Some(value)) = (scalar(key), scalar(value)) {
                out.entry(name.clone()).or_default().insert(key, value);
            }
        }
    }
    out
}

fn one(
    document: &Value,
    options: &Options,
    permissions: &Permissions,
    drafts: &mut BTreeMap<String, Draft>,
) -> Converted {
    let default = options.settings.namespace.as_deref().unwrap_or("default");
    let (namespace, name) = object::identity(document, default);
    let mut result = Converted {
        namespace,
        name,
        state: State::Refused,
        findings: Vec::new(),
        store: None,
        manifest: None,
        position: (0, None),
    };
    let watched = options.watched();
    if !watched.is_empty() && !watched.contains(&result.namespace) {
        result.state = State::Skipped;
        return result;
    }
    let mut findings = Findings::default();
    if let Some(source) = Source::read(document, default, &mut findings) {
        source_into(&source, options, permissions, drafts, &mut findings, &mut result);
    }
    result.findings = findings.into_vec();
    result
}

fn source_into(
    source: &Source<'_>,
    options: &Options,
    permissions: &Permissions,
    drafts: &mut BTreeMap<String, Draft>,
    findings: &mut Findings,
    result: &mut Converted,
) {
    instance(source, options, findings);
    backend::check_spec_options(source, findings);
    let vault = (source.backend == Backend::Vault).then(|| backend::vault_paths(source, findings));
    let entries = entries::convert(source, vault.as_ref(), &options.settings, findings);
    let target = target::convert(source, &entries, &options.settings, findings);
    let identity = Identity::of(source, vault.as_ref(), options);
    let provider = store::provider(source, &identity, options, findings);
    policy(source, options, permissions, findings);
    let refresh = refresh(options, findings);
    let store = if options.settings.store_map.is_empty() {
        StoreTarget {
            kind: options.settings.store_kind,
            name: identity.store_name(),
        }
    } else if let Some(store) = identity.mapped(options) {
        store.clone()
    } else {
        findings.add(
            Code::Schema,
            source.path("backendType"),
            "the store map names no store for this backend and identity",
        );
        return;
    };
    if findings.refused() {
        return;
    }
    if options.settings.store_map.is_empty() {
        let draft = drafts.entry(store.name.clone()).or_insert_with(|| Draft {
            provider,
            namespaces: BTreeSet::new(),
        });
        draft.namespaces.insert(source.namespace.clone());
    }
    let mut spec = refresh;
    spec.insert(
        "secretStoreRef".into(),
        mapping([
            ("kind", store.kind.as_str().into()),
            ("name", store.name.as_str().into()),
        ])
        .into(),
    );
    spec.insert("target".into(), target.target.into());
    if !entries.data_from.is_empty() {
        spec.insert("dataFrom".into(), Value::Sequence(entries.data_from));
    }
    if !entries.data.is_empty() {
        spec.insert("data".into(), Value::Sequence(entries.data));
    }
    result.state = if target.left_out.is_empty() {
        State::Converted
    } else {
        State::Partial
    };
    result.manifest = Some(
        mapping([
            ("apiVersion", "external-secrets.io/v1".into()),
            ("kind", "ExternalSecret".into()),
            ("metadata", metadata(source, options).into()),
            ("spec", spec.into()),
        ])
        .into(),
    );
    result.store = Some(store);
}

/// KES handles an object when both names are equal or both are missing.
fn instance(source: &Source<'_>, options: &Options, findings: &mut Findings) {
    let (wanted, instance) = (source.field("controllerId").unwrap_or_default(), options.instance());
    let path = source.path("controllerId");
    if options.controller.is_some() && wanted != instance {
        findings.add(
            Code::ControllerIdMismatch,
            path,
            "the object belongs to another KES instance than the one described",
        );
    } else if !wanted.is_empty() {
        findings.add(
            Code::ControllerId,
            path,
            "dropped; the counterpart is spec.controller of a store",
        );
    }
}

/// The start of the spec: how it refreshes.
fn refresh(options: &Options, findings: &mut Findings) -> Mapping {
    match options.refresh() {
        Refresh::Every(interval) => mapping([("refreshInterval", interval.into())]),
        Refresh::OnChange(path) => {
            findings.add(
                Code::PollingDisabled,
                path,
                "KES does not poll; the result refreshes only when the object changes",
            );
            mapping([("refreshPolicy", "OnChange".into())])
        }
        Refresh::Unknown => {
            findings.add(
                Code::RefreshDefault,
                "controller.pollerIntervalMilliseconds",
                "nothing is known about the controller; one hour is a guess",
            );
            mapping([("refreshInterval", "1h".into())])
        }
    }
}

/// Reports namespace annotations that limit what KES may read; ESO has no counterpart on the object.
fn policy(source: &Source<'_>, options: &Options, permissions: &Permissions, findings: &mut Findings) {
    let annotation = |env: &str, default: &str| options.env(env).unwrap_or_else(|| default.to_owned());
    let role = annotation("ROLE_PERMITTED_ANNOTATION", ROLE_ANNOTATION);
    let naming = annotation("NAMING_PERMITTED_ANNOTATION", NAMING_ANNOTATION);
    let uses_role = source.field("roleArn").or_else(|| source.field("vaultRole")).is_some();
    for (annotation, relevant) in [(role, uses_role), (naming, true)] {
        let value = permissions.get(&source.namespace).and_then(|a| a.get(&annotation));
        if let (Some(_), true) = (value, relevant) {
            findings.add(
                Code::NamespacePolicy,
                format!("namespace.metadata.annotations.{annotation}"),
                format!("namespace {} limits what KES reads; ESO needs an admission policy, separate stores or limits of the backend", source.namespace),
            );
        }
    }
    if options
        .controller
        .as_ref()
        .is_some_and(|c| c.env.contains_key("ENFORCE_NAMESPACE_ANNOTATIONS"))
    {
        findings.add(
            Code::NamespacePolicy,
            "controller.env.ENFORCE_NAMESPACE_ANNOTATIONS",
            "KES reads nothing in namespaces without annotations; ESO has no such rule",
        );
    }
}

/// Default name of the annotation that limits roles.
pub const ROLE_ANNOTATION: &str = "iam.amazonaws.com/permitted";
/// Default name of the annotation that limits keys.
pub const NAMING_ANNOTATION: &str = "externalsecrets.kubernetes-client.io/permitted-key-name";

/// Labels and annotations that belong to a tool and not to the object.
fn is_foreign(key: &str) -> bool {
    key == "argocd.argoproj.io/tracking-id"
        || ["kubectl.kubernetes.io/", "meta.helm.sh/", "objectset.rio.cattle.io/"]
            .iter()
            .any(|prefix| key.starts_with(prefix))
}

fn metadata(source: &Source<'_>, options: &Options) -> Mapping {
    let suffix = options.settings.target_suffix.as_deref().unwrap_or_default();
    let mut out = mapping([
        ("name", format!("{}{suffix}", source.name).into()),
        ("namespace", source.namespace.as_str().into()),
    ]);
    for field in ["labels", "annotations"] {
        let mut kept = Mapping::new();
        for (key, value) in source
            .metadata
            .get(field)
            .and_then(Value::as_mapping)
            .into_iter()
            .flatten()
        {
            if let (Some(key), Some(value)) = (scalar(key).filter(|k| !is_foreign(k)), scalar(value)) {
                kept.insert(key.into(), value.into());
            }
        }
        if field == "annotations" && options.settings.sync_wave {
            kept.insert("argocd.argoproj.io/sync-wave".into(), "0".into());
        }
        if !kept.is_empty() {
            out.insert(field.into(), kept.into());
        }
    }
    out
}
