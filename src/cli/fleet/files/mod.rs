//! Reads the directories of a `fleet bundle` call into memory; decides nothing about them.
use std::path::{Path, PathBuf};

use crate::fleet::error::FleetError;
use crate::fleet::pattern;
use crate::fleet::tree::{self, Entry, Extra, LinkTarget, Tree};

/// Bounds of what is read. A bundle beyond them could not be stored anyway.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Files and directories.
    pub entries: usize,
    /// Bytes of all files together.
    pub bytes: u64,
    /// Nested directories.
    pub depth: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            entries: 50_000,
            bytes: 64 * 1024 * 1024,
            depth: 64,
        }
    }
}

/// Why a directory could not be read.
#[derive(Debug, thiserror::Error)]
pub enum FilesError {
    /// The operating system refused.
    #[error("cannot read {path}")]
    Io {
        /// Path as the user knows it.
        path: String,
        /// Why.
        #[source]
        source: std::io::Error,
    },
    /// More than [`Limits`] allow.
    #[error("{path} holds more than {limit}")]
    TooMuch {
        /// Directory or file where the limit was passed.
        path: String,
        /// The limit in words.
        limit: String,
    },
    /// A device, socket or pipe.
    #[error("{path} is neither a file, a directory nor a symbolic link")]
    Special {
        /// Its path.
        path: String,
    },
    /// A name that is no text cannot name a resource.
    #[error("{path} holds a file name that is not UTF-8")]
    Name {
        /// The directory.
        path: String,
    },
    /// A pattern is wrong or nothing matches it.
    #[error(transparent)]
    Fleet(#[from] FleetError),
}

/// Directories that match a shell pattern, relative to `base`, in byte order. A path without pattern
/// characters stands for itself.
///
/// Nothing that matches gives an empty list: the original passes over such arguments too, as long as
/// another one makes a bundle. An absolute path without a directory is tried again from `base`, where
/// the original, which drops leading slashes, looks for it.
///
/// # Errors
/// A malformed pattern.
pub fn expand(base: &Path, argument: &str) -> Result<Vec<String>, FilesError> {
    let found = glob(base, argument)?;
    let inner = argument.trim_start_matches('/');
    if found.is_empty() && inner != argument && !inner.is_empty() {
        glob(base, inner)
    } else {
        Ok(found)
    }
}

fn glob(base: &Path, argument: &str) -> Result<Vec<String>, FilesError> {
    let mut found = vec![String::new()];
    let cleaned = tree::clean(argument);
    for part in cleaned.split('/') {
        let mut next = Vec::new();
        for dir in found {
            if !pattern::has_meta(part) {
                next.push(if dir.is_empty() {
                    part.to_owned()
                } else {
                    format!("{}/{part}", dir.trim_end_matches('/'))
                });
                continue;
            }
            let mut names = names(&base.join(&dir)).unwrap_or_default();
            names.sort_unstable();
            for name in names {
                if pattern::matches(part, &name)? {
                    next.push(tree::join(&[&dir, &name]));
                }
            }
        }
        // The first element of an absolute path is empty.
        found = next
            .into_iter()
            .map(|path| if path.is_empty() { "/".to_owned() } else { path })
            .collect();
    }
    found.retain(|path| base.join(path).is_dir());
    // A malformed pattern is an error even where nothing stands to be compared with it.
    pattern::matches(&cleaned, "")?;
    Ok(found)
}

fn names(dir: &Path) -> Option<Vec<String>> {
    let entries = std::fs::read_dir(dir).ok()?;
    Some(
        entries
            .filter_map(|entry| entry.ok()?.file_name().into_string().ok())
            .collect(),
    )
}

/// Reads everything below `dir` (relative to `base`, or absolute) into `tree`. `.git` is left out.
///
/// # Errors
/// Anything unreadable, special files, or more than `limits`.
pub fn load(base: &Path, dir: &str, limits: Limits, tree: &mut Tree) -> Result<(), FilesError> {
    let dir = tree::clean(dir);
    let root = base.join(&dir);
    let real = root.canonicalize().map_err(|source| FilesError::Io {
        path: dir.clone(),
        source,
    })?;
    let mut reader = Reader {
        limits,
        left: limits.bytes,
        entries: 0,
        real,
        dir: dir.clone(),
        tree,
    };
    reader.directory(&root, &dir, 0)?;
    reader.tree.mark_complete(&dir);
    Ok(())
}

/// What stands at a path outside the directories of a call: a values file, an options file, a chart.
///
/// # Errors
/// Anything unreadable, or a file above the limit.
pub fn look_up(base: &Path, path: &str, limits: Limits) -> Result<Extra, FilesError> {
    let full = base.join(path);
    let io = |source| FilesError::Io {
        path: path.to_owned(),
        source,
    };
    match std::fs::metadata(&full) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(Extra::Absent),
        Err(error) => Err(io(error)),
        Ok(data) if data.is_dir() => Ok(Extra::Dir),
        Ok(data) if data.is_file() => read_file(&full, path, &mut limits.bytes.clone()).map(Extra::File),
        Ok(_) => Err(FilesError::Special { path: path.to_owned() }),
    }
}

/// Reads one file; `left` is what may still be read and is reduced by its size. The size is checked
/// while reading, for a file may grow or lie about its length.
fn read_file(full: &Path, path: &str, left: &mut u64) -> Result<Vec<u8>, FilesError> {
    use std::io::Read as _;
    let io = |source| FilesError::Io {
        path: path.to_owned(),
        source,
    };
    let mut bytes = Vec::new();
    std::fs::File::open(full)
        .map_err(io)?
        .take(left.saturating_add(1))
        .read_to_end(&mut bytes)
        .map_err(io)?;
    *left = left
        .checked_sub(bytes.len() as u64)
        .ok_or_else(|| FilesError::TooMuch {
            path: path.to_owned(),
            limit: "the bytes a bundle may be made of".to_owned(),
        })?;
    Ok(bytes)
}

struct Reader<'a> {
    limits: Limits,
    left: u64,
    entries: usize,
    /// The directory with all links resolved.
    real: PathBuf,
    dir: String,
    tree: &'a mut Tree,
}

impl Reader<'_> {
    fn directory(&mut self, full: &Path, path: &str, depth: usize) -> Result<(), FilesError> {
        if depth > self.limits.depth {
            return Err(FilesError::TooMuch {
                path: path.to_owned(),
                limit: format!("{} nested directories", self.limits.depth),
            });
        }
        let io = |source| FilesError::Io {
            path: path.to_owned(),
            source,
        };
        self.tree.insert(path, Entry::Dir);
        for entry in std::fs::read_dir(full).map_err(io)? {
            let entry = entry.map_err(io)?;
            let name = entry
                .file_name()
                .into_string()
                .map_err(|_| FilesError::Name { path: path.to_owned() })?;
            self.entries += 1;
            if self.entries > self.limits.entries {
                return Err(FilesError::TooMuch {
                    path: self.dir.clone(),
                    limit: format!("{} files", self.limits.entries),
                });
            }
            let kind = entry.file_type().map_err(io)?;
            let child = tree::join(&[path, &name]);
            if kind.is_dir() && name != ".git" {
                self.directory(&entry.path(), &child, depth + 1)?;
            } else if kind.is_file() {
                let bytes = read_file(&entry.path(), &child, &mut self.left)?;
                self.tree.insert(&child, Entry::File(bytes));
            } else if kind.is_symlink() {
                let target = self.target(&entry.path());
                self.tree.insert(&child, Entry::Link(target));
            } else if !kind.is_dir() {
                return Err(FilesError::Special { path: child });
            }
        }
        Ok(())
    }

    /// Where a link ends after all its steps, as a path of the tree when that lies inside.
    fn target(&self, link: &Path) -> LinkTarget {
        match link.canonicalize() {
            Err(_) => LinkTarget::Broken,
            Ok(real) => match real.strip_prefix(&self.real).ok().and_then(Path::to_str) {
                Some(inner) => LinkTarget::Inside(tree::join(&[&self.dir, inner])),
                None => LinkTarget::Outside,
            },
        }
    }
}

#[cfg(test)]
mod tests;
