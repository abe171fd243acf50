//! Random templates on random data: whatever comes out, it comes out in time, without a panic and in bounded memory.
//!
//! Runs for a few seconds; `ESO_FUZZ_SECONDS` sets another time.

use std::time::{Duration, Instant};

use proptest::prelude::{Just, Strategy, any, prop, prop_oneof};
use proptest::strategy::ValueTree;
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};
use zeroize::Zeroizing;

use super::Counter;
use crate::lang::gotime::Time;
use crate::template::SecretMap;
use crate::template::engine::functions::table;
use crate::template::engine::{Env, Options, Template, meter, root_value};

/// The slowest single template that is still no hang, in a debug build on a busy machine.
const PATIENCE: Duration = Duration::from_secs(120);
/// Functions that take seconds each in a debug build: their own tests cover them.
const SLOW: &[&str] = &["genPrivateKey", "genCA", "genSelfSignedCert", "genSignedCert", "bcrypt", "htpasswd", "derivePassword"];

fn operand() -> impl Strategy<Value = String> {
    prop_oneof![
        any::<i64>().prop_map(|n| n.to_string()),
        (-3i64..40).prop_map(|n| n.to_string()),
        any::<f64>().prop_map(|n| format!("{n:?}")),
        "[a-c\u{17e}{}%$.,*+?()\\[\\]|^ -]{0,12}".prop_map(|text| format!("{text:?}")),
        prop::sample::select(vec![".", ".a", ".b", "$", "nil", "true", "false", "2i", "'x'", "$x", "(list)", "(dict)"])
            .prop_map(str::to_owned),
        Just("(index . \"a-b\")".to_owned()),
    ]
}

fn expression() -> impl Strategy<Value = String> {
    let names: Vec<&str> = table::names().into_iter().filter(|name| !SLOW.iter().any(|slow| name.starts_with(slow))).collect();
    operand().prop_recursive(4, 24, 4, move |inner| {
        let call = (prop::sample::select(names.clone()), prop::collection::vec(inner.clone(), 0..4));
        prop_oneof![
            call.prop_map(|(name, args)| format!("({name} {})", args.join(" "))),
            prop::collection::vec(inner.clone(), 1..3).prop_map(|stages| format!("({})", stages.join(" | "))),
            inner.prop_map(|base| format!("{base}.field")),
        ]
    })
}

fn template() -> impl Strategy<Value = String> {
    let leaf = prop_oneof![
        expression().prop_map(|text| format!("{{{{ {text} }}}}")),
        expression().prop_map(|text| format!("{{{{- $x := {text} -}}}}")),
        "[ -~\n\u{17e}]{0,20}",
        prop::sample::select(vec!["{{ break }}", "{{ continue }}", "{{ end }}", "{{ else }}", "{{/* c */}}", "{{", "}}"])
            .prop_map(str::to_owned),
    ];
    leaf.prop_recursive(4, 40, 6, |inner| {
        let body = prop::collection::vec(inner, 0..5).prop_map(|parts| parts.concat());
        let word = prop::sample::select(vec!["if", "with", "range", "range $i, $x :=", "block \"b\"", "else if"]);
        let block = (word, expression(), body.clone())
            .prop_map(|(word, condition, body)| format!("{{{{ {word} {condition} }}}}{body}{{{{ end }}}}"));
        prop_oneof![
            block,
            body.clone(),
            body.prop_map(|body| format!("{{{{ define \"t\" }}}}{body}{{{{ end }}}}{{{{ template \"t\" . }}}}")),
        ]
    })
    .prop_map(|text| format!("{{{{ $x := 1 }}}}{text}"))
}

fn corpus() -> Vec<String> {
    let text = include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/templates.json"));
    let cases: Vec<serde_json::Value> = serde_json::from_str(text).expect("the corpus is JSON");
    let slow = |text: &String| SLOW.iter().any(|slow| text.contains(slow)) || text.contains("kcs12");
    cases.iter().filter_map(|case| case["template"].as_str().map(str::to_owned)).filter(|text| !slow(text)).collect()
}

/// A recorded template with a piece cut out, doubled, or replaced by a piece of another one.
fn mutated() -> impl Strategy<Value = Vec<u8>> {
    let texts = corpus();
    let piece = (any::<prop::sample::Index>(), any::<prop::sample::Index>());
    (prop::sample::select(texts.clone()), prop::sample::select(texts), piece.clone(), piece, any::<u8>()).prop_map(
        |(text, other, cut, paste, byte)| {
            let range = |length: usize, (a, b): (prop::sample::Index, prop::sample::Index)| {
                let (a, b) = (a.index(length + 1), b.index(length + 1));
                a.min(b)..a.max(b)
            };
            let mut bytes = text.into_bytes();
            let other = other.into_bytes();
            let cut = range(bytes.len(), cut);
            let pasted = other[range(other.len(), paste)].to_vec();
            bytes.splice(cut, if byte < 100 { pasted } else if byte < 200 { Vec::new() } else { vec![byte] });
            bytes
        },
    )
}

fn run(text: &[u8], data: &SecretMap) {
    let before = meter::live();
    let start = Instant::now();
    {
        let mut random = Counter(11);
        let mut env = Env::new(Time::from_unix(1_700_000_000, 0), &mut random);
        let root = root_value(data);
        if let Ok(template) = Template::parse(b"out", text, &Options::default()) {
            let first = template.execute(&root, &mut env);
            if let Err(error) = first {
                assert!(error.line >= 1 && error.column >= 1);
                assert!(!error.to_string().is_empty() && !error.go_text().is_empty());
            }
        }
    }
    assert!(start.elapsed() < PATIENCE, "too slow: {:?}", String::from_utf8_lossy(text));
    assert_eq!(meter::live(), before, "values left behind: {:?}", String::from_utf8_lossy(text));
}

#[test]
fn random_templates_never_panic_or_hang() {
    let seconds = std::env::var("ESO_FUZZ_SECONDS").ok().and_then(|text| text.parse().ok()).unwrap_or(3);
    let deadline = Instant::now() + Duration::from_secs(seconds);
    let config = Config { failure_persistence: None, ..Config::default() };
    let mut seed = [7u8; 32];
    seed[..8].copy_from_slice(&seconds.to_le_bytes());
    let mut runner = TestRunner::new_with_rng(config, TestRng::from_seed(RngAlgorithm::ChaCha, &seed));
    let texts = prop_oneof![template().prop_map(String::into_bytes), mutated()];
    let bytes = prop::collection::vec(any::<u8>(), 0..40);
    let values = (bytes.clone(), bytes);
    let mut count = 0u32;
    while Instant::now() < deadline {
        let text = texts.new_tree(&mut runner).expect("the strategy rejects nothing").current();
        let (a, b) = values.new_tree(&mut runner).expect("the strategy rejects nothing").current();
        let pairs = [("a", a.clone()), ("b", b), ("a-b", a)];
        let data = pairs.into_iter().map(|(key, value)| (key.to_owned(), Zeroizing::new(value))).collect();
        run(&text, &data);
        count += 1;
    }
    println!("random templates: {count}");
    assert!(count > 0);
    #[cfg(target_os = "linux")]
    {
        let status = std::fs::read_to_string("/proc/self/status").expect("Linux has it");
        let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).expect("Linux has it");
        let kilobytes: u64 = peak.trim().trim_end_matches("kB").trim().parse().expect("a number");
        assert!(kilobytes < 1 << 20, "peak memory of the test process: {kilobytes} kB");
    }
}
