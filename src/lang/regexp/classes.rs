//! The class names Go's syntax knows: `\p{…}` categories and scripts, `[:…:]` and `\d \s \w`. What a name stands for
//! is written as members of a class in the syntax of `regex-syntax`, which holds the tables.

/// `\d`, `\s`, `\w`: ASCII in Go. The argument is the lower-case letter.
pub(super) fn perl(letter: char) -> Option<&'static str> {
    Some(match letter {
        'd' => "0-9",
        's' => r"\t\n\f\r\x20",
        'w' => "0-9A-Za-z_",
        _ => return None,
    })
}

/// The members of `[:name:]`.
pub(super) fn posix(name: &str) -> Option<&'static str> {
    Some(match name {
        "alnum" => "0-9A-Za-z",
        "alpha" => "A-Za-z",
        "ascii" => r"\x00-\x7F",
        "blank" => r"\t\x20",
        "cntrl" => r"\x00-\x1F\x7F",
        "digit" => "0-9",
        "graph" => r"\x21-\x7E",
        "lower" => "a-z",
        "print" => r"\x20-\x7E",
        "punct" => r"\x21-\x2F\x3A-\x40\x5B-\x60\x7B-\x7E",
        "space" => r"\t\n\x0B\f\r\x20",
        "upper" => "A-Z",
        "word" => "0-9A-Za-z_",
        "xdigit" => "0-9A-Fa-f",
        _ => return None,
    })
}

/// The members of `\p{name}`, or nothing if Go does not know the name.
///
/// Names are compared without case, spaces, `_` and `-`. Go looks them up in tables whose script names keep their
/// underscores, so a script of two words (`Old_Italic`) is never found; nor is it here.
pub(super) fn unicode(name: &str) -> Option<String> {
    let name = canonical(name);
    Some(match name.as_str() {
        "Any" => r"\x00-\x{10FFFF}".to_owned(),
        "Ascii" => r"\x00-\x7F".to_owned(),
        "Assigned" => format!("[^{UNASSIGNED}]"),
        "Lc" => category("LC"),
        short if CATEGORIES.contains(&short) => category(short),
        script if SCRIPTS.binary_search(&script).is_ok() => format!(r"[\p{{sc={script}}}&&\p{{age:15.0}}]"),
        alias => {
            let at = ALIASES.binary_search_by_key(&alias, |(alias, _)| alias).ok()?;
            category(ALIASES[at].1)
        }
    })
}

/// Code points no character had in Unicode 15.0, including those a later version assigned.
const UNASSIGNED: &str = r"\p{Cn}\P{age:15.0}";

fn category(short: &str) -> String {
    match short {
        "Cn" => UNASSIGNED.to_owned(),
        // surrogates are no scalar values: nothing can match them
        "Cs" => r"[^\x00-\x{10FFFF}]".to_owned(),
        "C" => format!(r"\p{{C}}{UNASSIGNED}"),
        "LC" => r"[\p{LC}&&\p{age:15.0}]".to_owned(),
        _ => format!(r"[\p{{gc={short}}}&&\p{{age:15.0}}]"),
    }
}

/// Go's spelling for look-ups: first letter upper case, the rest lower, separators left out.
fn canonical(name: &str) -> String {
    let mut out = String::with_capacity(name.len());
    for c in name.chars().filter(|c| !matches!(c, '_' | '-' | ' ')) {
        out.push(if out.is_empty() {
            c.to_ascii_uppercase()
        } else {
            c.to_ascii_lowercase()
        });
    }
    out
}

#[rustfmt::skip]
const CATEGORIES: &[&str] = &[
    "C", "Cc", "Cf", "Cn", "Co", "Cs", "L", "Ll", "Lm", "Lo", "Lt", "Lu", "M", "Mc", "Me", "Mn", "N", "Nd",
    "Nl", "No", "P", "Pc", "Pd", "Pe", "Pf", "Pi", "Po", "Ps", "S", "Sc", "Sk", "Sm", "So", "Z", "Zl", "Zp",
    "Zs",
];

#[rustfmt::skip]
const SCRIPTS: &[&str] = &[
    "Adlam", "Ahom", "Arabic", "Armenian", "Avestan", "Balinese", "Bamum", "Batak", "Bengali", "Bhaiksuki",
    "Bopomofo", "Brahmi", "Braille", "Buginese", "Buhid", "Carian", "Chakma", "Cham", "Cherokee",
    "Chorasmian", "Common", "Coptic", "Cuneiform", "Cypriot", "Cyrillic", "Deseret", "Devanagari", "Dogra",
    "Duployan", "Elbasan", "Elymaic", "Ethiopic", "Georgian", "Glagolitic", "Gothic", "Grantha", "Greek",
    "Gujarati", "Gurmukhi", "Han", "Hangul", "Hanunoo", "Hatran", "Hebrew", "Hiragana", "Inherited",
    "Javanese", "Kaithi", "Kannada", "Katakana", "Kawi", "Kharoshthi", "Khmer", "Khojki", "Khudawadi", "Lao",
    "Latin", "Lepcha", "Limbu", "Lisu", "Lycian", "Lydian", "Mahajani", "Makasar", "Malayalam", "Mandaic",
    "Manichaean", "Marchen", "Medefaidrin", "Miao", "Modi", "Mongolian", "Mro", "Multani", "Myanmar",
    "Nabataean", "Nandinagari", "Newa", "Nko", "Nushu", "Ogham", "Oriya", "Osage", "Osmanya", "Palmyrene",
    "Phoenician", "Rejang", "Runic", "Samaritan", "Saurashtra", "Sharada", "Shavian", "Siddham", "Sinhala",
    "Sogdian", "Soyombo", "Sundanese", "Syriac", "Tagalog", "Tagbanwa", "Takri", "Tamil", "Tangsa", "Tangut",
    "Telugu", "Thaana", "Thai", "Tibetan", "Tifinagh", "Tirhuta", "Toto", "Ugaritic", "Vai", "Vithkuqi",
    "Wancho", "Yezidi", "Yi",
];

#[rustfmt::skip]
const ALIASES: &[(&str, &str)] = &[
    ("Casedletter", "LC"), ("Closepunctuation", "Pe"), ("Cntrl", "Cc"), ("Combiningmark", "M"),
    ("Connectorpunctuation", "Pc"), ("Control", "Cc"), ("Currencysymbol", "Sc"), ("Dashpunctuation", "Pd"),
    ("Decimalnumber", "Nd"), ("Digit", "Nd"), ("Enclosingmark", "Me"), ("Finalpunctuation", "Pf"),
    ("Format", "Cf"), ("Initialpunctuation", "Pi"), ("Letter", "L"), ("Letternumber", "Nl"),
    ("Lineseparator", "Zl"), ("Lowercaseletter", "Ll"), ("Mark", "M"), ("Mathsymbol", "Sm"),
    ("Modifierletter", "Lm"), ("Modifiersymbol", "Sk"), ("Nonspacingmark", "Mn"), ("Number", "N"),
    ("Openpunctuation", "Ps"), ("Other", "C"), ("Otherletter", "Lo"), ("Othernumber", "No"),
    ("Otherpunctuation", "Po"), ("Othersymbol", "So"), ("Paragraphseparator", "Zp"), ("Privateuse", "Co"),
    ("Punct", "P"), ("Punctuation", "P"), ("Separator", "Z"), ("Spaceseparator", "Zs"), ("Spacingmark", "Mc"),
    ("Surrogate", "Cs"), ("Symbol", "S"), ("Titlecaseletter", "Lt"), ("Unassigned", "Cn"),
    ("Uppercaseletter", "Lu"),
];
