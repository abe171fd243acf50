//! Tokens → expressions; statements are next door.

use thiserror::Error;

use super::ast::{Expr, Op, Part, Pattern, Stmt};
use super::lexer::{TemplatePart, Token};

/// What cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{what} cannot be converted{}", expression.as_ref().map(|e| format!(", in `{e}`")).unwrap_or_default())]
pub struct SyntaxError {
    what: String,
    expression: Option<String>,
}

impl SyntaxError {
    /// `what` names the construct, as a noun.
    pub fn new(what: impl Into<String>) -> Self {
        Self {
            what: what.into(),
            expression: None,
        }
    }

    /// Names the expression the construct stands in, unless one is named already.
    #[must_use]
    pub fn inside(mut self, expression: &str) -> Self {
        self.expression.get_or_insert_with(|| expression.trim().to_owned());
        self
    }
}

/// Nesting the parser accepts before it refuses a text as too deep.
const MAX_DEPTH: usize = 64;

/// Links of a chain such as `a.b.c` or `a + b + c`.
const MAX_CHAIN: usize = 200;

/// Reads the whole body of a template.
///
/// # Errors
///
/// The first construct outside the subset, or a syntax error.
pub fn program(tokens: &[Token]) -> Result<Vec<Stmt>, SyntaxError> {
    let mut parser = Parser {
        tokens,
        at: 0,
        depth: 0,
    };
    let mut out = Vec::new();
    while parser.at < tokens.len() {
        parser.statement(&mut out)?;
    }
    Ok(out)
}

/// Reads one expression and nothing after it.
///
/// # Errors
///
/// As [`program`].
pub fn expression(tokens: &[Token]) -> Result<Expr, SyntaxError> {
    let mut parser = Parser {
        tokens,
        at: 0,
        depth: 0,
    };
    let expr = parser.expr()?;
    match parser.peek() {
        None => Ok(expr),
        Some(t) => Err(SyntaxError::new(describe(t))),
    }
}

fn describe(token: &Token) -> String {
    match token {
        Token::Name(n) => format!("`{n}`"),
        Token::Punct(p) => format!("`{p}`"),
        Token::Str(_) | Token::Template(_) => "a string at this place".to_owned(),
        Token::Num(n) => format!("the number {n} at this place"),
        Token::Regex(..) => "a regular expression at this place".to_owned(),
        Token::Text(_) | Token::Print { .. } => "text inside an expression".to_owned(),
    }
}

/// Words that are never names of values here.
const RESERVED: &[&str] = &[
    "await",
    "break",
    "case",
    "catch",
    "class",
    "continue",
    "delete",
    "do",
    "else",
    "finally",
    "for",
    "function",
    "if",
    "in",
    "instanceof",
    "new",
    "return",
    "switch",
    "this",
    "throw",
    "try",
    "typeof",
    "void",
    "while",
    "with",
    "yield",
    "let",
    "const",
    "var",
    "of",
];

/// Position in a list of tokens.
pub(super) struct Parser<'a> {
    pub(super) tokens: &'a [Token],
    pub(super) at: usize,
    depth: usize,
}

/// Something read, or what cannot be.
pub(super) type Parsed<T> = Result<T, SyntaxError>;

impl<'a> Parser<'a> {
    pub(super) fn peek(&self) -> Option<&'a Token> {
        self.tokens.get(self.at)
    }

    pub(super) fn is(&self, ahead: usize, punct: &str) -> bool {
        matches!(self.tokens.get(self.at + ahead), Some(Token::Punct(p)) if *p == punct)
    }

    pub(super) fn is_word(&self, word: &str) -> bool {
        matches!(self.peek(), Some(Token::Name(n)) if n == word)
    }

    pub(super) fn eat(&mut self, punct: &str) -> bool {
        let hit = self.is(0, punct);
        self.at += usize::from(hit);
        hit
    }

    pub(super) fn eat_word(&mut self, word: &str) -> bool {
        let hit = self.is_word(word);
        self.at += usize::from(hit);
        hit
    }

    pub(super) fn expect(&mut self, punct: &str) -> Parsed<()> {
        if self.eat(punct) {
            Ok(())
        } else {
            Err(self.unexpected())
        }
    }

    pub(super) fn unexpected(&self) -> SyntaxError {
        SyntaxError::new(
            self.peek()
                .map_or_else(|| "an incomplete expression".to_owned(), describe),
        )
    }

    pub(super) fn name(&mut self) -> Parsed<String> {
        match self.peek() {
            Some(Token::Name(n)) if !RESERVED.contains(&n.as_str()) => {
                let n = n.clone();
                self.at += 1;
                Ok(n)
            }
            _ => Err(self.unexpected()),
        }
    }

    pub(super) fn deeper<T>(&mut self, read: impl FnOnce(&mut Self) -> Parsed<T>) -> Parsed<T> {
        if self.depth >= MAX_DEPTH {
            return Err(SyntaxError::new("nesting this deep"));
        }
        self.depth += 1;
        let result = read(self);
        self.depth -= 1;
        result
    }

    pub(super) fn expr(&mut self) -> Parsed<Expr> {
        self.deeper(|p| {
            let cond = p.binary(0)?;
            if !p.eat("?") {
                return Ok(cond);
            }
            let then = p.expr()?;
            p.expect(":")?;
            let otherwise = p.expr()?;
            Ok(Expr::Cond(Box::new(cond), Box::new(then), Box::new(otherwise)))
        })
    }

    fn operator(&self) -> Option<(usize, Op)> {
        let Some(Token::Punct(p)) = self.peek() else {
            return None;
        };
        Some(match *p {
            "||" => (1, Op::Or),
            "&&" => (2, Op::And),
            "===" => (3, Op::Eq { strict: true }),
            "==" => (3, Op::Eq { strict: false }),
            "!==" => (3, Op::Ne { strict: true }),
            "!=" => (3, Op::Ne { strict: false }),
            "<" => (4, Op::Lt),
            "<=" => (4, Op::Le),
            ">" => (4, Op::Gt),
            ">=" => (4, Op::Ge),
            "+" => (5, Op::Add),
            "-" => (5, Op::Sub),
            _ => return None,
        })
    }

    fn binary(&mut self, lowest: usize) -> Parsed<Expr> {
        let mut left = self.unary()?;
        let mut length = 0;
        while let Some((rank, op)) = self.operator().filter(|(rank, _)| *rank > lowest) {
            length = chain(length)?;
            self.at += 1;
            let right = self.deeper(|p| p.binary(rank))?;
            left = Expr::Binary(op, Box::new(left), Box::new(right));
        }
        Ok(left)
    }

    fn unary(&mut self) -> Parsed<Expr> {
        if self.eat("!") {
            return self.deeper(|p| Ok(Expr::Not(Box::new(p.unary()?))));
        }
        if self.eat("-") {
            return self.deeper(|p| Ok(Expr::Neg(Box::new(p.unary()?))));
        }
        let start = self.primary()?;
        self.postfix(start)
    }

    fn postfix(&mut self, mut expr: Expr) -> Parsed<Expr> {
        let mut length = 0;
        loop {
            length = chain(length)?;
            if self.eat(".") {
                // Every word may follow a dot, also a reserved one.
                let Some(Token::Name(n)) = self.peek() else {
                    return Err(self.unexpected());
                };
                expr = Expr::Member(Box::new(expr), n.clone());
                self.at += 1;
            } else if self.eat("[") {
                let index = self.expr()?;
                self.expect("]")?;
                expr = match index {
                    Expr::Str(s) => Expr::Member(Box::new(expr), s),
                    other => Expr::Index(Box::new(expr), Box::new(other)),
                };
            } else if self.eat("(") {
                expr = Expr::Call(Box::new(expr), self.arguments()?);
            } else {
                return Ok(expr);
            }
        }
    }

    fn arguments(&mut self) -> Parsed<Vec<Expr>> {
        let mut args = Vec::new();
        while !self.eat(")") {
            args.push(self.expr()?);
            if !self.is(0, ")") {
                self.expect(",")?;
            }
        }
        Ok(args)
    }

    fn primary(&mut self) -> Parsed<Expr> {
        if self.starts_function() {
            return self.deeper(Self::function);
        }
        let Some(token) = self.peek().cloned() else {
            return Err(self.unexpected());
        };
        if let Token::Name(n) = &token {
            let word = match n.as_str() {
                "true" => Some(Expr::Bool(true)),
                "false" => Some(Expr::Bool(false)),
                "null" => Some(Expr::Null),
                "undefined" => Some(Expr::Undefined),
                _ => None,
            };
            let Some(word) = word else {
                return Ok(Expr::Name(self.name()?));
            };
            self.at += 1;
            return Ok(word);
        }
        if self.eat("(") {
            let inner = self.expr()?;
            self.expect(")")?;
            return Ok(inner);
        }
        let expr = match token {
            Token::Str(s) => Expr::Str(s),
            Token::Num(n) => Expr::Num(n),
            Token::Regex(pattern, flags) => Expr::Regex { pattern, flags },
            Token::Template(parts) => Expr::Template(template_parts(&parts)?),
            _ => return Err(self.unexpected()),
        };
        self.at += 1;
        Ok(expr)
    }

    /// `function`, `name =>`, or parentheses whose partner is followed by `=>`.
    fn starts_function(&self) -> bool {
        if self.is_word("function") || (matches!(self.peek(), Some(Token::Name(_))) && self.is(1, "=>")) {
            return true;
        }
        if !self.is(0, "(") {
            return false;
        }
        let mut depth = 0_usize;
        for (i, token) in self.tokens.iter().enumerate().skip(self.at) {
            match token {
                Token::Punct("(") => depth += 1,
                Token::Punct(")") if depth == 1 => return matches!(self.tokens.get(i + 1), Some(Token::Punct("=>"))),
                Token::Punct(")") => depth -= 1,
                _ => {}
            }
        }
        false
    }

    fn function(&mut self) -> Parsed<Expr> {
        let arrow = !self.eat_word("function");
        let mut params = Vec::new();
        if self.eat("(") {
            while !self.eat(")") {
                params.push(self.pattern()?);
                if !self.is(0, ")") {
                    self.expect(",")?;
                }
            }
        } else {
            params.push(Pattern::Name(self.name()?));
        }
        if arrow {
            self.expect("=>")?;
        }
        if !self.is(0, "{") {
            return Err(SyntaxError::new("a function without a block"));
        }
        let body = self.block()?;
        Ok(Expr::Function { params, body })
    }
}

/// One more link of a chain; a chain is a tree as deep as it is long.
fn chain(length: usize) -> Parsed<usize> {
    if length >= MAX_CHAIN {
        Err(SyntaxError::new("a chain this long"))
    } else {
        Ok(length + 1)
    }
}

fn template_parts(parts: &[TemplatePart]) -> Parsed<Vec<Part>> {
    parts
        .iter()
        .map(|part| match part {
            TemplatePart::Text(t) => Ok(Part::Text(t.clone())),
            TemplatePart::Tokens(tokens) => Ok(Part::Expr(expression(tokens)?)),
        })
        .collect()
}
