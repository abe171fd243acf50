//! Sync windows, and a day that never was.

use super::*;

fn at(text: &str) -> Timestamp {
    text.parse().unwrap()
}

fn active(schedule: &str, length: &str, time: &str) -> bool {
    let schedule = Schedule::parse(schedule).unwrap();
    schedule.is_active(at(time), GoDuration::parse(length).unwrap(), &TimeZone::UTC)
}

#[test]
fn a_window_is_open_from_its_start_to_its_end() {
    let cases = [
        ("2024-05-01T08:59:59Z", false),
        ("2024-05-01T09:00:00Z", true),
        ("2024-05-01T10:30:00Z", true),
        ("2024-05-01T11:00:00Z", true),
        ("2024-05-01T11:00:01Z", false),
    ];
    for (time, want) in cases {
        assert_eq!(active("0 9 * * *", "2h", time), want, "{time}");
    }
}

#[test]
fn a_window_that_opens_again_before_it_ends_flickers() {
    // the first firing in range is one whose window ended half a second ago
    assert!(!active("* * * * *", "90s", "2024-05-01T09:01:30.5Z"));
    assert!(active("* * * * *", "90s", "2024-05-01T09:01:32Z"));
}

#[test]
fn every_is_anchored_to_nothing() {
    assert!(active("@every 10m", "10m", "2024-05-01T09:03:07Z"));
    assert!(!active("@every 11m", "10m", "2024-05-01T09:03:07Z"));
}

#[test]
fn a_schedule_without_zone_is_read_in_the_given_one() {
    let schedule = Schedule::parse("30 12 * * *").unwrap();
    let from = at("2024-07-01T00:00:00Z");
    assert_eq!(schedule.next(from, &TimeZone::UTC), Some(at("2024-07-01T12:30:00Z")));
    let berlin = TimeZone::get("Europe/Berlin").unwrap();
    assert_eq!(schedule.next(from, &berlin), Some(at("2024-07-01T10:30:00Z")));
    let own = Schedule::parse("CRON_TZ=Asia/Kolkata 30 12 * * *").unwrap();
    assert_eq!(own.next(from, &berlin), Some(at("2024-07-01T07:00:00Z")));
}

#[test]
fn a_day_that_was_left_out_does_not_stop_the_clock() {
    // Samoa went from 29 to 31 December 2011
    let zone = TimeZone::get("Pacific/Apia").unwrap();
    let schedule = Schedule::parse("0 12 31 12 *").unwrap();
    let next = schedule.next(at("2011-12-28T00:00:00Z"), &zone);
    assert_eq!(next, Some(at("2011-12-30T22:00:00Z")));
}

#[test]
fn what_never_comes_is_none() {
    for schedule in ["0 0 30 2 *", ", * * * *", "* , * * *", "0 0 * , *"] {
        assert_eq!(
            Schedule::parse(schedule)
                .unwrap()
                .next(at("2024-05-01T00:00:00Z"), &TimeZone::UTC),
            None
        );
    }
    assert!(Schedule::parse("TZ=UTC").is_err());
}
