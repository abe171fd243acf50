//! The JavaScript subset that lodash templates of KES are written in: characters → tokens → tree.
//!
//! Absent on purpose: assignment to members, classes, `while`, counted `for`, `return`, regular expressions outside
//! `.replace`. Whatever is not read is refused by the caller, never guessed.

pub mod ast;
pub mod lexer;
pub mod parser;
mod statement;

#[cfg(test)]
mod tests;
