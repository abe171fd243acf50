//! Pieces of a pattern in the syntax of the `regex` crate, with what the limits need to know of them.

use super::parse::Count;
use std::fmt::Write as _;

/// A translated piece of a pattern.
pub(super) struct Item {
    /// The text, complete in itself (a sequence or an alternation may still need a group round it).
    pub(super) pattern: String,
    /// Instructions Go's compiler would need at most.
    pub(super) size: u64,
    /// Height of Go's parse tree.
    pub(super) height: u32,
    /// Largest product of nested counts.
    pub(super) copies: u64,
    /// Whether an operator may follow without a group.
    atom: bool,
    /// A literal, and whether it folds case: Go joins neighbours into one node.
    literal: Option<bool>,
    /// One character or class: Go joins alternatives of these into one class.
    single: bool,
}

impl Item {
    fn leaf(pattern: String) -> Self {
        Self {
            pattern,
            size: 1,
            height: 1,
            copies: 1,
            atom: true,
            literal: None,
            single: false,
        }
    }
}

/// An assertion of no width.
pub(super) fn look(pattern: &str) -> Item {
    Item::leaf(pattern.to_owned())
}

/// One character out of a set; `sign` stands for the set until the alphabet is known.
pub(super) fn class(sign: char) -> Item {
    Item {
        single: true,
        ..Item::leaf(sign.to_string())
    }
}

/// One ASCII character that stands for itself.
pub(super) fn ascii(c: char) -> Item {
    let mut text = String::new();
    push_char(&mut text, c);
    Item::leaf(text)
}

/// The same item as one of a literal: `fold` says whether case is ignored.
pub(super) fn literal(item: Item, fold: bool) -> Item {
    Item {
        literal: Some(fold),
        single: true,
        ..item
    }
}

/// Appends `c` so that it stands for itself inside and outside a class.
pub(super) fn push_char(out: &mut String, c: char) {
    if c.is_ascii_alphanumeric() {
        out.push(c);
    } else {
        write!(out, r"\x{{{:X}}}", u32::from(c)).expect("writing to a string cannot fail");
    }
}

/// Items one after the other; none at all match the empty text.
pub(super) fn concat(items: Vec<Item>) -> Item {
    let mut items = items.into_iter();
    let Some(mut whole) = items.next() else {
        return Item {
            atom: false,
            ..Item::leaf(String::new())
        };
    };
    if items.len() == 0 {
        return whole;
    }
    let (mut height, mut nodes) = (0, 1);
    let mut previous = whole.literal;
    height = height.max(whole.height);
    for item in items {
        nodes += u32::from(item.literal.is_none() || item.literal != previous);
        previous = item.literal;
        height = height.max(item.height);
        whole.size += item.size;
        whole.copies = whole.copies.max(item.copies);
        whole.pattern.push_str(&item.pattern);
    }
    whole.height = height + u32::from(nodes > 1);
    (whole.atom, whole.literal, whole.single) = (false, None, false);
    whole
}

/// Items of which one matches, the first that can.
pub(super) fn alternate(items: Vec<Item>) -> Item {
    let all_single = items.iter().all(|item| item.single);
    let mut items = items.into_iter();
    let Some(mut whole) = items.next() else {
        return concat(Vec::new());
    };
    if items.len() == 0 {
        return whole;
    }
    whole.size += items.len() as u64;
    let mut height = whole.height;
    for item in items {
        height = height.max(item.height);
        whole.size += item.size;
        whole.copies = whole.copies.max(item.copies);
        whole.pattern.push('|');
        whole.pattern.push_str(&item.pattern);
    }
    whole.height = if all_single { 1 } else { height + 1 };
    whole.pattern = format!("(?:{})", whole.pattern);
    (whole.atom, whole.literal, whole.single) = (true, None, all_single);
    whole
}

/// A group that only groups.
pub(super) fn group(mut body: Item) -> Item {
    if !body.atom {
        body.pattern = format!("(?:{})", body.pattern);
        body.atom = true;
    }
    body
}

/// A capturing group.
pub(super) fn capture(mut body: Item) -> Item {
    body.pattern = format!("({})", body.pattern);
    body.size += 2;
    body.height += 1;
    (body.atom, body.literal, body.single) = (true, None, false);
    body
}

/// An item repeated.
pub(super) fn repeat(operand: Item, count: &Count, greedy: bool) -> Item {
    let mut item = group(operand);
    match (count.min, count.max) {
        (0, None) => item.pattern.push('*'),
        (1, None) => item.pattern.push('+'),
        (0, Some(1)) => item.pattern.push('?'),
        (min, None) => write!(item.pattern, "{{{min},}}").expect("writing to a string cannot fail"),
        (min, Some(max)) => write!(item.pattern, "{{{min},{max}}}").expect("writing to a string cannot fail"),
    }
    if !greedy {
        item.pattern.push('?');
    }
    item.size = size(item.size, count);
    item.height += 1;
    if count.braces {
        item.copies = match count.max {
            Some(0) => 1,
            max => item.copies.saturating_mul(max.unwrap_or(count.min).max(1)),
        };
    }
    (item.atom, item.literal, item.single) = (false, None, false);
    item
}

/// Go's estimate of the instructions for a repetition.
fn size(operand: u64, count: &Count) -> u64 {
    match (count.min, count.max) {
        (0, None) => operand + 2,
        (1, Some(1)) if !count.braces => operand + 1,
        (min, None) => 1 + min.saturating_mul(operand),
        (min, Some(max)) => max.saturating_mul(operand).saturating_add(max - min).max(1),
    }
}
