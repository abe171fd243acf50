//! Second half of making bundles: gather content, merge values, apply the flags.
use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use super::collect::collect;
use super::decode::Decoder;
use super::error::{FleetError, Notice};
use super::options::Options;
use super::prepare::{Draft, Prepared, objects, skipped_names, update_dependencies, values_files};
use super::tree::{self, Tree};
use super::{chart, dependencies, encode, gojson, names, scan, schema, size};

/// API version of Fleet's objects.
pub const API_VERSION: &str = "fleet.cattle.io/v1alpha1";
/// Label that ties a bundle to a commit.
const COMMIT_LABEL: &str = "fleet.cattle.io/commit";

/// The bundles of a call.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Built {
    /// Bundle objects, sorted by name.
    pub bundles: Vec<Value>,
    /// Remarks for the user, in the order they came up.
    pub notices: Vec<Notice>,
}

/// Makes the bundles. `charts` holds the unpacked content of [`Prepared::charts`] by resource prefix.
///
/// # Errors
/// Nothing to ship anywhere, colliding names, missing files, secret material, wrong targets file.
pub fn build(
    prepared: Prepared,
    tree: &Tree,
    charts: &BTreeMap<String, Tree>,
    options: &Options,
) -> Result<Built, FleetError> {
    let mut notices = prepared.notices;
    let targets = targets_file(options, &mut notices)?;
    let cx = Context {
        tree,
        charts,
        options,
        targets,
    };
    let mut made: BTreeMap<String, (String, Value)> = BTreeMap::new();
    for draft in prepared.drafts {
        let dir = draft.dir.path.clone();
        match cx.bundle(draft, &mut notices)? {
            None => notices.push(Notice::NoResources { dir }),
            Some((name, bundle)) => {
                if let Some((first, _)) = made.get(&name) {
                    return Err(FleetError::NameCollision {
                        name,
                        first: first.clone(),
                        second: dir,
                    });
                }
                made.insert(name, (dir, bundle));
            }
        }
    }
    let dirs = || options.sources.iter().map(|source| source.dir.path.clone()).collect();
    match made.len() {
        0 => return Err(FleetError::NothingFound { dirs: dirs() }),
        1 => {}
        count if !options.bundle_name.is_empty() => {
            return Err(FleetError::Usage(format!(
                "--name pins one bundle, but {count} bundles were made"
            )));
        }
        _ => {}
    }
    let bundles = made.into_values().map(|(_, bundle)| bundle).collect();
    Ok(Built { bundles, notices })
}

/// `targets` and `targetRestrictions` of the targets file.
type Targets = (Vec<Value>, Vec<Value>);

fn targets_file(options: &Options, notices: &mut Vec<Notice>) -> Result<Targets, FleetError> {
    let Some(file) = &options.targets_file else {
        return Ok((Vec::new(), Vec::new()));
    };
    let mut decoder = Decoder {
        file: &file.path,
        lenient: options.lenient,
        notices: Vec::new(),
    };
    let mut spec = decoder.object(&file.bytes, &schema::BUNDLE_SPEC)?;
    notices.append(&mut decoder.notices);
    let mut list = |key: &str| objects(spec.remove(key)).into_iter().map(Value::Object).collect();
    Ok((list("targets"), list("targetRestrictions")))
}

struct Context<'a> {
    tree: &'a Tree,
    charts: &'a BTreeMap<String, Tree>,
    options: &'a Options,
    targets: Targets,
}

impl Context<'_> {
    fn bundle(&self, mut draft: Draft, notices: &mut Vec<Notice>) -> Result<Option<(String, Value)>, FleetError> {
        self.merge_values(&mut draft, notices)?;
        let files = self.files(&draft, notices)?;
        if files.is_empty() {
            return Ok(None);
        }
        if !self.options.allow_secret_content {
            scan::check(&draft, &files, notices)?;
        }
        let metadata = self.metadata(&draft);
        let name = metadata["name"].as_str().unwrap_or_default().to_owned();
        let spec = self.spec(draft, &name, notices);
        let plain = assemble(&metadata, &spec, &files, self.options.compress);
        let bytes = size::json_bytes(&plain);
        let bundle = if bytes < size::COMPRESSION_THRESHOLD {
            plain
        } else {
            if !self.options.compress {
                notices.push(Notice::Compressed {
                    bundle: name.clone(),
                    bytes,
                });
            }
            assemble(&metadata, &spec, &files, true)
        };
        notices.extend(size::check(&bundle).into_iter().map(Notice::Size));
        Ok(Some((name, bundle)))
    }

    /// Values files go over `helm.values`: at the top only with a chart, in targets always.
    fn merge_values(&self, draft: &mut Draft, notices: &mut Vec<Notice>) -> Result<(), FleetError> {
        let dir = draft.dir.path.clone();
        if let Some(Value::Object(helm)) = draft.fields.get_mut("helm")
            && chart::ChartRequest::of(helm).names_chart()
        {
            self.merge_files(&dir, helm, notices)?;
        }
        for target in &mut draft.targets {
            if let Some(Value::Object(helm)) = target.get_mut("helm") {
                self.merge_files(&dir, helm, notices)?;
            }
        }
        Ok(())
    }

    fn merge_files(
        &self,
        dir: &str,
        helm: &mut Map<String, Value>,
        notices: &mut Vec<Notice>,
    ) -> Result<(), FleetError> {
        let files: Vec<String> = values_files(helm).map(str::to_owned).collect();
        if files.is_empty() {
            return Ok(());
        }
        let mut merged = match helm.get("values") {
            Some(Value::Object(values)) => values.clone(),
            _ => Map::new(),
        };
        for file in files {
            let path = tree::join(&[dir, &file]);
            let bytes = self
                .tree
                .read(&path)?
                .ok_or_else(|| FleetError::Missing { path: path.clone() })?;
            let mut decoder = Decoder {
                file: &path,
                lenient: true,
                notices: Vec::new(),
            };
            let values = decoder.values_file(bytes)?;
            notices.append(&mut decoder.notices);
            merge(&mut merged, values);
        }
        if !merged.is_empty() {
            helm.insert("values".to_owned(), Value::Object(merged));
        }
        Ok(())
    }

    /// Everything the bundle ships, sorted by name in byte order.
    fn files(&self, draft: &Draft, notices: &mut Vec<Notice>) -> Result<Vec<(String, Vec<u8>)>, FleetError> {
        let skip = skipped_names(draft);
        let mut files: BTreeMap<String, Vec<u8>> = collect(self.tree, &draft.dir.path, &skip)?
            .into_iter()
            .map(|(name, bytes)| (name, bytes.to_vec()))
            .collect();
        for (prefix, request) in chart::requests(draft, self.tree) {
            let tree = self.charts.get(&prefix).ok_or_else(|| FleetError::Chart {
                what: request.to_string(),
                problem: "its content was not fetched".to_owned(),
            })?;
            for (name, bytes) in collect(tree, ".", &skip)? {
                files.insert(tree::join(&[&prefix, &name]), bytes.to_vec());
            }
        }
        if update_dependencies(&draft.fields) {
            dependencies::validate(&draft.dir.path, &files)?;
            let missing = dependencies::add(&draft.dir.path, self.tree, self.charts, &mut files)?;
            notices.extend(
                missing
                    .into_iter()
                    .map(|(chart, dependency)| Notice::MissingDependency { chart, dependency }),
            );
        }
        Ok(files.into_iter().collect())
    }

    fn metadata(&self, draft: &Draft) -> Value {
        let options = self.options;
        let mut labels: Map<String, Value> = Map::new();
        for (key, value) in &options.labels {
            labels.insert(key.clone(), Value::String(value.clone()));
        }
        if !options.commit.is_empty() {
            labels.insert(COMMIT_LABEL.to_owned(), Value::String(options.commit.clone()));
        }
        if let Some(Value::Object(own)) = draft.fields.get("labels") {
            labels.extend(own.clone());
        }
        let mut annotations = match draft.fields.get("annotations") {
            Some(Value::Object(map)) => map.clone(),
            _ => Map::new(),
        };
        for map in [&mut labels, &mut annotations] {
            map.retain(|key, _| !key.starts_with("kubectl.kubernetes.io/"));
        }
        let own_name = draft.fields.get("name").and_then(Value::as_str).map(str::to_owned);
        let derived = || names::bundle_name(&options.name, &draft.dir.id, &draft.file);
        let name = if options.bundle_name.is_empty() {
            own_name.unwrap_or_else(derived)
        } else {
            options.bundle_name.clone()
        };
        let mut metadata = json!({"name": name, "namespace": options.namespace});
        for (key, map) in [("labels", labels), ("annotations", annotations)] {
            if !map.is_empty() {
                metadata[key] = Value::Object(map);
            }
        }
        metadata
    }

    fn spec(&self, draft: Draft, name: &str, notices: &mut Vec<Notice>) -> Map<String, Value> {
        let Draft {
            mut fields, targets, ..
        } = draft;
        for key in METADATA_KEYS {
            fields.remove(key);
        }
        let overridden = fields.remove("overrideTargets");
        let mut targets: Vec<Value> = targets.into_iter().map(Value::Object).collect();
        let mut restrictions: Vec<Value> = objects(fields.remove("targetRestrictions"))
            .into_iter()
            .map(Value::Object)
            .collect();
        if let Some(overridden) = overridden {
            let own: Vec<Value> = objects(Some(overridden)).into_iter().map(Value::Object).collect();
            targets.extend(own.iter().cloned());
            restrictions.extend(own);
        } else {
            let (more, more_restrictions) = &self.targets;
            if !restrictions.is_empty() | !more_restrictions.is_empty() && more_restrictions.len() != more.len() {
                notices.push(Notice::Restrictions {
                    bundle: name.to_owned(),
                    restrictions: restrictions.len() + more_restrictions.len(),
                    targets: more.len(),
                });
            }
            targets.extend(more.iter().cloned());
            restrictions.extend(more_restrictions.iter().cloned());
        }
        if targets.is_empty() {
            notices.push(Notice::DefaultTarget {
                bundle: name.to_owned(),
                namespace: self.options.namespace.clone(),
            });
            targets.push(json!({"name": "default", "clusterGroup": "default"}));
        }
        self.flags(&mut fields, &mut targets);
        fields.insert("targets".to_owned(), Value::Array(targets));
        if !restrictions.is_empty() {
            fields.insert("targetRestrictions".to_owned(), Value::Array(restrictions));
        }
        fields
    }

    /// Flags that overwrite or add to the spec.
    fn flags(&self, spec: &mut Map<String, Value>, targets: &mut [Value]) {
        let options = self.options;
        let text = |value: &str| Value::String(value.to_owned());
        let mut set = |key: &str, value: Value| spec.insert(key.to_owned(), value);
        if !options.service_account.is_empty() {
            set("serviceAccount", text(&options.service_account));
        }
        if !options.target_namespace.is_empty() {
            set("namespace", text(&options.target_namespace));
            for target in targets {
                target["namespace"] = text(&options.target_namespace);
            }
        }
        for (key, on) in [
            ("paused", options.paused),
            ("keepResources", options.keep_resources),
            ("deleteNamespace", options.delete_namespace),
        ] {
            if on {
                set(key, Value::Bool(true));
            }
        }
        if let Some(drift) = options.correct_drift {
            let mut value = json!({"enabled": true});
            for (key, on) in [("force", drift.force), ("keepFailHistory", drift.keep_fail_history)] {
                if on {
                    value[key] = Value::Bool(true);
                }
            }
            set("correctDrift", value);
        }
        if options.sync_generation == 0 {
            spec.remove("forceSyncGeneration");
        } else {
            spec.insert("forceSyncGeneration".to_owned(), json!(options.sync_generation));
        }
        if !options.default_namespace.is_empty() {
            spec.entry("defaultNamespace")
                .or_insert_with(|| text(&options.default_namespace));
        }
        append(
            spec,
            "dependsOn",
            options.depends_on.iter().map(|name| json!({"name": name})),
        );
        if !options.values_from.is_empty()
            && let Value::Object(helm) = spec.entry("helm").or_insert_with(|| json!({}))
        {
            append(
                helm,
                "valuesFrom",
                options.values_from.iter().map(super::options::ValuesFrom::to_json),
            );
        }
    }
}

/// Keys of a fleet file that are no part of the spec.
const METADATA_KEYS: [&str; 14] = [
    "name",
    "labels",
    "annotations",
    "imageScans",
    "resources",
    "generateName",
    "selfLink",
    "uid",
    "resourceVersion",
    "generation",
    "creationTimestamp",
    "deletionTimestamp",
    "deletionGracePeriodSeconds",
    "ownerReferences",
];

fn append(map: &mut Map<String, Value>, key: &str, items: impl Iterator<Item = Value>) {
    let mut items = items.peekable();
    if items.peek().is_some()
        && let Value::Array(list) = map.entry(key).or_insert_with(|| json!([]))
    {
        let known = list.clone();
        list.extend(items.filter(|item| !known.contains(item)));
    }
}

/// Maps merge, everything else of `over` replaces.
pub(super) fn merge(base: &mut Map<String, Value>, over: Map<String, Value>) {
    for (key, value) in over {
        match (base.get_mut(&key), value) {
            (Some(Value::Object(below)), Value::Object(above)) => merge(below, above),
            (_, value) => {
                base.insert(key, value);
            }
        }
    }
}

fn assemble(metadata: &Value, spec: &Map<String, Value>, files: &[(String, Vec<u8>)], compress: bool) -> Value {
    let mut spec = spec.clone();
    let resources = files
        .iter()
        .map(|(name, bytes)| encode::resource(name, bytes, compress))
        .collect();
    spec.insert("resources".to_owned(), Value::Array(resources));
    json!({"apiVersion": API_VERSION, "kind": "Bundle", "metadata": metadata, "spec": spec})
}

/// Name of the Content object and SHA-256 of a bundle's resources.
#[must_use]
pub fn content_id(bundle: &Value) -> (String, String) {
    let resources = bundle
        .pointer("/spec/resources")
        .and_then(Value::as_array)
        .map(Vec::as_slice)
        .unwrap_or_default();
    let sum = gojson::resources_sha256(resources);
    (names::content_name(&sum), sum)
}
