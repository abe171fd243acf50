//! Where nothing is to be written: namespaces named in a file, or annotated.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant, SystemTime};

use super::context::Context;

/// On a Namespace, with any value but `false`.
pub const PAUSE_ANNOTATION: &str = "kubectl-eso.dev/pause";
/// How often the file is looked at.
const LOOK_EVERY: Duration = Duration::from_secs(2);

/// See the module.
pub struct Pause {
    file: Option<PathBuf>,
    read: Mutex<Read>,
}

#[derive(Default)]
struct Read {
    looked: Option<Instant>,
    modified: Option<SystemTime>,
    namespaces: BTreeSet<String>,
}

impl Pause {
    /// With this file of namespace names, one a line; `*` is all, `#` begins a comment.
    pub fn new(file: Option<PathBuf>) -> Self {
        Self {
            file,
            read: Mutex::default(),
        }
    }

    /// Why nothing may be written to `namespace` now.
    pub fn is_paused(&self, cx: &Context, namespace: &str) -> Option<&'static str> {
        if self.in_file(namespace) {
            return Some("paused by the pause file");
        }
        let known = cx.namespaces.get("", namespace)?;
        let value = known.metadata.annotations.as_ref()?.get(PAUSE_ANNOTATION)?;
        (value != "false").then_some("paused by the namespace's annotation")
    }

    fn in_file(&self, namespace: &str) -> bool {
        let Some(path) = &self.file else { return false };
        let mut read = self.read.lock().unwrap_or_else(PoisonError::into_inner);
        if read.looked.is_none_or(|at| at.elapsed() > LOOK_EVERY) {
            read.looked = Some(Instant::now());
            let modified = std::fs::metadata(path).and_then(|m| m.modified()).ok();
            if modified != read.modified || modified.is_none() {
                read.modified = modified;
                // A file that is gone pauses nothing: taking it away is how people end a pause.
                read.namespaces = std::fs::read_to_string(path)
                    .map(|text| parse(&text))
                    .unwrap_or_default();
            }
        }
        read.namespaces.contains(namespace) || read.namespaces.contains("*")
    }
}

fn parse(text: &str) -> BTreeSet<String> {
    let names = text
        .lines()
        .map(|line| line.split('#').next().unwrap_or_default().trim());
    names.filter(|name| !name.is_empty()).map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    #[test]
    fn one_name_a_line_with_comments() {
        let names = super::parse("orchard # picking season\n\n#cellar\n  *\n");
        assert_eq!(names.into_iter().collect::<Vec<_>>(), ["*", "orchard"]);
    }
}
