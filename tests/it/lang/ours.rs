//! Our answer to a case, in the shape the Go program prints its own.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use jiff::Timestamp;
use jiff::tz::TimeZone;
use kubectl_eso::lang::cron::Schedule;
use kubectl_eso::lang::duration::GoDuration;
use kubectl_eso::lang::gjson::{self, Kind};
use kubectl_eso::lang::gojson::{self, Escape, Shortest};
use kubectl_eso::lang::jsonpath;
use kubectl_eso::lang::regexp::{Regexp, quote_meta};
use kubectl_eso::secret::decode::{self, Alphabet};
use serde_json::{Map, Value, json};
use std::ops::Range;

/// Our answer to `case`.
pub fn answer(language: &str, case: &Value) -> Value {
    match language {
        "regexp" => regexp(case),
        "classes" => class(case),
        "gojson" => json_text(case),
        "float" => float(case),
        "duration" => duration(case),
        "gjson" => gjson_path(case),
        "cron" => cron(case),
        "base64" => base64_text(case),
        "jsonpath" => json_path(case),
        other => panic!("no language {other}"),
    }
}

/// A text of a case, which may be base64 because it is not UTF-8.
pub fn bytes(text: &Value) -> Vec<u8> {
    match text {
        Value::String(text) => text.clone().into_bytes(),
        Value::Object(coded) => STANDARD
            .decode(coded["b64"].as_str().expect("a string"))
            .expect("base64"),
        Value::Null => Vec::new(),
        other => panic!("no text: {other}"),
    }
}

fn text(bytes: &[u8]) -> Value {
    match std::str::from_utf8(bytes) {
        Ok(text) => Value::from(text),
        Err(_) => json!({ "b64": STANDARD.encode(bytes) }),
    }
}

fn failed(error: &dyn std::error::Error) -> Value {
    json!({ "error": error.to_string() })
}

fn span(range: &Range<usize>) -> Value {
    json!([range.start, range.end])
}

/// Go prints an empty list of matches as null.
fn spans(ranges: &[Range<usize>]) -> Value {
    if ranges.is_empty() {
        Value::Null
    } else {
        ranges.iter().map(span).collect()
    }
}

fn regexp(case: &Value) -> Value {
    let (pattern, hay, replace) = (bytes(&case["pattern"]), bytes(&case["text"]), bytes(&case["replace"]));
    let limit = isize::try_from(case["limit"].as_i64().unwrap_or(0)).expect("small");
    let re = match Regexp::from_bytes(&pattern) {
        Ok(re) => re,
        Err(e) => return failed(&e),
    };
    let captures = re.captures(&hay).map(|groups| {
        let offset = |n: usize| i64::try_from(n).expect("small");
        groups
            .iter()
            .flat_map(|group| group.as_ref().map_or([-1, -1], |r| [offset(r.start), offset(r.end)]))
            .collect::<Vec<i64>>()
    });
    json!({
        "match": re.is_match(&hay),
        "names": re.names(),
        "captures": captures,
        "all": spans(&re.find_all(&hay, -1)),
        "some": spans(&re.find_all(&hay, limit)),
        "replace": text(&re.replace_all(&hay, &replace)),
        "literal": text(&re.replace_all_literal(&hay, &replace)),
        "split": re.split(&hay, -1).into_iter().map(text).collect::<Vec<_>>(),
        "pieces": re.split(&hay, limit).into_iter().map(text).collect::<Vec<_>>(),
        "quoted": text(&quote_meta(&hay)),
    })
}

fn class(case: &Value) -> Value {
    let pattern = case["pattern"].as_str().expect("a pattern");
    let re = match Regexp::new(&format!("(?:{pattern})+")) {
        Ok(re) => re,
        Err(e) => return failed(&e),
    };
    let code = |n: &Value| u32::try_from(n.as_u64().expect("a code point")).expect("a code point");
    let windows = case["windows"].as_array().expect("windows");
    let all: String = windows
        .iter()
        .flat_map(|w| code(&w[0])..=code(&w[1]))
        .filter_map(char::from_u32)
        .collect();
    let ranges = re.find_all(all.as_bytes(), -1);
    let ranges: Vec<String> = ranges.iter().map(|r| format!("[{} {}]", r.start, r.end)).collect();
    Value::from(format!("[{}]", ranges.join(" ")))
}

fn json_text(case: &Value) -> Value {
    let source = bytes(case);
    let written = |escape| {
        let mut out = Vec::new();
        gojson::write_string(&mut out, &source, escape);
        text(&out)
    };
    let any = match gojson::parse(&source) {
        Ok(value) => {
            json!({ "html": text(&value.to_json(Escape::Html)), "plain": text(&value.to_json(Escape::Plain)) })
        }
        Err(e) => failed(&e),
    };
    let raw = match gojson::raw_object(&source, "map[string]json.RawMessage") {
        Ok(members) => members
            .into_iter()
            .map(|(name, raw)| (name, raw_member(raw)))
            .collect::<Map<_, _>>()
            .into(),
        Err(e) => failed(&e),
    };
    json!({ "any": any, "raw": raw, "string": written(Escape::Html), "plain": written(Escape::Plain) })
}

fn raw_member(raw: &[u8]) -> Value {
    let compact = |escape| {
        let mut out = Vec::new();
        gojson::compact(&mut out, raw, escape);
        text(&out)
    };
    json!({ "raw": text(raw), "html": compact(Escape::Html), "plain": compact(Escape::Plain) })
}

#[expect(
    clippy::cast_possible_truncation,
    reason = "the nearest 32-bit float is what is asked for"
)]
fn float(case: &Value) -> Value {
    let value: f64 = case.as_str().expect("a number").parse().expect("a number");
    let shortest = Shortest::of(value);
    json!({
        "json": shortest.json(),
        "plain": shortest.plain(),
        "scientific": shortest.scientific(),
        "general": shortest.general(),
        "f32": Shortest::of_f32(value as f32).general(),
    })
}

fn duration(case: &Value) -> Value {
    match GoDuration::parse(case.as_str().expect("a duration")) {
        Ok(d) => json!({ "nanos": d.as_nanos().to_string(), "text": d.to_string() }),
        Err(e) => failed(&e),
    }
}

fn gjson_path(case: &Value) -> Value {
    let (json, path) = (bytes(&case["json"]), bytes(&case["path"]));
    let Some(found) = gjson::get(&json, &path) else {
        return json!({ "exists": false, "type": "Null", "raw": "", "text": "" });
    };
    let kind = match found.kind() {
        Kind::Null => "Null",
        Kind::False => "False",
        Kind::Number => "Number",
        Kind::String => "String",
        Kind::True => "True",
        Kind::Json => "JSON",
    };
    json!({ "exists": true, "type": kind, "raw": text(found.raw()), "text": text(&found.text()) })
}

fn cron(case: &Value) -> Value {
    let schedule = match Schedule::parse(case["schedule"].as_str().expect("a schedule")) {
        Ok(schedule) => schedule,
        Err(e) => return failed(&e),
    };
    let zone = match case["zone"].as_str().expect("a zone") {
        "" | "UTC" => TimeZone::UTC,
        name => TimeZone::get(name).expect("a zone"),
    };
    let mut at: Timestamp = case["from"].as_str().expect("a time").parse().expect("a time");
    let mut next = Vec::new();
    for _ in 0..6 {
        let Some(firing) = schedule.next(at, &zone) else {
            next.push("never".to_owned());
            break;
        };
        next.push(firing.to_string());
        at = firing;
    }
    json!({ "next": next })
}

fn json_path(case: &Value) -> Value {
    let data = serde_json::to_vec(&case["json"]).expect("a value");
    let data = gojson::parse(&data).expect("a value of a case is JSON");
    match jsonpath::get(case["path"].as_str().expect("a path"), &data) {
        Ok(value) => json!({ "value": text(&value.to_json(Escape::Plain)), "type": value.go_type() }),
        Err(e) => failed(&e),
    }
}

fn base64_text(case: &Value) -> Value {
    let source = bytes(case);
    let decoded = |alphabet| match decode::base64(&source, alphabet) {
        Ok(bytes) => json!({ "bytes": text(&bytes) }),
        Err(at) => json!({ "error": decode::DecodeError::Illegal(at).to_string() }),
    };
    json!({ "standard": decoded(Alphabet::Standard), "url": decoded(Alphabet::Url) })
}
