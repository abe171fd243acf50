//! Tokens to trees.
//!
//! Blocks (`if`, `range`, `define`…) are kept on a stack of their own, so deep nesting cannot exhaust the
//! machine's stack; parentheses recurse and are bounded by [`MAX_PARENS`].

mod expression;

use super::ast::{Branch, Call, List, Node, Pipe, Tree};
use super::format::quote;
use super::lex::{Kind, Lexer, Token};
use super::utf8;
use super::value::Str;

/// Deepest nesting of parentheses; Go allows 10000 on its growing stacks.
const MAX_PARENS: usize = 100;
/// Deepest nesting of blocks, a chain of `else if` included.
const MAX_BLOCKS: usize = 1000;

/// Why a text is no template.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParseError {
    /// The line Go names.
    pub line: usize,
    /// Byte offset of the token at fault.
    pub pos: usize,
    /// Go's message.
    pub message: String,
}

type Parsed<T> = Result<T, ParseError>;

/// The state of one tree under construction: a `define` or `block` starts with a fresh one.
struct Scope<'t> {
    tokens: [Token<'t>; 3],
    peeked: usize,
    variables: Vec<&'t [u8]>,
    range_depth: usize,
    action_line: usize,
    paren_depth: usize,
}

impl Scope<'_> {
    fn new() -> Self {
        let none = || Token {
            kind: Kind::Eof,
            pos: 0,
            text: b"",
            message: String::new(),
            line: 0,
        };
        Self {
            tokens: [none(), none(), none()],
            peeked: 0,
            variables: vec![b"$"],
            range_depth: 0,
            action_line: 0,
            paren_depth: 0,
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Control {
    If,
    With,
    Range,
}

impl Control {
    fn word(self) -> &'static str {
        match self {
            Self::If => "if",
            Self::With => "with",
            Self::Range => "range",
        }
    }
}

enum Purpose<'t> {
    Control {
        control: Control,
        pipe: Pipe,
        mark: usize,
        first: Option<List>,
        chained: bool,
    },
    Define {
        name: Vec<u8>,
        outer: Box<Scope<'t>>,
    },
    Block {
        call: Call,
        outer: Box<Scope<'t>>,
    },
}

/// A block whose `end` has not come yet, with the nodes found so far.
struct Open<'t> {
    purpose: Purpose<'t>,
    list: List,
}

/// The parser.
struct Parser<'t> {
    /// The template's name, for messages.
    name: String,
    lexer: Lexer<'t>,
    scope: Scope<'t>,
    open: Vec<Open<'t>>,
    root: List,
    trees: Vec<Tree>,
}

/// All trees of a template text; the one with the template's own name is among them.
///
/// # Errors
/// The text is no template.
pub fn parse(name: &[u8], text: &[u8], left: &[u8], right: &[u8]) -> Parsed<Vec<Tree>> {
    let mut parser = Parser {
        name: utf8::lossy(name),
        lexer: Lexer::new(text, left, right),
        scope: Scope::new(),
        open: Vec::new(),
        root: List::default(),
        trees: Vec::new(),
    };
    parser.run()?;
    let root = std::mem::take(&mut parser.root);
    parser.add(name.to_vec(), root)?;
    Ok(parser.trees)
}

impl<'t> Parser<'t> {
    fn run(&mut self) -> Parsed<()> {
        loop {
            if self.open.is_empty() {
                if self.peek().kind == Kind::Eof {
                    return Ok(());
                }
                if self.try_define()? {
                    continue;
                }
            } else if self.peek_non_space().kind == Kind::Eof {
                return Err(self.error("unexpected EOF"));
            }
            self.text_or_action()?;
        }
    }

    fn try_define(&mut self) -> Parsed<bool> {
        if self.peek().kind != Kind::LeftDelim {
            return Ok(false);
        }
        let delim = self.next();
        if self.next_non_space().kind != Kind::Define {
            self.push_back(&[delim]);
            return Ok(false);
        }
        let outer = Box::new(std::mem::replace(&mut self.scope, Scope::new()));
        let token = self.next_non_space();
        let name = self.template_name(&token, "define clause")?;
        self.expect(Kind::RightDelim, "define clause")?;
        self.push_open(Purpose::Define { name, outer })?;
        Ok(true)
    }

    // ----- tokens

    fn next(&mut self) -> Token<'t> {
        if self.scope.peeked > 0 {
            self.scope.peeked -= 1;
        } else {
            self.scope.tokens[0] = self.lexer.next_token();
        }
        self.scope.tokens[self.scope.peeked].clone()
    }

    fn backup(&mut self) {
        self.scope.peeked += 1;
    }

    /// Pushes back tokens that came before the one still at hand, the latest first.
    fn push_back(&mut self, tokens: &[Token<'t>]) {
        for (slot, token) in self.scope.tokens[1..].iter_mut().zip(tokens) {
            *slot = token.clone();
        }
        self.scope.peeked = 1 + tokens.len();
    }

    fn peek(&mut self) -> Token<'t> {
        let token = self.next();
        self.backup();
        token
    }

    fn next_non_space(&mut self) -> Token<'t> {
        loop {
            let token = self.next();
            if token.kind != Kind::Space {
                return token;
            }
        }
    }

    fn peek_non_space(&mut self) -> Token<'t> {
        let token = self.next_non_space();
        self.backup();
        token
    }

    fn error(&self, message: impl Into<String>) -> ParseError {
        let last = &self.scope.tokens[0];
        ParseError {
            line: last.line,
            pos: last.pos,
            message: message.into(),
        }
    }

    fn error_at(&self, token: &Token<'t>, message: impl Into<String>) -> ParseError {
        ParseError {
            pos: token.pos,
            ..self.error(message)
        }
    }

    fn unexpected(&self, token: &Token<'t>, context: &str) -> ParseError {
        if token.kind != Kind::Error {
            return self.error_at(token, format!("unexpected {} in {context}", token.describe()));
        }
        let started = self.scope.action_line;
        if started == 0 || started == token.line {
            return self.error_at(token, token.describe());
        }
        let joint = if token.message.ends_with(" action") {
            " started at"
        } else {
            " in action started at"
        };
        let mut error = self.error_at(token, token.describe());
        error.message.push_str(&format!("{joint} {}:{started}", self.name));
        error
    }

    fn expect(&mut self, kind: Kind, context: &str) -> Parsed<Token<'t>> {
        let token = self.next_non_space();
        if token.kind == kind {
            Ok(token)
        } else {
            Err(self.unexpected(&token, context))
        }
    }

    // ----- structure

    fn append(&mut self, node: Node) {
        match self.open.last_mut() {
            Some(open) => open.list.0.push(node),
            None => self.root.0.push(node),
        }
    }

    fn push_open(&mut self, purpose: Purpose<'t>) -> Parsed<()> {
        if self.open.len() >= MAX_BLOCKS {
            return Err(self.error("max expression depth exceeded"));
        }
        self.open.push(Open {
            purpose,
            list: List::default(),
        });
        Ok(())
    }

    fn add(&mut self, name: Vec<u8>, root: List) -> Parsed<()> {
        match self.trees.iter_mut().find(|tree| tree.name == name) {
            None => self.trees.push(Tree { name, root }),
            Some(tree) if tree.root.is_blank() => tree.root = root,
            Some(_) if root.is_blank() => {}
            Some(_) => {
                let shown = quote::quoted(&name);
                return Err(self.error(format!("template: multiple definition of template {shown}")));
            }
        }
        Ok(())
    }

    fn text_or_action(&mut self) -> Parsed<()> {
        let token = self.next_non_space();
        match token.kind {
            Kind::Text => self.append(Node::Text(Str::constant(token.text.to_vec()))),
            Kind::LeftDelim => {
                self.scope.action_line = token.line;
                self.action()?;
            }
            _ => return Err(self.unexpected(&token, "input")),
        }
        Ok(())
    }

    fn action(&mut self) -> Parsed<()> {
        let token = self.next_non_space();
        match token.kind {
            Kind::If => return self.control(Control::If, false),
            Kind::With => return self.control(Control::With, false),
            Kind::Range => return self.control(Control::Range, false),
            Kind::Block => return self.block(),
            Kind::Else => self.otherwise()?,
            Kind::End => {
                self.expect(Kind::RightDelim, "end")?;
                self.end()?;
            }
            Kind::Break => self.jump("{{break}}", Node::Break)?,
            Kind::Continue => self.jump("{{continue}}", Node::Continue)?,
            Kind::Template => self.call()?,
            _ => {
                self.backup();
                let pipe = self.pipeline("command", Kind::RightDelim)?;
                self.append(Node::Action(pipe));
            }
        }
        self.scope.action_line = 0;
        Ok(())
    }

    fn jump(&mut self, word: &str, node: Node) -> Parsed<()> {
        let token = self.next_non_space();
        if token.kind != Kind::RightDelim {
            return Err(self.unexpected(&token, word));
        }
        if self.scope.range_depth == 0 {
            return Err(self.error(format!("{word} outside {{{{range}}}}")));
        }
        self.append(node);
        Ok(())
    }

    fn control(&mut self, control: Control, chained: bool) -> Parsed<()> {
        let mark = self.scope.variables.len();
        let pipe = self.pipeline(control.word(), Kind::RightDelim)?;
        if control == Control::Range {
            self.scope.range_depth += 1;
        }
        self.push_open(Purpose::Control {
            control,
            pipe,
            mark,
            first: None,
            chained,
        })
    }

    fn call(&mut self) -> Parsed<()> {
        let token = self.next_non_space();
        let name = self.template_name(&token, "template clause")?;
        let pipe = if self.next_non_space().kind == Kind::RightDelim {
            None
        } else {
            self.backup();
            Some(self.pipeline("template clause", Kind::RightDelim)?)
        };
        self.append(Node::Template(Call {
            pos: token.pos,
            name,
            pipe,
        }));
        Ok(())
    }

    fn block(&mut self) -> Parsed<()> {
        let token = self.next_non_space();
        let name = self.template_name(&token, "block clause")?;
        let pipe = self.pipeline("block clause", Kind::RightDelim)?;
        let call = Call {
            pos: token.pos,
            name,
            pipe: Some(pipe),
        };
        let outer = Box::new(std::mem::replace(&mut self.scope, Scope::new()));
        self.push_open(Purpose::Block { call, outer })
    }

    fn template_name(&mut self, token: &Token<'t>, context: &str) -> Parsed<Vec<u8>> {
        match token.kind {
            Kind::String | Kind::RawString => self.unquote(token.text),
            _ => Err(self.unexpected(token, context)),
        }
    }

    fn unquote(&self, literal: &[u8]) -> Parsed<Vec<u8>> {
        quote::unquote(literal).ok_or_else(|| self.error("invalid syntax"))
    }

    /// `else`: what follows it decides whether the block goes on with another condition.
    fn otherwise(&mut self) -> Parsed<()> {
        let ahead = self.peek_non_space();
        if ahead.kind != Kind::If && ahead.kind != Kind::With {
            self.expect(Kind::RightDelim, "else")?;
        }
        self.scope.action_line = 0;
        let Some(open) = self.open.last_mut() else {
            return Err(self.error("unexpected {{else}}"));
        };
        let chain = match &mut open.purpose {
            Purpose::Define { .. } => return Err(self.error("unexpected {{else}} in define clause")),
            Purpose::Block { .. } => {
                self.leave_block_scope();
                return Err(self.error("unexpected {{else}} in block clause"));
            }
            Purpose::Control { first: Some(_), .. } => return Err(self.error("expected end; found {{else}}")),
            Purpose::Control { control, first, .. } => {
                *first = Some(std::mem::take(&mut open.list));
                if *control == Control::Range {
                    self.scope.range_depth -= 1;
                }
                match (*control, ahead.kind) {
                    (Control::If, Kind::If) => Some(Control::If),
                    (Control::With, Kind::With) => Some(Control::With),
                    _ => None,
                }
            }
        };
        if let Some(control) = chain {
            self.next_non_space();
            self.control(control, true)?;
        }
        Ok(())
    }

    fn leave_block_scope(&mut self) {
        if let Some(Open {
            purpose: Purpose::Block { outer, .. },
            ..
        }) = self.open.pop()
        {
            self.scope = *outer;
        }
    }

    fn end(&mut self) -> Parsed<()> {
        loop {
            let Some(Open { purpose, list }) = self.open.pop() else {
                return Err(self.error("unexpected {{end}}"));
            };
            match purpose {
                Purpose::Define { name, outer } => {
                    self.add(name, list)?;
                    self.scope = *outer;
                    return Ok(());
                }
                Purpose::Block { call, outer } => {
                    self.add(call.name.clone(), list)?;
                    self.scope = *outer;
                    self.append(Node::Template(call));
                    return Ok(());
                }
                Purpose::Control {
                    control,
                    pipe,
                    mark,
                    first,
                    chained,
                } => {
                    self.close(control, pipe, first, list);
                    self.scope.variables.truncate(mark);
                    if !chained {
                        return Ok(());
                    }
                }
            }
        }
    }

    fn close(&mut self, control: Control, pipe: Pipe, first: Option<List>, list: List) {
        if control == Control::Range && first.is_none() {
            self.scope.range_depth -= 1;
        }
        let (list, otherwise) = match first {
            Some(first) => (first, Some(list)),
            None => (list, None),
        };
        let branch = Branch { pipe, list, otherwise };
        self.append(match control {
            Control::If => Node::If(branch),
            Control::With => Node::With(branch),
            Control::Range => Node::Range(branch),
        });
    }
}
