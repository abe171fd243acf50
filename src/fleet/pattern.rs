//! Shell patterns with the rules of Go's `filepath.Match` on Unix.
use super::error::FleetError;

/// Whether `pattern` matches the whole of `name`. `*` and `?` stop at `/`.
///
/// # Errors
/// An unfinished class or a trailing backslash.
pub fn matches(pattern: &str, name: &str) -> Result<bool, FleetError> {
    let tokens = tokens(pattern).ok_or_else(|| FleetError::Pattern {
        pattern: pattern.to_owned(),
    })?;
    let name: Vec<char> = name.chars().collect();
    Ok(walk(&tokens, &name))
}

/// Whether a path element needs matching at all.
#[must_use]
pub fn has_meta(pattern: &str) -> bool {
    pattern.contains(['*', '?', '[', '\\'])
}

enum Token {
    Star,
    Any,
    Char(char),
    Class { negated: bool, ranges: Vec<(char, char)> },
}

fn tokens(pattern: &str) -> Option<Vec<Token>> {
    let mut chars = pattern.chars().peekable();
    let mut out = Vec::new();
    while let Some(c) = chars.next() {
        out.push(match c {
            '*' => Token::Star,
            '?' => Token::Any,
            '\\' => Token::Char(chars.next()?),
            '[' => class(&mut chars)?,
            other => Token::Char(other),
        });
    }
    Some(out)
}

fn class(chars: &mut std::iter::Peekable<std::str::Chars<'_>>) -> Option<Token> {
    let negated = chars.next_if_eq(&'^').is_some();
    let mut ranges = Vec::new();
    loop {
        if !ranges.is_empty() && chars.next_if_eq(&']').is_some() {
            return Some(Token::Class { negated, ranges });
        }
        let low = class_char(chars)?;
        let high = if chars.next_if_eq(&'-').is_some() {
            class_char(chars)?
        } else {
            low
        };
        ranges.push((low, high));
    }
}

fn class_char(chars: &mut std::iter::Peekable<std::str::Chars<'_>>) -> Option<char> {
    match chars.next()? {
        '-' | ']' => None,
        '\\' => chars.next(),
        other => Some(other),
    }
}

/// Linear-time matching with one point of return, the last star.
fn walk(tokens: &[Token], name: &[char]) -> bool {
    let (mut token, mut at) = (0, 0);
    let mut star: Option<(usize, usize)> = None;
    loop {
        let step = match tokens.get(token) {
            Some(Token::Star) => {
                star = Some((token, at));
                token += 1;
                continue;
            }
            Some(one) => name.get(at).is_some_and(|c| fits(one, *c)),
            None if at == name.len() => return true,
            None => false,
        };
        if step {
            token += 1;
            at += 1;
        } else if let Some((star_token, star_at)) = star.filter(|(_, from)| name.get(*from).is_some_and(|c| *c != '/'))
        {
            token = star_token + 1;
            at = star_at + 1;
            star = Some((star_token, star_at + 1));
        } else {
            return false;
        }
    }
}

fn fits(token: &Token, c: char) -> bool {
    match token {
        Token::Star => false,
        Token::Any => c != '/',
        Token::Char(wanted) => *wanted == c,
        Token::Class { negated, ranges } => ranges.iter().any(|(low, high)| *low <= c && c <= *high) != *negated,
    }
}
