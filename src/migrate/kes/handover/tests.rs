//! A cluster in memory with the garbage collector and an operator that adopts the way ESO does; hand-overs are stopped
//! at every possible point and go on from what the cluster holds.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};

use super::adopt::{self, Observed, Refusal};
use super::cleanup::{self, CleanupRefusal, Remains};
use super::fingerprint::Fingerprinter;
use super::observed::{LiveDeployment, LiveExternalSecret, LiveKes, LiveSecret};
use super::plan::{self, Candidate, Plan, Readiness};
use super::rollback::{self, Means};
use super::shadow;
use super::step::{Action, Decision, PatchOp, Step};
use super::verify::{self, KeyResult, Reason};
use crate::migrate::kes::base64;

type Key = (String, String);

/// What the API server holds.
#[derive(Clone, Default)]
struct Cluster {
    secrets: BTreeMap<Key, Value>,
    external: BTreeMap<Key, Value>,
    kes: BTreeMap<Key, Value>,
    deployments: BTreeMap<Key, Value>,
    version: u64,
    deleted: Vec<Key>,
    eso_stopped: bool,
}

fn manifest(name: &str) -> Value {
    json!({"apiVersion": "external-secrets.io/v1", "kind": "ExternalSecret", "metadata": {"namespace": "app", "name": name},
        "spec": {"refreshInterval": "10s", "secretStoreRef": {"kind": "ClusterSecretStore", "name": "s"},
            "target": {"name": name, "creationPolicy": "Owner", "deletionPolicy": "Retain", "template": {"engineVersion": "v2", "mergePolicy": "Merge"}},
            "data": [{"secretKey": "k", "remoteRef": {"key": "x"}}]}})
}

impl Cluster {
    fn next(&mut self) -> String {
        self.version += 1;
        self.version.to_string()
    }

    fn with_secrets(count: usize) -> Self {
        let mut c = Self::default();
        let rv = c.next();
        c.deployments.insert(
            ("kes".into(), "kes".into()),
            json!({"metadata": {"namespace": "kes", "name": "kes", "uid": "dep", "resourceVersion": rv}, "spec": {"replicas": 2}}),
        );
        for i in 0..count {
            let name = format!("s{i:02}");
            let rv = c.next();
            let owner = json!({"apiVersion": "kubernetes-client.io/v1", "kind": "ExternalSecret", "name": name, "uid": format!("kes-{i}"), "controller": true});
            let k = ("app".to_owned(), name.clone());
            c.kes.insert(
                k.clone(),
                json!({"metadata": {"namespace": "app", "name": name, "uid": format!("kes-{i}")}}),
            );
            c.secrets.insert(
                k,
                json!({"type": "Opaque", "data": {"k": base64::encode(format!("v{i}").as_bytes())},
                    "metadata": {"namespace": "app", "name": name, "uid": format!("sec-{i}"), "resourceVersion": rv, "ownerReferences": [owner], "labels": {"team": "a"}}}),
            );
        }
        c
    }

    fn deployments(&self) -> Vec<LiveDeployment> {
        self.deployments
            .values()
            .map(|d| LiveDeployment::read(d, usize::try_from(d["spec"]["replicas"].as_u64().unwrap()).unwrap()))
            .collect()
    }

    fn observe(&self, k: &Key, f: &Fingerprinter) -> Observed {
        Observed {
            secret: self.secrets.get(k).map(|s| LiveSecret::read(s, f)),
            external_secret: self.external.get(k).map(LiveExternalSecret::read),
            kes: self.kes.get(k).map(LiveKes::read),
        }
    }

    /// One write, with every guard checked as the API server would.
    fn send(&mut self, step: &Step, backup: &BTreeMap<Key, Value>) -> Result<(), String> {
        let k = (
            step.target.namespace.clone().unwrap_or_default(),
            step.target.name.clone(),
        );
        let rv = self.next();
        match &step.action {
            Action::Apply { manifest } => {
                let uid = self
                    .external
                    .get(&k)
                    .map_or_else(|| json!(format!("es-{}-{rv}", k.1)), |o| o["metadata"]["uid"].clone());
                let generation = self
                    .external
                    .get(&k)
                    .and_then(|o| o["metadata"]["generation"].as_u64())
                    .unwrap_or(0)
                    + 1;
                let mut object = manifest.clone();
                object["metadata"]["uid"] = uid;
                object["metadata"]["resourceVersion"] = rv.into();
                object["metadata"]["generation"] = generation.into();
                self.external.insert(k, object);
            }
            Action::JsonPatch { operations, restore } => {
                let mut object = self.secrets.get(&k).cloned().ok_or("404")?;
                for op in operations {
                    patch(&mut object, op)?;
                }
                for pointer in restore {
                    let value = backup[&k].pointer(pointer).cloned().unwrap();
                    patch(
                        &mut object,
                        &PatchOp::Add {
                            path: pointer.clone(),
                            value,
                        },
                    )?;
                }
                object["metadata"]["resourceVersion"] = rv.into();
                self.secrets.insert(k, object);
            }
            Action::MergePatch { patch } => {
                let object = self.external.get_mut(&k).ok_or("404")?;
                if patch["metadata"]["resourceVersion"] != object["metadata"]["resourceVersion"] {
                    return Err("409".into());
                }
                merge(object, patch);
                object["metadata"]["resourceVersion"] = rv.into();
                object["metadata"]["generation"] = (object["metadata"]["generation"].as_u64().unwrap() + 1).into();
            }
            Action::Scale {
                replicas,
                resource_version,
            } => {
                let object = self.deployments.get_mut(&k).ok_or("404")?;
                if resource_version
                    .as_ref()
                    .is_some_and(|r| object["metadata"]["resourceVersion"] != r.as_str())
                {
                    return Err("409".into());
                }
                object["spec"]["replicas"] = (*replicas).into();
                object["metadata"]["resourceVersion"] = rv.into();
            }
            Action::Delete { uid, resource_version } => self.remove(step, &k, uid, resource_version.as_deref())?,
        }
        self.settle();
        Ok(())
    }

    fn remove(&mut self, step: &Step, k: &Key, uid: &str, resource_version: Option<&str>) -> Result<(), String> {
        let map = match step.target.kind.as_str() {
            "Deployment" => &mut self.deployments,
            _ if step.target.api_version.starts_with("kubernetes-client.io") => &mut self.kes,
            _ => &mut self.external,
        };
        let object = map.get(k).ok_or("404")?;
        let same = object["metadata"]["uid"] == uid
            && resource_version
                .as_ref()
                .is_none_or(|r| object["metadata"]["resourceVersion"] == *r);
        if !same {
            return Err("409".into());
        }
        map.remove(k);
        Ok(())
    }

    /// Garbage collector, operator and KES do what they do by themselves.
    fn settle(&mut self) {
        let live: BTreeSet<String> = self
            .kes
            .values()
            .chain(self.external.values())
            .map(|o| o["metadata"]["uid"].as_str().unwrap().to_owned())
            .collect();
        let gone: Vec<Key> = self
            .secrets
            .iter()
            .filter(|(_, s)| {
                s["metadata"]["ownerReferences"]
                    .as_array()
                    .is_some_and(|o| !o.is_empty() && o.iter().all(|o| !live.contains(o["uid"].as_str().unwrap())))
            })
            .map(|(k, _)| k.clone())
            .collect();
        for k in gone {
            self.secrets.remove(&k);
            self.deleted.push(k);
        }
        if !self.eso_stopped {
            for k in self.external.keys().cloned().collect::<Vec<_>>() {
                self.reconcile(&k);
            }
        }
    }

    fn reconcile(&mut self, k: &Key) {
        let object = self.external[k].clone();
        let uid = object["metadata"]["uid"].clone();
        let policy = object["spec"]["target"]["creationPolicy"]
            .as_str()
            .unwrap_or("Owner")
            .to_owned();
        let Some(mut secret) = self.secrets.get(k).cloned() else {
            return;
        };
        let before = secret.clone();
        let mut owners = secret["metadata"]["ownerReferences"]
            .as_array()
            .cloned()
            .unwrap_or_default();
        let other = owners.iter().any(|o| o["controller"] == true && o["uid"] != uid);
        secret["metadata"]["labels"]["reconcile.external-secrets.io/managed"] = "true".into();
        if policy == "Orphan" {
            owners.retain(|o| o["uid"] != uid);
        } else if !other {
            owners.retain(|o| o["uid"] != uid);
            owners.push(json!({"apiVersion": "external-secrets.io/v1", "kind": "ExternalSecret", "name": k.1, "uid": uid, "controller": true, "blockOwnerDeletion": true}));
            secret["metadata"]["labels"]["reconcile.external-secrets.io/created-by"] = "x".into();
            secret["metadata"]["annotations"]["reconcile.external-secrets.io/data-hash"] = "h".into();
        }
        secret["metadata"]["ownerReferences"] = owners.into();
        if secret != before {
            secret["metadata"]["resourceVersion"] = self.next().into();
            self.secrets.insert(k.clone(), secret);
        }
        let generation = object["metadata"]["generation"].as_u64().unwrap();
        let (status, reason) = if other && policy == "Owner" {
            ("False", "SecretSyncedError")
        } else {
            ("True", "SecretSynced")
        };
        let mut status_now = json!({"conditions": [{"type": "Ready", "status": status, "reason": reason}]});
        if status == "True" {
            status_now["refreshTime"] = "2026-01-01T00:00:00Z".into();
            status_now["syncedResourceVersion"] = format!("{generation}-abc").into();
        }
        self.external.get_mut(k).unwrap()["status"] = status_now;
    }

    fn plan(&self) -> Plan {
        let f = Fingerprinter::new(&[7; 32]);
        let candidates: Vec<Candidate> = self
            .kes
            .iter()
            .map(|(k, o)| Candidate {
                kes: LiveKes::read(o),
                secret: self.observe(k, &f).secret,
                manifest: Ok(manifest(&k.1)),
                rival: None,
            })
            .collect();
        plan::build(&candidates, &self.deployments(), Vec::new(), "cluster", f)
    }

    /// One decision and its write; true when nothing is left.
    fn hand_over_once(&mut self, plan: &Plan) -> Result<bool, Refusal> {
        self.hand_over_from(plan, &mut 0)
    }

    /// The same, with the number of entries this run has seen done.
    fn hand_over_from(&mut self, plan: &Plan, done: &mut usize) -> Result<bool, Refusal> {
        match adopt::stop_kes(plan, &self.deployments()) {
            Decision::Do(step) => {
                self.send(&step, &BTreeMap::new()).unwrap();
                return Ok(false);
            }
            Decision::Done => {}
            other => panic!("{other:?}"),
        }
        for entry in plan.ready().skip(*done) {
            let k = (entry.namespace.clone(), entry.name.clone());
            match adopt::decide(entry, &self.observe(&k, &plan.fingerprints), &self.deployments(), None) {
                Decision::Do(step) => {
                    self.send(&step, &BTreeMap::new()).unwrap();
                    return Ok(false);
                }
                Decision::Done => *done += 1,
                Decision::Refuse(r) => return Err(r),
                Decision::Wait { for_what, .. } => panic!("waits for {for_what}: {:#}", self.secrets[&k]),
            }
        }
        Ok(true)
    }

    fn roll_back_once(&mut self, plan: &Plan, means: Means, backup: &BTreeMap<Key, Value>) -> bool {
        for entry in &plan.entries {
            let k = (entry.namespace.clone(), entry.name.clone());
            match rollback::decide(entry, &self.observe(&k, &plan.fingerprints), means) {
                Decision::Do(step) => {
                    self.send(&step, backup).unwrap();
                    return false;
                }
                Decision::Done => {}
                other => panic!("{other:?}"),
            }
        }
        let steps = rollback::start_kes(plan, &self.deployments());
        for step in &steps {
            self.send(step, backup).unwrap();
        }
        steps.is_empty()
    }
}

fn merge(at: &mut Value, patch: &Value) {
    match (at, patch) {
        (Value::Object(at), Value::Object(patch)) => {
            for (k, v) in patch {
                merge(at.entry(k.clone()).or_insert(Value::Null), v);
            }
        }
        (at, patch) => *at = patch.clone(),
    }
}

/// The three operations steps use.
fn patch(object: &mut Value, op: &PatchOp) -> Result<(), String> {
    let split = |path: &str| {
        path.rsplit_once('/')
            .map(|(p, l)| (p.to_owned(), l.replace("~1", "/").replace("~0", "~")))
            .unwrap()
    };
    match op {
        PatchOp::Test { path, value } => (object.pointer(path) == Some(value))
            .then_some(())
            .ok_or_else(|| format!("test {path}")),
        PatchOp::Add { path, value } => {
            let (parent, last) = split(path);
            match object.pointer_mut(&parent).ok_or("no parent")? {
                Value::Object(m) => _ = m.insert(last, value.clone()),
                Value::Array(a) if last == "-" => a.push(value.clone()),
                Value::Array(a) => a.insert(last.parse::<usize>().unwrap(), value.clone()),
                _ => return Err("no container".into()),
            }
            Ok(())
        }
        PatchOp::Remove { path } => {
            let (parent, last) = split(path);
            match object.pointer_mut(&parent).ok_or("no parent")? {
                Value::Object(m) => m.remove(&last).map(|_| ()).ok_or_else(|| format!("nothing at {path}")),
                Value::Array(a) => {
                    a.remove(last.parse::<usize>().unwrap());
                    Ok(())
                }
                _ => Err("no container".into()),
            }
        }
    }
}

fn essence(secrets: &BTreeMap<Key, Value>) -> Vec<(Key, Value, Value, Value)> {
    secrets
        .iter()
        .map(|(k, s)| {
            (
                k.clone(),
                s["metadata"]["uid"].clone(),
                s["type"].clone(),
                s["data"].clone(),
            )
        })
        .collect()
}

#[test]
fn fifty_secrets_stopped_anywhere() {
    // An executor that dies leaves exactly the cluster of that moment; the next one reads the plan and starts at the top.
    let mut c = Cluster::with_secrets(50);
    let before = essence(&c.secrets);
    let file = serde_json::to_string(&c.plan()).unwrap();
    let (mut writes, mut done) = (0, 0);
    let mut plan: Plan = serde_json::from_str(&file).unwrap();
    while !c.hand_over_from(&plan, &mut done).unwrap() {
        writes += 1;
        // Points of all kinds: after the stop, after a release, after an apply.
        if [1, 2, 3, 10, 25, 40, 57, 76, 90, 99, 101].contains(&writes) {
            (plan, done) = (serde_json::from_str(&file).unwrap(), 0);
        }
        assert!(
            c.deleted.is_empty() && essence(&c.secrets) == before,
            "after {writes} writes"
        );
    }
    assert_eq!(writes, 101, "one scale, and per Secret one patch and one apply");
    assert!(
        c.secrets
            .values()
            .all(|s| s["metadata"]["ownerReferences"][0]["apiVersion"] == "external-secrets.io/v1")
    );
}

#[test]
fn a_rollback_from_any_point_restores_everything() {
    let start = Cluster::with_secrets(3);
    let plan = start.plan();
    for stop_after in 0..=7 {
        for eso_stopped in [false, true] {
            let mut c = start.clone();
            for _ in 0..stop_after {
                c.hand_over_once(&plan).unwrap();
            }
            c.eso_stopped = eso_stopped;
            let means = Means {
                backup: true,
                eso_stopped,
                ownership_only: false,
            };
            for _ in 0..40 {
                if c.roll_back_once(&plan, means, &start.secrets) {
                    break;
                }
            }
            assert!(c.deleted.is_empty() && c.external.is_empty(), "after {stop_after}");
            for (k, secret) in &c.secrets {
                let want = &start.secrets[k];
                for field in ["data", "type"] {
                    assert_eq!(secret[field], want[field]);
                }
                for field in ["uid", "labels", "ownerReferences"] {
                    assert_eq!(
                        secret["metadata"][field], want["metadata"][field],
                        "{field} after {stop_after}"
                    );
                }
            }
            assert_eq!(c.deployments()[0].replicas, 2);
        }
    }
}

#[test]
fn changed_data_comes_back_from_the_copy() {
    let start = Cluster::with_secrets(1);
    let plan = start.plan();
    let mut c = start.clone();
    while !c.hand_over_once(&plan).unwrap() {}
    let k = ("app".to_owned(), "s00".to_owned());
    let secret = c.secrets.get_mut(&k).unwrap();
    secret["data"] = json!({"new": "eA=="});
    secret["metadata"]["labels"].as_object_mut().unwrap().remove("team");
    let none = Means::default();
    while c.external.contains_key(&k) {
        let Decision::Do(step) = rollback::decide(&plan.entries[0], &c.observe(&k, &plan.fingerprints), none) else {
            panic!()
        };
        c.send(&step, &start.secrets).unwrap();
    }
    assert!(matches!(
        rollback::decide(&plan.entries[0], &c.observe(&k, &plan.fingerprints), none),
        Decision::Refuse(rollback::RollbackRefusal::NoBackup(_))
    ));
    while !c.roll_back_once(&plan, Means { backup: true, ..none }, &start.secrets) {}
    assert_eq!(c.secrets[&k]["data"], start.secrets[&k]["data"]);
    assert_eq!(c.secrets[&k]["metadata"]["labels"], json!({"team": "a"}));
}

#[test]
fn whatever_changed_since_the_plan_is_left_alone() {
    let start = Cluster::with_secrets(1);
    let plan = start.plan();
    let k = ("app".to_owned(), "s00".to_owned());
    let check = |change: &dyn Fn(&mut Cluster)| {
        let mut c = start.clone();
        c.deployments.get_mut(&("kes".into(), "kes".into())).unwrap()["spec"]["replicas"] = 0.into();
        change(&mut c);
        match adopt::decide(
            &plan.entries[0],
            &c.observe(&k, &plan.fingerprints),
            &c.deployments(),
            None,
        ) {
            Decision::Refuse(r) => r,
            other => panic!("{other:?}"),
        }
    };
    let secret = |f: &'static dyn Fn(&mut Value)| {
        let k = k.clone();
        move |c: &mut Cluster| f(c.secrets.get_mut(&k).unwrap())
    };
    assert_eq!(
        check(&secret(&|s| s["data"]["k"] = "eA==".into())),
        Refusal::Data(vec!["k".into()])
    );
    assert_eq!(
        check(&secret(&|s| s["metadata"]["uid"] = "new".into())),
        Refusal::Recreated
    );
    assert_eq!(
        check(&secret(&|s| s["type"] = "kubernetes.io/tls".into())),
        Refusal::Type
    );
    assert_eq!(
        check(&secret(&|s| s["metadata"]["labels"] = json!({}))),
        Refusal::Metadata(vec!["team".into()])
    );
    assert_eq!(
        check(&secret(&|s| s["metadata"]["deletionTimestamp"] = "t".into())),
        Refusal::Deleting
    );
    assert!(matches!(
        check(&secret(
            &|s| s["metadata"]["ownerReferences"][0]["apiVersion"] = "other/v1".into()
        )),
        Refusal::Owner(_)
    ));
    assert_eq!(
        check(&secret(&|s| s["metadata"]["ownerReferences"][0]["uid"] = "x".into())),
        Refusal::StaleOwner
    );
    assert_eq!(check(&|c| c.kes.clear()), Refusal::StaleOwner);
    assert_eq!(check(&|c| c.secrets.clear()), Refusal::Gone);
    assert!(matches!(
        check(&|c| c
            .deployments
            .values_mut()
            .for_each(|d| d["spec"]["replicas"] = 1.into())),
        Refusal::KesRunning(_)
    ));
}

#[test]
fn plans_refuse_what_cannot_be_handed_over() {
    let c = Cluster::with_secrets(1);
    let f = Fingerprinter::new(&[1; 32]);
    let k = ("app".to_owned(), "s00".to_owned());
    let candidate = |change: &dyn Fn(&mut Value)| {
        let mut secret = c.secrets[&k].clone();
        change(&mut secret);
        Candidate {
            kes: LiveKes::read(&c.kes[&k]),
            secret: Some(LiveSecret::read(&secret, &f)),
            manifest: Ok(manifest("s00")),
            rival: None,
        }
    };
    let readiness = |candidate: Candidate| {
        plan::build(&[candidate], &[], Vec::new(), "", f.clone()).entries[0]
            .readiness
            .clone()
    };
    assert_eq!(readiness(candidate(&|_| {})), Readiness::Ready);
    assert!(
        matches!(readiness(candidate(&|s| s["type"] = "kubernetes.io/tls".into())), Readiness::Refused(r) if r.contains("E_TYPE_MISMATCH"))
    );
    let foreign = json!({"apiVersion": "apps/v1", "kind": "Deployment", "name": "d", "uid": "d"});
    assert!(matches!(
        readiness(candidate(&|s| s["metadata"]["ownerReferences"]
            .as_array_mut()
            .unwrap()
            .push(foreign.clone()))),
        Readiness::Refused(_)
    ));
    assert!(matches!(
        readiness(Candidate {
            rival: Some("x".into()),
            ..candidate(&|_| {})
        }),
        Readiness::Refused(_)
    ));
    assert_eq!(
        readiness(Candidate {
            secret: None,
            ..candidate(&|_| {})
        }),
        Readiness::NoSecret
    );
}

#[test]
fn plan_files_hold_no_values() {
    let c = Cluster::with_secrets(2);
    let plan = c.plan();
    let file = serde_json::to_string(&plan).unwrap();
    assert!(!file.contains("djA=") && !file.contains("\"v0\""));
    assert!(!format!("{plan:?}").contains(&"07".repeat(32)));
    let lines: Vec<String> = plan.steps(true).iter().map(Step::line).collect();
    assert_eq!(lines.len(), 2 * 2 + 1 + 2 * 2, "{lines:#?}");
    assert!(
        lines[4].starts_with("patch deployment.apps kes/kes (scale to 0)"),
        "{}",
        lines[4]
    );
    assert!(
        plan.permissions()
            .iter()
            .any(|p| p.verb == "patch" && p.resource == "secrets")
    );
}

#[test]
fn shadows_have_no_effects_of_their_own() {
    let mut m = manifest("a");
    m["spec"]["target"]["immutable"] = true.into();
    m["spec"]["target"]["template"]["metadata"] = json!({"labels": {"argocd.argoproj.io/secret-type": "cluster"}});
    m["spec"]["target"]["template"]["type"] = "kubernetes.io/tls".into();
    let s = shadow::manifest(&m);
    assert_eq!(
        (&s["metadata"]["name"], &s["spec"]["target"]["name"]),
        (&json!("a-kes2eso"), &json!("a-kes2eso"))
    );
    assert_eq!(
        s["spec"]["target"]["template"],
        json!({"engineVersion": "v2", "mergePolicy": "Merge"})
    );
    assert!(s["spec"]["target"].get("immutable").is_none());
    assert!(shadow::name(&"x".repeat(253)).len() <= 253);
    assert!(matches!(
        shadow::decide(&m, None, Some("uid")),
        Decision::Refuse(shadow::ShadowError::Occupied)
    ));
    assert!(matches!(shadow::decide(&m, None, None), Decision::Do(_)));
}

#[test]
fn cleanup_keeps_everything_while_one_secret_is_owned() {
    let object = LiveKes {
        namespace: "a".into(),
        name: "b".into(),
        uid: "u".into(),
    };
    let mut remains = Remains {
        owned_secrets: vec!["a/b".into()],
        objects: vec![object],
        crd_uid: Some("c".into()),
        ..Remains::default()
    };
    assert!(matches!(
        cleanup::decide(&remains, true),
        Decision::Refuse(CleanupRefusal::Owned(_))
    ));
    remains.owned_secrets.clear();
    let Decision::Do(step) = cleanup::decide(&remains, false) else {
        panic!()
    };
    assert_eq!(step.target.to_string(), "externalsecret.kubernetes-client.io a/b");
    remains.objects.clear();
    let Decision::Do(step) = cleanup::decide(&remains, false) else {
        panic!()
    };
    assert_eq!(step.target.kind, "CustomResourceDefinition");
    remains.crd_uid = None;
    assert_eq!(cleanup::decide(&remains, false), Decision::Done);
}

#[test]
fn differences_are_explained_without_values() {
    for (kes, eso, want) in [
        (
            &b"{\"b\":1,\"a\":\"<\"}"[..],
            &b"{\"a\":\"\\u003c\",\"b\":1}"[..],
            Reason::JsonText,
        ),
        (b"null", b"", Reason::JsonNull),
        (b"9007199254740992", b"9007199254740993", Reason::Number),
        (b"1", b"1.0", Reason::Number),
        (b"C<", "ü".as_bytes(), Reason::NonAscii),
        (b"\"key\"", b"key", Reason::JsonQuotes),
        (b"a: '1'\n", b"a: \"1\"\n", Reason::YamlText),
        (b"x\n", b"x", Reason::LineEnd),
        (b"a", b"b", Reason::Unknown),
    ] {
        assert_eq!(verify::explain(kes, eso), want, "{}", String::from_utf8_lossy(kes));
    }
    let side = |pairs: &[(&str, &'static [u8])]| -> BTreeMap<String, &'static [u8]> {
        pairs.iter().map(|(k, v)| ((*k).to_owned(), *v)).collect()
    };
    let results = verify::compare(&side(&[("a", b"1"), ("b", b"2")]), &side(&[("a", b"1"), ("c", b"3")]));
    assert_eq!(results["b"], KeyResult::OnlyLive);
    assert_eq!(results["c"], KeyResult::OnlyNew);
    assert!(!verify::acceptable("n", "s", &results, &["n/s:b".to_owned()].into()));
    assert!(verify::acceptable(
        "n",
        "s",
        &results,
        &["n/s:b".to_owned(), "n/s:c".to_owned()].into()
    ));
}
