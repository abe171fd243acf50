//! The pieces a template text is made of.

use crate::template::engine::format::quote;
use crate::template::engine::utf8;

/// The kind of a token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// The scan failed; the token's text is the message.
    Error,
    /// `true`, `false`
    Bool,
    /// Any other printable ASCII character.
    Char,
    /// `'a'`
    CharConstant,
    /// `1+2i`
    Complex,
    /// `=`
    Assign,
    /// `:=`
    Declare,
    /// End of the text.
    Eof,
    /// `.name`
    Field,
    /// A name.
    Identifier,
    /// `{{`
    LeftDelim,
    /// `(`
    LeftParen,
    /// A number.
    Number,
    /// `|`
    Pipe,
    /// A back-quoted string with its quotes.
    RawString,
    /// `}}`
    RightDelim,
    /// `)`
    RightParen,
    /// A run of blanks between arguments.
    Space,
    /// A quoted string with its quotes.
    String,
    /// Text outside actions.
    Text,
    /// `$name`
    Variable,
    /// `block`
    Block,
    /// `break`
    Break,
    /// `continue`
    Continue,
    /// `.`
    Dot,
    /// `define`
    Define,
    /// `else`
    Else,
    /// `end`
    End,
    /// `if`
    If,
    /// `nil`
    Nil,
    /// `range`
    Range,
    /// `template`
    Template,
    /// `with`
    With,
}

/// One token.
#[derive(Clone, Debug)]
pub struct Token<'t> {
    /// Its kind.
    pub kind: Kind,
    /// Byte offset where it starts.
    pub pos: usize,
    /// Its text.
    pub text: &'t [u8],
    /// The message of an `Error` token.
    pub message: String,
    /// The line where it starts, from 1.
    pub line: usize,
}

impl Token<'_> {
    /// How messages show the token.
    pub fn describe(&self) -> String {
        match self.kind {
            Kind::Eof => "EOF".to_owned(),
            Kind::Error => self.message.clone(),
            kind if is_keyword(kind) => format!("<{}>", utf8::lossy(self.text)),
            _ if self.text.len() > 10 => {
                let end = utf8::chars(self.text)
                    .nth(10)
                    .map_or(self.text.len(), |found| found.offset);
                format!("{}...", quote::quoted(&self.text[..end]))
            }
            _ => quote::quoted(self.text),
        }
    }
}

fn is_keyword(kind: Kind) -> bool {
    matches!(
        kind,
        Kind::Block
            | Kind::Break
            | Kind::Continue
            | Kind::Dot
            | Kind::Define
            | Kind::Else
            | Kind::End
            | Kind::If
            | Kind::Nil
            | Kind::Range
            | Kind::Template
            | Kind::With
    )
}

pub(super) fn word_kind(word: &[u8]) -> Kind {
    match word {
        b"block" => Kind::Block,
        b"break" => Kind::Break,
        b"continue" => Kind::Continue,
        b"define" => Kind::Define,
        b"else" => Kind::Else,
        b"end" => Kind::End,
        b"if" => Kind::If,
        b"nil" => Kind::Nil,
        b"range" => Kind::Range,
        b"template" => Kind::Template,
        b"with" => Kind::With,
        b"true" | b"false" => Kind::Bool,
        _ => Kind::Identifier,
    }
}
