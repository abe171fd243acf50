//! Tokens → statements.

use super::ast::{Expr, Pattern, Stmt};
use super::lexer::Token;
use super::parser::{Parsed, Parser, SyntaxError, expression};

impl Parser<'_> {
    pub(super) fn statement(&mut self, out: &mut Vec<Stmt>) -> Parsed<()> {
        match self.peek() {
            Some(Token::Text(text)) => {
                out.push(Stmt::Text(text.clone()));
                self.at += 1;
                Ok(())
            }
            Some(Token::Print { tokens, escape, source }) => {
                let expr = expression(tokens).map_err(|e| e.inside(source))?;
                out.push(Stmt::Print {
                    expr,
                    escape: *escape,
                    source: source.clone(),
                });
                self.at += 1;
                Ok(())
            }
            Some(Token::Name(word)) => match word.as_str() {
                "let" | "const" | "var" => self.declaration(out),
                "if" => {
                    let stmt = self.deeper(Self::if_statement)?;
                    out.push(stmt);
                    Ok(())
                }
                "for" => {
                    let stmt = self.deeper(Self::for_of)?;
                    out.push(stmt);
                    Ok(())
                }
                _ => self.simple(out),
            },
            _ if self.eat(";") => Ok(()),
            _ => self.simple(out),
        }
    }

    fn declaration(&mut self, out: &mut Vec<Stmt>) -> Parsed<()> {
        self.at += 1;
        loop {
            let name = self.name()?;
            self.expect("=")?;
            let value = self.expr()?;
            out.push(Stmt::Let { name, value });
            if !self.eat(",") {
                return self.end_of_statement();
            }
        }
    }

    /// A semicolon, the end of a block, or the next statement (JavaScript ends statements at line breaks).
    fn end_of_statement(&mut self) -> Parsed<()> {
        match self.peek() {
            None | Some(Token::Text(_) | Token::Print { .. } | Token::Name(_)) => Ok(()),
            _ if self.eat(";") || self.is(0, "}") => Ok(()),
            _ => Err(self.unexpected()),
        }
    }

    pub(super) fn block(&mut self) -> Parsed<Vec<Stmt>> {
        self.expect("{")?;
        let mut out = Vec::new();
        while !self.eat("}") {
            if self.peek().is_none() {
                return Err(SyntaxError::new("a block without end"));
            }
            self.statement(&mut out)?;
        }
        Ok(out)
    }

    fn if_statement(&mut self) -> Parsed<Stmt> {
        self.at += 1;
        self.expect("(")?;
        let cond = self.expr()?;
        self.expect(")")?;
        let then = self.block()?;
        let otherwise = if !self.eat_word("else") {
            Vec::new()
        } else if self.is_word("if") {
            vec![self.deeper(Self::if_statement)?]
        } else {
            self.block()?
        };
        Ok(Stmt::If { cond, then, otherwise })
    }

    fn for_of(&mut self) -> Parsed<Stmt> {
        self.at += 1;
        self.expect("(")?;
        if !(self.eat_word("const") || self.eat_word("let") || self.eat_word("var")) {
            return Err(SyntaxError::new("this form of `for`"));
        }
        let pattern = self.pattern()?;
        if !self.eat_word("of") {
            return Err(SyntaxError::new("this form of `for`"));
        }
        let list = self.expr()?;
        self.expect(")")?;
        let body = self.block()?;
        each(list, &[pattern], body)
    }

    pub(super) fn pattern(&mut self) -> Parsed<Pattern> {
        if !self.eat("[") {
            return Ok(Pattern::Name(self.name()?));
        }
        let first = if self.is(0, ",") { None } else { Some(self.name()?) };
        let second = if self.eat(",") && !self.is(0, "]") {
            Some(self.name()?)
        } else {
            None
        };
        self.expect("]")?;
        Ok(Pattern::Pair(first, second))
    }

    /// An assignment or a call of `forEach`.
    fn simple(&mut self, out: &mut Vec<Stmt>) -> Parsed<()> {
        if matches!(self.peek(), Some(Token::Name(_))) && (self.is(1, "=") || self.is(1, "+=")) {
            let name = self.name()?;
            let append = self.is(0, "+=");
            self.at += 1;
            let value = self.expr()?;
            out.push(Stmt::Assign { name, append, value });
            return self.end_of_statement();
        }
        let expr = self.expr()?;
        let Expr::Call(callee, mut args) = expr else {
            return Err(SyntaxError::new("a statement of this kind"));
        };
        let (Expr::Member(list, method), 1) = (*callee, args.len()) else {
            return Err(SyntaxError::new("a statement of this kind"));
        };
        match (method.as_str(), args.pop()) {
            ("forEach", Some(Expr::Function { params, body })) => out.push(each(*list, &params, body)?),
            (method, _) => return Err(SyntaxError::new(format!("`.{method}(…)` as a statement"))),
        }
        self.end_of_statement()
    }
}

/// The argument of `Object.entries(…)`.
fn entries_argument(expr: &Expr) -> Option<&Expr> {
    let Expr::Call(callee, args) = expr else { return None };
    let (Expr::Member(object, method), [argument]) = (callee.as_ref(), args.as_slice()) else {
        return None;
    };
    (method == "entries" && **object == Expr::Name("Object".to_owned())).then_some(argument)
}

fn each(list: Expr, params: &[Pattern], body: Vec<Stmt>) -> Parsed<Stmt> {
    if let Some(object) = entries_argument(&list) {
        let [Pattern::Pair(key, value)] = params else {
            return Err(SyntaxError::new("`Object.entries` without `[key, value]`"));
        };
        return Ok(Stmt::Entries {
            object: object.clone(),
            key: key.clone(),
            value: value.clone(),
            body,
        });
    }
    let (item, index) = match params {
        [] => (None, None),
        [Pattern::Name(item)] => (Some(item.clone()), None),
        [Pattern::Name(item), Pattern::Name(index)] => (Some(item.clone()), Some(index.clone())),
        _ => return Err(SyntaxError::new("a function with these parameters")),
    };
    Ok(Stmt::Each {
        list,
        item,
        index,
        body,
    })
}
