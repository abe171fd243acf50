//! `@pretty` and `@ugly`: the layout of tidwall/pretty 1.2.

use super::{MAX_DEPTH, scan};
use crate::lang::gojson;
use std::cmp::Ordering;

/// How to lay out.
pub(super) struct Options {
    /// Columns an array may take on one line; 0 or less for no arrays on one line.
    pub(super) width: i64,
    pub(super) prefix: Vec<u8>,
    pub(super) indent: Vec<u8>,
    pub(super) sort_keys: bool,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            width: 80,
            prefix: Vec::new(),
            indent: b"  ".to_vec(),
            sort_keys: false,
        }
    }
}

/// Without space between tokens.
pub(super) fn ugly(json: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(json.len());
    let mut at = 0;
    while let Some(&b) = json.get(at) {
        let end = if b == b'"' {
            scan::string_end(json, at + 1).map_or(json.len(), |(end, _)| end + 1)
        } else {
            at + 1
        };
        if b > b' ' {
            out.extend_from_slice(&json[at..end]);
        }
        at = end;
    }
    out
}

/// One member or element per line. Nothing if it nests too deeply or grows beyond `limit`.
pub(super) fn pretty(json: &[u8], options: &Options, limit: usize) -> Option<Vec<u8>> {
    let out = options.prefix.clone();
    let mut printer = Printer {
        json,
        out,
        options,
        limit,
        depth: 0,
        work: 0,
    };
    printer.any(
        0,
        Line {
            pretty: true,
            sort: options.sort_keys,
            tabs: 0,
            start: 0,
            max: None,
        },
    )?;
    if !printer.out.is_empty() {
        printer.out.push(b'\n');
    }
    Some(printer.out)
}

struct Printer<'a> {
    json: &'a [u8],
    out: Vec<u8>,
    options: &'a Options,
    limit: usize,
    depth: u32,
    /// Bytes written and thrown away again.
    work: usize,
}

/// The state handed from value to value.
#[derive(Clone, Copy)]
struct Line {
    /// Lines are broken; else all stays on one.
    pretty: bool,
    sort: bool,
    tabs: usize,
    /// Where the current line began in the output.
    start: usize,
    /// The room for an array tried on one line.
    max: Option<i64>,
}

/// What printing a value gives: the offset behind it, where the line began, and whether it may stay on one line.
struct Printed {
    at: usize,
    start: usize,
    flat: bool,
}

/// Where a member's key stands in the source and its lines in the output.
struct Member {
    key: (usize, usize),
    lines: (usize, usize),
}

impl Printer<'_> {
    fn any(&mut self, mut at: usize, line: Line) -> Option<Printed> {
        let done = |at| {
            Some(Printed {
                at,
                start: line.start,
                flat: true,
            })
        };
        while let Some(&b) = self.json.get(at) {
            let next = self.json.get(at + 1).copied();
            match b {
                b'"' => {
                    let end = scan::string_end(self.json, at + 1).map_or(self.json.len(), |(end, _)| end + 1);
                    self.copy(at, end);
                    return done(end);
                }
                b'{' | b'[' => return self.container(at, line),
                b'0'..=b'9' | b'-' | b'i' | b'I' | b'+' | b'N' => return done(self.number(at)),
                b'n' if next.is_some_and(|c| c != b'u') => return done(self.number(at)),
                b't' => return done(self.word(at, b"true")),
                b'f' => return done(self.word(at, b"false")),
                b'n' => return done(self.word(at, b"null")),
                _ => at += 1,
            }
        }
        done(at)
    }

    fn copy(&mut self, from: usize, to: usize) {
        self.out.extend_from_slice(&self.json[from..to]);
    }

    fn word(&mut self, at: usize, word: &[u8]) -> usize {
        self.out.extend_from_slice(word);
        at + word.len()
    }

    fn number(&mut self, at: usize) -> usize {
        let ends = |b: &u8| *b <= b' ' || matches!(b, b',' | b':' | b']' | b'}');
        let rest = &self.json[at + 1..];
        let end = at + 1 + rest.iter().position(ends).unwrap_or(rest.len());
        self.copy(at, end);
        end
    }

    fn container(&mut self, at: usize, line: Line) -> Option<Printed> {
        if self.depth >= MAX_DEPTH || self.out.len() + self.work > self.limit {
            return None;
        }
        self.depth += 1;
        let printed = self.container_here(at, line);
        self.depth -= 1;
        printed
    }

    fn container_here(&mut self, at: usize, line: Line) -> Option<Printed> {
        let array = self.json[at] == b'[';
        if self.options.width > 0 {
            if line.pretty && array && line.max.is_none() {
                let column = i64::try_from(self.out.len() - line.start).unwrap_or(i64::MAX);
                let room = self.options.width.saturating_sub(column);
                if room > 3
                    && let Some(at) = self.on_one_line(at, line, room)
                {
                    return Some(Printed {
                        at,
                        start: line.start,
                        flat: true,
                    });
                }
            } else if line.max.is_some() && !array {
                return Some(Printed {
                    at,
                    start: line.start,
                    flat: false,
                });
            }
        }
        self.members(at, line)
    }

    /// Tries an array on the rest of the line; takes it back if it does not fit.
    fn on_one_line(&mut self, at: usize, line: Line, room: i64) -> Option<usize> {
        let before = self.out.len();
        let flat = Line {
            pretty: false,
            tabs: 0,
            start: 0,
            max: Some(room),
            ..line
        };
        // too deep for one line is too deep for many as well, which the caller finds out
        let printed = self.members(at, flat);
        let length = self.out.len() - before;
        let fits = i64::try_from(length).is_ok_and(|length| length <= room);
        if let Some(printed) = printed.filter(|printed| printed.flat && fits) {
            return Some(printed.at);
        }
        self.work += length;
        self.out.truncate(before);
        None
    }

    fn members(&mut self, at: usize, mut line: Line) -> Option<Printed> {
        let open = self.json[at];
        let (array, close) = (open == b'[', open + 2);
        self.out.push(open);
        let mut at = at + 1;
        let mut members: Vec<Member> = Vec::new();
        let mut count = 0;
        while let Some(&b) = self.json.get(at) {
            if b == close {
                self.close(open, &mut line, &members, count);
                return Some(Printed {
                    at: at + 1,
                    start: line.start,
                    flat: array,
                });
            }
            if b <= b' ' || !(array || b == b'"') {
                at += 1;
                continue;
            }
            if count > 0 {
                self.out.push(b',');
                if self.options.width != -1 && array {
                    self.out.push(b' ');
                }
            }
            let printed = self.member(at, &mut line, array, &mut members)?;
            (at, line.start) = (printed.at, printed.start);
            if line.max.is_some() && !printed.flat {
                return Some(Printed { flat: false, ..printed });
            }
            count += 1;
        }
        Some(Printed {
            at,
            start: line.start,
            flat: array,
        })
    }

    /// One element, or one key and its value.
    fn member(&mut self, at: usize, line: &mut Line, array: bool, members: &mut Vec<Member>) -> Option<Printed> {
        if line.pretty {
            self.break_line(line);
        }
        let lines_from = self.out.len();
        if line.pretty {
            self.indent(line.tabs + 1);
        }
        let (mut value_at, mut key_end) = (at, at);
        if !array {
            key_end = scan::string_end(self.json, at + 1).map_or(self.json.len(), |(end, _)| end + 1);
            self.copy(at, key_end);
            self.out.push(b':');
            if line.pretty {
                self.out.push(b' ');
            }
            value_at = key_end;
        }
        let printed = self.any(
            value_at,
            Line {
                tabs: line.tabs + 1,
                ..*line
            },
        )?;
        if !array && line.sort && line.pretty {
            members.push(Member {
                key: (at, key_end),
                lines: (lines_from, self.out.len()),
            });
        }
        Some(printed)
    }

    /// Ends the line; a space at its end becomes the line break.
    fn break_line(&mut self, line: &mut Line) {
        line.start = self.out.len();
        match self.out.last_mut() {
            Some(last) if *last == b' ' => *last = b'\n',
            _ => self.out.push(b'\n'),
        }
    }

    fn close(&mut self, open: u8, line: &mut Line, members: &[Member], count: usize) {
        if line.pretty {
            if line.sort && open == b'{' {
                self.sort(members);
            }
            if count > 0 {
                self.break_line(line);
            }
            if self.out.last() != Some(&open) {
                self.indent(line.tabs);
            }
        }
        self.out.push(open + 2);
    }

    fn indent(&mut self, tabs: usize) {
        self.out.extend_from_slice(&self.options.prefix);
        for _ in 0..tabs {
            self.out.extend_from_slice(&self.options.indent);
        }
    }

    /// Puts the lines of an object's members in the order of their keys.
    fn sort(&mut self, members: &[Member]) {
        let (Some(first), Some(last)) = (members.first(), members.last()) else {
            return;
        };
        let mut order: Vec<&Member> = members.iter().collect();
        order.sort_by(|a, b| self.compare(a, b));
        let mut sorted = Vec::with_capacity(last.lines.1 - first.lines.0);
        for (i, member) in order.iter().enumerate() {
            if i > 0 {
                sorted.extend_from_slice(b",\n");
            }
            sorted.extend_from_slice(&self.out[member.lines.0..member.lines.1]);
        }
        self.out.truncate(first.lines.0);
        self.out.append(&mut sorted);
    }

    /// By key, then by value.
    fn compare(&self, a: &Member, b: &Member) -> Ordering {
        let key = |member: &Member| &self.json[member.key.0..member.key.1];
        let value = |member: &Member| {
            let lines = self.out[member.lines.0..member.lines.1].trim_ascii();
            lines.get(key(member).len() + 1..).map_or(lines, <[u8]>::trim_ascii)
        };
        compare_json(key(a), key(b)).then_with(|| compare_json(value(a), value(b)))
    }
}

/// By kind (null, false, number, string, true, other), then by value.
fn compare_json(a: &[u8], b: &[u8]) -> Ordering {
    let kind = |json: &[u8]| match json.first() {
        None | Some(b'n') => 0,
        Some(b'f') => 1,
        Some(b'"') => 3,
        Some(b't') => 4,
        Some(b'[' | b'{') => 5,
        _ => 2,
    };
    kind(a).cmp(&kind(b)).then_with(|| match kind(a) {
        3 => string(a).cmp(&string(b)),
        2 => number(scan::float(a), scan::float(b)),
        _ => a.cmp(b),
    })
}

/// Numbers in their order, what is none behind them.
fn number(a: f64, b: f64) -> Ordering {
    a.partial_cmp(&b).unwrap_or_else(|| a.is_nan().cmp(&b.is_nan()))
}

/// The text of a string; empty if it is faulty.
fn string(json: &[u8]) -> Vec<u8> {
    match scan::string_end(json, 1) {
        Some((end, false)) => json[1..end].to_vec(),
        Some(_) if gojson::validate(json).is_ok() => gojson::decode_string(json).as_bytes().to_vec(),
        _ => Vec::new(),
    }
}
