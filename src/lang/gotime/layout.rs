//! Go layouts: finding the pieces of the reference time in a text.

/// One piece of the reference time `Mon Jan 2 15:04:05 MST 2006`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Piece {
    LongMonth,
    Month,
    NumMonth,
    ZeroMonth,
    LongWeekDay,
    WeekDay,
    Day,
    UnderDay,
    ZeroDay,
    UnderYearDay,
    ZeroYearDay,
    Hour,
    Hour12,
    ZeroHour12,
    Minute,
    ZeroMinute,
    Second,
    ZeroSecond,
    LongYear,
    Year,
    UpperPm,
    LowerPm,
    ZoneName,
    Offset(OffsetForm),
    /// So many digits after a separator; with `trim` trailing zeros (and the separator) are left out.
    Fraction {
        digits: usize,
        separator: u8,
        trim: bool,
    },
}

/// How an offset from UTC is written.
#[expect(clippy::struct_excessive_bools, reason = "four independent features of one notation")]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct OffsetForm {
    /// `Z` stands for UTC.
    pub z: bool,
    /// Parts are separated by colons.
    pub colon: bool,
    /// Minutes are written.
    pub minutes: bool,
    /// Seconds are written.
    pub seconds: bool,
}

/// A layout cut at its first piece: text before, the piece with its own text, text after.
#[derive(Debug)]
pub(super) struct Chunk<'l> {
    pub prefix: &'l [u8],
    pub piece: Option<(Piece, &'l [u8])>,
    pub suffix: &'l [u8],
}

/// Finds the first piece of a layout.
pub(super) fn next_chunk(layout: &[u8]) -> Chunk<'_> {
    for at in 0..layout.len() {
        if let Some((skip, piece, length)) = piece_at(&layout[at..]) {
            let (start, end) = (at + skip, at + skip + length);
            return Chunk {
                prefix: &layout[..start],
                piece: Some((piece, &layout[start..end])),
                suffix: &layout[end..],
            };
        }
    }
    Chunk {
        prefix: layout,
        piece: None,
        suffix: &[],
    }
}

/// The piece that begins here: bytes to leave in the prefix, the piece, its length.
fn piece_at(rest: &[u8]) -> Option<(usize, Piece, usize)> {
    let piece = |piece, length| Some((0, piece, length));
    match rest.first()? {
        b'J' if rest.starts_with(b"January") => piece(Piece::LongMonth, 7),
        b'J' if rest.starts_with(b"Jan") && !lower_follows(rest) => piece(Piece::Month, 3),
        b'M' if rest.starts_with(b"Monday") => piece(Piece::LongWeekDay, 6),
        b'M' if rest.starts_with(b"Mon") && !lower_follows(rest) => piece(Piece::WeekDay, 3),
        b'M' if rest.starts_with(b"MST") => piece(Piece::ZoneName, 3),
        b'0' => zero_piece(rest),
        b'1' if rest.get(1) == Some(&b'5') => piece(Piece::Hour, 2),
        b'1' => piece(Piece::NumMonth, 1),
        b'2' if rest.starts_with(b"2006") => piece(Piece::LongYear, 4),
        b'2' => piece(Piece::Day, 1),
        b'_' if rest.starts_with(b"_2006") => Some((1, Piece::LongYear, 4)),
        b'_' if rest.starts_with(b"_2") => piece(Piece::UnderDay, 2),
        b'_' if rest.starts_with(b"__2") => piece(Piece::UnderYearDay, 3),
        b'3' => piece(Piece::Hour12, 1),
        b'4' => piece(Piece::Minute, 1),
        b'5' => piece(Piece::Second, 1),
        b'P' if rest.get(1) == Some(&b'M') => piece(Piece::UpperPm, 2),
        b'p' if rest.get(1) == Some(&b'm') => piece(Piece::LowerPm, 2),
        b'-' | b'Z' => offset_piece(rest),
        b'.' | b',' => fraction_piece(rest),
        _ => None,
    }
}

/// `Janet` and `Monkey` are not pieces.
fn lower_follows(rest: &[u8]) -> bool {
    rest.get(3).is_some_and(u8::is_ascii_lowercase)
}

fn zero_piece(rest: &[u8]) -> Option<(usize, Piece, usize)> {
    let piece = match rest.get(1)? {
        b'1' => Piece::ZeroMonth,
        b'2' => Piece::ZeroDay,
        b'3' => Piece::ZeroHour12,
        b'4' => Piece::ZeroMinute,
        b'5' => Piece::ZeroSecond,
        b'6' => Piece::Year,
        b'0' if rest.get(2) == Some(&b'2') => return Some((0, Piece::ZeroYearDay, 3)),
        _ => return None,
    };
    Some((0, piece, 2))
}

fn offset_piece(rest: &[u8]) -> Option<(usize, Piece, usize)> {
    // Longest first: every shorter form is the beginning of a longer one.
    const FORMS: [(&[u8], bool, bool, bool); 5] = [
        (b"070000", false, true, true),
        (b"07:00:00", true, true, true),
        (b"0700", false, true, false),
        (b"07:00", true, true, false),
        (b"07", false, false, false),
    ];
    let z = rest.first() == Some(&b'Z');
    FORMS
        .iter()
        .find(|form| rest[1..].starts_with(form.0))
        .map(|&(text, colon, minutes, seconds)| {
            (
                0,
                Piece::Offset(OffsetForm {
                    z,
                    colon,
                    minutes,
                    seconds,
                }),
                text.len() + 1,
            )
        })
}

fn fraction_piece(rest: &[u8]) -> Option<(usize, Piece, usize)> {
    let (&separator, &digit) = (rest.first()?, rest.get(1)?);
    if !matches!(digit, b'0' | b'9') {
        return None;
    }
    let digits = rest[1..].iter().take_while(|&&byte| byte == digit).count();
    // The run must end here, else this is `.002` or the like.
    if rest.get(digits + 1).is_some_and(u8::is_ascii_digit) {
        return None;
    }
    Some((
        0,
        Piece::Fraction {
            digits,
            separator,
            trim: digit == b'9',
        },
        digits + 1,
    ))
}
