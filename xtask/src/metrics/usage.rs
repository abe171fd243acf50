//! Processor time and memory of a running process, from `/proc`.

use std::fs;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use anyhow::{Context as _, Result};

/// What a process has used so far.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Usage {
    /// Processor seconds, user and system, all threads.
    pub cpu_seconds: f64,
    /// Resident memory now, KiB.
    pub rss_kib: u64,
    /// The most it ever had resident, KiB.
    pub peak_rss_kib: u64,
}

impl Usage {
    /// Reads them for a process that runs.
    pub fn of(pid: u32) -> Result<Self> {
        let read = |file: &str| {
            let path = format!("/proc/{pid}/{file}");
            fs::read_to_string(&path).with_context(|| format!("cannot read {path}"))
        };
        let status = read("status")?;
        Ok(Self {
            cpu_seconds: cpu_seconds(&read("stat")?).context("/proc/PID/stat has an unknown form")?,
            rss_kib: kib(&status, "VmRSS:").context("the process has ended")?,
            peak_rss_kib: kib(&status, "VmHWM:").context("the process has ended")?,
        })
    }
}

/// Fields are counted after the name, which may itself contain blanks and parentheses.
fn cpu_seconds(stat: &str) -> Option<f64> {
    const UTIME: usize = 11;
    let fields: Vec<&str> = stat.rsplit_once(')')?.1.split_whitespace().collect();
    let ticks: u32 = fields.get(UTIME)?.parse::<u32>().ok()? + fields.get(UTIME + 1)?.parse::<u32>().ok()?;
    let a_second = u32::try_from(rustix::param::clock_ticks_per_second()).ok()?;
    Some(f64::from(ticks) / f64::from(a_second))
}

fn kib(status: &str, name: &str) -> Option<u64> {
    let line = status.lines().find_map(|line| line.strip_prefix(name))?;
    line.split_whitespace().next()?.parse().ok()
}

/// Watches a process until it ends, for programs that end by themselves: afterwards `/proc` says nothing any more.
#[derive(Debug)]
pub struct PeakSampler {
    stop: Arc<AtomicBool>,
    thread: JoinHandle<Usage>,
}

impl PeakSampler {
    /// Starts watching. Peak memory is exact up to the last reading, processor time too.
    pub fn start(pid: u32) -> Self {
        const EVERY: Duration = Duration::from_millis(20);
        let stop = Arc::new(AtomicBool::new(false));
        let told = Arc::clone(&stop);
        let thread = std::thread::spawn(move || {
            let mut last = Usage::default();
            while !told.load(Ordering::Relaxed) {
                match Usage::of(pid) {
                    Ok(usage) => last = usage,
                    Err(_) => break,
                }
                std::thread::sleep(EVERY);
            }
            last
        });
        Self { stop, thread }
    }

    /// The last reading.
    pub fn finish(self) -> Usage {
        self.stop.store(true, Ordering::Relaxed);
        self.thread.join().unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::{PeakSampler, Usage, cpu_seconds};

    #[test]
    fn own_usage_grows_with_work() {
        let pid = std::process::id();
        let before = Usage::of(pid).unwrap();
        let mut sum = 0_u64;
        while Usage::of(pid).unwrap().cpu_seconds < before.cpu_seconds + 0.03 {
            sum = (0..100_000_u64).fold(sum, u64::wrapping_add);
        }
        let after = Usage::of(pid).unwrap();
        assert!(
            after.peak_rss_kib >= after.rss_kib && after.rss_kib > 500,
            "{after:?} {sum}"
        );
    }

    #[test]
    fn a_name_with_blanks_does_not_shift_the_fields() {
        let stat = "7 (a) b (c) S 1 7 7 0 -1 4194560 100 0 0 0 150 50 0 0 20 0 1 0 100 0 0";
        assert!((cpu_seconds(stat).unwrap() - 2.0).abs() < 0.01);
    }

    #[test]
    fn a_sampler_keeps_what_it_saw_last() {
        let mut child = std::process::Command::new("cat")
            .stdin(std::process::Stdio::piped())
            .spawn()
            .unwrap();
        let sampler = PeakSampler::start(child.id());
        while Usage::of(child.id()).unwrap().peak_rss_kib < 200 {
            std::thread::yield_now();
        }
        std::thread::sleep(std::time::Duration::from_millis(60));
        drop(child.stdin.take());
        child.wait().unwrap();
        assert!(sampler.finish().peak_rss_kib >= 200);
    }
}
