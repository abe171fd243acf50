//! `-f`: files, directories, globs and stdin, as kubectl reads them.

use std::path::{Path, PathBuf};

use super::error::CliError;
use crate::plan::input::Text;

/// Largest single manifest file; anything above is no manifest.
const MAX_BYTES: u64 = 64 << 20;

/// Reads all sources in order. Directories yield their `.json`, `.yaml` and `.yml` files, sorted; files named outright
/// may have any extension.
///
/// # Errors
/// Unreadable sources, `-` more than once, URLs.
pub fn read(sources: &[String], recursive: bool) -> Result<Vec<Text>, CliError> {
    if sources.iter().filter(|s| *s == "-").count() > 1 {
        return Err(CliError::usage("standard input cannot be used for multiple arguments").hint("pass -f - once"));
    }
    let mut out = Vec::new();
    for source in sources {
        if source == "-" {
            let content = super::session::read_text("-")?;
            out.push(Text {
                source: "standard input".to_owned(),
                content,
            });
            continue;
        }
        if source.starts_with("http://") || source.starts_with("https://") {
            return Err(CliError::usage(format!("-f {source} is a URL"))
                .cause("this program fetches no manifests from the network")
                .hint(format!(
                    "curl -sS {} | kubectl eso apply -f -",
                    super::error::quoted(source)
                )));
        }
        for path in expand(source, recursive)? {
            out.push(Text {
                source: path.display().to_string(),
                content: text(&path)?,
            });
        }
    }
    Ok(out)
}

fn expand(source: &str, recursive: bool) -> Result<Vec<PathBuf>, CliError> {
    let path = Path::new(source);
    if path.is_dir() {
        let mut found = Vec::new();
        walk(path, recursive, &mut found)?;
        found.sort();
        return Ok(found);
    }
    if path.exists() || !source.contains(['*', '?', '[']) {
        return Ok(vec![path.to_owned()]);
    }
    let (folder, pattern) = match source.rsplit_once('/') {
        Some((folder, pattern)) => (PathBuf::from(if folder.is_empty() { "/" } else { folder }), pattern),
        None => (PathBuf::from("."), source),
    };
    let regex = glob(pattern).map_err(|e| CliError::usage(format!("{source:?} is not a usable pattern")).cause(e))?;
    let mut found: Vec<PathBuf> = entries(&folder)?
        .into_iter()
        .filter(|p| p.is_file() && p.file_name().is_some_and(|n| regex.is_match(&n.to_string_lossy())))
        .collect();
    found.sort();
    if found.is_empty() {
        return Err(CliError::usage(format!("{source:?} matches no file")).hint("check the path"));
    }
    Ok(found)
}

/// Go's `filepath.Match` for one path element: `*`, `?`, `[a-z]`.
fn glob(pattern: &str) -> Result<regex::Regex, String> {
    let mut out = String::from("^");
    let mut in_class = false;
    for c in pattern.chars() {
        match c {
            '[' if !in_class => {
                in_class = true;
                out.push('[');
            }
            ']' if in_class => {
                in_class = false;
                out.push(']');
            }
            c if in_class => out.push(c),
            '*' => out.push_str("[^/]*"),
            '?' => out.push_str("[^/]"),
            c => out.push_str(&regex::escape(&c.to_string())),
        }
    }
    out.push('$');
    regex::Regex::new(&out).map_err(|e| crate::cluster::request_error::one_line(&e.to_string()))
}

fn walk(folder: &Path, recursive: bool, found: &mut Vec<PathBuf>) -> Result<(), CliError> {
    for path in entries(folder)? {
        if path.is_dir() {
            if recursive {
                walk(&path, true, found)?;
            }
        } else if path
            .extension()
            .is_some_and(|e| ["json", "yaml", "yml"].iter().any(|k| e == *k))
        {
            found.push(path);
        }
    }
    Ok(())
}

fn entries(folder: &Path) -> Result<Vec<PathBuf>, CliError> {
    let failed = |e: std::io::Error| unreadable(folder, &e);
    std::fs::read_dir(folder)
        .map_err(failed)?
        .map(|entry| entry.map(|e| e.path()).map_err(failed))
        .collect()
}

fn text(path: &Path) -> Result<String, CliError> {
    let size = std::fs::metadata(path).map_err(|e| unreadable(path, &e))?.len();
    if size > MAX_BYTES {
        return Err(
            CliError::usage(format!("{} is too large for a manifest", path.display())).cause(format!("{size} bytes")),
        );
    }
    let bytes = std::fs::read(path).map_err(|e| unreadable(path, &e))?;
    let text = String::from_utf8(bytes).map_err(|_| {
        CliError::usage(format!("{} is not UTF-8 text", path.display()))
            .hint("save it as UTF-8 (Windows editors: without UTF-16)")
    })?;
    Ok(text.strip_prefix('\u{feff}').map_or(text.clone(), str::to_owned))
}

fn unreadable(path: &Path, error: &std::io::Error) -> CliError {
    CliError::usage(format!("cannot read {}", path.display()))
        .cause(error.to_string())
        .hint("check the path")
}
