use super::*;

fn at(text: &str) -> Time {
    parse("2006-01-02 15:04:05", text).expect("a date")
}

fn formatted(time: &Time, layout: &str) -> String {
    String::from_utf8(time.format(layout.as_bytes())).expect("UTF-8")
}

#[test]
fn every_piece_of_a_layout() {
    let time = at("2021-03-04 05:06:07");
    assert_eq!(
        formatted(&time, "Mon Jan _2 15:04:05 MST 2006"),
        "Thu Mar  4 05:06:07 UTC 2021"
    );
    assert_eq!(formatted(&time, "Monday, January 2, 2006"), "Thursday, March 4, 2021");
    assert_eq!(
        formatted(&time, "02/01/06 03:04PM 3:4:5 pm"),
        "04/03/21 05:06AM 5:6:7 am"
    );
    assert_eq!(formatted(&time, "2006.002 .000 .999 __2"), "2021.063 .000   63");
    assert_eq!(formatted(&time, "Z07:00 -0700 -07 -07:00:00"), "Z +0000 +00 +00:00:00");
    assert_eq!(formatted(&time, "Janet Monkey"), "Janet Monkey");
}

#[test]
fn zones_move_the_clock() {
    let time = at("2021-07-04 23:30:00");
    let shown = |zone: &str| {
        formatted(
            &time.in_zone(Zone::load(zone).expect("a zone")),
            "2006-01-02 15:04 MST -0700",
        )
    };
    assert_eq!(shown("Asia/Tokyo"), "2021-07-05 08:30 JST +0900");
    assert_eq!(shown("Europe/Prague"), "2021-07-05 01:30 CEST +0200");
    assert_eq!(shown("Asia/Kolkata"), "2021-07-05 05:00 IST +0530");
    assert!(Zone::load("europe/prague").is_none());
    assert!(Zone::load("Nowhere/At_All").is_none());
}

#[test]
fn calendar_arithmetic_carries_over() {
    let moved = |years, months, days| formatted(&at("2021-03-04 00:00:00").add_date(years, months, days), "2006-01-02");
    assert_eq!(moved(0, 1, -3), "2021-04-01");
    assert_eq!(moved(0, 11, 27), "2022-03-03");
    assert_eq!(moved(-2021, 0, 0), "0000-03-04");
    assert_eq!(
        formatted(&at("2020-02-29 23:59:59").add(SECOND), "2006-01-02 15:04"),
        "2020-03-01 00:00"
    );
    assert_eq!(at("2021-03-04 00:00:00").weekday(), 4);
}

#[test]
fn durations_between_and_around() {
    let (early, late) = (at("2020-01-01 00:00:00"), at("2020-01-01 00:00:45"));
    assert_eq!(late.since(&early), 45 * SECOND);
    assert_eq!(Time::zero().since(&late), i64::MIN);
    assert_eq!(round_duration(1_500_000_000, SECOND), 2 * SECOND);
    assert_eq!(round_duration(-1_500_000_000, SECOND), -2 * SECOND);
    assert_eq!(duration_string(3_661 * SECOND), "1h1m1s");
    assert_eq!(late.truncate(60 * SECOND), early);
}

#[test]
fn times_print_as_in_go() {
    let time = parse("2006-01-02T15:04:05.000Z07:00", "2021-03-04T05:06:07.250+05:30").expect("a time");
    assert_eq!(time.to_string(), "2021-03-04 05:06:07.25 +0530 +0530");
    assert_eq!(Time::zero().to_string(), "0001-01-01 00:00:00 +0000 UTC");
    assert_eq!(month_name(13), "%!Month(13)");
}

#[test]
fn messages_name_the_piece_that_does_not_fit() {
    let message = |layout: &str, text: &str| parse(layout, text).expect_err("no date").text().to_owned();
    assert_eq!(
        message("2006-01-02", "2020-x"),
        r#"parsing time "2020-x" as "2006-01-02": cannot parse "x" as "01""#
    );
    assert_eq!(
        message("2006-01-02", "2020-02-30"),
        r#"parsing time "2020-02-30": day out of range"#
    );
    assert_eq!(
        message("2006-01-02", "2020-13-01"),
        r#"parsing time "2020-13-01": month out of range"#
    );
    assert_eq!(message("2006", "2020 "), r#"parsing time "2020 ": extra text: " ""#);
    let hidden = parse("2006", "s3cret").expect_err("no date").to_string();
    assert!(!hidden.contains("s3cret"));
}
