//! Charts that are not on disk: what to download, and what an archive holds.
use std::collections::BTreeMap;
use std::io::Read;

use flate2::read::MultiGzDecoder;
use serde_json::{Map, Value};

use super::error::FleetError;
use super::prepare::Draft;
use super::tree::{self, Entry, LinkTarget, Tree};
use super::{names, version, yaml11};

/// Bytes an archive may unpack to.
pub const MAX_UNPACKED: u64 = 64 * 1024 * 1024;
/// Entries an archive may hold.
pub const MAX_ENTRIES: usize = 20_000;

/// A chart by its options as written; the range in `version` is not resolved here.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct ChartRequest {
    /// `helm.chart`.
    pub chart: String,
    /// `helm.repo`.
    pub repo: String,
    /// `helm.version`.
    pub version: String,
}

/// What to fetch first for a chart.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Fetch {
    /// A repository's index at this URL; [`ChartRequest::archive_url`] then names the archive.
    Index(String),
    /// The archive itself.
    Archive(Archive),
    /// An OCI artifact, `registry/repository` without a scheme; the tag comes from the version.
    Oci(String),
}

/// An archive to download.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Archive {
    /// Where it is, without the parameters that are meant for the reader.
    pub url: String,
    /// Folder inside that becomes the root.
    pub subdir: String,
    /// `sha256` or `md5` and the expected lower-case hex digest.
    pub checksum: Option<(String, String)>,
    /// Extension that overrides the one of the URL.
    pub format: String,
}

impl std::fmt::Display for ChartRequest {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "repo={} chart={} version={}", self.repo, self.chart, self.version)
    }
}

impl ChartRequest {
    /// The chart of a `helm` block.
    #[must_use]
    pub fn of(helm: &Map<String, Value>) -> Self {
        let text = |key: &str| helm.get(key).and_then(Value::as_str).unwrap_or_default().to_owned();
        Self {
            chart: text("chart"),
            repo: text("repo"),
            version: text("version"),
        }
    }

    /// Whether a chart is named at all.
    #[must_use]
    pub fn names_chart(&self) -> bool {
        !self.chart.is_empty() || !self.repo.is_empty()
    }

    /// Whether `chart` alone is an address rather than a path.
    #[must_use]
    pub fn is_remote(&self) -> bool {
        let shorthand = ["github.com/", "gitlab.com/", "bitbucket.org/"];
        self.chart.contains("://")
            || self.chart.contains("::")
            || shorthand.iter().any(|host| self.chart.starts_with(host))
            || is_scp(&self.chart)
    }

    /// Directory of its files inside the bundle.
    #[must_use]
    pub fn prefix(&self) -> String {
        names::chart_prefix(&self.chart, &self.repo, &self.version)
    }

    /// The first thing to fetch.
    ///
    /// # Errors
    /// A git address, or options that name no chart.
    pub fn fetch(&self) -> Result<Fetch, FleetError> {
        for address in [&self.repo, &self.chart] {
            if let Some(reference) = address.strip_prefix("oci://") {
                return Ok(Fetch::Oci(reference.to_owned()));
            }
        }
        if !self.repo.is_empty() {
            if self.chart.is_empty() {
                return Err(self.problem("a chart repository needs helm.chart"));
            }
            if !is_http(&self.repo) {
                return Err(self.problem("only http, https and oci repositories are known"));
            }
            return Ok(Fetch::Index(join_url(&self.repo, "index.yaml")));
        }
        let address = self
            .chart
            .strip_prefix("http::")
            .or_else(|| self.chart.strip_prefix("https::"))
            .unwrap_or(&self.chart);
        if !is_http(address) {
            return Err(self.problem("git sources are not downloaded; check it out and give its directory"));
        }
        self.archive(address).map(Fetch::Archive)
    }

    /// The archive that the repository's index names for this request.
    ///
    /// # Errors
    /// No such chart or version, or an index that is not readable.
    pub fn archive_url(&self, index: &[u8]) -> Result<Archive, FleetError> {
        let index: Value =
            yaml11::value(index).map_err(|error| self.problem(&format!("index.yaml is not readable: {error}")))?;
        let entries = index
            .pointer("/entries")
            .and_then(|entries| entries.get(&self.chart))
            .and_then(Value::as_array);
        let entries = entries.ok_or_else(|| self.problem("the repository has no such chart"))?;
        let versions: Vec<String> = entries.iter().map(|entry| scalar(entry.get("version"))).collect();
        let texts: Vec<&str> = versions.iter().map(String::as_str).collect();
        let at =
            version::select(&texts, &self.version).ok_or_else(|| self.problem("the repository has no such version"))?;
        let url = entries[at]
            .pointer("/urls/0")
            .and_then(Value::as_str)
            .ok_or_else(|| self.problem("the repository names no address for it"))?;
        let url = if url.contains("://") {
            url.to_owned()
        } else {
            join_url(&self.repo, url)
        };
        if url.starts_with("oci://") {
            return Err(self.problem("the repository names an OCI artifact; use it as helm.repo"));
        }
        self.archive(&url)
    }

    fn archive(&self, address: &str) -> Result<Archive, FleetError> {
        let (address, query) = address.split_once('?').unwrap_or((address, ""));
        let scheme = address.find("://").map_or(0, |at| at + 3);
        let (url, subdir) = match address[scheme..].find("//") {
            Some(at) => (&address[..scheme + at], &address[scheme + at + 2..]),
            None => (address, ""),
        };
        let mut out = Archive {
            url: url.to_owned(),
            subdir: subdir.trim_matches('/').to_owned(),
            ..Archive::default()
        };
        let mut rest = Vec::new();
        for part in query.split('&').filter(|part| !part.is_empty()) {
            match part.split_once('=') {
                Some(("checksum", value)) => out.checksum = Some(self.checksum(value)?),
                Some(("archive", value)) => out.format = format!(".{}", value.trim_start_matches('.').to_lowercase()),
                _ => rest.push(part),
            }
        }
        if !rest.is_empty() {
            out.url = format!("{}?{}", out.url, rest.join("&"));
        }
        if out.format.is_empty() {
            out.format = url.to_lowercase();
        }
        Ok(out)
    }

    fn checksum(&self, value: &str) -> Result<(String, String), FleetError> {
        let value = value.replace("%3A", ":").replace("%3a", ":");
        match value.split_once(':') {
            Some((kind @ ("sha256" | "md5"), hex)) if hex.bytes().all(|b| b.is_ascii_hexdigit()) => {
                Ok((kind.to_owned(), hex.to_lowercase()))
            }
            _ => Err(self.problem("checksum must be sha256:<hex> or md5:<hex>")),
        }
    }

    fn problem(&self, problem: &str) -> FleetError {
        FleetError::Chart {
            what: self.to_string(),
            problem: problem.to_owned(),
        }
    }
}

fn is_http(address: &str) -> bool {
    address.starts_with("http://") || address.starts_with("https://")
}

fn is_scp(address: &str) -> bool {
    address
        .split_once(':')
        .is_some_and(|(user_host, path)| user_host.contains('@') && !path.is_empty())
}

/// Joins a relative path to a base URL; the query of the base stays at the end.
fn join_url(base: &str, path: &str) -> String {
    let (base, query) = base
        .split_once('?')
        .map_or((base, String::new()), |(base, query)| (base, format!("?{query}")));
    let at = base.find("://").map_or(0, |at| at + 3);
    let (host, root) = match base[at..].find('/') {
        Some(slash) => (&base[..at + slash], &base[at + slash..]),
        None => (base, "/"),
    };
    format!("{host}{}{query}", tree::clean(&format!("/{root}/{path}")))
}

pub(super) fn scalar(value: Option<&Value>) -> String {
    match value {
        Some(Value::String(text)) => text.clone(),
        Some(Value::Number(number)) => number.to_string(),
        _ => String::new(),
    }
}

/// Charts of a bundle that have to be downloaded, by resource prefix.
pub(super) fn requests(draft: &Draft, tree: &Tree) -> BTreeMap<String, ChartRequest> {
    let top = draft.fields.get("helm").and_then(Value::as_object);
    let of_targets = draft
        .targets
        .iter()
        .filter_map(|target| target.get("helm").and_then(Value::as_object));
    top.into_iter()
        .chain(of_targets)
        .map(ChartRequest::of)
        .filter(ChartRequest::names_chart)
        .filter(|request| {
            !request.repo.is_empty() || tree.exists(&tree::join(&[&draft.dir.path, &request.chart])) != Some(true)
        })
        .map(|request| (request.prefix(), request))
        .collect()
}

impl Archive {
    /// Checks the digest and unpacks; paths are relative to the archive's root (or its sub folder).
    ///
    /// # Errors
    /// A wrong digest, an unknown format, unsafe paths or links, anything beyond the limits.
    pub fn unpack(&self, bytes: &[u8]) -> Result<Tree, FleetError> {
        let refuse = |problem: String| FleetError::Archive {
            what: self.url.clone(),
            problem,
        };
        if let Some((kind, expected)) = &self.checksum {
            let actual = if kind == "md5" {
                names::md5_of(bytes)
            } else {
                names::sha256_hex(bytes)
            };
            if actual != *expected {
                return Err(refuse(format!("{kind} is {actual}, expected {expected}")));
            }
        }
        let is = |endings: &[&str]| endings.iter().any(|ending| self.format.ends_with(ending));
        if is(&[".tgz", ".tar.gz"]) {
            unpack_tar(MultiGzDecoder::new(bytes), &self.subdir).map_err(refuse)
        } else if is(&[".tar"]) {
            unpack_tar(bytes, &self.subdir).map_err(refuse)
        } else {
            Err(refuse("only .tgz, .tar.gz and .tar archives are unpacked".to_owned()))
        }
    }
}

fn unpack_tar(reader: impl Read, subdir: &str) -> Result<Tree, String> {
    let mut out = Tree::new();
    let mut archive = tar::Archive::new(reader);
    let mut left = MAX_UNPACKED;
    let subdir = tree::clean(subdir);
    for (count, entry) in archive.entries().map_err(|error| error.to_string())?.enumerate() {
        if count >= MAX_ENTRIES {
            return Err(format!("more than {MAX_ENTRIES} entries"));
        }
        let mut entry = entry.map_err(|error| format!("not a tar archive: {error}"))?;
        let name = String::from_utf8_lossy(&entry.path_bytes()).into_owned();
        let path = safe_path(&name)?;
        let kind = entry.header().entry_type();
        let found = match kind {
            tar::EntryType::Directory => Entry::Dir,
            tar::EntryType::Regular | tar::EntryType::Continuous => {
                let mut bytes = Vec::new();
                entry
                    .by_ref()
                    .take(left + 1)
                    .read_to_end(&mut bytes)
                    .map_err(|error| format!("cannot read {name}: {error}"))?;
                left = left
                    .checked_sub(bytes.len() as u64)
                    .ok_or_else(|| format!("unpacks to more than {MAX_UNPACKED} bytes"))?;
                Entry::File(bytes)
            }
            tar::EntryType::Symlink => Entry::Link(link(&path, &entry)?),
            tar::EntryType::XGlobalHeader => continue,
            _ => return Err(format!("unsupported entry type for {name}")),
        };
        if path != "."
            && let Some(inner) = tree::relative(&path, &subdir)
        {
            out.insert(inner, found);
        }
    }
    out.mark_complete(".");
    Ok(settle_links(out))
}

fn safe_path(name: &str) -> Result<String, String> {
    if name.starts_with('/') || name.split('/').any(|part| part == "..") {
        return Err(format!("path {name} leads out of the archive"));
    }
    Ok(tree::clean(name))
}

fn link<R: Read>(path: &str, entry: &tar::Entry<'_, R>) -> Result<LinkTarget, String> {
    let target = entry
        .link_name_bytes()
        .map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
        .unwrap_or_default();
    let dir = path.rfind('/').map_or("", |at| &path[..at]);
    let resolved = tree::join(&[dir, &target]);
    if target.starts_with('/') || !tree::under(&resolved, ".") {
        return Err(format!("symlink {path} leads out of the archive"));
    }
    Ok(LinkTarget::Inside(resolved))
}

/// Links in an archive name their next step only; links to links are followed here, loops end nowhere.
fn settle_links(mut tree: Tree) -> Tree {
    for (path, first) in tree.links() {
        let mut target = first;
        let mut steps = 0;
        let end = loop {
            match tree.get(&target) {
                Some(Entry::Link(LinkTarget::Inside(next))) if steps < 40 => {
                    target.clone_from(next);
                    steps += 1;
                }
                Some(Entry::File(_) | Entry::Dir) => break LinkTarget::Inside(target),
                _ => break LinkTarget::Broken,
            }
        };
        tree.insert(&path, Entry::Link(end));
    }
    tree
}
