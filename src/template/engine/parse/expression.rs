//! Pipelines, commands and operands.

use super::{MAX_PARENS, Parsed, Parser};
use crate::template::engine::ast::{Command, Expr, ExprKind, Pipe, Variable};
use crate::template::engine::format::quote;
use crate::template::engine::functions::table;
use crate::template::engine::lex::{Kind, Token};
use crate::template::engine::numbers::Number;
use crate::template::engine::utf8;
use crate::template::engine::value::Str;

impl<'t> Parser<'t> {
    pub(super) fn pipeline(&mut self, context: &str, end: Kind) -> Parsed<Pipe> {
        let pos = self.peek_non_space().pos;
        let mut pipe = Pipe {
            pos,
            assign: false,
            variables: Vec::new(),
            commands: Vec::new(),
        };
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
            pipe.variables.push(Variable {
                path: vec![Str::constant(variable.text.to_vec())],
            });
            self.scope.variables.push(variable.text);
            if !comma {
                pipe.assign = next.kind == Kind::Assign;
                return Ok(());
            }
            if context != "range" || pipe.variables.len() >= 2 {
                return Err(self.error(format!("too many declarations in {context}")));
            }
            if !matches!(
                self.peek_non_space().kind,
                Kind::Variable | Kind::RightDelim | Kind::RightParen
            ) {
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
        let mut command = Command {
            pos: self.peek_non_space().pos,
            args: Vec::new(),
        };
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
