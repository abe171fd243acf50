//! A lodash template → tokens: the code of all tags in order, with the text and the prints between it.

use crate::migrate::kes::js::lexer::{self, Token};
use crate::migrate::kes::js::parser::SyntaxError;

/// Cuts a template at `<%- %>`, `<%= %>`, `${ }` and `<% %>`, in lodash's order of precedence.
///
/// After a statement tag lodash ends the statement and starts a new text, even an empty one; both are reproduced,
/// because they decide whether `else` may follow.
pub fn tokens(source: &str) -> Result<Vec<Token>, SyntaxError> {
    let mut out = Vec::new();
    let mut text_start = 0;
    let mut at = 0;
    while let Some(offset) = source[at..].find(['<', '$']) {
        at += offset;
        let Some(tag) = tag(&source[at..]) else {
            at += 1;
            continue;
        };
        if at > text_start {
            out.push(Token::Text(source[text_start..at].to_owned()));
        }
        match tag.kind {
            Kind::Statement => {
                out.extend(lexer::tokens(tag.code, true)?);
                out.push(Token::Punct(";"));
                out.push(Token::Text(String::new()));
            }
            Kind::Print { .. } if tag.code.is_empty() => {}
            Kind::Print { escape } => {
                let tokens = lexer::tokens(tag.code, false).map_err(|e| e.inside(tag.code))?;
                out.push(Token::Print {
                    tokens,
                    source: tag.code.to_owned(),
                    escape,
                });
            }
        }
        at += tag.length;
        text_start = at;
    }
    if text_start < source.len() {
        out.push(Token::Text(source[text_start..].to_owned()));
    }
    Ok(out)
}

enum Kind {
    Statement,
    Print { escape: bool },
}

struct Tag<'a> {
    kind: Kind,
    code: &'a str,
    length: usize,
}

/// The tag at the very start of `rest`, if one is there.
fn tag(rest: &str) -> Option<Tag<'_>> {
    if rest.starts_with("${") {
        return interpolation(rest);
    }
    let after = rest.strip_prefix("<%")?;
    let forms = [
        ("-", Kind::Print { escape: true }),
        ("=", Kind::Print { escape: false }),
        ("", Kind::Statement),
    ];
    for (mark, kind) in forms {
        let Some(body) = after.strip_prefix(mark) else { continue };
        // At least one character stands between the marks.
        let first = body.chars().next()?.len_utf8();
        if let Some(end) = body[first..].find("%>") {
            let code = &body[..first + end];
            return Some(Tag {
                kind,
                code,
                length: 2 + mark.len() + code.len() + 2,
            });
        }
    }
    None
}

/// `${…}` up to the first brace that no backslash protects.
fn interpolation(rest: &str) -> Option<Tag<'_>> {
    let body = &rest[2..];
    let mut chars = body.char_indices();
    while let Some((i, c)) = chars.next() {
        match c {
            '}' => {
                return Some(Tag {
                    kind: Kind::Print { escape: false },
                    code: &body[..i],
                    length: 2 + i + 1,
                });
            }
            // JavaScript's dot does not match a line break.
            '\\' if chars.next().is_none_or(|(_, c)| c == '\n' || c == '\r') => return None,
            _ => {}
        }
    }
    None
}
