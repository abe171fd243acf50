//! What the tables do not show: groups that share a name, bytes that are not UTF-8, limits of our own.

use super::{Regexp, quote_meta};

fn fault(pattern: &str) -> String {
    Regexp::new(pattern).unwrap_err().to_string()
}

#[test]
fn of_groups_with_one_name_the_first_that_matched_counts() {
    let re = Regexp::new("(?P<n>a)|(?P<n>b)").unwrap();
    assert_eq!(re.names(), ["", "n", "n"]);
    assert_eq!(re.replace_all(b"ab", b"<$n>"), b"<a><b>");
}

#[test]
fn broken_bytes_are_characters_and_keep_their_places() {
    let re = Regexp::new(".").unwrap();
    assert_eq!(re.find_all(b"\xe2\x82a", -1), [0..1, 1..2, 2..3]);
    assert_eq!(re.replace_all(b"a\xff", b"[$0]"), b"[a][\xff]");
    assert!(Regexp::new(r"\x{fffd}").unwrap().is_match(b"\xff"));
    assert_eq!(Regexp::new("").unwrap().split(b"\xff\xfe", -1), [b"\xff", b"\xfe"]);
}

#[test]
fn what_is_too_deep_or_too_large_is_refused() {
    let deep = format!("{}a{}", "(".repeat(251), ")".repeat(251));
    assert!(fault(&deep).starts_with("error parsing regexp: expression nests too deeply: `((("));
    assert!(Regexp::new(&deep[2..deep.len() - 2]).is_ok());
    assert!(fault(r"(?:\pL\pN{100}){1000}").starts_with("error parsing regexp: invalid repeat count: `"));
    assert!(fault(&r"\pL{1000}".repeat(100)).starts_with("error parsing regexp: expression too large: `"));
    assert!(Regexp::new(&r"\pL{1000}".repeat(5)).is_ok());
    assert_eq!(
        fault("(?:a{1000}){2}"),
        "error parsing regexp: invalid repeat count: `{2}`"
    );
}

#[test]
fn a_pattern_must_be_utf_8() {
    let e = Regexp::from_bytes(b"ab\xffc").unwrap_err().to_string();
    assert_eq!(e, "error parsing regexp: invalid UTF-8: `\u{fffd}c`");
    assert!(Regexp::from_bytes("é".as_bytes()).is_ok());
}

#[test]
fn quoted_text_matches_itself() {
    let text = br"a.b*[c]\{1}(x|y)^$+?-_";
    let re = Regexp::from_bytes(&quote_meta(text)).unwrap();
    assert_eq!(re.find(text), Some(0..text.len()));
}

/// A pattern is compiled over letters that stand for many characters; no two that it tells apart may share one.
#[test]
fn characters_that_a_pattern_tells_apart_stay_apart() {
    let text = "aÉéßſKkΑα٣ǅ中\u{e000}\u{10ffff}".as_bytes();
    let found = |pattern: &str| {
        let re = Regexp::new(pattern).unwrap();
        let all = re.find_all(text, -1);
        all.into_iter()
            .map(|m| String::from_utf8_lossy(&text[m]).into_owned())
            .collect::<Vec<_>>()
    };
    assert_eq!(found(r"\p{Lu}"), ["É", "K", "Α"]);
    assert_eq!(found(r"(?i)\p{Lu}"), ["a", "É", "é", "ß", "ſ", "K", "k", "Α", "α", "ǅ"]);
    assert_eq!(found(r"[^\pL\p{Nd}]"), ["\u{e000}", "\u{10ffff}"]);
    assert_eq!(found(r"(?i)[k中]"), ["K", "k", "中"]);
    assert_eq!(found(r"(?i)[^\p{Ll}é]"), ["٣", "中", "\u{e000}", "\u{10ffff}"]);
    assert_eq!(found(r"\bk"), Vec::<String>::new());
    assert_eq!(found(r"\x{10FFFF}|[é-ÿ]"), ["é", "\u{10ffff}"]);
    assert_eq!(found(r"[\x{d800}-\x{dfff}]"), Vec::<String>::new());
}
