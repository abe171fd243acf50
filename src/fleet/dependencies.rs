//! Charts inside a bundle: whether Helm would load them, and dependencies they miss.
use std::collections::BTreeMap;

use serde_json::Value;

use super::chart::{ChartRequest, scalar};
use super::collect::collect;
use super::error::FleetError;
use super::tree::{self, Tree};
use super::{version, yaml11};

/// Refuses charts that Helm would not load: the original loads every chart to look at its
/// dependencies, and stops here too.
pub(super) fn validate(root: &str, files: &BTreeMap<String, Vec<u8>>) -> Result<(), FleetError> {
    for (name, bytes) in files.iter().filter(|(name, _)| tree::base(name) == "Chart.yaml") {
        let wrong = |problem: String| FleetError::ChartFile {
            path: tree::join(&[root, name]),
            problem,
        };
        let chart: Value = yaml11::value(bytes).map_err(|error| wrong(format!("not readable: {error}")))?;
        for key in ["apiVersion", "name", "version"] {
            if scalar(chart.get(key)).is_empty() {
                return Err(wrong(format!("{key} is required")));
            }
        }
        let version = scalar(chart.get("version"));
        if version::Version::parse(&version).is_none() {
            return Err(wrong(format!("version {version} is no semantic version")));
        }
    }
    Ok(())
}

/// A dependency of a chart.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Dependency {
    /// Name of the chart.
    pub name: String,
    /// Version or range.
    pub version: String,
    /// Repository address.
    pub repository: String,
}

/// Dependencies named by charts among `files` that are not in their `charts/` folder, with the chart's
/// directory.
#[must_use]
pub fn missing_dependencies(files: &BTreeMap<String, Vec<u8>>) -> Vec<(String, Dependency)> {
    let mut out = Vec::new();
    for (path, bytes) in files.iter().filter(|(path, _)| tree::base(path) == "Chart.yaml") {
        let dir = path.rfind('/').map_or("", |at| &path[..at]);
        let Ok(chart) = yaml11::value(bytes) else { continue };
        for wanted in chart
            .get("dependencies")
            .and_then(Value::as_array)
            .into_iter()
            .flatten()
        {
            let dependency = Dependency {
                name: scalar(wanted.get("name")),
                version: scalar(wanted.get("version")),
                repository: scalar(wanted.get("repository")),
            };
            let folder = tree::join(&[dir, "charts", &dependency.name, "Chart.yaml"]);
            let archive = tree::join(&[dir, "charts", &format!("{}-", dependency.name)]);
            let there = files.contains_key(&folder)
                || files
                    .keys()
                    .any(|name| name.starts_with(&archive) && tree::extension(name) == ".tgz");
            if !dependency.name.is_empty() && !there {
                out.push((dir.to_owned(), dependency));
            }
        }
    }
    out
}

/// Where a missing dependency comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Origin {
    /// To be downloaded.
    Remote(ChartRequest),
    /// A directory of the tree.
    Local(String),
    /// Neither; the caller is told.
    Unknown,
}

impl Dependency {
    /// Origin of a dependency of the chart in `chart_dir` (a path of the tree).
    pub(super) fn origin(&self, chart_dir: &str) -> Origin {
        let repository = self.repository.trim_end_matches('/');
        if let Some(path) = repository.strip_prefix("file://") {
            Origin::Local(tree::join(&[chart_dir, path]))
        } else if repository.starts_with("oci://") {
            let repo = format!("{repository}/{}", self.name);
            Origin::Remote(ChartRequest {
                chart: String::new(),
                repo,
                version: self.version.clone(),
            })
        } else if repository.starts_with("http://") || repository.starts_with("https://") {
            Origin::Remote(ChartRequest {
                chart: self.name.clone(),
                repo: repository.to_owned(),
                version: self.version.clone(),
            })
        } else {
            Origin::Unknown
        }
    }
}

/// Puts missing dependencies below `charts/` of their chart, as folders. The source tree itself is never
/// written to. What stays missing is returned: directory of the chart and name of the dependency.
///
/// # Errors
/// Unsafe links in a dependency, or a download that the caller did not make.
pub(super) fn add(
    root: &str,
    tree: &Tree,
    charts: &BTreeMap<String, Tree>,
    files: &mut BTreeMap<String, Vec<u8>>,
) -> Result<Vec<(String, String)>, FleetError> {
    let mut missing = Vec::new();
    for (dir, dependency) in missing_dependencies(files) {
        let chart_dir = tree::join(&[root, &dir]);
        let (from, path) = match dependency.origin(&chart_dir) {
            Origin::Remote(request) => (charts.get(&request.prefix()), dependency.name.clone()),
            Origin::Local(path) => (Some(tree), path),
            Origin::Unknown => (None, String::new()),
        };
        let found = from
            .map(|from| collect(from, &path, &[]))
            .transpose()?
            .unwrap_or_default();
        if found.is_empty() {
            missing.push((chart_dir, dependency.name));
            continue;
        }
        for (name, bytes) in found {
            files.insert(tree::join(&[&dir, "charts", &dependency.name, &name]), bytes.to_vec());
        }
    }
    Ok(missing)
}
