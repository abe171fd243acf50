//! What the parser reads and what it refuses.

use super::ast::{Expr, Stmt};
use super::lexer::tokens;
use super::parser::{expression, program};

fn expr(source: &str) -> Result<Expr, String> {
    let tokens = tokens(source, false).map_err(|e| e.to_string())?;
    expression(&tokens).map_err(|e| e.to_string())
}

#[test]
fn reads_member_chains_and_strings() {
    let Ok(Expr::Member(inner, field)) = expr(r#"data["a\u0041\x42"].b"#) else {
        panic!("a member")
    };
    assert_eq!(field, "b");
    assert_eq!(*inner, Expr::Member(Box::new(Expr::Name("data".into())), "aAB".into()));
}

#[test]
fn refuses_what_is_outside_the_subset() {
    for source in [
        "data.x;",
        "a, b",
        "{a: 1}",
        "[1]",
        "new Date()",
        "typeof a",
        "a => a",
        "a ?? b",
        "a?.b",
        "x * 2",
        "0x10",
        "1e3",
        "a = 1",
        "i++",
        "'open",
        "`open",
        "/open",
        "...a",
        "data.x // c",
    ] {
        assert!(expr(source).is_err(), "{source}");
    }
}

#[test]
fn else_must_follow_its_brace() {
    let all = tokens("if (a) { ; } ; else { }", true).unwrap();
    assert!(program(&all).is_err());
    let all = tokens("if (a) { } else if (b) { } else { }", true).unwrap();
    assert!(matches!(program(&all).unwrap().as_slice(), [Stmt::If { otherwise, .. }] if otherwise.len() == 1));
}

#[test]
fn deep_nesting_is_an_error_not_a_crash() {
    let deep = format!("{}1{}", "(".repeat(100_000), ")".repeat(100_000));
    assert!(expr(&deep).is_err());
    assert!(expr(&"!".repeat(100_000)).is_err());
}

#[test]
fn slash_after_an_operand_is_division() {
    assert!(expr("a / b / c").is_err());
    assert!(matches!(expr("x.replace(/a\\/[/]b/g, 'c')"), Ok(Expr::Call(..))));
}
