//! PEM blocks as Go's `encoding/pem` reads and writes them.

use std::collections::BTreeMap;
use std::fmt;

use base64::Engine as _;
use base64::alphabet::STANDARD;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use zeroize::Zeroizing;

const BEGIN: &[u8] = b"-----BEGIN ";
/// With the line break before it.
const END: &[u8] = b"\n-----END ";
const DASHES: &[u8] = b"-----";

/// Go takes padded text and does not look at the bits behind the last byte.
const BASE64: GeneralPurpose = GeneralPurpose::new(
    &STANDARD,
    GeneralPurposeConfig::new()
        .with_decode_allow_trailing_bits(true)
        .with_decode_padding_mode(DecodePaddingMode::RequireCanonical),
);

/// One block.
#[derive(Clone, PartialEq, Eq)]
pub struct Block {
    /// The word between the dashes, such as `CERTIFICATE`.
    pub kind: Vec<u8>,
    /// Lines `name: value` before the body.
    pub headers: BTreeMap<Vec<u8>, Vec<u8>>,
    /// The decoded body.
    pub body: Zeroizing<Vec<u8>>,
}

impl fmt::Debug for Block {
    /// The kind alone: the body may be a private key.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Block({})", String::from_utf8_lossy(&self.kind))
    }
}

impl Block {
    /// A block without headers.
    pub fn new(kind: &str, body: &[u8]) -> Self {
        Self {
            kind: kind.as_bytes().to_vec(),
            headers: BTreeMap::new(),
            body: Zeroizing::new(body.to_vec()),
        }
    }
}

/// Finds the first block that can be read; gives it and the text after it.
///
/// Go looks for an end line first and then for the last begin line before it, so that begin lines without an end
/// do no harm. A begin line stands at the start of a line. Without a block the text comes back whole.
pub fn decode(data: &[u8]) -> (Option<Block>, &[u8]) {
    let mut rest = data;
    while let Some(end) = find(rest, END) {
        let after_end = end + END.len();
        let begin = find_last(&rest[..end], BEGIN).filter(|&at| at == 0 || rest[at - 1] == b'\n');
        if let Some(begin) = begin {
            match read_block(rest, begin + BEGIN.len(), end) {
                Found::Block(block, after) => return (Some(block), after),
                Found::Unreadable => {}
                Found::Nothing => return (None, data),
            }
        }
        rest = &rest[after_end..];
    }
    (None, data)
}

/// What stands between a begin line and an end line.
enum Found<'d> {
    /// A block, and the text after it.
    Block(Block, &'d [u8]),
    /// Something else; the search goes on behind the end line.
    Unreadable,
    /// The text is at its end.
    Nothing,
}

/// Reads a block whose begin line continues at `start` and whose end line begins, with its line break, at `end`.
fn read_block(text: &[u8], start: usize, end: usize) -> Found<'_> {
    let (line, mut at) = take_line(text, start);
    let Some(kind) = line.strip_suffix(DASHES) else {
        return Found::Unreadable;
    };
    let mut headers = BTreeMap::new();
    loop {
        if at >= text.len() {
            return Found::Nothing;
        }
        let (line, next) = take_line(text, at);
        let Some(colon) = line.iter().position(|&byte| byte == b':') else {
            break;
        };
        headers.insert(
            line[..colon].trim_ascii().to_vec(),
            line[colon + 1..].trim_ascii().to_vec(),
        );
        at = next;
    }
    // Headers that run into the end line: without body there must be a blank line.
    if !headers.is_empty() && at > end {
        return Found::Unreadable;
    }
    let trailer = &text[end + END.len()..];
    let Some(after_kind) = trailer.strip_prefix(kind).and_then(|rest| rest.strip_prefix(DASHES)) else {
        return Found::Unreadable;
    };
    let (left_over, next) = take_line(after_kind, 0);
    if !left_over.is_empty() {
        return Found::Unreadable;
    }
    // The line break of the end line may also be the one of the begin line.
    let body = text.get(at..end).unwrap_or_default();
    let body: Zeroizing<Vec<u8>> = Zeroizing::new(
        body.iter()
            .copied()
            .filter(|byte| !matches!(byte, b' ' | b'\t' | b'\r' | b'\n'))
            .collect(),
    );
    match BASE64.decode(&*body) {
        Ok(body) => {
            let block = Block {
                kind: kind.to_vec(),
                headers,
                body: Zeroizing::new(body),
            };
            Found::Block(block, &after_kind[next..])
        }
        Err(_) => Found::Unreadable,
    }
}

/// The line that begins here, without blanks at its end, and where the next one begins.
fn take_line(text: &[u8], from: usize) -> (&[u8], usize) {
    let rest = &text[from..];
    let (line, next) = match rest.iter().position(|&byte| byte == b'\n') {
        Some(at) => (rest[..at].strip_suffix(b"\r").unwrap_or(&rest[..at]), from + at + 1),
        None => (rest, text.len()),
    };
    let blanks = line
        .iter()
        .rev()
        .take_while(|byte| matches!(byte, b' ' | b'\t'))
        .count();
    (&line[..line.len() - blanks], next)
}

fn find(text: &[u8], wanted: &[u8]) -> Option<usize> {
    text.windows(wanted.len()).position(|window| window == wanted)
}

fn find_last(text: &[u8], wanted: &[u8]) -> Option<usize> {
    text.windows(wanted.len()).rposition(|window| window == wanted)
}

/// Writes a block: body in lines of 64 characters, `Proc-Type` first among the headers.
///
/// Nothing when a header name holds a colon, as Go refuses to write it.
pub fn encode(block: &Block) -> Option<Zeroizing<Vec<u8>>> {
    const LINE: usize = 64;
    const PROC_TYPE: &[u8] = b"Proc-Type";
    if block.headers.keys().any(|name| name.contains(&b':')) {
        return None;
    }
    let mut output = Zeroizing::new(Vec::with_capacity(block.body.len() * 3 / 2 + 2 * block.kind.len() + 64));
    for piece in [BEGIN, &block.kind, DASHES, b"\n"] {
        output.extend_from_slice(piece);
    }
    let first = block.headers.get_key_value(PROC_TYPE);
    let others = block.headers.iter().filter(|(name, _)| name.as_slice() != PROC_TYPE);
    for (name, value) in first.into_iter().chain(others) {
        for piece in [name, b": ".as_slice(), value, b"\n"] {
            output.extend_from_slice(piece);
        }
    }
    if !block.headers.is_empty() {
        output.push(b'\n');
    }
    let body = Zeroizing::new(BASE64.encode(&*block.body));
    for line in body.as_bytes().chunks(LINE) {
        output.extend_from_slice(line);
        output.push(b'\n');
    }
    for piece in [&END[1..], &block.kind, DASHES, b"\n"] {
        output.extend_from_slice(piece);
    }
    Some(output)
}
