//! Reads Go's regular expression syntax and writes the equivalent pattern for the `regex` crate.
//!
//! One pass with a stack of open groups, each with its finished alternatives and the items of the current one. An item
//! is already in the target's syntax, so nothing is walked twice; only its character sets are signs, which
//! [`Sets::finish`] resolves at the end.

use super::RegexpError;
use super::alphabet::{Alphabet, Set, Sets};
use super::classes;
use super::emit::{self, Item};
use std::collections::BTreeSet;

/// Text of the fault for a pattern beyond a size limit.
pub(super) const LARGE: &str = "expression too large";
const DEEP: &str = "expression nests too deeply";
const ESCAPE: &str = "invalid escape sequence";
const RANGE: &str = "invalid character class range";
const BRACKET: &str = "missing closing ]";
const PAREN: &str = "missing closing )";
const UNEXPECTED_PAREN: &str = "unexpected )";
const CAPTURE_NAME: &str = "invalid named capture";
const PERL: &str = "invalid or unsupported Perl syntax";
const REPEAT_ARGUMENT: &str = "missing argument to repetition operator";
const REPEAT_SIZE: &str = "invalid repeat count";
const REPEAT_NESTED: &str = "invalid nested repetition operator";
const TRAILING: &str = "trailing backslash at end of expression";

/// Levels of nesting allowed. Go allows 1000; the recursion inside `regex` is safe well above this.
const MAX_HEIGHT: u32 = 250;
/// The same limit in the target's own count, which counts groups and operators apart.
pub(super) const NEST_LIMIT: u32 = 4 * MAX_HEIGHT;
/// Go's limit on instructions: 128 MiB of 40 bytes each.
const MAX_SIZE: u64 = (128 << 20) / 40;
/// Go's limit on one count and on the product of nested counts.
const MAX_REPEAT: u64 = 1000;

/// The outcome of a translation.
pub(super) struct Translated {
    /// The pattern in the syntax of the `regex` crate.
    pub(super) pattern: String,
    /// Group names by index; index 0 and unnamed groups are empty.
    pub(super) names: Vec<String>,
    /// How text has to be spelt for that pattern.
    pub(super) alphabet: Alphabet,
}

/// Translates `pattern`.
pub(super) fn translate(pattern: &str) -> Result<Translated, RegexpError> {
    let mut parser = Parser {
        whole: pattern,
        flags: Flags::default(),
        open: vec![Group::new(GroupKind::Whole, Flags::default())],
        names: vec![String::new()],
        sets: Sets::default(),
        no_named_class: false,
    };
    parser.run()?;
    let whole = parser.open.pop().filter(|_| parser.open.is_empty());
    let Some(whole) = whole else {
        return Err(error(PAREN, pattern));
    };
    let item = parser.checked(whole.finish())?;
    let (pattern, alphabet) = parser.sets.finish(&item.pattern).ok_or_else(|| error(LARGE, pattern))?;
    Ok(Translated {
        pattern,
        names: parser.names,
        alphabet,
    })
}

/// Go's error for a pattern that is not UTF-8: it shows everything from the first broken byte on.
pub(super) fn invalid_utf8(pattern: &[u8]) -> RegexpError {
    let broken = std::str::from_utf8(pattern).map_or_else(|e| e.valid_up_to(), str::len);
    RegexpError {
        code: "invalid UTF-8",
        part: String::from_utf8_lossy(&pattern[broken..]).into_owned(),
    }
}

fn error(code: &'static str, part: &str) -> RegexpError {
    RegexpError {
        code,
        part: part.to_owned(),
    }
}

#[derive(Debug, Clone, Copy, Default)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "they are the four flags of the syntax: i, m, s, U"
)]
struct Flags {
    fold: bool,
    lines: bool,
    dot_all: bool,
    swap_greed: bool,
}

enum GroupKind {
    Whole,
    Plain,
    Capture,
}

struct Group {
    kind: GroupKind,
    /// Flags in force where the group began, to go back to at its end.
    outer: Flags,
    alternatives: Vec<Item>,
    sequence: Vec<Item>,
}

impl Group {
    fn new(kind: GroupKind, outer: Flags) -> Self {
        Self {
            kind,
            outer,
            alternatives: Vec::new(),
            sequence: Vec::new(),
        }
    }

    fn end_alternative(&mut self) {
        let items = std::mem::take(&mut self.sequence);
        self.alternatives.push(emit::concat(items));
    }

    fn finish(mut self) -> Item {
        self.end_alternative();
        let body = emit::alternate(self.alternatives);
        match self.kind {
            GroupKind::Whole => body,
            GroupKind::Plain => emit::group(body),
            GroupKind::Capture => emit::capture(body),
        }
    }
}

struct Parser<'p> {
    whole: &'p str,
    flags: Flags,
    open: Vec<Group>,
    names: Vec<String>,
    sets: Sets<'p>,
    /// There is no `:]` any more: looking for it again and again would take too long.
    no_named_class: bool,
}

impl<'p> Parser<'p> {
    fn run(&mut self) -> Result<(), RegexpError> {
        let mut rest = self.whole;
        // where the repetition operator just before `rest` began
        let mut last_repeat: Option<&'p str> = None;
        while let Some(c) = rest.chars().next() {
            let mut repeat = None;
            rest = match c {
                '(' => self.open_group(rest)?,
                ')' => self.close_group(rest)?,
                '|' => {
                    self.top().end_alternative();
                    &rest[1..]
                }
                '[' => self.class(rest)?,
                '\\' => self.escape(rest)?,
                '*' | '+' | '?' | '{' => match Count::read(rest) {
                    Some((count, after)) => {
                        repeat = Some(rest);
                        self.repeat(&count, rest, after, last_repeat)?
                    }
                    None => self.push_char('{', rest)?,
                },
                '^' => self.push_item(emit::look(if self.flags.lines { "(?m:^)" } else { r"\A" }), &rest[1..])?,
                '$' => self.push_item(emit::look(if self.flags.lines { "(?m:$)" } else { r"\z" }), &rest[1..])?,
                '.' => {
                    let kind = if self.flags.dot_all { "(?s:.)" } else { "." };
                    self.push_set(kind, &rest[1..], |dot| {
                        Ok(if dot == "." {
                            Set::range(10, 10).negated()
                        } else {
                            Set::all()
                        })
                    })?
                }
                c => self.push_char(c, rest)?,
            };
            last_repeat = repeat;
        }
        Ok(())
    }

    fn top(&mut self) -> &mut Group {
        self.open
            .last_mut()
            .expect("the whole pattern's group is only taken after the loop")
    }

    /// Refuses an item beyond the limits on size and depth.
    fn checked(&self, item: Item) -> Result<Item, RegexpError> {
        if item.size > MAX_SIZE {
            return Err(error(LARGE, self.whole));
        }
        if item.height > MAX_HEIGHT {
            return Err(error(DEEP, self.whole));
        }
        Ok(item)
    }

    fn push_item(&mut self, item: Item, rest: &'p str) -> Result<&'p str, RegexpError> {
        let item = self.checked(item)?;
        self.top().sequence.push(item);
        Ok(rest)
    }

    /// Pushes the literal `c` that stands at the start of `rest`.
    fn push_char(&mut self, c: char, rest: &'p str) -> Result<&'p str, RegexpError> {
        self.push_literal(u32::from(c), &rest[c.len_utf8()..])
    }

    /// Pushes one code point that stands for itself; a surrogate matches nothing.
    fn push_literal(&mut self, c: u32, rest: &'p str) -> Result<&'p str, RegexpError> {
        let fold = self.flags.fold;
        let item = match char::from_u32(c).filter(char::is_ascii) {
            Some(c) if !fold || !c.is_ascii_alphabetic() => emit::ascii(c),
            _ => emit::class(self.sets.literal(c, fold).ok_or_else(|| error(LARGE, self.whole))?),
        };
        self.push_item(emit::literal(item, fold), rest)
    }

    /// Pushes the set that `written` stands for; `read` is asked once for each text.
    fn push_set(
        &mut self,
        written: &'p str,
        rest: &'p str,
        read: impl FnOnce(&'p str) -> Result<Set, RegexpError>,
    ) -> Result<&'p str, RegexpError> {
        let sign = self.sets.sign(written, self.flags.fold, read)?;
        let sign = sign.ok_or_else(|| error(LARGE, self.whole))?;
        self.push_item(emit::class(sign), rest)
    }

    fn open_group(&mut self, rest: &'p str) -> Result<&'p str, RegexpError> {
        if rest.as_bytes().get(1) == Some(&b'?') {
            return self.perl_group(rest);
        }
        self.capture(String::new());
        Ok(&rest[1..])
    }

    fn capture(&mut self, name: String) {
        self.names.push(name);
        self.open.push(Group::new(GroupKind::Capture, self.flags));
    }

    fn close_group(&mut self, rest: &'p str) -> Result<&'p str, RegexpError> {
        if self.open.len() < 2 {
            return Err(error(UNEXPECTED_PAREN, self.whole));
        }
        let group = self.open.pop().expect("two groups are open");
        self.flags = group.outer;
        self.push_item(group.finish(), &rest[1..])
    }

    /// `(?P<name>`, `(?<name>`, `(?flags)`, `(?flags:`.
    fn perl_group(&mut self, rest: &'p str) -> Result<&'p str, RegexpError> {
        let python = rest.len() > 4 && rest[2..].starts_with("P<");
        if python || (rest.len() > 3 && rest[2..].starts_with('<')) {
            let start = if python { 4 } else { 3 };
            let Some(end) = rest.find('>') else {
                return Err(error(CAPTURE_NAME, rest));
            };
            // `>` may stand before the name would start only if the name is empty
            let name = rest.get(start..end).unwrap_or_default();
            if name.is_empty() || !name.chars().all(|c| c == '_' || c.is_ascii_alphanumeric()) {
                return Err(error(CAPTURE_NAME, &rest[..=end]));
            }
            self.capture(name.to_owned());
            return Ok(&rest[end + 1..]);
        }
        self.flag_group(rest)
    }

    fn flag_group(&mut self, rest: &'p str) -> Result<&'p str, RegexpError> {
        let mut flags = self.flags;
        let (mut on, mut saw_flag) = (true, false);
        for (at, c) in rest.char_indices().skip(2) {
            let after = &rest[at + c.len_utf8()..];
            let flag = match c {
                'i' => &mut flags.fold,
                'm' => &mut flags.lines,
                's' => &mut flags.dot_all,
                'U' => &mut flags.swap_greed,
                '-' if on => {
                    (on, saw_flag) = (false, false);
                    continue;
                }
                ':' | ')' if on || saw_flag => {
                    if c == ':' {
                        self.open.push(Group::new(GroupKind::Plain, self.flags));
                    }
                    self.flags = flags;
                    return Ok(after);
                }
                _ => return Err(error(PERL, &rest[..rest.len() - after.len()])),
            };
            *flag = on;
            saw_flag = true;
        }
        Err(error(PERL, rest))
    }

    /// Applies a repetition operator to the item before it. `before` starts at the operator, `after` behind its count.
    fn repeat(
        &mut self,
        count: &Count,
        before: &'p str,
        after: &'p str,
        last: Option<&'p str>,
    ) -> Result<&'p str, RegexpError> {
        let written = |from: &str, after: &str| from[..from.len() - after.len()].to_owned();
        if count.braces && (count.min > MAX_REPEAT || count.max.is_some_and(|max| max > MAX_REPEAT || max < count.min))
        {
            return Err(RegexpError {
                code: REPEAT_SIZE,
                part: written(before, after),
            });
        }
        let lazy = after.starts_with('?');
        let after = if lazy { &after[1..] } else { after };
        if let Some(last) = last {
            return Err(RegexpError {
                code: REPEAT_NESTED,
                part: written(last, after),
            });
        }
        let Some(operand) = self.top().sequence.pop() else {
            return Err(RegexpError {
                code: REPEAT_ARGUMENT,
                part: written(before, after),
            });
        };
        let greedy = lazy == self.flags.swap_greed;
        let item = self.checked(emit::repeat(operand, count, greedy))?;
        let many = count.min >= 2 || count.max.is_some_and(|max| max >= 2);
        if count.braces && many && item.copies > MAX_REPEAT {
            return Err(RegexpError {
                code: REPEAT_SIZE,
                part: written(before, after),
            });
        }
        self.push_item(item, after)
    }

    /// A backslash outside a class.
    fn escape(&mut self, rest: &'p str) -> Result<&'p str, RegexpError> {
        let after = rest.get(2..).unwrap_or_default();
        let look = match rest.as_bytes().get(1) {
            Some(b'A') => r"\A",
            Some(b'z') => r"\z",
            Some(b'b') => r"(?-u:\b)",
            Some(b'B') => r"(?-u:\B)",
            Some(b'C') => return Err(error(ESCAPE, &rest[..2])),
            Some(b'Q') => return self.quoted(after),
            _ => {
                if let Some((members, after)) = class_escape(rest)? {
                    let fold = self.flags.fold;
                    let written = &rest[..rest.len() - after.len()];
                    return self.push_set(written, after, |_| Ok(members.set(fold)));
                }
                let (c, after) = escaped_char(rest)?;
                return self.push_literal(c, after);
            }
        };
        self.push_item(emit::look(look), after)
    }

    /// `\Q…\E`: every character stands for itself; the end may be missing.
    fn quoted(&mut self, rest: &'p str) -> Result<&'p str, RegexpError> {
        let (literal, after) = rest.split_once(r"\E").unwrap_or((rest, ""));
        for c in literal.chars() {
            self.push_literal(u32::from(c), after)?;
        }
        Ok(after)
    }

    /// A bracketed class.
    fn class(&mut self, whole: &'p str) -> Result<&'p str, RegexpError> {
        let mut rest = &whole[1..];
        let negated = rest.starts_with('^');
        if negated {
            rest = &rest[1..];
        }
        let mut members = Pending::default();
        let mut first = true;
        while first || !rest.starts_with(']') {
            first = false;
            rest = self.member(rest, whole, &mut members)?;
        }
        rest = &rest[1..];
        let written = &whole[..whole.len() - rest.len()];
        let fold = self.flags.fold;
        self.push_set(written, rest, |_| {
            let set = members.set(fold);
            Ok(if negated { set.negated() } else { set.closed() })
        })
    }

    /// Where the `:]` of a named class is, counted from behind its `[:`.
    fn named_class_end(&mut self, rest: &str) -> Option<usize> {
        if self.no_named_class {
            return None;
        }
        let end = rest[2..].find(":]");
        self.no_named_class = end.is_none();
        end
    }

    /// One member of a class: a named class, an escape, a character or a range.
    fn member(&mut self, rest: &'p str, whole: &'p str, out: &mut Pending) -> Result<&'p str, RegexpError> {
        if rest.starts_with("[:")
            && let Some(end) = self.named_class_end(rest)
        {
            let name = &rest[2..2 + end];
            let (negated, bare) = name.strip_prefix('^').map_or((false, name), |bare| (true, bare));
            let Some(members) = classes::posix(bare) else {
                return Err(error(RANGE, &rest[..end + 4]));
            };
            let members = Members {
                text: members.to_owned(),
                negated,
            };
            out.named.insert(members);
            return Ok(&rest[end + 4..]);
        }
        if rest.starts_with('\\')
            && let Some((members, after)) = class_escape(rest)?
        {
            out.named.insert(members);
            return Ok(after);
        }
        let (low, mut after) = class_char(rest, whole)?;
        let mut high = low;
        if after.len() >= 2 && after.starts_with('-') && after.as_bytes()[1] != b']' {
            (high, after) = class_char(&after[1..], whole)?;
            if high < low {
                return Err(error(RANGE, &rest[..rest.len() - after.len()]));
            }
        }
        out.ranges.push((low, high));
        Ok(after)
    }
}

/// What stands between brackets. Worked out only once for each text, since folding takes its time.
#[derive(Default)]
struct Pending {
    ranges: Vec<(u32, u32)>,
    named: BTreeSet<Members>,
}

impl Pending {
    fn set(&self, fold: bool) -> Set {
        let mut set = Set::default();
        for (low, high) in &self.ranges {
            set.add(Set::range(*low, *high));
        }
        if fold {
            set = set.folded();
        }
        for members in &self.named {
            set.add(members.set(fold));
        }
        set
    }
}

/// A class known by name.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Members {
    text: String,
    negated: bool,
}

impl Members {
    /// Its characters. Go folds first and negates then.
    fn set(&self, fold: bool) -> Set {
        let set = Set::named(&self.text, fold);
        if self.negated { set.negated() } else { set }
    }
}

/// `\d`, `\W`, `\pL`, `\P{Greek}`, and what follows.
fn class_escape(rest: &str) -> Result<Option<(Members, &str)>, RegexpError> {
    let Some(letter) = rest[1..].chars().next() else {
        return Ok(None);
    };
    if matches!(letter, 'p' | 'P') {
        return unicode_escape(rest).map(Some);
    }
    let Some(members) = classes::perl(letter.to_ascii_lowercase()) else {
        return Ok(None);
    };
    let members = Members {
        text: members.to_owned(),
        negated: letter.is_ascii_uppercase(),
    };
    Ok(Some((members, &rest[2..])))
}

/// `\pL`, `\p{Lu}`, `\P{^Greek}`.
fn unicode_escape(rest: &str) -> Result<(Members, &str), RegexpError> {
    let mut negated = rest.as_bytes()[1] == b'P';
    let Some(c) = rest[2..].chars().next() else {
        return Err(error(RANGE, rest));
    };
    let (name, end) = if c == '{' {
        let Some(end) = rest.find('}') else {
            return Err(error(RANGE, rest));
        };
        (&rest[3..end], end + 1)
    } else {
        let end = 2 + c.len_utf8();
        (&rest[2..end], end)
    };
    let bare = name.strip_prefix('^').unwrap_or(name);
    negated ^= bare.len() != name.len();
    let Some(text) = classes::unicode(bare) else {
        return Err(error(RANGE, &rest[..end]));
    };
    Ok((Members { text, negated }, &rest[end..]))
}

/// One character of a class, escaped or not.
fn class_char<'p>(rest: &'p str, whole: &'p str) -> Result<(u32, &'p str), RegexpError> {
    match rest.chars().next() {
        None => Err(error(BRACKET, whole)),
        Some('\\') => escaped_char(rest),
        Some(c) => Ok((c as u32, &rest[c.len_utf8()..])),
    }
}

/// An escape that stands for one code point. It may be a surrogate, which matches nothing.
fn escaped_char(rest: &str) -> Result<(u32, &str), RegexpError> {
    let Some(c) = rest[1..].chars().next() else {
        return Err(error(TRAILING, ""));
    };
    let after = &rest[1 + c.len_utf8()..];
    let simple = match c {
        '0' => return Ok(octal(&rest[1..])),
        '1'..='7' if after.starts_with(|d| matches!(d, '0'..='7')) => return Ok(octal(&rest[1..])),
        'x' => return hexadecimal(rest),
        'a' => 7,
        'f' => 12,
        'n' => 10,
        'r' => 13,
        't' => 9,
        'v' => 11,
        c if c.is_ascii() && !c.is_ascii_alphanumeric() => c as u32,
        _ => return Err(error(ESCAPE, &rest[..rest.len() - after.len()])),
    };
    Ok((simple, after))
}

/// Up to three octal digits.
fn octal(digits: &str) -> (u32, &str) {
    let count = digits.bytes().take(3).take_while(|b| matches!(b, b'0'..=b'7')).count();
    let value = digits[..count]
        .bytes()
        .fold(0, |value, b| value * 8 + u32::from(b - b'0'));
    (value, &digits[count..])
}

/// `\xFF` or `\x{10FFFF}`.
fn hexadecimal(rest: &str) -> Result<(u32, &str), RegexpError> {
    let mut chars = rest[2..].chars();
    let Some(first) = chars.next() else {
        return Err(error(ESCAPE, rest));
    };
    if first != '{' {
        // the second character is consumed before either is looked at, and the text of the error shows it; at the
        // very end Go reports what it could read
        let second = chars.next();
        let after = chars.as_str();
        return match (first.to_digit(16), second.and_then(|c| c.to_digit(16))) {
            (Some(high), Some(low)) => Ok((high * 16 + low, after)),
            _ => Err(error(ESCAPE, &rest[..rest.len() - after.len()])),
        };
    }
    let (mut value, mut digits) = (0u32, 0);
    while let Some(c) = chars.next() {
        let digit = match c {
            '}' if digits > 0 => return Ok((value, chars.as_str())),
            c => c.to_digit(16),
        };
        value = match digit {
            Some(digit) if value * 16 + digit <= 0x0010_FFFF => value * 16 + digit,
            _ => break,
        };
        digits += 1;
    }
    Err(error(ESCAPE, &rest[..rest.len() - chars.as_str().len()]))
}

/// A repetition operator: `*`, `+`, `?` or `{min,max}`.
pub(super) struct Count {
    pub(super) min: u64,
    /// No limit if absent.
    pub(super) max: Option<u64>,
    /// Written in braces; only those are limited in number.
    pub(super) braces: bool,
}

impl Count {
    /// Reads the operator at the start of `rest`; nothing if it is a `{` that is no count, and so a literal.
    fn read(rest: &str) -> Option<(Self, &str)> {
        let simple = |min, max| {
            Some((
                Self {
                    min,
                    max,
                    braces: false,
                },
                &rest[1..],
            ))
        };
        match rest.as_bytes().first()? {
            b'*' => simple(0, None),
            b'+' => simple(1, None),
            b'?' => simple(0, Some(1)),
            _ => Self::braces(rest),
        }
    }

    fn braces(rest: &str) -> Option<(Self, &str)> {
        let (min, after) = decimal(rest.strip_prefix('{')?)?;
        let Some(after) = after.strip_prefix(',') else {
            let after = after.strip_prefix('}')?;
            return Some((
                Self {
                    min,
                    max: Some(min),
                    braces: true,
                },
                after,
            ));
        };
        if let Some(after) = after.strip_prefix('}') {
            return Some((
                Self {
                    min,
                    max: None,
                    braces: true,
                },
                after,
            ));
        }
        let (max, after) = decimal(after)?;
        Some((
            Self {
                min,
                max: Some(max),
                braces: true,
            },
            after.strip_prefix('}')?,
        ))
    }
}

/// A decimal number without leading zeros; saturates, since anything above 1000 is refused alike.
fn decimal(text: &str) -> Option<(u64, &str)> {
    let count = text.bytes().take_while(u8::is_ascii_digit).count();
    if count == 0 || (count > 1 && text.starts_with('0')) {
        return None;
    }
    let digits = &text[..count];
    Some((digits.parse().unwrap_or(u64::MAX), &text[count..]))
}
