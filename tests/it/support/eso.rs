//! Runs a program under test the way a stranger's shell would: nothing of this machine's environment reaches it, all it
//! prints is kept and searched for canaries, and so is every command line it runs.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fs;
use std::io::{Read, Write as _};
use std::os::unix::process::ExitStatusExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use tempfile::TempDir;
use xtask::controlplane::{Signal, signal};
use xtask::metrics::{PeakSampler, Usage};

use super::canary;
use super::cluster::BINARY;
use super::wait::block_until;

const DEFAULT_TIMEOUT: Duration = Duration::from_secs(120);

/// A command in the making.
pub struct Eso {
    program: PathBuf,
    args: Vec<OsString>,
    env: Vec<(OsString, OsString)>,
    stdin: Vec<u8>,
    home: TempDir,
    folder: Option<PathBuf>,
    timeout: Duration,
    shows_values: bool,
}

impl Eso {
    /// The binary under test with this kubeconfig, which may only name clusters of the harness.
    pub fn new(kubeconfig: &Path) -> Self {
        Self::program(Path::new(BINARY), kubeconfig)
    }

    /// Another program with this kubeconfig, for example `kubectl`.
    pub fn program(program: &Path, kubeconfig: &Path) -> Self {
        refuse_real_clusters(&fs::read_to_string(kubeconfig).unwrap());
        Self::bare(program).env("KUBECONFIG", kubeconfig.as_os_str())
    }

    /// The binary under test without any kubeconfig.
    pub fn offline() -> Self {
        let eso = Self::bare(Path::new(BINARY));
        let nowhere = eso.home.path().join("no-kubeconfig");
        eso.env("KUBECONFIG", nowhere)
    }

    fn bare(program: &Path) -> Self {
        let home = tempfile::tempdir().unwrap();
        let env = vec![
            ("PATH".into(), "/usr/bin:/bin".into()),
            ("HOME".into(), home.path().into()),
        ];
        Self {
            program: program.to_path_buf(),
            args: Vec::new(),
            env,
            stdin: Vec::new(),
            home,
            folder: None,
            timeout: DEFAULT_TIMEOUT,
            shows_values: false,
        }
    }

    /// Adds arguments.
    #[must_use]
    pub fn args<I: IntoIterator<Item: Into<OsString>>>(mut self, args: I) -> Self {
        self.args.extend(args.into_iter().map(Into::into));
        self
    }

    /// Sets a variable.
    #[must_use]
    pub fn env(mut self, name: impl Into<OsString>, value: impl Into<OsString>) -> Self {
        self.env.push((name.into(), value.into()));
        self
    }

    /// What it reads from standard input; nothing by default.
    #[must_use]
    pub fn stdin(mut self, input: impl Into<Vec<u8>>) -> Self {
        self.stdin = input.into();
        self
    }

    /// Where it starts; its empty home by default.
    #[must_use]
    pub fn folder(mut self, folder: &Path) -> Self {
        self.folder = Some(folder.to_path_buf());
        self
    }

    /// How long it may take before it is killed and the test fails.
    #[must_use]
    pub fn timeout(mut self, seconds: u64) -> Self {
        self.timeout = Duration::from_secs(seconds);
        self
    }

    /// The command shows values on standard output by design; standard error and command lines are searched still.
    #[must_use]
    pub fn shows_values(mut self) -> Self {
        self.shows_values = true;
        self
    }

    /// Runs it to its end.
    pub fn run(self) -> Finished {
        let timeout = self.timeout;
        self.start().wait(timeout)
    }

    /// Starts it; the test goes on beside it.
    pub fn start(self) -> Running {
        let label = self.label();
        let mut command = Command::new(&self.program);
        command
            .args(&self.args)
            .env_clear()
            .envs(self.env)
            .current_dir(self.folder.as_deref().unwrap_or(self.home.path()))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let started = Instant::now();
        let mut child = command.spawn().unwrap();
        let argv = ArgvWatch::start(child.id());
        let usage = PeakSampler::start(child.id());
        let stdout = Stream::follow(child.stdout.take().unwrap());
        let stderr = Stream::follow(child.stderr.take().unwrap());
        let (mut pipe, input) = (child.stdin.take().unwrap(), self.stdin);
        // It may end without reading its input; then the pipe breaks, which is no concern of the test.
        let feeder = std::thread::spawn(move || drop(pipe.write_all(&input)));
        Running {
            label,
            child,
            stdout,
            stderr,
            argv: Some(argv),
            usage: Some(usage),
            feeder: Some(feeder),
            started,
            shows_values: self.shows_values,
            _home: self.home,
            ended: false,
        }
    }

    fn label(&self) -> String {
        let name = self.program.file_name().unwrap_or_default().to_string_lossy();
        let args: Vec<_> = self.args.iter().map(|arg| arg.to_string_lossy()).collect();
        format!("`{name} {}`", args.join(" "))
    }
}

/// The harness alone may be written to: hosts are this machine's loopback, a documentation address nobody answers at,
/// or a name that cannot exist.
fn refuse_real_clusters(kubeconfig: &str) {
    let config: serde_json::Value = serde_yaml::from_str(kubeconfig).unwrap_or_default();
    for cluster in config["clusters"].as_array().into_iter().flatten() {
        let server = cluster["cluster"]["server"].as_str().unwrap_or_default();
        let host = server.split("://").last().unwrap_or_default();
        let harmless = ["127.", "localhost:", "[::1]", "192.0.2."]
            .iter()
            .any(|start| host.starts_with(start))
            || host
                .split([':', '/'])
                .next()
                .is_some_and(|name| name.ends_with(".invalid"));
        assert!(harmless || server.is_empty(), "{server} is no cluster of the harness");
    }
}

/// A command that runs. When dropped it is killed.
pub struct Running {
    label: String,
    child: Child,
    stdout: Stream,
    stderr: Stream,
    argv: Option<ArgvWatch>,
    usage: Option<PeakSampler>,
    feeder: Option<JoinHandle<()>>,
    started: Instant,
    shows_values: bool,
    _home: TempDir,
    ended: bool,
}

impl Running {
    /// Its process id.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Sends a signal.
    pub fn signal(&self, which: Signal) {
        assert!(signal(self.pid(), which), "{} has ended already", self.label);
    }

    /// What it printed on standard output so far.
    pub fn stdout(&self) -> String {
        self.stdout.text()
    }

    /// What it printed on standard error so far.
    pub fn stderr(&self) -> String {
        self.stderr.text()
    }

    /// Waits until standard error contains `text`.
    pub fn wait_for_stderr(&mut self, text: &str, deadline: Instant) {
        self.wait_for(text, deadline, Self::stderr);
    }

    /// Waits until standard output contains `text`.
    pub fn wait_for_stdout(&mut self, text: &str, deadline: Instant) {
        self.wait_for(text, deadline, Self::stdout);
    }

    fn wait_for(&mut self, text: &str, deadline: Instant, stream: impl Fn(&Self) -> String) {
        block_until(&format!("{} prints {text:?}", self.label), deadline, || {
            let ended = self.child.try_wait().unwrap();
            let printed = stream(self).contains(text);
            assert!(
                printed || ended.is_none(),
                "{} ended without printing {text:?}: {}",
                self.label,
                self.stderr()
            );
            printed.then_some(())
        });
    }

    /// Waits for its end; at the timeout it is killed and the test fails.
    pub fn wait(mut self, timeout: Duration) -> Finished {
        const POLL: Duration = Duration::from_millis(2);
        let deadline = Instant::now() + timeout;
        let status = loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                break status;
            }
            if Instant::now() > deadline {
                self.child.kill().unwrap();
                self.child.wait().unwrap();
                let finished = self.finish();
                panic!("{} still ran after {timeout:?}; it printed\n{}", finished.0, finished.2);
            }
            std::thread::sleep(POLL);
        };
        let elapsed = self.started.elapsed();
        let (label, stdout, stderr, usage) = self.finish();
        Finished {
            label,
            status,
            stdout,
            stderr,
            elapsed,
            usage,
        }
    }

    /// Sends SIGKILL and waits.
    pub fn kill(self) -> Finished {
        self.signal(Signal::KILL);
        self.wait(DEFAULT_TIMEOUT)
    }

    /// Collects what is left after the end and searches it for canaries.
    fn finish(&mut self) -> (String, String, String, Usage) {
        self.ended = true;
        drop(self.feeder.take().map(JoinHandle::join));
        let (stdout, stderr) = (self.stdout.finish(), self.stderr.finish());
        let usage = self.usage.take().map(PeakSampler::finish).unwrap_or_default();
        for line in self.argv.take().map(ArgvWatch::finish).unwrap_or_default() {
            canary::check(&format!("a command line of {}", self.label), &line);
        }
        if !self.shows_values {
            canary::check(&format!("standard output of {}", self.label), &stdout);
        }
        canary::check(&format!("standard error of {}", self.label), &stderr);
        (self.label.clone(), stdout, stderr, usage)
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if self.ended {
            return;
        }
        // Killing fails when it has ended by itself, and then there is nothing to do.
        let _ = self.child.kill();
        let _ = self.child.wait();
        if !std::thread::panicking() {
            self.finish();
        }
    }
}

/// A command that has ended.
#[derive(Debug)]
pub struct Finished {
    label: String,
    status: ExitStatus,
    /// Standard output.
    pub stdout: String,
    /// Standard error.
    pub stderr: String,
    /// Time from start to end.
    pub elapsed: Duration,
    /// Processor time and memory.
    pub usage: Usage,
}

impl Finished {
    /// The exit code, unless a signal ended it.
    pub fn code(&self) -> Option<i32> {
        self.status.code()
    }

    /// The number of the signal that ended it.
    pub fn signal(&self) -> Option<i32> {
        self.status.signal()
    }

    /// Fails the test unless the exit code is this one.
    #[must_use]
    pub fn expect(self, code: i32) -> Self {
        let Self {
            label,
            status,
            stdout,
            stderr,
            ..
        } = &self;
        assert_eq!(
            status.code(),
            Some(code),
            "{label}: {status}\n--- stdout\n{stdout}\n--- stderr\n{stderr}"
        );
        self
    }

    /// Fails the test unless the exit code is 0.
    pub fn success(self) -> Self {
        self.expect(0)
    }

    /// Standard output as JSON.
    pub fn json(&self) -> serde_json::Value {
        serde_json::from_str(&self.stdout).unwrap_or_else(|error| panic!("{}: {error}\n{}", self.label, self.stdout))
    }

    /// Standard output as YAML documents; empty ones are left out.
    pub fn yaml(&self) -> Vec<serde_json::Value> {
        serde_yaml::Deserializer::from_str(&self.stdout)
            .map(|document| serde::Deserialize::deserialize(document).unwrap())
            .filter(|value: &serde_json::Value| !value.is_null())
            .collect()
    }
}

/// One output stream, read by a thread as it comes.
struct Stream {
    bytes: Arc<Mutex<Vec<u8>>>,
    reader: Option<JoinHandle<()>>,
}

impl Stream {
    fn follow(mut pipe: impl Read + Send + 'static) -> Self {
        let bytes = Arc::new(Mutex::new(Vec::new()));
        let sink = Arc::clone(&bytes);
        let reader = std::thread::spawn(move || {
            let mut buffer = [0; 8192];
            while let Ok(count @ 1..) = pipe.read(&mut buffer) {
                sink.lock()
                    .unwrap_or_else(PoisonError::into_inner)
                    .extend_from_slice(&buffer[..count]);
            }
        });
        Self {
            bytes,
            reader: Some(reader),
        }
    }

    fn text(&self) -> String {
        String::from_utf8_lossy(&self.bytes.lock().unwrap_or_else(PoisonError::into_inner)).into_owned()
    }

    fn finish(&mut self) -> String {
        drop(self.reader.take().map(JoinHandle::join));
        self.text()
    }
}

/// Collects the command lines of a process and all it starts, as any user of the machine could with `ps`.
struct ArgvWatch {
    stop: Arc<AtomicBool>,
    thread: JoinHandle<BTreeSet<String>>,
}

impl ArgvWatch {
    fn start(pid: u32) -> Self {
        const EVERY: Duration = Duration::from_millis(5);
        let stop = Arc::new(AtomicBool::new(false));
        let told = Arc::clone(&stop);
        let thread = std::thread::spawn(move || {
            let mut lines = BTreeSet::new();
            loop {
                collect_argv(pid, &mut lines);
                if told.load(Ordering::Relaxed) {
                    return lines;
                }
                std::thread::sleep(EVERY);
            }
        });
        Self { stop, thread }
    }

    fn finish(self) -> BTreeSet<String> {
        self.stop.store(true, Ordering::Relaxed);
        self.thread.join().unwrap_or_default()
    }
}

fn collect_argv(pid: u32, lines: &mut BTreeSet<String>) {
    if let Ok(line) = fs::read(format!("/proc/{pid}/cmdline"))
        && !line.is_empty()
    {
        lines.insert(String::from_utf8_lossy(&line).replace('\0', " "));
    }
    let threads = fs::read_dir(format!("/proc/{pid}/task"))
        .into_iter()
        .flatten()
        .filter_map(Result::ok);
    for thread in threads {
        let children = fs::read_to_string(thread.path().join("children")).unwrap_or_default();
        for child in children.split_whitespace().filter_map(|child| child.parse().ok()) {
            collect_argv(child, lines);
        }
    }
}
