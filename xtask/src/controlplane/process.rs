//! Child processes of a control plane: started in process groups of their own, ended by pid.

use std::fs::{self, File, OpenOptions};
use std::io::Write as _;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result};
use rustix::process::{Pid, Signal, kill_process, test_kill_process};

/// The file in a control plane folder that lists `pid name`, one process a line.
const PIDS: &str = "pids";
/// How long a killed process may take to disappear.
const GONE_WITHIN: Duration = Duration::from_secs(10);

/// A running program whose output goes to a log file.
#[derive(Debug)]
pub struct Process {
    name: String,
    child: Child,
    log: PathBuf,
}

impl Process {
    /// Starts `command` with its output in `DIR/NAME.log` and its pid noted in `DIR/pids`.
    ///
    /// A group of its own keeps Ctrl-C in a terminal from reaching it: the guard decides when it ends.
    pub fn start(name: &str, mut command: Command, dir: &Path) -> Result<Self> {
        let log = dir.join(format!("{name}.log"));
        let output = File::create(&log).with_context(|| format!("cannot create {}", log.display()))?;
        let errors = output.try_clone()?;
        let child = command
            .stdin(Stdio::null())
            .stdout(output)
            .stderr(errors)
            .current_dir(dir)
            .process_group(0)
            .spawn()
            .with_context(|| format!("cannot start {}", command.get_program().display()))?;
        let mut pids = OpenOptions::new().create(true).append(true).open(dir.join(PIDS))?;
        writeln!(pids, "{} {name}", child.id())?;
        Ok(Self {
            name: name.to_owned(),
            child,
            log,
        })
    }

    /// The process id.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// An error with the end of its log, if the process is no longer running.
    pub fn check(&mut self) -> Result<()> {
        match self.child.try_wait()? {
            None => Ok(()),
            Some(status) => Err(self.ended(status)),
        }
    }

    fn ended(&self, status: ExitStatus) -> anyhow::Error {
        const SHOWN: usize = 15;
        let log = fs::read_to_string(&self.log).unwrap_or_default();
        let lines: Vec<&str> = log.lines().collect();
        let tail = lines[lines.len().saturating_sub(SHOWN)..].join("\n");
        anyhow::anyhow!("{} ended with {status}; the end of its log:\n{tail}", self.name)
    }

    /// Ends the process at once and reaps it. Its state is thrown away with it, so there is nothing to flush, and an
    /// API server asked politely takes several seconds.
    pub fn kill(&mut self) -> Result<()> {
        match self.child.kill() {
            Ok(()) => {}
            Err(error) if error.kind() == std::io::ErrorKind::InvalidInput => {}
            Err(error) => return Err(error).with_context(|| format!("cannot end {}", self.name)),
        }
        self.child
            .wait()
            .with_context(|| format!("cannot reap {}", self.name))?;
        Ok(())
    }
}

/// Sends a signal to a process by pid; `false` when there is no such process.
pub fn signal(pid: u32, signal: Signal) -> bool {
    as_pid(pid).is_some_and(|pid| kill_process(pid, signal).is_ok())
}

/// Whether a process of this pid exists (a zombie counts).
pub fn exists(pid: u32) -> bool {
    as_pid(pid).is_some_and(|pid| test_kill_process(pid).is_ok())
}

fn as_pid(pid: u32) -> Option<Pid> {
    Pid::from_raw(i32::try_from(pid).ok()?)
}

/// Ends every process that `DIR/pids` lists and waits until they are gone. A pid that now belongs to another program
/// (one whose command line does not name `dir`) is left alone.
pub fn kill_listed(dir: &Path) -> Result<usize> {
    let list = dir.join(PIDS);
    let text = fs::read_to_string(&list).with_context(|| format!("no control planes in {}", dir.display()))?;
    let pids: Vec<u32> = text
        .lines()
        .filter_map(|line| line.split_whitespace().next()?.parse().ok())
        .filter(|pid| belongs_to(*pid, dir))
        .collect();
    for pid in &pids {
        signal(*pid, Signal::KILL);
    }
    let deadline = Instant::now() + GONE_WITHIN;
    for pid in &pids {
        while belongs_to(*pid, dir) {
            anyhow::ensure!(Instant::now() < deadline, "process {pid} does not end");
            std::thread::sleep(Duration::from_millis(10));
        }
    }
    fs::remove_file(&list).with_context(|| format!("cannot remove {}", list.display()))?;
    Ok(pids.len())
}

/// Whether the process runs and its command line names `dir`. Without `/proc` the pid alone has to do.
fn belongs_to(pid: u32, dir: &Path) -> bool {
    if !Path::new("/proc/self").exists() {
        return exists(pid);
    }
    let folder = dir.as_os_str().as_encoded_bytes();
    fs::read(format!("/proc/{pid}/cmdline")).is_ok_and(|line| line.windows(folder.len()).any(|part| part == folder))
}

/// Watches over a set of processes from outside: when the owner ends, in whatever way, the guardian ends them and
/// removes their folder. Destructors alone would not do: a static is never dropped, and `kill -9` runs none.
#[derive(Debug)]
pub struct Guardian {
    child: Child,
}

/// Waits until its standard input closes, which the system does when the owner is gone.
const GUARDIAN: &str = r#"
cat >/dev/null
while read -r pid name; do
  if [ ! -d /proc/self ] || tr '\0' ' ' 2>/dev/null <"/proc/$pid/cmdline" | grep -qF -- "$1"; then
    kill -9 "$pid" 2>/dev/null
  fi
done <"$1/pids"
[ "$2" = keep ] || rm -rf -- "$1"
"#;

impl Guardian {
    /// Starts the guardian of `dir`; with `keep` the folder and its logs stay.
    pub fn start(dir: &Path, keep: bool) -> Result<Self> {
        let child = Command::new("/bin/sh")
            .args(["-c", GUARDIAN, "guardian"])
            .arg(dir)
            .arg(if keep { "keep" } else { "remove" })
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .current_dir("/")
            .process_group(0)
            .spawn()
            .context("cannot start the guardian of the control planes")?;
        Ok(Self { child })
    }

    /// Closes the pipe and waits until the guardian has done its work.
    pub fn finish(&mut self) -> Result<()> {
        drop(self.child.stdin.take());
        self.child.wait().context("cannot reap the guardian")?;
        Ok(())
    }
}
