//! `property`: lodash path → path of ESO (gjson).

/// Cuts a lodash path into its keys, as lodash's `toPath` does.
#[must_use]
pub fn tokens(path: &str) -> Vec<String> {
    let chars: Vec<char> = path.chars().collect();
    let mut out = Vec::new();
    let mut at = 0;
    if chars.first() == Some(&'.') {
        out.push(String::new());
    }
    while at < chars.len() {
        match chars[at] {
            '.' => {
                at += 1;
                if chars.get(at).is_none_or(|c| *c == '.') {
                    out.push(String::new());
                }
            }
            '[' => {
                if let Some((token, next)) = quoted(&chars, at + 1) {
                    out.push(token);
                    at = next;
                } else {
                    at += 1;
                }
            }
            ']' => at += 1,
            _ => {
                let start = at;
                while at < chars.len() && !matches!(chars[at], '.' | '[' | ']') {
                    at += 1;
                }
                out.push(chars[start..at].iter().collect());
            }
        }
    }
    out
}

/// `"key"]` or `'key']` from `at` on: the key and the position after the bracket.
fn quoted(chars: &[char], at: usize) -> Option<(String, usize)> {
    let quote = *chars.get(at).filter(|c| matches!(c, '"' | '\''))?;
    let (mut token, mut i) = (String::new(), at + 1);
    loop {
        let c = *chars.get(i)?;
        i += 1;
        if c == '\\' {
            token.push(*chars.get(i)?);
            i += 1;
        } else if c == quote {
            return (chars.get(i) == Some(&']')).then_some((token, i + 1));
        } else {
            token.push(c);
        }
    }
}

/// The path ESO reads. `literal_first` is true for providers that look up the whole text as a key before anything else.
#[must_use]
pub fn convert(path: &str, literal_first: bool) -> String {
    let tokens = tokens(path);
    let bracketed = path.contains(['[', ']']);
    if !bracketed && (tokens.len() != 1 && tokens.iter().all(|t| is_plain(t))) {
        return path.to_owned();
    }
    if let ([token], true) = (tokens.as_slice(), literal_first) {
        return token.clone();
    }
    tokens.iter().map(|t| escape(t)).collect::<Vec<_>>().join(".")
}

fn is_plain_char(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | ':' | ' ') || !c.is_ascii()
}

fn is_plain(token: &str) -> bool {
    token.chars().all(is_plain_char)
}

fn escape(token: &str) -> String {
    let mut out = String::with_capacity(token.len());
    for c in token.chars() {
        if !is_plain_char(c) {
            out.push('\\');
        }
        out.push(c);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::{convert, tokens};

    #[test]
    fn cuts_as_lodash_does() {
        for (path, want) in [
            ("a.b", vec!["a", "b"]),
            ("a[0].b", vec!["a", "0", "b"]),
            (r#"a["x.y"]"#, vec!["a", "x.y"]),
            ("['k']", vec!["k"]),
            ("a[b].c", vec!["a", "b", "c"]),
            ("a..b", vec!["a", "", "b"]),
            (r#"["a\"b"]"#, vec!["a\"b"]),
            (".a", vec!["", "a"]),
        ] {
            assert_eq!(tokens(path), want, "{path}");
        }
    }

    #[test]
    fn escapes_only_where_a_path_is_read() {
        for (path, literal_first, want) in [
            ("user", false, "user"),
            ("pass.word", true, "pass.word"),
            ("hosts[0].name", false, "hosts.0.name"),
            (r#"["a.b"].c"#, false, r"a\.b.c"),
            (r#"["a.b"]"#, false, r"a\.b"),
            (r#"["a.b"]"#, true, "a.b"),
            ("we*ird", false, r"we\*ird"),
            ("we*ird", true, "we*ird"),
            ("a.we*ird", false, r"a.we\*ird"),
            ("with space", false, "with space"),
            ("größe", false, "größe"),
            ("a:b-c_d", false, "a:b-c_d"),
        ] {
            assert_eq!(convert(path, literal_first), want, "{path}");
        }
    }
}
