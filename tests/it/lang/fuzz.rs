//! Any input: no panic, and time in proportion.
//!
//! `ESO_FUZZ_SECONDS` is the time each language gets; two seconds if it is not set. Inputs are at most 10 kB and mostly
//! made of what the language gives a meaning to, with long repetitions.

#![expect(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "figures of a run, and the input that broke it"
)]

use jiff::Timestamp;
use jiff::tz::TimeZone;
use kubectl_eso::lang::cron::Schedule;
use kubectl_eso::lang::duration::GoDuration;
use kubectl_eso::lang::gojson::{self, Escape};
use kubectl_eso::lang::jsonpath::JsonPath;
use kubectl_eso::lang::{gjson, regexp};
use kubectl_eso::secret::{convert, decode, extract, rewrite};
use proptest::prelude::{Just, Strategy, any, prop_oneof};
use proptest::strategy::ValueTree;
use proptest::test_runner::{Config, TestRunner};
use std::collections::BTreeMap;
use std::fmt::Debug;
use std::time::{Duration, Instant};

/// Longest input, in bytes.
const LENGTH: usize = 10_000;

/// Processor time one input may take. Tests are usually built without optimisation.
fn limit() -> Duration {
    Duration::from_millis(if cfg!(debug_assertions) { 1_000 } else { 50 })
}

/// Time this thread has run, so that a busy machine does not count against us.
fn processor_time() -> Duration {
    static START: std::sync::OnceLock<Instant> = std::sync::OnceLock::new();
    let own = std::fs::read_to_string("/proc/thread-self/schedstat").ok();
    let nanos = own.and_then(|text| text.split(' ').next()?.parse().ok());
    nanos.map_or_else(|| START.get_or_init(Instant::now).elapsed(), Duration::from_nanos)
}

/// The time `work` takes: the least of three runs if the first is beyond the limit, since a busy machine makes the same
/// work slower.
fn time(work: impl Fn()) -> Duration {
    let once = || {
        let before = processor_time();
        work();
        processor_time().saturating_sub(before)
    };
    let first = once();
    if first <= limit() {
        first
    } else {
        first.min(once()).min(once())
    }
}

/// Gives inputs to `test` until the time is up, and prints what was seen.
fn fuzz<T: Debug>(language: &str, inputs: &impl Strategy<Value = T>, test: impl Fn(&T)) {
    let seconds = std::env::var("ESO_FUZZ_SECONDS")
        .ok()
        .and_then(|text| text.parse().ok());
    let end = Instant::now() + Duration::from_secs(seconds.unwrap_or(2));
    let mut runner = TestRunner::new(Config::default());
    let (mut count, mut slowest) = (0u64, Duration::ZERO);
    while Instant::now() < end {
        let input = inputs.new_tree(&mut runner).expect("no input is refused").current();
        // a panic is a failure by itself; the input is printed first
        let guard = Shown(&input);
        let took = time(|| test(&input));
        std::mem::forget(guard);
        assert!(took <= limit(), "{took:?} for {input:?}");
        (count, slowest) = (count + 1, slowest.max(took));
    }
    assert!(count > 0, "nothing was tried");
    println!("{language}: {count} inputs, slowest {slowest:?}");
}

/// Prints the input if the test does not come back.
struct Shown<'a, T: Debug>(&'a T);

impl<T: Debug> Drop for Shown<'_, T> {
    fn drop(&mut self) {
        eprintln!("panicked on {:?}", self.0);
    }
}

/// Text of pieces, some of them repeated many times, up to `length` bytes.
fn text(pieces: &'static [&'static str], length: usize) -> impl Strategy<Value = String> {
    let count = prop_oneof![6 => Just(1usize), 2 => 2..6usize, 1 => 6..4_000usize];
    let piece = prop_oneof![
        30 => proptest::sample::select(pieces).prop_map(str::to_owned),
        1 => any::<char>().prop_map(String::from),
    ];
    proptest::collection::vec((piece, count), 0..60).prop_map(move |parts| {
        let mut out = String::new();
        for (piece, count) in parts {
            let room = (length - out.len()) / piece.len().max(1);
            out.push_str(&piece.repeat(count.min(room)));
        }
        out
    })
}

/// The same as bytes, sometimes with one that is not UTF-8.
fn bytes(pieces: &'static [&'static str], length: usize) -> impl Strategy<Value = Vec<u8>> {
    (
        text(pieces, length),
        proptest::option::weighted(0.2, (any::<proptest::sample::Index>(), 0x80..=0xffu8)),
    )
        .prop_map(|(text, broken)| {
            let mut bytes = text.into_bytes();
            if let Some((at, byte)) = broken {
                let at = at.index(bytes.len() + 1);
                bytes.insert(at, byte);
            }
            bytes
        })
}

const JSON: &[&str] = &[
    "{",
    "}",
    "[",
    "]",
    ",",
    ":",
    "\"",
    "\\",
    "\"a\"",
    "\"a\":",
    "{\"a\":",
    "{\"a\":1}",
    "[1,",
    "\"b\\\"c\"",
    "\\u00e9",
    "\\ud83d\\ude00",
    "\\ud800",
    "1",
    "-0",
    "1e9",
    "1.5",
    "true",
    "false",
    "null",
    "nan",
    " ",
    "\n",
    "é",
    "\u{2028}",
    "0",
    "a",
    "\"\"",
    "[]",
    "{}",
    "<",
    "(",
    ")",
];
const GJSON: &[&str] = &[
    "a",
    "b",
    "0",
    "1",
    ".",
    "|",
    "#",
    "#.",
    "#(",
    ")",
    "#(a",
    "==",
    "!=",
    "<",
    ">",
    "%",
    "!%",
    "~true",
    "~*",
    "~null",
    "*",
    "?",
    "\\",
    "@this",
    "@pretty",
    "@ugly",
    "@reverse",
    "@flatten:{\"deep\":true}",
    "@join",
    "@valid",
    "@keys",
    "@values",
    "@tostr",
    "@fromstr",
    "@group",
    "@dig:a",
    "@pretty:{\"sortKeys\":true}",
    "{",
    "}",
    "[",
    "]",
    ",",
    ":",
    "\"",
    "!",
    "!\"x\"",
    "..",
    "{a,b}",
    "[a,b]",
    "\"x\":",
    "#(a=1)#",
    "|@tostr",
    ".@this",
    "*a",
    "é",
];
const PATHS: &[&str] = &[
    "$",
    "@",
    ".",
    "..",
    "*",
    ".a",
    "..a",
    ".*",
    "..*",
    "[",
    "]",
    "[0]",
    "[*]",
    "[?(",
    "[?(@.a==1)]",
    ")",
    "(",
    "==",
    "!=",
    "[1:2]",
    "[::-1]",
    "[0,1]",
    "\"a\"",
    "'a'",
    "`a`",
    "a",
    "true",
    "-",
    "1",
    "1.5",
    ":",
    ",",
    "//",
    "/*",
    "*/",
    " ",
    "\n",
    "$.a",
    "[$.a]",
    "(@.a)",
    "&&",
    ">=",
    "é",
    "\\",
];
const PATTERNS: &[&str] = &[
    "a",
    "b",
    ".",
    "*",
    "+",
    "?",
    "*?",
    "{2}",
    "{1,3}",
    "{",
    "}",
    "(",
    ")",
    "(?:",
    "(?i)",
    "(?P<n>",
    "(?i:",
    "|",
    "[",
    "]",
    "[^",
    "[a-z]",
    "[[:alpha:]]",
    "\\d",
    "\\W",
    "\\pL",
    "\\p{Greek}",
    "\\b",
    "\\B",
    "^",
    "$",
    "\\A",
    "\\z",
    "\\Q",
    "\\E",
    "\\x{e9}",
    "\\x{d800}",
    "é",
    "\\",
    "-",
    "&&",
    "(a*)*",
    "(a|b)*c",
    "\\101",
    "(?U)",
    "(?s).",
];
const TEXTS: &[&str] = &[
    "a", "b", "c", "é", "1", "_", " ", "\n", "ab", "A", "\u{fffd}", "-", "/", ".", "K", "\0",
];
const REPLACEMENTS: &[&str] = &["$", "$1", "${1}", "$0", "$$", "${n}", "$n", "${", "x", "é", "{", "}"];
const SCHEDULES: &[&str] = &[
    "*",
    "?",
    " ",
    "/",
    "-",
    ",",
    "0",
    "5",
    "59",
    "31",
    "12",
    "6",
    "*/15",
    "1-5",
    "jan",
    "MON",
    "@every ",
    "@daily",
    "1h",
    "5s",
    "TZ=",
    "UTC ",
    "Europe/Berlin ",
    "* * * * *",
    "0 0 * * ",
    "30 2 29 2 *",
    "L",
    "#",
    "\t",
    "@",
];
const DURATIONS: &[&str] = &[
    "1",
    "0",
    "9",
    "9223372036854775807",
    ".",
    "h",
    "m",
    "s",
    "ms",
    "us",
    "µs",
    "ns",
    "-",
    "+",
    "d",
    "é",
    " ",
];
const BASE64: &[&str] = &["A", "YWJj", "=", "==", "\n", "\r", "-", "_", "+", "/", " ", "é", "Z"];

#[test]
fn fuzz_gojson() {
    fuzz("gojson", &bytes(JSON, LENGTH), |json| {
        if let Ok(value) = gojson::parse(json) {
            let written = value.to_json(Escape::Html);
            assert!(
                gojson::parse(&written).is_ok_and(|again| again == value),
                "what is written reads the same"
            );
        }
        let compact = |raw: &[u8]| {
            let mut out = Vec::new();
            gojson::compact(&mut out, raw, Escape::Html);
            gojson::validate(&out)
        };
        if let Ok(members) = gojson::raw_object(json, "any") {
            assert!(members.values().all(|raw| compact(raw).is_ok()), "a member is a value");
        }
        let mut text = Vec::new();
        gojson::write_string(&mut text, json, Escape::Plain);
        assert!(gojson::validate(&text).is_ok(), "any bytes can be written");
    });
}

#[test]
fn fuzz_gjson() {
    let inputs = prop_oneof![
        (bytes(JSON, LENGTH / 2), bytes(GJSON, LENGTH / 2)),
        (bytes(JSON, LENGTH - 200), bytes(GJSON, 200)),
        (bytes(JSON, 200), bytes(GJSON, LENGTH - 200)),
        (
            Just(br#"{"a":[{"a":1,"b":[1,2]},{"a":"x"}],"b":{"a":{"a":null}}}"#.to_vec()),
            bytes(GJSON, LENGTH - 100)
        ),
    ];
    fuzz("gjson", &inputs, |(json, path)| {
        if let Some(found) = gjson::get(json, path) {
            let _ = found.text();
        }
    });
}

#[test]
fn fuzz_jsonpath() {
    let documents = prop_oneof![
        bytes(JSON, LENGTH / 2),
        (1..900usize).prop_map(|n| [b"[".repeat(n), b"1".to_vec(), b"]".repeat(n)].concat()),
        (1..400usize).prop_map(|n| [b"[{\"a\":[1,2]}".to_vec(), b",{\"a\":1}".repeat(n), b"]".to_vec()].concat()),
    ];
    fuzz("jsonpath", &(text(PATHS, LENGTH / 2), documents), |(path, json)| {
        let Ok(path) = JsonPath::parse(path) else { return };
        let document = gojson::parse(json).or_else(|_| gojson::parse(br#"{"a":[{"a":1},{"a":[{"a":2}]}]}"#));
        let _ = path.get(&document.expect("the second is JSON"));
    });
}

/// One operation per input. Patterns are short here: as in Go, time grows with the pattern's size times the text's.
#[test]
fn fuzz_regexp() {
    let inputs = (
        text(PATTERNS, 60),
        bytes(TEXTS, LENGTH - 200),
        bytes(REPLACEMENTS, 100),
        0..4u8,
    );
    fuzz("regexp", &inputs, |(pattern, text, replacement, operation)| {
        let Ok(re) = regexp::Regexp::new(pattern) else {
            return;
        };
        // one search takes linear time; all matches are as many searches as there are matches, in Go as well
        let some = &text[..text.len() / 10];
        match operation {
            0 => {
                let first = re.find(text);
                let all = re.find_all(some, -1);
                assert_eq!(re.find(some).as_ref(), all.first(), "the first is the first");
                assert!(
                    first.is_none_or(|m| m.end <= text.len()),
                    "a match is a part of the text"
                );
            }
            1 => assert_eq!(re.is_match(text), re.captures(text).is_some(), "a match is a match"),
            2 => drop(re.replace_all(some, replacement)),
            _ => {
                let pieces: usize = re.split(some, -1).iter().map(|piece| piece.len()).sum();
                assert!(pieces <= some.len(), "pieces are parts of the text");
            }
        }
    });
}

/// Reading a pattern takes time in proportion to its length, whatever it holds.
#[test]
fn fuzz_regexp_patterns() {
    const LARGE: &[&str] = &[
        r"\pL",
        r"\PN",
        r"(?i)\p{Lu}",
        r"[^\pL\pN]",
        "(?:",
        ")",
        "{1000}",
        "{10}",
        "*",
        "?",
        "+",
        "|",
        "[é-\u{ffff}]",
        ".",
        "é",
        "x",
        "(",
        r"\b",
        "(?i)k",
        "^",
        "$",
    ];
    const FAULTS: &[&str] = &[
        "(", ")", "[", "*", "{", "\\", "(?", "[[:", "a", "|", "\\Q", "(?P<", "{1,", "\\x{", "-", "]", "é",
    ];
    let pieces = prop_oneof![text(FAULTS, LENGTH), text(PATTERNS, LENGTH), text(LARGE, LENGTH)];
    fuzz("regexp patterns", &pieces, |pattern| {
        let _ = regexp::Regexp::new(pattern);
    });
}

#[test]
fn fuzz_cron() {
    let zones = [
        "UTC",
        "Europe/Berlin",
        "America/Sao_Paulo",
        "Australia/Lord_Howe",
        "Pacific/Apia",
    ];
    let zones: Vec<TimeZone> = zones.iter().map(|name| TimeZone::get(name).expect("a zone")).collect();
    let inputs = (
        prop_oneof![text(SCHEDULES, LENGTH), text(SCHEDULES, 30)],
        proptest::sample::select(zones),
        1_250_000_000..1_800_000_000i64,
    );
    fuzz("cron", &inputs, |(schedule, zone, at)| {
        let Ok(schedule) = Schedule::parse(schedule) else {
            return;
        };
        let at = Timestamp::from_second(*at).expect("a time");
        let next = schedule.next(at, zone);
        assert!(next.is_none_or(|next| next > at), "time goes on");
        let _ = schedule.is_active(at, GoDuration::from_secs(3600), zone);
    });
}

#[test]
fn fuzz_duration() {
    fuzz("duration", &text(DURATIONS, LENGTH), |text| {
        let _ = GoDuration::parse_with_days(text);
        if let Ok(duration) = GoDuration::parse(text) {
            assert_eq!(
                GoDuration::parse(&duration.to_string()),
                Ok(duration),
                "what is printed reads the same"
            );
        }
    });
}

#[test]
fn fuzz_secret() {
    let inputs = (bytes(BASE64, LENGTH), bytes(JSON, LENGTH), text(TEXTS, LENGTH));
    fuzz("secret", &inputs, |(coded, json, key)| {
        let _ = decode::value(decode::Decoding::Auto, coded);
        let _ = extract::raw_map(json).and(extract::any_map(json));
        let data = BTreeMap::from([(key.clone(), json.clone()), (key.repeat(2), b"{}".to_vec())]);
        let merge = rewrite::Operation::Merge(rewrite::Merge::default());
        let _ = rewrite::apply(&[merge], data.clone(), |_, key| Ok(key.to_owned()));
        if let Ok(converted) = convert::keys(convert::Conversion::Unicode, data) {
            // converted keys may only have become too long
            let valid = convert::validate(converted);
            assert!(matches!(valid, Ok(_) | Err(convert::KeyError::TooLong { .. })));
        }
    });
}

/// The shapes that are hardest for each language, at full length.
#[test]
fn worst_cases_stay_in_time() {
    let nested = |open: &str, close: &str| format!("{}{}", open.repeat(LENGTH / 4), close.repeat(LENGTH / 4));
    let cases = [
        (nested("[", "]"), "0.".repeat(LENGTH / 4)),
        (nested("[", "]"), "@pretty".to_owned()),
        (nested("[", "]"), "@flatten:{\"deep\":true}".to_owned()),
        (nested("[", "]"), "@dig:0".to_owned()),
        ("\"a\"".to_owned(), "@tostr|".repeat(LENGTH / 8)),
        (
            format!("[{}1]", "1,".repeat(LENGTH / 4)),
            format!("[{}#]", "#,".repeat(LENGTH / 4)),
        ),
        (
            format!("{{\"{}\":1}}", "a".repeat(LENGTH / 2)),
            format!("{}b", "*a".repeat(LENGTH / 4)),
        ),
        (
            format!("[{}1]", "{\"a\":[1,2]},".repeat(LENGTH / 24)),
            "#.a|@this".repeat(LENGTH / 18),
        ),
        (format!("\"{}\"", "\\".repeat(LENGTH / 2)), "@this".to_owned()),
    ];
    for (json, path) in &cases {
        let took = time(|| {
            let _ = gjson::get(json.as_bytes(), path.as_bytes());
        });
        assert!(took <= limit(), "{took:?} for {json:.40} {path:.40}");
    }
    let nested = gojson::parse(b"[[1]]").expect("JSON");
    let paths = [
        "$".to_owned() + &"..*".repeat(3_000),
        "(".repeat(LENGTH),
        "-".repeat(LENGTH),
        "$[".repeat(LENGTH / 2),
    ];
    for path in &paths {
        let took = time(|| {
            let _ = JsonPath::parse(path).and_then(|path| path.get(&nested));
        });
        assert!(took <= limit(), "{took:?} for {path:.40}");
    }
    for pattern in [
        "[[:".repeat(LENGTH / 3),
        "(?i)a*".repeat(LENGTH / 6),
        "a|".repeat(LENGTH / 2),
        "(".repeat(LENGTH),
        r"\pL".repeat(LENGTH / 3),
        r"(?i)\PL".repeat(LENGTH / 7),
        "a?".repeat(LENGTH / 2),
        ".".repeat(LENGTH),
        r"[^\pL\pN]{1000}b".repeat(LENGTH / 16),
        (0x4000..0x4000 + LENGTH / 15)
            .map(|c| format!(r"[\pL\x{{{c:x}}}]"))
            .collect(),
    ] {
        let took = time(|| {
            let _ = regexp::Regexp::new(&pattern);
        });
        assert!(took <= limit(), "{took:?} for {pattern:.40}");
    }
}
