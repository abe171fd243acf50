//! Who holds a Lease, told so that another run on the same machine can see whether that process still lives.
//!
//! A process is known by the boot of its kernel, its PID namespace, its number and its start time (proc(5): `boot_id`,
//! `/proc/self/ns/pid`, field 22 of `/proc/PID/stat`): numbers are used again, host names are not unique, and containers
//! of one host do not see each other's processes. Whatever cannot be told counts as alive, so that its Lease is waited out.

use std::fmt;
use std::fs;
use std::path::Path;

const PREFIX: &str = "kubectl-eso";
const PROC: &str = "/proc";

/// One process on one boot of one machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Process {
    /// Name of the host, for people.
    pub host: String,
    /// Process number within its PID namespace.
    pub pid: u32,
    /// The view that number belongs to.
    pub view: View,
    /// Clock ticks between boot and the start of the process.
    pub started: u64,
}

/// The set of processes a process can see.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct View {
    /// The kernel's boot id.
    pub boot: String,
    /// Inode of the PID namespace.
    pub namespace: String,
    /// User id: processes of other users may be hidden (mount option `hidepid`).
    pub user: u32,
}

/// Holder identity of this run: the process where the system tells it, and a random part in any case.
pub fn holder(random: &str) -> String {
    match this(Path::new(PROC)) {
        Some(process) => format!("{process}/{random}"),
        None => format!("{PREFIX}/{}/{random}", std::process::id()),
    }
}

/// True where the holder is a process that this process would see if it lived, and it does not.
pub fn is_gone(holder: &str) -> bool {
    let (Some(other), Some(here)) = (Process::parse(holder), this(Path::new(PROC))) else {
        return false;
    };
    other.view == here.view && has_ended(Path::new(PROC), &other)
}

impl fmt::Display for Process {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let View { boot, namespace, user } = &self.view;
        write!(
            f,
            "{PREFIX}/{}/{}/{boot}/{namespace}/{user}/{}",
            self.host, self.pid, self.started
        )
    }
}

impl Process {
    /// Reads what [`holder`] wrote; `None` for any other holder.
    fn parse(holder: &str) -> Option<Self> {
        let parts: Vec<&str> = holder.split('/').collect();
        let [PREFIX, host, pid, boot, namespace, user, started, _random] = parts[..] else {
            return None;
        };
        Some(Self {
            host: host.to_owned(),
            pid: pid.parse().ok()?,
            view: View {
                boot: boot.to_owned(),
                namespace: namespace.to_owned(),
                user: user.parse().ok()?,
            },
            started: started.parse().ok()?,
        })
    }
}

fn this(proc: &Path) -> Option<Process> {
    let pid = std::process::id();
    let (state, started) = stat(&fs::read_to_string(proc.join(pid.to_string()).join("stat")).ok()?)?;
    debug_assert!(!state.is_whitespace());
    let line = |path: &str| {
        let text = fs::read_to_string(proc.join(path)).ok()?;
        let text = text.trim().replace('/', "_");
        (!text.is_empty()).then_some(text)
    };
    let link = fs::read_link(proc.join("self/ns/pid")).ok()?;
    let namespace: String = link.to_str()?.chars().filter(char::is_ascii_digit).collect();
    Some(Process {
        host: line("sys/kernel/hostname")?,
        pid,
        view: View {
            boot: line("sys/kernel/random/boot_id")?,
            namespace,
            user: user(&proc.join(pid.to_string()))?,
        },
        started,
    })
}

#[cfg(unix)]
fn user(folder: &Path) -> Option<u32> {
    use std::os::unix::fs::MetadataExt as _;
    Some(fs::metadata(folder).ok()?.uid())
}

#[cfg(not(unix))]
fn user(_folder: &Path) -> Option<u32> {
    None
}

/// No process of that number, or one that started at another time, or one that only waits to be reaped.
fn has_ended(proc: &Path, process: &Process) -> bool {
    match fs::read_to_string(proc.join(process.pid.to_string()).join("stat")) {
        Ok(text) => stat(&text).is_some_and(|(state, started)| started != process.started || "ZXx".contains(state)),
        Err(e) => e.kind() == std::io::ErrorKind::NotFound,
    }
}

/// State (field 3) and start time (field 22) of `/proc/PID/stat`; the name in field 2 may hold blanks and parentheses.
fn stat(text: &str) -> Option<(char, u64)> {
    let mut fields = text.rsplit_once(')')?.1.split_ascii_whitespace();
    let state = fields.next()?.chars().next()?;
    Some((state, fields.nth(18)?.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::{Process, View, holder, is_gone, stat};

    fn sample(started: u64) -> Process {
        Process {
            host: "laptop".to_owned(),
            pid: 77,
            view: View {
                boot: "b".to_owned(),
                namespace: "4026531836".to_owned(),
                user: 1000,
            },
            started,
        }
    }

    #[test]
    fn an_identity_is_read_back_and_others_are_not() {
        let text = format!("{}/abcd", sample(5));
        assert_eq!(text, "kubectl-eso/laptop/77/b/4026531836/1000/5/abcd");
        assert_eq!(Process::parse(&text), Some(sample(5)));
        for other in [
            "",
            "pod_1",
            "kubectl-eso/12/abcd",
            "kubectl-eso-12-abcd",
            "x/laptop/77/b/1/2/5/r",
        ] {
            assert_eq!(Process::parse(other), None, "{other}");
            assert!(!is_gone(other), "{other}: unknown holders count as alive");
        }
    }

    #[test]
    fn the_name_of_a_process_may_look_like_fields() {
        let text = format!("77 (a) R 1 (b) S {} 4242 9", vec!["0"; 18].join(" "));
        assert_eq!(stat(&text), Some(('S', 4242)));
        assert_eq!(stat("77 (short) S 1"), None);
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn this_process_lives_and_an_ended_one_does_not() {
        assert!(!is_gone(&holder("abcd")));
        let here = super::this(std::path::Path::new("/proc")).unwrap();
        let mut child = std::process::Command::new("sleep").arg("60").spawn().unwrap();
        let text = std::fs::read_to_string(format!("/proc/{}/stat", child.id())).unwrap();
        let other = Process {
            pid: child.id(),
            started: stat(&text).unwrap().1,
            ..here.clone()
        };
        let identity = |process: &Process| format!("{process}/abcd");
        assert!(!is_gone(&identity(&other)));
        let reused = Process {
            started: other.started + 1,
            ..other.clone()
        };
        assert!(is_gone(&identity(&reused)), "the number belongs to another process now");
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(is_gone(&identity(&other)));
        let mut elsewhere = other;
        elsewhere.view.boot = "another-machine".to_owned();
        assert!(!is_gone(&identity(&elsewhere)), "what cannot be seen counts as alive");
    }
}
