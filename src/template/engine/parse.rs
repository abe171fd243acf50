//! Tokens to trees.
//!
//! Blocks (`if`, `range`, `define`…) are kept on a stack of their own, so deep nesting cannot exhaust the
//! machine's stack; parentheses recurse and are bounded by [`MAX_PARENS`].

use super::ast::{Branch, Call, Command, Expr, ExprKind, List, Node, Pipe, Tree, Variable};
use super::format::quote;
use super::functions::table;
use super::lex::{Kind, Lexer, Token};
use super::numbers::Number;
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
        let none = || Token { kind: Kind::Eof, pos: 0, text: b"", message: String::new(), line: 0 };
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
    Control { control: Control, pipe: Pipe, mark: usize, first: Option<List>, chained: bool },
    Define { name: Vec<u8>, outer: Box<Scope<'t>> },
    Block { call: Call, outer: Box<Scope<'t>> },
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
        ParseError { line: last.line, pos: last.pos, message: message.into() }
    }

    fn error_at(&self, token: &Token<'t>, message: impl Into<String>) -> ParseError {
        ParseError { pos: token.pos, ..self.error(message) }
    }

    fn unexpected(&self, token: &Token<'t>, context: &str) -> ParseError {
        if token.kind != Kind::Error {
            return self.error_at(token, format!("unexpected {} in {context}", token.describe()));
        }
        let started = self.scope.action_line;
        if started == 0 || started == token.line {
            return self.error_at(token, token.describe());
        }
        let joint = if token.message.ends_with(" action") { " started at" } else { " in action started at" };
        let mut error = self.error_at(token, token.describe());
        error.message.push_str(&format!("{joint} {}:{started}", self.name));
        error
    }

    fn expect(&mut self, kind: Kind, context: &str) -> Parsed<Token<'t>> {
        let token = self.next_non_space();
        if token.kind == kind { Ok(token) } else { Err(self.unexpected(&token, context)) }
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
        self.open.push(Open { purpose, list: List::default() });
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
        self.push_open(Purpose::Control { control, pipe, mark, first: None, chained })
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
        self.append(Node::Template(Call { pos: token.pos, name, pipe }));
        Ok(())
    }

    fn block(&mut self) -> Parsed<()> {
        let token = self.next_non_space();
        let name = self.template_name(&token, "block clause")?;
        let pipe = self.pipeline("block clause", Kind::RightDelim)?;
        let call = Call { pos: token.pos, name, pipe: Some(pipe) };
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
        let Some(open) = self.open.last_mut() else { return Err(self.error("unexpected {{else}}")) };
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
        if let Some(Open { purpose: Purpose::Block { outer, .. }, .. }) = self.open.pop() {
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
                Purpose::Control { control, pipe, mark, first, chained } => {
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

    // ----- expressions

    fn pipeline(&mut self, context: &str, end: Kind) -> Parsed<Pipe> {
        let pos = self.peek_non_space().pos;
        let mut pipe = Pipe { pos, assign: false, variables: Vec::new(), commands: Vec::new() };
        self.declarations(&mut pipe, context)?;
        loop {
            let token = self.next_non_space();
            match token.kind {
                kind if kind == end => {
                    self.check(&pipe, context)?;
                    return Ok(pipe);
                }
                Kind::Bool
                | Kind::CharConstant
                | Kind::Complex
                | Kind::Dot
                | Kind::Field
                | Kind::Identifier
                | Kind::Number
                | Kind::Nil
                | Kind::RawString
                | Kind::String
                | Kind::Variable
                | Kind::LeftParen => {
                    self.backup();
                    let command = self.command()?;
                    pipe.commands.push(command);
                }
                _ => return Err(self.unexpected(&token, context)),
            }
        }
    }

    fn declarations(&mut self, pipe: &mut Pipe, context: &str) -> Parsed<()> {
        loop {
            let variable = self.peek_non_space();
            if variable.kind != Kind::Variable {
                return Ok(());
            }
            self.next();
            let after = self.peek();
            let next = self.peek_non_space();
            let comma = next.kind == Kind::Char && next.text == b",";
            if next.kind != Kind::Assign && next.kind != Kind::Declare && !comma {
                if after.kind == Kind::Space {
                    self.push_back(&[after, variable]);
                } else {
                    self.push_back(&[variable]);
                }
                return Ok(());
            }
            self.next_non_space();
            pipe.variables.push(Variable { path: vec![Str::constant(variable.text.to_vec())] });
            self.scope.variables.push(variable.text);
            if !comma {
                pipe.assign = next.kind == Kind::Assign;
                return Ok(());
            }
            if context != "range" || pipe.variables.len() >= 2 {
                return Err(self.error(format!("too many declarations in {context}")));
            }
            if !matches!(self.peek_non_space().kind, Kind::Variable | Kind::RightDelim | Kind::RightParen) {
                return Err(self.error("range can only initialize variables"));
            }
        }
    }

    fn check(&self, pipe: &Pipe, context: &str) -> Parsed<()> {
        if pipe.commands.is_empty() {
            return Err(self.error(format!("missing value for {context}")));
        }
        for (at, command) in pipe.commands.iter().enumerate().skip(1) {
            if matches!(
                command.args[0].kind,
                ExprKind::Bool(_) | ExprKind::Dot | ExprKind::Nil | ExprKind::Number(..) | ExprKind::Text(..)
            ) {
                return Err(self.error(format!("non executable command in pipeline stage {}", at + 1)));
            }
        }
        Ok(())
    }

    fn command(&mut self) -> Parsed<Command> {
        let mut command = Command { pos: self.peek_non_space().pos, args: Vec::new() };
        loop {
            self.peek_non_space();
            if let Some(operand) = self.operand()? {
                command.args.push(operand);
            }
            let token = self.next();
            match token.kind {
                Kind::Space => continue,
                Kind::RightDelim | Kind::RightParen => self.backup(),
                Kind::Pipe => {}
                _ => return Err(self.unexpected(&token, "operand")),
            }
            break;
        }
        if command.args.is_empty() {
            return Err(self.error("empty command"));
        }
        Ok(command)
    }

    fn operand(&mut self) -> Parsed<Option<Expr>> {
        let Some(term) = self.term()? else { return Ok(None) };
        let ahead = self.peek();
        if ahead.kind != Kind::Field {
            return Ok(Some(term));
        }
        let mut fields = Vec::new();
        while self.peek().kind == Kind::Field {
            fields.push(Str::constant(self.next().text[1..].to_vec()));
        }
        let kind = match term.kind {
            ExprKind::Field(mut path) => {
                path.append(&mut fields);
                ExprKind::Field(path)
            }
            ExprKind::Variable(mut path) => {
                path.append(&mut fields);
                ExprKind::Variable(path)
            }
            ExprKind::Bool(_) | ExprKind::Text(..) | ExprKind::Number(..) | ExprKind::Nil | ExprKind::Dot => {
                let mut shown = Vec::new();
                term.write(&mut shown);
                return Err(self.error(format!("unexpected . after term {}", quote::quoted(&shown))));
            }
            ExprKind::Chain(..) | ExprKind::Function(_) | ExprKind::Pipe(_) => ExprKind::Chain(Box::new(term), fields),
        };
        Ok(Some(Expr { pos: ahead.pos, kind }))
    }

    fn term(&mut self) -> Parsed<Option<Expr>> {
        let token = self.next_non_space();
        let kind = match token.kind {
            Kind::Identifier => match table::find(token.text) {
                Some(callee) => ExprKind::Function(callee),
                None => {
                    let text = format!("function {} not defined", quote::quoted(token.text));
                    return Err(self.error_at(&token, text));
                }
            },
            Kind::Dot => ExprKind::Dot,
            Kind::Nil => ExprKind::Nil,
            Kind::Variable => self.variable(&token)?,
            Kind::Field => ExprKind::Field(vec![Str::constant(token.text[1..].to_vec())]),
            Kind::Bool => ExprKind::Bool(token.text == b"true"),
            Kind::CharConstant | Kind::Complex | Kind::Number => {
                let number = read_number(&token).map_err(|message| self.error_at(&token, message))?;
                ExprKind::Number(Box::new(number), Str::constant(token.text.to_vec()))
            }
            Kind::LeftParen => self.parenthesized()?,
            Kind::String | Kind::RawString => {
                let text = self.unquote(token.text)?;
                ExprKind::Text(Str::constant(text), Str::constant(token.text.to_vec()))
            }
            _ => {
                self.backup();
                return Ok(None);
            }
        };
        // A parenthesised pipeline carries the offset of its content, as in Go.
        let pos = match &kind {
            ExprKind::Pipe(pipe) => pipe.pos,
            _ => token.pos,
        };
        Ok(Some(Expr { pos, kind }))
    }

    fn parenthesized(&mut self) -> Parsed<ExprKind> {
        if self.scope.paren_depth >= MAX_PARENS {
            return Err(self.error("max expression depth exceeded"));
        }
        self.scope.paren_depth += 1;
        let pipe = self.pipeline("parenthesized pipeline", Kind::RightParen)?;
        self.scope.paren_depth -= 1;
        Ok(ExprKind::Pipe(Box::new(pipe)))
    }

    fn variable(&self, token: &Token<'t>) -> Parsed<ExprKind> {
        if self.scope.variables.contains(&token.text) {
            return Ok(ExprKind::Variable(vec![Str::constant(token.text.to_vec())]));
        }
        Err(self.error_at(token, format!("undefined variable {}", quote::quoted(token.text))))
    }
}

fn read_number(token: &Token<'_>) -> Result<Number, String> {
    match token.kind {
        Kind::CharConstant => {
            let text = token.text;
            let (found, width) = quote::unquote_char(&text[1..], text[0]).ok_or("invalid syntax")?;
            if &text[1 + width..] != b"'" {
                return Err(format!("malformed character constant: {}", utf8::lossy(text)));
            }
            Ok(Number::from_char(match found {
                quote::Unquoted::Character(c) => u32::from(c),
                quote::Unquoted::Byte(byte) => u32::from(byte),
            }))
        }
        Kind::Complex => Number::from_complex_token(token.text),
        _ => Number::from_token(token.text),
    }
}
