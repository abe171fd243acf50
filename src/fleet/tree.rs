//! A tree of files in memory, read from disk by the `cli` room.
//!
//! Paths are slash-separated, cleaned, and relative to the working directory of the call (`../x` and
//! absolute paths are kept as they are). Symbolic links are resolved by whoever reads the disk; here
//! they only know where they end.
use std::collections::{BTreeMap, BTreeSet};

use super::error::FleetError;

/// What stands at a path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Entry {
    /// A directory.
    Dir,
    /// A regular file.
    File(Vec<u8>),
    /// A symbolic link.
    Link(LinkTarget),
}

/// Where a symbolic link ends after every step was followed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LinkTarget {
    /// At this path of the same tree.
    Inside(String),
    /// Out of the directory that was read.
    Outside,
    /// Nowhere.
    Broken,
}

/// A path that lies outside the directories that were read, looked up on request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Extra {
    /// A file and its bytes.
    File(Vec<u8>),
    /// A directory; its content is not needed.
    Dir,
    /// Nothing.
    Absent,
}

/// The files of a call.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Tree {
    entries: BTreeMap<String, Entry>,
    children: BTreeMap<String, BTreeSet<String>>,
    extra: BTreeMap<String, Extra>,
    complete: BTreeSet<String>,
}

impl Tree {
    /// An empty tree.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Puts an entry at `path`; parent directories come into being.
    pub fn insert(&mut self, path: &str, entry: Entry) {
        let path = clean(path);
        let (mut child, mut parent) = (path.clone(), parent(&path));
        while let Some(dir) = parent {
            self.children
                .entry(dir.clone())
                .or_default()
                .insert(base(&child).to_owned());
            self.entries.entry(dir.clone()).or_insert(Entry::Dir);
            parent = self::parent(&dir);
            child = dir;
        }
        self.entries.insert(path, entry);
    }

    /// Records what a path outside the tree holds.
    pub fn insert_extra(&mut self, path: &str, extra: Extra) {
        self.extra.insert(clean(path), extra);
    }

    /// The entry at a cleaned path.
    #[must_use]
    pub fn get(&self, path: &str) -> Option<&Entry> {
        self.entries.get(path)
    }

    /// Names in a directory, in byte order.
    pub fn children<'a>(&'a self, dir: &str) -> impl Iterator<Item = &'a str> + use<'a> {
        self.children.get(dir).into_iter().flatten().map(String::as_str)
    }

    /// Links that end inside the tree, with their targets.
    #[must_use]
    pub fn links(&self) -> Vec<(String, String)> {
        let target = |entry: &Entry| {
            if let Entry::Link(LinkTarget::Inside(target)) = entry {
                Some(target.clone())
            } else {
                None
            }
        };
        self.entries
            .iter()
            .filter_map(|(path, entry)| Some((path.clone(), target(entry)?)))
            .collect()
    }

    /// Whether anything stands at `path`, links followed. `None`: not known, must be looked up.
    #[must_use]
    pub fn exists(&self, path: &str) -> Option<bool> {
        let path = clean(path);
        match self.entries.get(&path) {
            Some(Entry::Link(LinkTarget::Broken)) => return Some(false),
            Some(_) => return Some(true),
            None => {}
        }
        match self.extra.get(&path) {
            Some(Extra::Absent) => Some(false),
            Some(_) => Some(true),
            None => self.known(&path).then_some(false),
        }
    }

    /// Below a directory that was read whole, and not behind a link.
    fn known(&self, path: &str) -> bool {
        let mut at = Some(path.to_owned());
        while let Some(dir) = at {
            if matches!(self.entries.get(&dir), Some(Entry::Link(_))) {
                return false;
            }
            if self.complete.contains(&dir) {
                return true;
            }
            at = parent(&dir);
        }
        false
    }

    /// Declares that everything below `dir` is in the tree.
    pub fn mark_complete(&mut self, dir: &str) {
        let dir = clean(dir);
        self.entries.entry(dir.clone()).or_insert(Entry::Dir);
        self.complete.insert(dir);
    }

    /// Reads a file, following links, also out of the tree when it was looked up. `Ok(None)`: not known.
    ///
    /// # Errors
    /// Nothing there, a directory, or a link to nowhere.
    pub fn read(&self, path: &str) -> Result<Option<&[u8]>, FleetError> {
        let path = clean(path);
        let entry = match self.entries.get(&path) {
            Some(Entry::Link(LinkTarget::Inside(target))) => self.entries.get(target),
            Some(Entry::Link(LinkTarget::Broken)) => return Err(FleetError::LinkBroken { path }),
            Some(Entry::Link(LinkTarget::Outside)) => None,
            other => other,
        };
        match (entry, self.extra.get(&path)) {
            (Some(Entry::File(bytes)), _) | (_, Some(Extra::File(bytes))) => Ok(Some(bytes)),
            (Some(Entry::Dir), _) | (_, Some(Extra::Dir)) => Err(FleetError::IsDirectory { path }),
            (_, Some(Extra::Absent)) => Err(FleetError::Missing { path }),
            _ if self.exists(&path) == Some(false) => Err(FleetError::Missing { path }),
            _ => Ok(None),
        }
    }
}

/// `path.Clean` of Go: no empty, `.` or inner `..` elements; the empty path is `.`.
#[must_use]
pub fn clean(path: &str) -> String {
    let rooted = path.starts_with('/');
    let mut parts: Vec<&str> = Vec::new();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." if parts.last().is_some_and(|last| *last != "..") => {
                parts.pop();
            }
            ".." if rooted => {}
            other => parts.push(other),
        }
    }
    let joined = parts.join("/");
    match (rooted, joined.is_empty()) {
        (true, _) => format!("/{joined}"),
        (false, true) => ".".to_owned(),
        (false, false) => joined,
    }
}

/// `path.Join` of Go: empty elements are left out, the result is cleaned.
#[must_use]
pub fn join(parts: &[&str]) -> String {
    let parts: Vec<&str> = parts.iter().copied().filter(|part| !part.is_empty()).collect();
    if parts.is_empty() {
        String::new()
    } else {
        clean(&parts.join("/"))
    }
}

/// `path.Base` of Go.
#[must_use]
pub fn base(path: &str) -> &str {
    if path.is_empty() {
        return ".";
    }
    let trimmed = path.trim_end_matches('/');
    if trimmed.is_empty() {
        "/"
    } else {
        trimmed.rsplit('/').next().unwrap_or(trimmed)
    }
}

/// Extension with its dot, or nothing: everything from the last dot of the last element.
#[must_use]
pub fn extension(path: &str) -> &str {
    let name = path.rsplit('/').next().unwrap_or(path);
    name.rfind('.').map_or("", |at| &name[at..])
}

/// Whether `path` is `dir` or lies below it. Both cleaned.
#[must_use]
pub fn under(path: &str, dir: &str) -> bool {
    if dir == "." {
        return !path.starts_with('/') && path != ".." && !path.starts_with("../");
    }
    path == dir
        || path
            .strip_prefix(dir)
            .is_some_and(|rest| dir.ends_with('/') || rest.starts_with('/'))
}

/// `path` relative to `dir`, when it lies below; `.` for the directory itself.
#[must_use]
pub fn relative<'a>(path: &'a str, dir: &str) -> Option<&'a str> {
    if !under(path, dir) {
        return None;
    }
    if path == dir {
        return Some(".");
    }
    if dir == "." {
        Some(path)
    } else {
        path.strip_prefix(dir).map(|rest| rest.trim_start_matches('/'))
    }
}

fn parent(path: &str) -> Option<String> {
    match path {
        "." | "/" | ".." => None,
        // `../x` stands beside the working directory, so `..` has no parent here.
        _ => Some(match path.rfind('/') {
            Some(0) => "/".to_owned(),
            Some(at) => path[..at].to_owned(),
            None => ".".to_owned(),
        }),
    }
}
