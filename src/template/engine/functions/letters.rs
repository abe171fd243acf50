//! Letters as Go's `unicode` package sees them: one character maps to one character.

use unicode_general_category::{GeneralCategory as Category, get_general_category};

fn single(mut mapped: impl Iterator<Item = char>) -> Option<char> {
    let first = mapped.next()?;
    mapped.next().is_none().then_some(first)
}

/// `unicode.ToUpper`
pub fn to_upper(c: char) -> char {
    single(c.to_uppercase()).unwrap_or_else(|| greek_title(c))
}

/// `unicode.ToLower`
pub fn to_lower(c: char) -> char {
    match c {
        '\u{130}' => 'i',
        _ => single(c.to_lowercase()).unwrap_or(c),
    }
}

/// `unicode.ToTitle`
pub fn to_title(c: char) -> char {
    match c {
        '\u{1C4}'..='\u{1C6}' => '\u{1C5}',
        '\u{1C7}'..='\u{1C9}' => '\u{1C8}',
        '\u{1CA}'..='\u{1CC}' => '\u{1CB}',
        '\u{1F1}'..='\u{1F3}' => '\u{1F2}',
        '\u{10D0}'..='\u{10FA}' | '\u{10FD}'..='\u{10FF}' => c,
        _ => to_upper(c),
    }
}

/// Greek letters with iota below: their one-character capital is the title form.
fn greek_title(c: char) -> char {
    let shift = match c {
        '\u{1F80}'..='\u{1F87}' | '\u{1F90}'..='\u{1F97}' | '\u{1FA0}'..='\u{1FA7}' => 8,
        '\u{1FB3}' | '\u{1FC3}' | '\u{1FF3}' => 9,
        _ => 0,
    };
    char::from_u32(u32::from(c) + shift).unwrap_or(c)
}

/// `unicode.IsUpper`
pub fn is_upper(c: char) -> bool {
    if c.is_ascii() { c.is_ascii_uppercase() } else { get_general_category(c) == Category::UppercaseLetter }
}

/// `unicode.IsLower`
pub fn is_lower(c: char) -> bool {
    if c.is_ascii() { c.is_ascii_lowercase() } else { get_general_category(c) == Category::LowercaseLetter }
}

/// `unicode.IsTitle`
pub fn is_title(c: char) -> bool {
    !c.is_ascii() && get_general_category(c) == Category::TitlecaseLetter
}

/// `unicode.IsPunct`
pub fn is_punct(c: char) -> bool {
    matches!(
        get_general_category(c),
        Category::ConnectorPunctuation
            | Category::DashPunctuation
            | Category::OpenPunctuation
            | Category::ClosePunctuation
            | Category::InitialPunctuation
            | Category::FinalPunctuation
            | Category::OtherPunctuation
    )
}
