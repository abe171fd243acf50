//! The tree of a template: statements with text and prints between them, and expressions.

/// One statement of the function a lodash template is compiled to.
#[derive(Debug, Clone, PartialEq)]
pub enum Stmt {
    /// Text outside every tag.
    Text(String),
    /// `<%= e %>` or `${e}`; `escape` for `<%- e %>`.
    Print {
        /// What is printed.
        expr: Expr,
        /// True when the five HTML characters are escaped.
        escape: bool,
        /// The expression as it was written, for messages.
        source: String,
    },
    /// `let`, `const` or `var` with one initialised name.
    Let {
        /// Variable name.
        name: String,
        /// Initial value.
        value: Expr,
    },
    /// `name = e` or `name += e`.
    Assign {
        /// Variable name.
        name: String,
        /// True for `+=`.
        append: bool,
        /// New or appended value.
        value: Expr,
    },
    /// `if … else …`.
    If {
        /// Condition.
        cond: Expr,
        /// Body.
        then: Vec<Stmt>,
        /// Body of `else`, empty when there is none.
        otherwise: Vec<Stmt>,
    },
    /// `list.forEach((e, i) => { … })` or `for (const e of list)`.
    Each {
        /// What is iterated.
        list: Expr,
        /// Name of the element.
        item: Option<String>,
        /// Name of the index.
        index: Option<String>,
        /// Body.
        body: Vec<Stmt>,
    },
    /// `Object.entries(o).forEach(([k, v]) => { … })`.
    Entries {
        /// The object.
        object: Expr,
        /// Name of the key.
        key: Option<String>,
        /// Name of the value.
        value: Option<String>,
        /// Body.
        body: Vec<Stmt>,
    },
}

/// A binary operator.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Op {
    /// `+`
    Add,
    /// `-`
    Sub,
    /// `||`
    Or,
    /// `&&`
    And,
    /// `===` or `==`; `strict` for three characters.
    Eq {
        /// True for `===`.
        strict: bool,
    },
    /// `!==` or `!=`.
    Ne {
        /// True for `!==`.
        strict: bool,
    },
    /// `<`
    Lt,
    /// `<=`
    Le,
    /// `>`
    Gt,
    /// `>=`
    Ge,
}

/// A part of a template literal.
#[derive(Debug, Clone, PartialEq)]
pub enum Part {
    /// Text.
    Text(String),
    /// `${e}`.
    Expr(Expr),
}

/// An expression.
#[derive(Debug, Clone, PartialEq)]
pub enum Expr {
    /// `"text"`.
    Str(String),
    /// A number, kept as JavaScript prints it.
    Num(String),
    /// `true` or `false`.
    Bool(bool),
    /// `null`.
    Null,
    /// `undefined`.
    Undefined,
    /// `/re/flags`.
    Regex {
        /// Between the slashes.
        pattern: String,
        /// After them.
        flags: String,
    },
    /// A template literal.
    Template(Vec<Part>),
    /// A name.
    Name(String),
    /// `a.b` or `a["b"]`.
    Member(Box<Expr>, String),
    /// `a[e]` with anything but a text.
    Index(Box<Expr>, Box<Expr>),
    /// `f(args)`.
    Call(Box<Expr>, Vec<Expr>),
    /// `!e`.
    Not(Box<Expr>),
    /// `-e`.
    Neg(Box<Expr>),
    /// `a op b`.
    Binary(Op, Box<Expr>, Box<Expr>),
    /// `c ? a : b`.
    Cond(Box<Expr>, Box<Expr>, Box<Expr>),
    /// `(params) => { body }` or `function (params) { body }`.
    Function {
        /// Plain names; a destructured pair is `Pattern::Pair`.
        params: Vec<Pattern>,
        /// Statements of the body.
        body: Vec<Stmt>,
    },
}

/// A parameter of a function.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Pattern {
    /// `name`.
    Name(String),
    /// `[key, value]`.
    Pair(Option<String>, Option<String>),
}
