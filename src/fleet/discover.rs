//! Which directories become bundles.
use super::error::FleetError;
use super::tree::{self, Entry, Tree};

/// File names that hold a bundle's options, in order of preference.
pub const FLEET_FILES: [&str; 2] = ["fleet.yaml", "fleet.yml"];

/// A directory argument after patterns were expanded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Dir {
    /// Where its files stand in the tree.
    pub path: String,
    /// What is joined to NAME for the bundle's name: the path as typed, or the last element of an
    /// absolute one.
    pub id: String,
}

impl Dir {
    /// A directory argument; absolute paths take their last element as the name.
    #[must_use]
    pub fn new(path: &str) -> Self {
        let path = tree::clean(path);
        let id = if path.starts_with('/') {
            tree::base(&path).trim_start_matches('/').to_owned()
        } else {
            path.clone()
        };
        Self { path, id }
    }

    fn below(&self, path: &str) -> Self {
        let inner = tree::relative(path, &self.path).unwrap_or(".");
        Self {
            path: path.to_owned(),
            id: tree::join(&[&self.id, inner]),
        }
    }
}

/// The bundles below one directory argument, the directory itself first.
#[must_use]
pub fn discover(tree: &Tree, dir: &Dir) -> Vec<Dir> {
    let mut found = Vec::new();
    if tree::base(&dir.path) == ".git" {
        return found;
    }
    if fleet_file(tree, &dir.path).is_some() || holds_yaml(tree, &dir.path) {
        found.push(dir.clone());
    }
    below(tree, dir, &dir.path, &mut found);
    found
}

fn below(tree: &Tree, root: &Dir, dir: &str, found: &mut Vec<Dir>) {
    for name in tree.children(dir) {
        let path = tree::join(&[dir, name]);
        if name == ".git" || tree.get(&path) != Some(&Entry::Dir) {
            continue;
        }
        if fleet_file(tree, &path).is_some() {
            found.push(root.below(&path));
        }
        below(tree, root, &path, found);
    }
}

/// Path of the fleet file in a directory.
#[must_use]
pub fn fleet_file(tree: &Tree, dir: &str) -> Option<String> {
    FLEET_FILES
        .iter()
        .map(|name| tree::join(&[dir, name]))
        .find(|path| tree.get(path).is_some() && tree.exists(path) != Some(false))
}

/// A YAML file here or in a sub directory that is no bundle of its own.
fn holds_yaml(tree: &Tree, dir: &str) -> bool {
    if fleet_file(tree, dir).is_some() {
        return false;
    }
    tree.children(dir).any(|name| {
        let path = tree::join(&[dir, name]);
        match tree.get(&path) {
            Some(Entry::Dir) => holds_yaml(tree, &path),
            Some(_) => matches!(tree::extension(name), ".yaml" | ".yml"),
            None => false,
        }
    })
}

/// `DIR` or `DIR<separator>FILE` of a driven scan.
///
/// # Errors
/// More than one separator.
pub fn driven(argument: &str, separator: &str) -> Result<(Dir, String), FleetError> {
    let parts: Vec<&str> = if separator.is_empty() {
        vec![argument]
    } else {
        argument.split(separator).collect()
    };
    match parts.as_slice() {
        [dir] => Ok((Dir::new(dir), String::new())),
        [dir, file] => Ok((Dir::new(dir), (*file).to_owned())),
        _ => Err(FleetError::DrivenPath {
            path: argument.to_owned(),
        }),
    }
}
