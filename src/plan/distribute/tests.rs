//! Token decisions, case by case.

use std::time::Duration;

use jiff::Timestamp;
use serde_json::json;

use super::*;

fn at(text: &str) -> Timestamp {
    text.parse().unwrap()
}

fn record(generation: u64) -> TokenRecord {
    TokenRecord {
        generation,
        issued_at: at("2026-01-01T00:00:00Z"),
        expires_at: at("2026-01-31T00:00:00Z"),
        token_id: "jti".to_owned(),
        hub: "hub".to_owned(),
    }
}

fn anchors(generations: &[u64]) -> Vec<Anchor> {
    generations
        .iter()
        .map(|g| Anchor {
            generation: *g,
            target: "ns/upstream-token".to_owned(),
            name: format!("a-{g}"),
            uid: format!("u-{g}"),
        })
        .collect()
}

fn verdict(record: Option<&TokenRecord>, have: &[u64], now: &str, accepted: Option<bool>) -> Due {
    let anchors = anchors(have);
    let state = TokenState {
        record,
        anchors: &anchors,
        hub: "hub",
        accepted,
    };
    due(&state, at(now), None, false)
}

#[test]
fn a_token_is_renewed_at_one_third_of_its_life() {
    let r = record(3);
    assert_eq!(verdict(Some(&r), &[3], "2026-01-20T23:59:59Z", Some(true)), Due::No);
    assert_eq!(
        verdict(Some(&r), &[3], "2026-01-21T00:00:00Z", Some(true)),
        Due::Expiring
    );
    assert_eq!(
        verdict(Some(&r), &[3], "2027-01-21T00:00:00Z", Some(true)),
        Due::Expiring
    );
}

#[test]
fn a_missing_revoked_refused_or_foreign_token_is_due_at_once() {
    let r = record(3);
    assert_eq!(verdict(None, &[], "2026-01-02T00:00:00Z", None), Due::Missing);
    assert_eq!(verdict(Some(&r), &[2], "2026-01-02T00:00:00Z", None), Due::Revoked);
    assert_eq!(
        verdict(Some(&r), &[3], "2026-01-02T00:00:00Z", Some(false)),
        Due::Refused
    );
    let other = TokenRecord {
        hub: "elsewhere".to_owned(),
        ..r
    };
    assert_eq!(verdict(Some(&other), &[3], "2026-01-02T00:00:00Z", None), Due::OtherHub);
}

#[test]
fn the_next_generation_is_above_everything_seen() {
    assert_eq!(next_generation(&[], None), 1);
    assert_eq!(next_generation(&anchors(&[2, 5]), Some(&record(3))), 6);
    assert_eq!(next_generation(&[], Some(&record(3))), 4);
}

#[test]
fn anchors_of_tokens_that_never_arrived_go_at_once_and_old_ones_after_the_overlap() {
    let r = record(3);
    let overlap = Duration::from_secs(600);
    let names = |now: &str| -> Vec<u64> {
        retirable(&anchors(&[1, 2, 3, 4]), "ns/upstream-token", Some(&r), at(now), overlap)
            .iter()
            .map(|a| a.generation)
            .collect()
    };
    assert_eq!(names("2026-01-01T00:09:59Z"), [4]);
    assert_eq!(names("2026-01-01T00:10:00Z"), [1, 2, 4]);
}

#[test]
fn anchors_of_another_namespace_are_left_alone() {
    let gone = retirable(
        &anchors(&[9]),
        "elsewhere/upstream-token",
        Some(&record(3)),
        at("2026-02-01T00:00:00Z"),
        Duration::ZERO,
    );
    assert!(gone.is_empty());
}

#[test]
fn records_survive_a_round_trip_through_the_secret() {
    let secret = token_secret("ns", "cid", Some(&record(7)), Some("canary")).into_value();
    assert_eq!(record_of(&secret), Some(record(7)));
}

#[test]
fn anchors_survive_a_round_trip() {
    let mut object = anchor("eso-identities", "cid", 4, "ns/upstream-token").into_value();
    object["metadata"]["uid"] = json!("u");
    let read = anchor_of(&object).unwrap();
    assert_eq!((read.generation, read.target.as_str()), (4, "ns/upstream-token"));
    object["type"] = json!("Opaque");
    assert_eq!(anchor_of(&object), None);
}

#[test]
fn the_id_is_found_by_the_cluster_not_by_the_context() {
    let accounts: Vec<_> = identity("prod-eu", Some("uid-1"), "eso-data", &Scope::All)
        .into_iter()
        .take(1)
        .map(Manifest::into_value)
        .collect();
    assert_eq!(cid_of_cluster(&accounts, "uid-1").as_deref(), Some("prod-eu"));
    assert_eq!(cid_of_cluster(&accounts, "uid-2"), None);
    assert_eq!(cluster_of_cid(&accounts, "prod-eu").as_deref(), Some("uid-1"));
}

#[test]
fn a_rerun_keeps_the_scope() {
    let narrow = Scope::Names(vec!["a".to_owned(), "b".to_owned()]);
    let made: Vec<_> = identity("c", None, "eso-data", &narrow)
        .into_iter()
        .map(Manifest::into_value)
        .collect();
    assert_eq!(scope_of(Some(&made[2]), Some(&made[1]), "c"), Some(narrow));
    let wide: Vec<_> = identity("c", None, "eso-data", &Scope::All)
        .into_iter()
        .map(Manifest::into_value)
        .collect();
    assert_eq!(scope_of(Some(&wide[1]), None, "c"), Some(Scope::All));
    assert_eq!(scope_of(None, None, "c"), None);
}
