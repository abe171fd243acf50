//! Edits of single lines. Whether they were enough is found out afterwards, by reading the result.

/// The text with versions replaced wherever a line holds nothing else.
#[must_use]
pub fn lines(text: &str) -> String {
    text.split_inclusive('\n').map(line).collect()
}

fn line(line: &str) -> String {
    let Some((key, value)) = line.split_once(':') else {
        return line.to_owned();
    };
    let bare = key.trim().trim_start_matches("- ").trim().trim_matches(['"', '\'']);
    let (old, new): (&[&str], &str) = match bare {
        "apiVersion" => (
            &["external-secrets.io/v1beta1", "external-secrets.io/v1alpha1"],
            "external-secrets.io/v1",
        ),
        "engineVersion" => (&["v1"], "v2"),
        _ => return line.to_owned(),
    };
    let scalar = value
        .split(" #")
        .next()
        .unwrap_or(value)
        .trim()
        .trim_matches(['"', '\'']);
    if !old.contains(&scalar) {
        return line.to_owned();
    }
    // The first occurrence after the colon is the value itself.
    format!("{key}:{}", value.replacen(scalar, new, 1))
}
