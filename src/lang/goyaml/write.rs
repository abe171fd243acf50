//! Writing: which style a scalar gets, in which order keys come, where lines are folded.

use base64::Engine as _;

use super::number::format_float64;
use super::order::compare_keys;
use super::resolve::is_plain_text;
use super::scalar::{Analysis, analyze, is_break, is_printable};
use super::{Yaml, YamlError};

/// Column after which a long scalar is folded at its next blank.
const BEST_WIDTH: usize = 80;

/// Blanks per level.
const INDENT: usize = 2;

/// Longest key, in bytes, that is written without `? `.
const LONGEST_SIMPLE_KEY: usize = 128;

/// Writes one document as `yaml.Marshal` does; the text ends with a newline.
///
/// # Errors
/// When values nest deeper than [`super::MAX_DEPTH`].
pub fn emit(value: &Yaml) -> Result<Vec<u8>, YamlError> {
    let mut writer = Writer {
        output: String::new(),
        column: 0,
        blank: true,
        indention: true,
        depth: 0,
    };
    writer.node(
        value,
        Place {
            parent: None,
            in_map: false,
            key: false,
        },
    )?;
    writer.break_line_to(0);
    Ok(writer.output.into_bytes())
}

/// Where a node stands.
#[derive(Clone, Copy)]
struct Place {
    /// The column of the collection around it; none at the root.
    parent: Option<usize>,
    /// It is a key or value of a map.
    in_map: bool,
    /// It is a key before `:`.
    key: bool,
}

impl Place {
    /// The column of lines that continue a scalar here.
    fn scalar_indent(self) -> usize {
        self.parent.map_or(INDENT, |column| column + INDENT)
    }

    /// The column of a collection here.
    fn collection_indent(self) -> usize {
        self.parent.map_or(0, |column| column + INDENT)
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Style {
    Plain,
    SingleQuoted,
    DoubleQuoted,
    Literal,
}

struct Writer {
    output: String,
    column: usize,
    /// The last thing written was blank, so that no further blank is needed.
    blank: bool,
    /// Nothing but indentation and `- `, `? `, `: ` stands on this line.
    indention: bool,
    depth: usize,
}

impl Writer {
    fn node(&mut self, value: &Yaml, place: Place) -> Result<(), YamlError> {
        match value {
            Yaml::Null => self.word("null", place),
            Yaml::Bool(value) => self.word(if *value { "true" } else { "false" }, place),
            Yaml::Int(number) => self.word(&number.to_string(), place),
            Yaml::Uint(number) => self.word(&number.to_string(), place),
            Yaml::Float(number) => self.word(
                match format_float64(*number).as_str() {
                    "+Inf" => ".inf",
                    "-Inf" => "-.inf",
                    "NaN" => ".nan",
                    text => text,
                },
                place,
            ),
            Yaml::Text(bytes) => self.text(bytes, place),
            Yaml::List(items) if items.is_empty() => self.indicator("[]", true, false),
            Yaml::Map(entries) if entries.is_empty() => self.indicator("{}", true, false),
            Yaml::List(items) => return self.nested(|writer| writer.list(items, place)),
            Yaml::Map(entries) => return self.nested(|writer| writer.map(entries, place)),
        }
        Ok(())
    }

    fn nested(&mut self, write: impl FnOnce(&mut Self) -> Result<(), YamlError>) -> Result<(), YamlError> {
        self.depth += 1;
        if self.depth > super::MAX_DEPTH {
            return Err(YamlError::new(format!(
                "yaml: exceeded max depth of {}",
                super::MAX_DEPTH
            )));
        }
        write(self)?;
        self.depth -= 1;
        Ok(())
    }

    fn list(&mut self, items: &[Yaml], place: Place) -> Result<(), YamlError> {
        // A list right after `key:` is not indented.
        let column = match place.parent {
            Some(column) if place.in_map && !self.indention => column,
            _ => place.collection_indent(),
        };
        for item in items {
            self.break_line_to(column);
            self.indicator("-", true, true);
            self.node(
                item,
                Place {
                    parent: Some(column),
                    in_map: false,
                    key: false,
                },
            )?;
        }
        Ok(())
    }

    fn map(&mut self, entries: &[(Yaml, Yaml)], place: Place) -> Result<(), YamlError> {
        let column = place.collection_indent();
        let mut sorted: Vec<&(Yaml, Yaml)> = entries.iter().collect();
        sorted.sort_by(|a, b| compare_keys(&a.0, &b.0));
        for (key, value) in sorted {
            let inside = Place {
                parent: Some(column),
                in_map: true,
                key: false,
            };
            self.break_line_to(column);
            if is_simple_key(key) {
                self.node(key, Place { key: true, ..inside })?;
                self.indicator(":", false, false);
            } else {
                self.indicator("?", true, true);
                self.node(key, inside)?;
                self.break_line_to(column);
                self.indicator(":", true, true);
            }
            self.node(value, inside)?;
        }
        Ok(())
    }

    fn text(&mut self, bytes: &[u8], place: Place) {
        let Ok(text) = std::str::from_utf8(bytes) else {
            let encoded = binary(bytes);
            self.indicator("!!binary", true, false);
            let style = if encoded.contains('\n') {
                Style::Literal
            } else {
                Style::Plain
            };
            return self.scalar(&encoded, style, place);
        };
        let style = if text.contains('\n') {
            Style::Literal
        } else if is_plain_text(text) {
            Style::Plain
        } else {
            Style::DoubleQuoted
        };
        self.scalar(text, style, place);
    }

    fn word(&mut self, text: &str, place: Place) {
        self.scalar(text, Style::Plain, place);
    }

    fn scalar(&mut self, text: &str, wanted: Style, place: Place) {
        let characters: Vec<char> = text.chars().collect();
        let indent = place.scalar_indent();
        match allowed_style(wanted, analyze(&characters), characters.is_empty(), place.key) {
            Style::Plain => self.plain(&characters, indent, !place.key),
            Style::SingleQuoted => self.single_quoted(&characters, indent, !place.key),
            Style::DoubleQuoted => self.double_quoted(&characters, indent, !place.key),
            Style::Literal => self.literal(&characters, indent),
        }
    }

    fn plain(&mut self, text: &[char], indent: usize, may_fold: bool) {
        if !self.blank {
            self.put(' ');
        }
        self.folded(text, indent, |at| may_fold && text.get(at + 1) != Some(&' '));
        self.blank = false;
        self.indention = false;
    }

    fn single_quoted(&mut self, text: &[char], indent: usize, may_fold: bool) {
        self.indicator("'", true, false);
        let last = text.len().saturating_sub(1);
        self.folded(text, indent, |at| {
            may_fold && at > 0 && at < last && text.get(at + 1) != Some(&' ')
        });
        self.indicator("'", false, false);
        self.blank = false;
    }

    /// Plain or single-quoted text: a break is doubled, a blank beyond the width becomes a break.
    fn folded(&mut self, text: &[char], indent: usize, may_fold: impl Fn(usize) -> bool) {
        let quoted = self.output.ends_with('\'');
        let (mut spaces, mut breaks) = (false, false);
        for (at, &c) in text.iter().enumerate() {
            if c == ' ' {
                if !spaces && self.column > BEST_WIDTH && may_fold(at) {
                    self.break_line_to(indent);
                } else {
                    self.put(c);
                }
                spaces = true;
            } else if is_break(c) {
                if !breaks && c == '\n' {
                    self.put_break('\n');
                }
                self.put_break(c);
                self.indention = true;
                breaks = true;
            } else {
                if breaks {
                    self.break_line_to(indent);
                }
                if quoted && c == '\'' {
                    self.put(c);
                }
                self.put(c);
                self.indention = false;
                (spaces, breaks) = (false, false);
            }
        }
    }

    fn double_quoted(&mut self, text: &[char], indent: usize, may_fold: bool) {
        self.indicator("\"", true, false);
        // go-yaml takes every character of a text that begins with a byte order mark for such a mark.
        let all_marks = text.first() == Some(&'\u{feff}');
        let last = text.len().saturating_sub(1);
        let mut spaces = false;
        for (at, &c) in text.iter().enumerate() {
            if all_marks || !is_printable(c) || is_break(c) || matches!(c, '"' | '\\') {
                escape(c).chars().for_each(|c| self.put(c));
                spaces = false;
            } else if c == ' ' {
                if may_fold && !spaces && self.column > BEST_WIDTH && at > 0 && at < last {
                    self.break_line_to(indent);
                    if text.get(at + 1) == Some(&' ') {
                        self.put('\\');
                    }
                } else {
                    self.put(c);
                }
                spaces = true;
            } else {
                self.put(c);
                spaces = false;
            }
        }
        self.indicator("\"", false, false);
        self.blank = false;
    }

    fn literal(&mut self, text: &[char], indent: usize) {
        self.indicator("|", true, false);
        if text.first().is_some_and(|&c| c == ' ' || is_break(c)) {
            self.indicator("2", false, false);
        }
        let ends = |back: usize| text.len().checked_sub(back).is_some_and(|at| is_break(text[at]));
        if !ends(1) {
            self.indicator("-", false, false);
        } else if text.len() == 1 || ends(2) {
            self.indicator("+", false, false);
        }
        self.put_break('\n');
        self.indention = true;
        self.blank = true;
        let mut breaks = true;
        for &c in text {
            if is_break(c) {
                self.put_break(c);
                self.indention = true;
            } else {
                if breaks {
                    self.break_line_to(indent);
                }
                self.put(c);
                self.indention = false;
            }
            breaks = is_break(c);
        }
    }

    /// Goes to a column on a fresh line, unless only indentation has been written and the column is not reached.
    fn break_line_to(&mut self, column: usize) {
        if !self.indention || self.column > column || (self.column == column && !self.blank) {
            self.put_break('\n');
        }
        while self.column < column {
            self.put(' ');
        }
        self.blank = true;
        self.indention = true;
    }

    fn indicator(&mut self, text: &str, needs_blank: bool, indents: bool) {
        if needs_blank && !self.blank {
            self.put(' ');
        }
        self.output.push_str(text);
        self.column += text.len();
        self.blank = false;
        self.indention = self.indention && indents;
    }

    fn put(&mut self, c: char) {
        self.output.push(c);
        self.column += 1;
    }

    fn put_break(&mut self, c: char) {
        self.output.push(c);
        self.column = 0;
    }
}

fn is_simple_key(key: &Yaml) -> bool {
    match key {
        Yaml::Text(text) => {
            let breaks = String::from_utf8_lossy(text).chars().any(is_break);
            !breaks && text.len() <= LONGEST_SIMPLE_KEY
        }
        Yaml::List(items) => items.is_empty(),
        Yaml::Map(entries) => entries.is_empty(),
        _ => true,
    }
}

/// The wanted style, or the next one that the characters and the place allow.
fn allowed_style(wanted: Style, text: Analysis, empty: bool, key: bool) -> Style {
    let mut style = wanted;
    if key && text.multiline {
        style = Style::DoubleQuoted;
    }
    if style == Style::Plain && (!text.plain || (empty && key)) {
        style = Style::SingleQuoted;
    }
    if style == Style::SingleQuoted && !text.single_quoted {
        style = Style::DoubleQuoted;
    }
    if style == Style::Literal && (!text.block || key) {
        style = Style::DoubleQuoted;
    }
    style
}

fn escape(c: char) -> String {
    let letter = match c {
        '\0' => '0',
        '\x07' => 'a',
        '\x08' => 'b',
        '\t' => 't',
        '\n' => 'n',
        '\x0b' => 'v',
        '\x0c' => 'f',
        '\r' => 'r',
        '\x1b' => 'e',
        '"' => '"',
        '\\' => '\\',
        '\u{85}' => 'N',
        '\u{a0}' => '_',
        '\u{2028}' => 'L',
        '\u{2029}' => 'P',
        _ => {
            return match u32::from(c) {
                code @ ..=0xff => format!("\\x{code:02X}"),
                code @ ..=0xffff => format!("\\u{code:04X}"),
                code => format!("\\U{code:08X}"),
            };
        }
    };
    format!("\\{letter}")
}

/// Bytes that are not text: base64, in lines of 70 when it is longer than one.
fn binary(bytes: &[u8]) -> String {
    const LINE: usize = 70;
    let encoded = base64::engine::general_purpose::STANDARD.encode(bytes);
    if encoded.len() < LINE {
        return encoded;
    }
    let mut lines = String::with_capacity(encoded.len() + encoded.len() / LINE + 1);
    for (at, c) in encoded.chars().enumerate() {
        if at > 0 && at % LINE == 0 {
            lines.push('\n');
        }
        lines.push(c);
    }
    lines.push('\n');
    lines
}
