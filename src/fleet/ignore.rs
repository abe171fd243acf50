//! `.fleetignore`: patterns on base names, valid in their directory and below.
use super::{error::FleetError, pattern, tree};

/// Patterns met on a walk. The order of additions and the search by text prefix are the original's:
/// patterns of `a` also reach a later sibling `ab`.
#[derive(Debug, Default)]
pub struct IgnoreTree {
    path: String,
    patterns: Vec<String>,
    children: Vec<IgnoreTree>,
}

impl IgnoreTree {
    /// A tree for a walk that starts at `root`.
    #[must_use]
    pub fn new(root: &str) -> Self {
        Self {
            path: root.to_owned(),
            ..Self::default()
        }
    }

    /// Whether a pattern on the way to `path` ignores it.
    ///
    /// # Errors
    /// A malformed pattern, when it is tried.
    pub fn is_ignored(&self, path: &str, is_dir: bool) -> Result<bool, FleetError> {
        let name = tree::base(path);
        let mut patterns = Vec::new();
        self.on_the_way(path, &mut patterns);
        for pattern in patterns {
            if is_directory_pattern(pattern) {
                if is_dir && pattern.strip_suffix("/*").unwrap_or(pattern) == name {
                    return Ok(true);
                }
            } else if pattern::matches(pattern, name)? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn on_the_way<'a>(&'a self, path: &str, out: &mut Vec<&'a str>) {
        out.extend(self.patterns.iter().map(String::as_str));
        if path == self.path {
            return;
        }
        if let Some(child) = self.children.iter().find(|child| path.starts_with(&child.path)) {
            child.on_the_way(path, out);
        }
    }

    /// Adds the patterns of the `.fleetignore` text found in `dir`.
    pub fn add(&mut self, dir: &str, text: &[u8]) {
        let patterns = lines(text);
        if !patterns.is_empty() {
            self.node(dir).patterns.extend(patterns);
        }
    }

    fn node(&mut self, dir: &str) -> &mut Self {
        if dir == self.path {
            return self;
        }
        if let Some(at) = self.children.iter().position(|child| dir.starts_with(&child.path)) {
            return self.children[at].node(dir);
        }
        self.children.push(Self::new(dir));
        let last = self.children.len() - 1;
        &mut self.children[last]
    }
}

fn lines(text: &[u8]) -> Vec<String> {
    let text = String::from_utf8_lossy(text);
    text.split('\n')
        .map(|line| trim(line.strip_suffix('\r').unwrap_or(line)))
        .filter(|line| !line.is_empty() && !line.starts_with('#'))
        .map(str::to_owned)
        .collect()
}

/// Trailing white space goes, except one that is escaped; a line of blanks keeps one of them.
fn trim(line: &str) -> &str {
    let trimmed = line.trim_end_matches([' ', '\t', '\n', '\u{c}', '\r']);
    if trimmed.len() == line.len() {
        line
    } else if trimmed.is_empty() || trimmed.ends_with('\\') {
        &line[..=trimmed.len()]
    } else {
        trimmed
    }
}

/// `NAME/*` at the start of the pattern: a directory rule.
fn is_directory_pattern(pattern: &str) -> bool {
    pattern
        .char_indices()
        .skip(1)
        .any(|(at, _)| pattern[at..].starts_with("/*"))
}
