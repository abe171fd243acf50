//! `--contexts a,prod-*,/re/` → context names. Pure; nothing is sent before every item has matched.

use regex::Regex;

use super::error::CliError;
use super::global::TargetArgs;
use crate::cluster::kubeconfig::nearest;

/// The downstream contexts, in the order asked for, each once.
///
/// # Errors
/// An item that matches nothing, with the nearest names; nothing chosen at all.
pub fn resolve(
    args: &TargetArgs,
    from_file: &[String],
    all: &[String],
    upstream: Option<&str>,
) -> Result<Vec<String>, CliError> {
    let mut chosen: Vec<String> = Vec::new();
    let mut add = |name: &String| {
        if !chosen.contains(name) {
            chosen.push(name.clone());
        }
    };
    if args.all_contexts {
        all.iter().filter(|n| Some(n.as_str()) != upstream).for_each(&mut add);
    }
    for item in args
        .contexts
        .iter()
        .flat_map(|list| split(list, all))
        .chain(from_file.iter().cloned())
    {
        let found = matching(&item, all)?;
        if found.is_empty() {
            return Err(unknown(&item, all));
        }
        found.iter().for_each(&mut add);
    }
    let mut excluded = Vec::new();
    for item in args.exclude_contexts.iter().flat_map(|list| split(list, all)) {
        let found = matching(&item, all)?;
        if found.is_empty() {
            return Err(unknown(&item, all));
        }
        excluded.extend(found);
    }
    chosen.retain(|n| !excluded.contains(n));
    if chosen.is_empty() {
        return Err(CliError::usage("no downstream context is chosen")
            .cause("--contexts, --all-contexts and --contexts-from are all absent or exclude each other")
            .hint("pass --contexts a,b; kubectl config get-contexts lists them"));
    }
    Ok(chosen)
}

/// One context per line, `#` starts a comment.
pub fn lines(text: &str) -> Vec<String> {
    text.lines()
        .map(|l| l.split('#').next().unwrap_or_default().trim().to_owned())
        .filter(|l| !l.is_empty())
        .collect()
}

/// A whole value that is a context name wins before any splitting: names such as `arn:…:cluster/x` hold anything.
fn split(list: &str, all: &[String]) -> Vec<String> {
    if all.iter().any(|n| n == list) {
        return vec![list.to_owned()];
    }
    list.split(',')
        .map(str::trim)
        .filter(|i| !i.is_empty())
        .map(str::to_owned)
        .collect()
}

fn matching(item: &str, all: &[String]) -> Result<Vec<String>, CliError> {
    if all.iter().any(|n| n == item) {
        return Ok(vec![item.to_owned()]);
    }
    let pattern = match item.strip_prefix('/').and_then(|i| i.strip_suffix('/')) {
        Some(regex) if !regex.is_empty() => regex.to_owned(),
        _ if item.contains(['*', '?']) => glob(item),
        _ => return Ok(Vec::new()),
    };
    let regex = Regex::new(&pattern).map_err(|e| {
        CliError::usage(format!("{item:?} is not a usable pattern"))
            .cause(crate::cluster::request_error::one_line(&e.to_string()))
    })?;
    Ok(all.iter().filter(|n| regex.is_match(n)).cloned().collect())
}

fn glob(pattern: &str) -> String {
    let mut out = String::from("^");
    for c in pattern.chars() {
        match c {
            '*' => out.push_str(".*"),
            '?' => out.push('.'),
            c => out.push_str(&regex::escape(&c.to_string())),
        }
    }
    out.push('$');
    out
}

fn unknown(item: &str, all: &[String]) -> CliError {
    let near = nearest(item, all);
    let cause = if near.is_empty() {
        "the kubeconfig has no contexts".to_owned()
    } else {
        format!("the nearest names are {}", near.join(", "))
    };
    CliError {
        reason: "UnknownContext".to_owned(),
        ..CliError::usage(format!("context {item:?} does not exist"))
    }
    .cause(cause)
    .hint("kubectl config get-contexts")
}

#[cfg(test)]
mod tests {
    use super::{lines, resolve};
    use crate::cli::global::TargetArgs;

    fn names(contexts: &[&str], exclude: &[&str]) -> Result<Vec<String>, String> {
        let all: Vec<String> = ["hub", "prod-eu", "prod-us", "arn:aws:eks:eu:1:cluster/x", "a,b"]
            .map(str::to_owned)
            .to_vec();
        let args = TargetArgs {
            contexts: contexts.iter().map(|c| (*c).to_owned()).collect(),
            exclude_contexts: exclude.iter().map(|c| (*c).to_owned()).collect(),
            ..TargetArgs::default()
        };
        resolve(&args, &[], &all, Some("hub")).map_err(|e| e.to_string())
    }

    #[test]
    fn names_globs_and_patterns() {
        assert_eq!(names(&["prod-us,prod-eu"], &[]).unwrap(), ["prod-us", "prod-eu"]);
        assert_eq!(names(&["prod-*"], &["prod-us"]).unwrap(), ["prod-eu"]);
        assert_eq!(names(&["/^prod/", "prod-eu"], &[]).unwrap(), ["prod-eu", "prod-us"]);
        assert_eq!(names(&["arn:aws:eks:eu:1:cluster/x"], &[]).unwrap().len(), 1);
        assert_eq!(names(&["a,b"], &[]).unwrap(), ["a,b"]);
    }

    #[test]
    fn what_matches_nothing_is_an_error_with_the_nearest() {
        assert!(names(&["prod-ue"], &[]).unwrap_err().contains("prod-eu"));
        assert!(names(&[], &[]).is_err());
        assert!(names(&["/(/"], &[]).unwrap_err().contains("pattern"));
    }

    #[test]
    fn files_have_comments() {
        assert_eq!(lines("a\n# x\n b # c\n\n"), ["a", "b"]);
    }
}
