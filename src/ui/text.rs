//! Text from servers and stores made safe for a terminal, and kubectl's way to say how long something is.

use jiff::SignedDuration;

/// Control characters become visible, as kubectl's escaper does: ESC is `^[`, CR is `\r`.
pub fn clean(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '\u{1b}' => out.push_str("^["),
            '\r' => out.push_str("\\r"),
            '\n' => out.push_str("\\n"),
            '\t' => out.push('\t'),
            c if c.is_control() => out.push('\u{fffd}'),
            c => out.push(c),
        }
    }
    out
}

/// The same, line by line.
pub fn clean_lines(text: &str) -> String {
    text.split('\n').map(clean).collect::<Vec<_>>().join("\n")
}

/// kubectl's `HumanDuration`: `119s`, `3m20s`, `58m`, `5h12m`, `47h`, `2d3h`, `500d`, `3y20d`; `<invalid>` for times in
/// the future by more than a second.
pub fn human_duration(span: SignedDuration) -> String {
    let seconds = span.as_secs();
    if seconds < -1 {
        return "<invalid>".to_owned();
    }
    let seconds = seconds.max(0);
    let (minutes, hours) = (seconds / 60, seconds / 3600);
    let (days, years) = (hours / 24, hours / 24 / 365);
    let two = |big: i64, unit: &str, small: i64, sub: &str| {
        if small == 0 {
            format!("{big}{unit}")
        } else {
            format!("{big}{unit}{small}{sub}")
        }
    };
    match seconds {
        s if s < 120 => format!("{s}s"),
        s if minutes < 10 => two(minutes, "m", s % 60, "s"),
        _ if minutes < 180 => format!("{minutes}m"),
        _ if hours < 8 => two(hours, "h", minutes % 60, "m"),
        _ if hours < 48 => format!("{hours}h"),
        _ if days < 8 => two(days, "d", hours % 24, "h"),
        _ if days < 2 * 365 => format!("{days}d"),
        _ if years < 8 => two(years, "y", days % 365, "d"),
        _ => format!("{years}y"),
    }
}

#[cfg(test)]
mod tests {
    use jiff::SignedDuration;

    use super::{clean, human_duration};

    #[test]
    fn says_spans_as_kubectl_does() {
        let say = |s: i64| human_duration(SignedDuration::from_secs(s));
        let table = [
            (119, "119s"),
            (120, "2m"),
            (200, "3m20s"),
            (600, "10m"),
            (10_799, "179m"),
            (10_800, "3h"),
            (18_720, "5h12m"),
            (28_800, "8h"),
            (172_799, "47h"),
            (172_800, "2d"),
            (183_600, "2d3h"),
            (691_200, "8d"),
            (63_072_000, "2y"),
            (-5, "<invalid>"),
            (-1, "0s"),
        ];
        for (seconds, text) in table {
            assert_eq!(say(seconds), text, "{seconds}");
        }
    }

    #[test]
    fn escapes_reach_nobodys_terminal() {
        assert_eq!(clean("a\u{1b}[31mb\rc"), "a^[[31mb\\rc");
    }
}
