use super::*;
use crate::template::engine::RandomSource;

struct NoRandom;

impl RandomSource for NoRandom {
    fn fill(&mut self, out: &mut [u8]) {
        out.fill(0);
    }
}

fn call(name: &str, args: &[Value]) -> Result<Value, Failure> {
    let row = ROWS
        .iter()
        .chain(TIME_METHODS)
        .find(|row| row.name == name)
        .expect("a known function");
    // 2026-01-02 03:04:05 UTC
    (row.run)(&mut Env::new(Time::from_unix(1_767_323_045, 0), &mut NoRandom), args)
}

fn text(name: &str, args: &[Value]) -> String {
    let value = call(name, args).expect("no failure");
    String::from_utf8(value.as_bytes().expect("text").to_vec()).expect("UTF-8")
}

#[test]
fn dates_are_written_in_zones() {
    let layout = Value::str("2006-01-02 15:04 MST");
    let seconds = Value::Int(1_600_000_000);
    assert_eq!(text("date", &[layout.clone(), seconds.clone()]), "2020-09-13 12:26 UTC");
    let zone = |name: &str| text("dateInZone", &[layout.clone(), seconds.clone(), Value::str(name)]);
    assert_eq!(zone("Asia/Tokyo"), "2020-09-13 21:26 JST");
    assert_eq!(zone("asia/tokyo"), "2020-09-13 12:26 UTC");
    assert_eq!(zone("Nowhere"), "2020-09-13 12:26 UTC");
    assert_eq!(text("date", &[Value::str("2006"), Value::str("1999")]), "2026");
}

#[test]
fn durations_round_to_their_largest_unit() {
    let round = |value: Value| text("durationRound", &[value]);
    assert_eq!(round(Value::str("2h10m5s")), "2h");
    assert_eq!(round(Value::str("24h")), "24h");
    assert_eq!(round(Value::str("25h")), "1d");
    assert_eq!(round(Value::str("-2h")), "2h");
    assert_eq!(round(Value::str("junk")), "0s");
    assert_eq!(text("duration", &[Value::str("95")]), "1m35s");
    assert_eq!(text("duration", &[Value::Int(95)]), "0s");
    assert_eq!(text("ago", &[Value::Int(1_767_323_000)]), "45s");
}

#[test]
fn unreadable_dates_are_year_one_or_an_error_without_the_text() {
    let args = [Value::str("2006-01-02"), Value::str("s3cret")];
    let zero = call("toDate", &args).expect("no failure");
    assert!(matches!(zero, Value::Time(time) if time.is_zero()));
    let failure = call("mustToDate", &args).expect_err("not a date");
    assert_eq!(
        failure.text(),
        r#"parsing time "s3cret" as "2006-01-02": cannot parse "s3cret" as "2006""#
    );
    assert!(!failure.to_string().contains("s3cret"));
}

#[test]
fn methods_see_the_calendar() {
    let time = Value::time(gotime::parse_local("2006-01-02", "2021-03-04").expect("a date"));
    let moved = call("AddDate", &[time.clone(), Value::Int(0), Value::Int(1), Value::Int(-3)]).expect("no failure");
    assert_eq!(text("Format", &[moved, Value::str("2006-01-02")]), "2021-04-01");
    assert!(matches!(
        call("YearDay", std::slice::from_ref(&time)),
        Ok(Value::Int(63))
    ));
    assert_eq!(
        text("GoString", &[time]),
        "time.Date(2021, time.March, 4, 0, 0, 0, 0, time.Local)"
    );
}
