//! First half of making bundles: find them, read their options, say what else must be fetched.
use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value};

use super::chart::ChartRequest;
use super::collect::collect;
use super::decode::Decoder;
use super::dependencies::{self, Origin};
use super::discover::{self, Dir};
use super::error::{FleetError, Notice};
use super::options::{Options, Source};
use super::schema;
use super::tree::{self, Tree};

/// States a `dependsOn` entry may accept, best first (Fleet's ranking).
pub const STATES: [&str; 7] = [
    "Ready",
    "NotReady",
    "Pending",
    "OutOfSync",
    "Modified",
    "WaitApplied",
    "ErrApplied",
];

/// A bundle whose options are read and whose files are known.
#[derive(Debug, Clone, PartialEq)]
pub struct Draft {
    /// Its directory.
    pub(super) dir: Dir,
    /// Options file relative to the directory, as given; empty for `fleet.yaml`.
    pub(super) file: String,
    /// Path of the file the options came from, for messages.
    pub(super) shown: String,
    /// The options file as a map of JSON fields.
    pub(super) fields: Map<String, Value>,
    /// `targets` + `targetCustomizations`, named.
    pub(super) targets: Vec<Map<String, Value>>,
}

/// All bundles of a call, before their content is gathered.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Prepared {
    /// In the order of the arguments.
    pub(super) drafts: Vec<Draft>,
    /// Remarks so far.
    pub(super) notices: Vec<Notice>,
    /// Paths outside the tree that must be looked up (see [`Tree::insert_extra`]) before another try.
    pub missing: BTreeSet<String>,
    /// Charts to download, by resource prefix. Only complete once `missing` is empty.
    pub charts: BTreeMap<String, ChartRequest>,
}

/// Finds the bundles of a call and reads their options files.
///
/// Values files and charts may lie outside the directories of the call: when [`Prepared::missing`] is
/// not empty, look those paths up, insert them into the tree and call again. Then fetch
/// [`Prepared::charts`] and go on with [`build`](super::build::build).
///
/// # Errors
/// Unreadable or wrong options files.
pub fn prepare(tree: &Tree, options: &Options) -> Result<Prepared, FleetError> {
    let mut out = Prepared::default();
    let mut seen = BTreeSet::new();
    for source in &options.sources {
        if source.dir.path.starts_with('/') {
            out.notices.push(Notice::AbsolutePath {
                dir: source.dir.path.clone(),
            });
        }
        for dir in directories(tree, source) {
            if seen.insert((dir.path.clone(), source.file.clone())) {
                draft(tree, options, source, dir, &mut out)?;
            }
        }
    }
    Ok(out)
}

fn directories(tree: &Tree, source: &Source) -> Vec<Dir> {
    if source.scan {
        discover::discover(tree, &source.dir)
    } else {
        vec![source.dir.clone()]
    }
}

fn draft(tree: &Tree, options: &Options, source: &Source, dir: Dir, out: &mut Prepared) -> Result<(), FleetError> {
    let path = if source.file.is_empty() {
        discover::fleet_file(tree, &dir.path)
    } else {
        Some(tree::join(&[&dir.path, &source.file]))
    };
    let shown = path.clone().unwrap_or_else(|| tree::join(&[&dir.path, "fleet.yaml"]));
    let bytes = match &path {
        None => &[][..],
        Some(path) => {
            let Some(bytes) = tree.read(path)? else {
                out.missing.insert(path.clone());
                return Ok(());
            };
            bytes
        }
    };
    let mut decoder = Decoder {
        file: &shown,
        lenient: options.lenient,
        notices: Vec::new(),
    };
    let mut fields = decoder.object(bytes, &schema::FLEET_YAML)?;
    out.notices.append(&mut decoder.notices);
    validate(&shown, &fields)?;
    let mut targets = objects(fields.remove("targets"));
    targets.extend(objects(fields.remove("targetCustomizations")));
    for (at, target) in targets.iter_mut().enumerate() {
        target
            .entry("name")
            .or_insert_with(|| Value::String(format!("target{at:03}")));
    }
    inherit_chart(&fields, &mut targets);
    let draft = Draft {
        dir,
        file: source.file.clone(),
        shown,
        fields,
        targets,
    };
    needs(tree, &draft, out)?;
    missing_dependencies(tree, &draft, out)?;
    out.drafts.push(draft);
    Ok(())
}

fn validate(file: &str, fields: &Map<String, Value>) -> Result<(), FleetError> {
    if fields.get("imageScans") == Some(&Value::Bool(true)) {
        return Err(FleetError::ImageScans { file: file.to_owned() });
    }
    depends_on(file, fields)
}

fn depends_on(file: &str, fields: &Map<String, Value>) -> Result<(), FleetError> {
    for (index, reference) in fields
        .get("dependsOn")
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
        .enumerate()
    {
        let wrong = |problem: String| {
            Err(FleetError::DependsOn {
                file: file.to_owned(),
                index,
                problem,
            })
        };
        if reference.get("name").is_none() && reference.get("selector").is_none() {
            return wrong("must specify either `name` or `selector`".to_owned());
        }
        for state in reference
            .get("acceptedStates")
            .and_then(Value::as_array)
            .into_iter()
            .flatten()
        {
            let state = state.as_str().unwrap_or_default();
            if !STATES.contains(&state) {
                return wrong(format!(
                    "accepts the unknown state `{state}` (known: {})",
                    STATES.join(", ")
                ));
            }
        }
    }
    Ok(())
}

/// A target with a `helm` block takes the chart of the top level where its own is not named.
fn inherit_chart(fields: &Map<String, Value>, targets: &mut [Map<String, Value>]) {
    let Some(Value::Object(helm)) = fields.get("helm") else {
        return;
    };
    for target in targets {
        let Some(Value::Object(own)) = target.get_mut("helm") else {
            continue;
        };
        for key in ["repo", "chart", "version"] {
            if let (None, Some(value)) = (own.get(key), helm.get(key)) {
                own.insert(key.to_owned(), value.clone());
            }
        }
    }
}

/// Values files to read and charts to download for one bundle.
fn needs(tree: &Tree, draft: &Draft, out: &mut Prepared) -> Result<(), FleetError> {
    let top = draft.fields.get("helm").and_then(Value::as_object);
    let of_targets = draft
        .targets
        .iter()
        .filter_map(|target| target.get("helm").and_then(Value::as_object));
    for (helm, is_top) in top
        .into_iter()
        .map(|helm| (helm, true))
        .chain(of_targets.map(|helm| (helm, false)))
    {
        let request = ChartRequest::of(helm);
        if is_top && !request.names_chart() {
            continue;
        }
        for file in values_files(helm) {
            let path = tree::join(&[&draft.dir.path, file]);
            if tree.read(&path)?.is_none() {
                out.missing.insert(path);
            }
        }
        if !request.names_chart() {
            continue;
        }
        if request.chart.starts_with("oci://") {
            out.notices.push(Notice::OciChart {
                file: draft.shown.clone(),
            });
        }
        if request.repo.is_empty() && !request.is_remote() {
            let path = tree::join(&[&draft.dir.path, &request.chart]);
            match tree.exists(&path) {
                Some(true) => continue,
                Some(false) => return Err(FleetError::Missing { path }),
                None => {
                    out.missing.insert(path);
                    continue;
                }
            }
        }
        out.charts.insert(request.prefix(), request);
    }
    Ok(())
}

/// Whether missing dependencies of charts are added: Fleet's default.
pub(super) fn update_dependencies(fields: &Map<String, Value>) -> bool {
    let off = fields.get("helm").and_then(|helm| helm.get("disableDependencyUpdate"));
    off != Some(&Value::Bool(true))
}

/// Charts that local charts depend on and do not hold.
fn missing_dependencies(tree: &Tree, draft: &Draft, out: &mut Prepared) -> Result<(), FleetError> {
    if !update_dependencies(&draft.fields) {
        return Ok(());
    }
    let shipped = collect(tree, &draft.dir.path, &skipped_names(draft))?;
    let charts = shipped
        .into_iter()
        .map(|(name, bytes)| (name, bytes.to_vec()))
        .collect();
    for (dir, dependency) in dependencies::missing_dependencies(&charts) {
        if let Origin::Remote(request) = dependency.origin(&tree::join(&[&draft.dir.path, &dir])) {
            out.charts.insert(request.prefix(), request);
        }
    }
    Ok(())
}

/// Names that only hold options: the fleet file, the options file, values files as written and by
/// their last element.
pub(super) fn skipped_names(draft: &Draft) -> Vec<String> {
    let mut skip = vec!["fleet.yaml".to_owned()];
    if !draft.file.is_empty() {
        skip.push(draft.file.clone());
    }
    let top = draft.fields.get("helm").and_then(Value::as_object);
    let of_targets = draft
        .targets
        .iter()
        .filter_map(|target| target.get("helm").and_then(Value::as_object));
    for helm in top.into_iter().chain(of_targets) {
        for file in values_files(helm) {
            skip.extend([file.to_owned(), tree::base(file).to_owned()]);
        }
    }
    skip
}

/// Names in `valuesFiles`, as written.
pub(super) fn values_files(helm: &Map<String, Value>) -> impl Iterator<Item = &str> {
    helm.get("valuesFiles")
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
}

/// The objects of a list field.
pub(super) fn objects(list: Option<Value>) -> Vec<Map<String, Value>> {
    match list {
        Some(Value::Array(items)) => items
            .into_iter()
            .map(|item| if let Value::Object(map) = item { map } else { Map::new() })
            .collect(),
        _ => Vec::new(),
    }
}
