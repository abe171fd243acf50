//! Chart versions and ranges with the rules Helm uses (Masterminds semver 3).
use std::cmp::Ordering;

/// A semantic version; missing minor and patch numbers are zero.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Version {
    numbers: [u64; 3],
    pre: Vec<String>,
    given: usize,
}

impl Version {
    /// Parses `1.2.3`, `v1.2`, `1-rc.1+build`; build metadata has no effect on order.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let text = text.strip_prefix('v').unwrap_or(text);
        let text = text.split_once('+').map_or(text, |(version, _)| version);
        let (core, pre) = text
            .split_once('-')
            .map_or((text, None), |(core, pre)| (core, Some(pre)));
        let mut numbers = [0; 3];
        let mut given = 0;
        for part in core.split('.') {
            let whole = part.bytes().all(|b| b.is_ascii_digit()) && (part.len() == 1 || !part.starts_with('0'));
            *numbers.get_mut(given)? = part.parse().ok().filter(|_| whole)?;
            given += 1;
        }
        let pre: Vec<String> = pre
            .map(|pre| pre.split('.').map(str::to_owned).collect())
            .unwrap_or_default();
        let proper = |id: &String| !id.is_empty() && id.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-');
        pre.iter().all(proper).then_some(Self { numbers, pre, given })
    }

    /// Whether it is a pre-release.
    #[must_use]
    pub fn is_pre(&self) -> bool {
        !self.pre.is_empty()
    }
}

impl Ord for Version {
    fn cmp(&self, other: &Self) -> Ordering {
        self.numbers
            .cmp(&other.numbers)
            .then_with(|| match (self.is_pre(), other.is_pre()) {
                (false, true) => Ordering::Greater,
                (true, false) => Ordering::Less,
                _ => compare_pre(&self.pre, &other.pre),
            })
    }
}

impl PartialOrd for Version {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

fn compare_pre(a: &[String], b: &[String]) -> Ordering {
    for (a, b) in a.iter().zip(b) {
        let order = match (a.parse::<u64>(), b.parse::<u64>()) {
            (Ok(a), Ok(b)) => a.cmp(&b),
            (Ok(_), Err(_)) => Ordering::Less,
            (Err(_), Ok(_)) => Ordering::Greater,
            (Err(_), Err(_)) => a.cmp(b),
        };
        if order != Ordering::Equal {
            return order;
        }
    }
    a.len().cmp(&b.len())
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Op {
    Equal,
    NotEqual,
    Greater,
    GreaterEqual,
    Less,
    LessEqual,
    Tilde,
    Caret,
}

#[derive(Debug, Clone)]
struct Comparator {
    op: Op,
    version: Version,
    /// How many numbers were given; the rest is a wildcard.
    given: usize,
}

/// A version range: alternatives separated by `||`, each a list of conditions.
#[derive(Debug, Clone)]
pub struct Range(Vec<Vec<Comparator>>);

impl Range {
    /// Parses `~1.2`, `^1`, `>=1.0 <2`, `1.2 - 1.4`, `1.x || 3`, `*`.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        text.split("||").map(alternative).collect::<Option<Vec<_>>>().map(Self)
    }

    /// Whether a version lies in the range. Pre-releases only do when the alternative names one.
    #[must_use]
    pub fn contains(&self, version: &Version) -> bool {
        self.0.iter().any(|all| {
            let names_pre = all.iter().any(|one| one.version.is_pre());
            (!version.is_pre() || names_pre) && all.iter().all(|one| one.fits(version))
        })
    }
}

fn alternative(text: &str) -> Option<Vec<Comparator>> {
    let text = text.trim();
    if let Some((low, high)) = text.split_once(" - ") {
        return Some(vec![
            comparator(&format!(">={}", low.trim()))?,
            comparator(&format!("<={}", high.trim()))?,
        ]);
    }
    if text.is_empty() {
        return Some(vec![comparator("*")?]);
    }
    let mut out = Vec::new();
    let mut pending = String::new();
    for word in text.split([' ', ',', '\t']).filter(|word| !word.is_empty()) {
        pending.push_str(word);
        if word.bytes().all(|b| b"<>=!~^".contains(&b)) {
            continue;
        }
        out.push(comparator(&std::mem::take(&mut pending))?);
    }
    pending.is_empty().then_some(out)
}

fn comparator(text: &str) -> Option<Comparator> {
    let at = text.find(|c: char| !"<>=!~^".contains(c)).unwrap_or(text.len());
    let (op, version) = text.split_at(at);
    let op = match op {
        "" | "=" => Op::Equal,
        "!=" => Op::NotEqual,
        ">" => Op::Greater,
        ">=" | "=>" => Op::GreaterEqual,
        "<" => Op::Less,
        "<=" | "=<" => Op::LessEqual,
        "~" | "~>" => Op::Tilde,
        "^" => Op::Caret,
        _ => return None,
    };
    let bare = version.strip_prefix('v').unwrap_or(version);
    let numbers: Vec<&str> = bare.split('.').collect();
    let wild = numbers
        .iter()
        .take(3)
        .position(|part| matches!(*part, "x" | "X" | "*" | ""));
    let (version, given) = match wild {
        Some(0) => (
            Version {
                numbers: [0; 3],
                pre: Vec::new(),
                given: 0,
            },
            0,
        ),
        Some(at) => (Version::parse(&numbers[..at].join("."))?, at),
        None => {
            let version = Version::parse(bare)?;
            let given = version.given;
            (version, given)
        }
    };
    Some(Comparator { op, version, given })
}

impl Comparator {
    fn fits(&self, version: &Version) -> bool {
        if self.given == 0 {
            return !matches!(self.op, Op::Less | Op::Greater | Op::NotEqual);
        }
        let below = version < &self.version;
        match self.op {
            Op::Equal if self.given == 3 => version == &self.version || version.cmp(&self.version) == Ordering::Equal,
            // ~0.0.0 takes every release.
            Op::Tilde if self.given == 3 && self.version.numbers == [0; 3] => !below,
            Op::Equal | Op::Tilde => !below && self.same_prefix(version, self.given.min(2)),
            Op::NotEqual if self.given == 3 => version.cmp(&self.version) != Ordering::Equal,
            Op::NotEqual => !self.same_prefix(version, self.given),
            Op::Greater if self.given == 3 => version > &self.version,
            Op::Greater => !below && !self.same_prefix(version, self.given),
            Op::GreaterEqual => !below,
            Op::Less => below,
            Op::LessEqual if self.given == 3 => version <= &self.version,
            Op::LessEqual => below || self.same_prefix(version, self.given),
            Op::Caret => !below && self.same_prefix(version, self.caret_numbers()),
        }
    }

    fn same_prefix(&self, version: &Version, count: usize) -> bool {
        version.numbers[..count] == self.version.numbers[..count]
    }

    /// A caret keeps everything up to the first number that is not zero.
    fn caret_numbers(&self) -> usize {
        match self.version.numbers {
            [0, 0, _] if self.given == 3 => 3,
            [0, _, _] if self.given >= 2 => 2,
            _ => 1,
        }
    }
}

/// The newest of `versions` that a chart request takes, by its position.
///
/// An exact match of the text wins; no request at all means the newest release that is not a
/// pre-release.
#[must_use]
pub fn select(versions: &[&str], wanted: &str) -> Option<usize> {
    let range = Range::parse(if wanted.is_empty() { "*" } else { wanted })?;
    if !wanted.is_empty()
        && let Some(at) = versions.iter().position(|version| *version == wanted)
    {
        return Some(at);
    }
    versions
        .iter()
        .enumerate()
        .filter_map(|(at, text)| Version::parse(text).map(|version| (version, at)))
        .filter(|(version, _)| range.contains(version))
        .max_by(|a, b| a.0.cmp(&b.0).then(b.1.cmp(&a.1)))
        .map(|(_, at)| at)
}
