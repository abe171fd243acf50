//! Which style a scalar can be written in, judged by its characters.

/// What the characters of a scalar allow.
#[expect(clippy::struct_excessive_bools, reason = "four independent answers")]
#[derive(Clone, Copy, Debug)]
pub(super) struct Analysis {
    /// It holds a line break.
    pub multiline: bool,
    /// It can stand without quotes.
    pub plain: bool,
    /// It can stand in single quotes.
    pub single_quoted: bool,
    /// It can be a literal block.
    pub block: bool,
}

/// Line breaks of YAML 1.1.
pub(super) fn is_break(c: char) -> bool {
    matches!(c, '\r' | '\n' | '\u{85}' | '\u{2028}' | '\u{2029}')
}

/// Characters that can be written as they are. Everything beyond the basic plane is escaped.
pub(super) fn is_printable(c: char) -> bool {
    matches!(c, '\n' | ' '..='~' | '\u{a0}'..='\u{d7ff}' | '\u{e000}'..='\u{fefe}' | '\u{ff00}'..='\u{fffd}')
}

fn is_blank_or_break(c: Option<&char>) -> bool {
    c.is_none_or(|&c| c == ' ' || c == '\t' || is_break(c))
}

/// Judges a scalar.
pub(super) fn analyze(text: &[char]) -> Analysis {
    let (Some(&first), Some(&last)) = (text.first(), text.last()) else {
        return Analysis {
            multiline: false,
            plain: true,
            single_quoted: true,
            block: false,
        };
    };
    let special = text.iter().any(|&c| !is_printable(c));
    let breaks = text.iter().any(|&c| is_break(c));
    let follows = |a: fn(char) -> bool, b: fn(char) -> bool| text.windows(2).any(|pair| a(pair[0]) && b(pair[1]));
    let space_break = follows(|c| c == ' ', is_break);
    let break_space = follows(is_break, |c| c == ' ');
    let at_edge = [first, last].into_iter().any(|c| c == ' ' || is_break(c));
    let clean = !space_break && !special;
    Analysis {
        multiline: breaks,
        plain: clean && !breaks && !at_edge && !has_indicators(text),
        single_quoted: clean && !break_space,
        block: clean && last != ' ',
    }
}

/// True when a character would be taken for YAML syntax in a plain scalar outside of brackets.
fn has_indicators(text: &[char]) -> bool {
    if text.starts_with(&['-'; 3]) || text.starts_with(&['.'; 3]) {
        return true;
    }
    let first_is_indicator = match text[0] {
        '#' | ',' | '[' | ']' | '{' | '}' | '&' | '*' | '!' | '|' | '>' | '\'' | '"' | '%' | '@' | '`' => true,
        '?' | ':' | '-' => is_blank_or_break(text.get(1)),
        _ => false,
    };
    let inside = (1..text.len()).any(|at| match text[at] {
        ':' => is_blank_or_break(text.get(at + 1)),
        '#' => is_blank_or_break(text.get(at - 1)),
        _ => false,
    });
    first_is_indicator || inside
}
