//! Reading a path.

use super::scan::{Scanner, Token};
use super::{Branch, Expr, JsonPathError, MAX_DEPTH, Path, Step, eval};
use crate::lang::gojson::Value;
use crate::lang::number::parse_float;

/// What gval defines operators for; only `==` and `!=` do anything here.
const OPERATORS: &[&str] = &[
    "??", "||", "&&", "==", "!=", ">", ">=", "<", "<=", "=~", "!~", "in", "^", "&", "|", "<<", ">>", "+", "-", "*",
    "/", "%", "**",
];
/// The library's end of a range without one.
const OPEN_END: f64 = 2_147_483_647.0;

const DOT: Token = Token::Rune('.');
const OPEN_BRACKET: Token = Token::Rune('[');
const CLOSE_BRACKET: Token = Token::Rune(']');
const OPEN_PAREN: Token = Token::Rune('(');
const CLOSE_PAREN: Token = Token::Rune(')');
const COLON: Token = Token::Rune(':');
const COMMA: Token = Token::Rune(',');
const QUESTION: Token = Token::Rune('?');
const STAR: Token = Token::Rune('*');

/// A fault, before the position is put in front.
type Fault = String;

pub(super) fn parse(source: &str) -> Result<Expr, JsonPathError> {
    let mut parser = Parser {
        scanner: Scanner::new(source),
        last: Token::Eof,
        pushed_back: None,
        depth: 0,
    };
    let fault = match parser.expression() {
        Ok(expression) => match parser.pushed_back {
            Some(fault) if parser.last != Token::Eof => fault,
            _ => return Ok(expression),
        },
        Err(fault) => fault,
    };
    let start = parser
        .scanner
        .start()
        .map_or_else(String::new, |(line, column)| format!(":{line}:{column}"));
    let (line, column) = parser.scanner.position();
    Err(JsonPathError(format!(
        "parsing error: {source}\t{start} - {line}:{column} {fault}"
    )))
}

struct Parser {
    scanner: Scanner,
    last: Token,
    /// The last token is to be read again; the fault if nobody wants it.
    pushed_back: Option<Fault>,
    depth: usize,
}

impl Parser {
    fn scan(&mut self) -> Token {
        if self.pushed_back.take().is_none() {
            self.last = self.scanner.scan();
        }
        self.last
    }

    fn push_back(&mut self, unit: &str, expected: &[Token]) {
        self.pushed_back = Some(self.expected(unit, expected));
    }

    /// The fault of a token that is not wanted.
    fn expected(&self, unit: &str, expected: &[Token]) -> Fault {
        let got = self.last.name();
        let names: Vec<String> = expected.iter().map(|token| token.name()).collect();
        match names.split_last() {
            None => format!("unexpected {got} while scanning {unit}"),
            Some((only, [])) => format!("unexpected {got} while scanning {unit} expected {only}"),
            Some((last, rest)) => {
                format!(
                    "unexpected {got} while scanning {unit} expected {} or {last}",
                    rest.join(", ")
                )
            }
        }
    }

    fn expression(&mut self) -> Result<Expr, Fault> {
        if self.depth >= MAX_DEPTH {
            return Err("expression nests too deeply".to_owned());
        }
        self.depth += 1;
        let result = self.comparison();
        self.depth -= 1;
        result
    }

    /// Operands joined by `==` and `!=`, from left to right.
    fn comparison(&mut self) -> Result<Expr, Fault> {
        let mut left: Option<(Expr, bool)> = None;
        loop {
            let operand = self.operand()?;
            let operator = self.operator()?;
            let joined = match left.take() {
                None => operand,
                Some((left, negated)) => eval::fold_equal(left, operand, negated),
            };
            match operator {
                None => return Ok(joined),
                Some(negated) => left = Some((joined, negated)),
            }
        }
    }

    /// `==` (false) or `!=` (true), if one follows.
    fn operator(&mut self) -> Result<Option<bool>, Fault> {
        let mut several = false;
        let operator = match self.scan() {
            Token::Rune(c) if is_symbol(c) => {
                let mut operator = c.to_string();
                while let Some(c) = self.scanner.peek().filter(|c| is_symbol(*c)) {
                    operator.push(c);
                    if !OPERATORS.iter().any(|known| known.starts_with(&operator)) {
                        operator.pop();
                        break;
                    }
                    several = true;
                    self.scanner.skip();
                }
                operator
            }
            _ => String::new(),
        };
        match operator.as_str() {
            "==" => Ok(Some(false)),
            "!=" => Ok(Some(true)),
            _ if several => Err(format!("unknown operator {operator}")),
            _ => {
                self.push_back("operator", &[]);
                Ok(None)
            }
        }
    }

    fn operand(&mut self) -> Result<Expr, Fault> {
        match self.scan() {
            Token::Int | Token::Float => {
                let number = parse_float(&self.scanner.text()).map_err(|e| e.to_string())?;
                Ok(Expr::Const(Value::Number(number)))
            }
            Token::String | Token::Char | Token::RawString => match unquote(&self.scanner.text()) {
                Some(text) => Ok(Expr::text(&text)),
                None => Err("could not parse string: invalid syntax".to_owned()),
            },
            Token::Ident => self.identifier(),
            Token::Rune('-') => self.negation(),
            OPEN_PAREN => {
                let inner = self.expression()?;
                self.require(CLOSE_PAREN, "parentheses", &[CLOSE_PAREN])?;
                Ok(inner)
            }
            Token::Rune('$') => self.path(Path::default()),
            Token::Rune('@') => self.path(Path {
                direct: vec![Step::Current],
                branches: Vec::new(),
            }),
            Token::Rune(_) | Token::Eof => Err(self.expected("extensions", &[])),
        }
    }

    fn require(&mut self, token: Token, unit: &str, expected: &[Token]) -> Result<(), Fault> {
        if self.scan() == token {
            Ok(())
        } else {
            Err(self.expected(unit, expected))
        }
    }

    fn negation(&mut self) -> Result<Expr, Fault> {
        if self.depth >= MAX_DEPTH {
            return Err("expression nests too deeply".to_owned());
        }
        self.depth += 1;
        let operand = self.operand();
        self.depth -= 1;
        eval::fold_negate(operand?)
    }

    /// A name: a literal, or a member of the root with further members behind it.
    fn identifier(&mut self) -> Result<Expr, Fault> {
        let name = self.scanner.text();
        match name.as_str() {
            "true" => return Ok(Expr::Const(Value::Bool(true))),
            "false" => return Ok(Expr::Const(Value::Bool(false))),
            _ => {}
        }
        let mut keys = vec![Expr::text(&name)];
        loop {
            match self.scan() {
                DOT => {
                    self.require(Token::Ident, "field", &[Token::Ident])?;
                    keys.push(Expr::text(&self.scanner.text()));
                }
                OPEN_PAREN => {
                    self.arguments()?;
                    return Ok(Expr::Call { name, callee: keys });
                }
                OPEN_BRACKET => {
                    keys.push(self.expression()?);
                    self.require(CLOSE_BRACKET, "array key", &[CLOSE_BRACKET])?;
                }
                _ => {
                    self.push_back("variable", &[DOT, OPEN_PAREN, OPEN_BRACKET]);
                    return Ok(Expr::Variable(keys));
                }
            }
        }
    }

    fn arguments(&mut self) -> Result<(), Fault> {
        if self.scan() == CLOSE_PAREN {
            return Ok(());
        }
        self.push_back("scan arguments", &[CLOSE_PAREN]);
        loop {
            self.expression()?;
            match self.scan() {
                CLOSE_PAREN => return Ok(()),
                COMMA => {}
                _ => return Err(self.expected("arguments", &[CLOSE_PAREN, COMMA])),
            }
        }
    }

    /// The steps of a path, as far as they go.
    fn path(&mut self, mut path: Path) -> Result<Expr, Fault> {
        loop {
            match self.scan() {
                DOT => self.select(&mut path)?,
                OPEN_BRACKET => {
                    let bracket = self.bracket()?;
                    push_bracket(&mut path, bracket)?;
                }
                OPEN_PAREN => self.script(&mut path)?,
                _ => {
                    self.push_back("jsonpath", &[DOT, OPEN_BRACKET, OPEN_PAREN]);
                    return Ok(Expr::Path(path));
                }
            }
        }
    }

    /// What follows a dot.
    fn select(&mut self, path: &mut Path) -> Result<(), Fault> {
        match self.scan() {
            Token::Ident => path.push(Step::Select(Expr::text(&self.scanner.text()))),
            STAR => path.branch(Branch::Star),
            DOT => {
                path.branch(Branch::Descend);
                return self.descend(path);
            }
            _ => return Err(self.expected("JSON select", &[Token::Ident, DOT, STAR])),
        }
        Ok(())
    }

    /// What follows two dots.
    fn descend(&mut self, path: &mut Path) -> Result<(), Fault> {
        match self.scan() {
            Token::Ident => path.push(Step::Select(Expr::text(&self.scanner.text()))),
            STAR => path.branch(Branch::Star),
            OPEN_PAREN => return self.script(path),
            OPEN_BRACKET => match self.bracket()? {
                (_, Some(COLON)) => return Err("mapper can not be combined with range query".to_owned()),
                (keys, Some(QUESTION)) => path.branch(Branch::Filter(only(keys)?)),
                (keys, _) => path.branch(union(keys)),
            },
            _ => return Err(self.expected("JSON mapper", &[OPEN_BRACKET, Token::Ident, STAR])),
        }
        Ok(())
    }

    fn script(&mut self, path: &mut Path) -> Result<(), Fault> {
        let script = self.expression()?;
        // the unit is spelled as the library spells it
        self.require(CLOSE_PAREN, "jsnopath script", &[CLOSE_PAREN])?;
        path.push(Step::Script(script));
        Ok(())
    }

    /// The keys up to the closing bracket, and what separates them.
    fn bracket(&mut self) -> Result<(Vec<Expr>, Option<Token>), Fault> {
        let mut keys = Vec::new();
        let mut separator = None;
        loop {
            let mut token = self.scan();
            match token {
                QUESTION => {}
                COLON => keys.push(Expr::Const(Value::Number(if keys.len() == 1 { OPEN_END } else { 0.0 }))),
                STAR => {
                    self.require(CLOSE_BRACKET, "JSON bracket star", &[CLOSE_BRACKET])?;
                    return Ok((Vec::new(), None));
                }
                CLOSE_BRACKET if separator == Some(COLON) => {}
                _ => {
                    self.push_back("jsonpath brackets", &[]);
                    keys.push(self.expression()?);
                    token = self.scan();
                }
            }
            let separator = *separator.get_or_insert(token);
            match token {
                COLON | COMMA => {}
                CLOSE_BRACKET => return Ok((keys, Some(separator))),
                QUESTION if keys.is_empty() => {}
                QUESTION => return Err(self.expected("JSON filter", &[CLOSE_BRACKET])),
                _ => return Err(self.expected("JSON bracket separator", &[COLON, COMMA])),
            }
            if separator != token {
                let code = |token| if let Token::Rune(c) = token { u32::from(c) } else { 0 };
                return Err(format!("mixed {} and {} in JSON bracket", code(separator), code(token)));
            }
        }
    }
}

impl Path {
    fn push(&mut self, step: Step) {
        match self.branches.last_mut() {
            Some((_, steps)) => steps.push(step),
            None => self.direct.push(step),
        }
    }

    fn branch(&mut self, branch: Branch) {
        self.branches.push((branch, Vec::new()));
    }
}

fn push_bracket(path: &mut Path, (mut keys, separator): (Vec<Expr>, Option<Token>)) -> Result<(), Fault> {
    match separator {
        Some(COLON) => {
            let defaults = [0.0, OPEN_END, 1.0].map(|n| Expr::Const(Value::Number(n)));
            keys.extend(defaults.into_iter().skip(keys.len()));
            let range = <Box<[Expr; 3]>>::try_from(keys)
                .map_err(|_| "range query has at least the parameter [min:max:step]".to_owned())?;
            path.branch(Branch::Range(range));
        }
        Some(QUESTION) => path.branch(Branch::Filter(only(keys)?)),
        _ if keys.len() == 1 => path.push(Step::Select(only(keys)?)),
        _ => path.branch(union(keys)),
    }
    Ok(())
}

fn only(mut keys: Vec<Expr>) -> Result<Expr, Fault> {
    match (keys.pop(), keys.is_empty()) {
        (Some(key), true) => Ok(key),
        _ => Err("filter needs exactly one key".to_owned()),
    }
}

fn union(keys: Vec<Expr>) -> Branch {
    if keys.is_empty() {
        Branch::Star
    } else {
        Branch::Union(keys)
    }
}

/// The characters operators are made of, letters included.
fn is_symbol(c: char) -> bool {
    OPERATORS.iter().any(|operator| operator.contains(c))
}

/// The text of a quoted literal (`strconv.Unquote`); nothing if it is malformed.
fn unquote(literal: &str) -> Option<String> {
    let mut chars = literal.chars();
    let quote = chars.next()?;
    let body = chars.as_str().strip_suffix(quote)?;
    if quote == '`' {
        return (!body.contains('`')).then(|| body.replace('\r', ""));
    }
    let mut bytes = Vec::with_capacity(body.len());
    let mut chars = body.chars();
    let mut count = 0;
    while let Some(c) = chars.next() {
        match c {
            '\n' => return None,
            c if c == quote => return None,
            '\\' => push_escape(&mut bytes, &mut chars, quote)?,
            c => bytes.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes()),
        }
        count += 1;
    }
    // one character; the empty literal passes in Go as well
    if quote == '\'' && count > 1 {
        return None;
    }
    Some(String::from_utf8_lossy(&bytes).into_owned())
}

fn push_escape(out: &mut Vec<u8>, chars: &mut std::str::Chars<'_>, quote: char) -> Option<()> {
    let c = chars.next()?;
    let digits = |chars: &mut std::str::Chars<'_>, first: u32, count: usize, base: u32| {
        (0..count).try_fold(first, |value, _| {
            value.checked_mul(base)?.checked_add(chars.next()?.to_digit(base)?)
        })
    };
    let byte = match c {
        'a' => 7,
        'b' => 8,
        'f' => 12,
        'n' => b'\n',
        'r' => b'\r',
        't' => b'\t',
        'v' => 11,
        '\\' => b'\\',
        c if c == quote => u8::try_from(c).ok()?,
        '0'..='7' => u8::try_from(digits(chars, c.to_digit(8)?, 2, 8)?).ok()?,
        'x' if quote == '"' => u8::try_from(digits(chars, 0, 2, 16)?).ok()?,
        // in a character literal a byte is a code point
        'x' => return push_code(out, digits(chars, 0, 2, 16)?),
        'u' => return push_code(out, digits(chars, 0, 4, 16)?),
        'U' => return push_code(out, digits(chars, 0, 8, 16)?),
        _ => return None,
    };
    out.push(byte);
    Some(())
}

fn push_code(out: &mut Vec<u8>, code: u32) -> Option<()> {
    out.extend_from_slice(char::from_u32(code)?.encode_utf8(&mut [0; 4]).as_bytes());
    Some(())
}
