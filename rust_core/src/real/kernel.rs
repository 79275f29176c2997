//! What the kernel counts of a process: the judge beside a real engine's own counters.

use crate::error::{Error, Result};

/// Counters since the process began.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Kernel {
    /// Bytes that it read from files, whether a device or the page cache gave them (`rchar` of /proc/PID/io).
    pub asked_bytes: u64,
    /// Bytes that were fetched from devices (`read_bytes`).
    pub read_bytes: u64,
    /// Bytes that were, or will be, sent to devices (`write_bytes`); a page counts when it is dirtied, also where its
    /// file is removed before it is sent.
    pub written_bytes: u64,
    /// CPU nanoseconds of all threads.
    pub cpu_ns: u64,
    /// The most bytes that it had in memory so far.
    pub peak_bytes: u64,
}

impl Kernel {
    /// Of this process, now.
    pub fn now() -> Result<Self> {
        let cpu = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
        let cpu_ns = cpu.tv_sec as u64 * NANOSECONDS + cpu.tv_nsec as u64;
        Ok(Self { cpu_ns, ..Self::of(rustix::process::getpid().as_raw_nonzero().get().unsigned_abs())? })
    }

    /// Of the process of this number, now; its CPU time is as exact as the kernel's ticks, 10 ms as a rule.
    pub fn of(process: u32) -> Result<Self> {
        let io = read(&format!("/proc/{process}/io"))?;
        let status = read(&format!("/proc/{process}/status"))?;
        let ticks = cpu_ticks(&read(&format!("/proc/{process}/stat"))?);
        Ok(Self {
            asked_bytes: field(&io, "rchar"),
            read_bytes: field(&io, "read_bytes"),
            written_bytes: field(&io, "write_bytes"),
            cpu_ns: ticks * (NANOSECONDS / rustix::param::clock_ticks_per_second()),
            peak_bytes: field(&status, "VmHWM") * 1024,
        })
    }
}

/// Lets the account of a process's largest memory begin anew. A kernel without that goes on with the old one.
#[expect(clippy::disallowed_methods, reason = "a file of the kernel's, past our storage")]
pub fn forget_peak(process: u32) -> Result<()> {
    const PEAK: &str = "5";
    let file = format!("/proc/{process}/clear_refs");
    match std::fs::write(&file, PEAK) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(Error::io(file, "write", error)),
        _ => Ok(()),
    }
}

const NANOSECONDS: u64 = 1_000_000_000;

/// The fields `utime` and `stime` of /proc/PID/stat, the 12th and 13th behind the name in brackets.
fn cpu_ticks(stat: &str) -> u64 {
    let behind_name = stat.rsplit(')').next().unwrap_or_default();
    let fields = behind_name.split_whitespace().skip(11).take(2);
    fields.filter_map(|ticks| ticks.parse::<u64>().ok()).sum()
}

fn read(file: &str) -> Result<String> {
    std::fs::read_to_string(file).map_err(|e| Error::io(file, "read", e))
}

/// The number behind `name:`.
fn field(text: &str, name: &str) -> u64 {
    let value = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'));
    value.and_then(|value| value.split_whitespace().next()?.parse().ok()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_field_is_found_by_its_whole_name() {
        let io = "rchar: 7\nwrite_bytes: 4096\ncancelled_write_bytes: 12\n";
        assert_eq!((field(io, "write_bytes"), field(io, "cancelled_write_bytes"), field(io, "char")), (4096, 12, 0));
    }

    #[test]
    fn ticks_are_found_behind_any_name() {
        let stat = "71 (a ) b) S 1 71 71 0 -1 4194560 3004 0 2 0 25 17 0 0 20 0 9 0 211";
        assert_eq!(cpu_ticks(stat), 42);
        assert_eq!(field("VmHWM:\t  12 kB\nVmRSS:\t     345 kB\n", "VmRSS"), 345);
    }

    #[test]
    fn the_time_of_this_process_is_seen() {
        let before = Kernel::now().unwrap();
        let after = Kernel::now().unwrap();
        assert!(after.cpu_ns > before.cpu_ns, "{before:?} {after:?}");
    }
}
