//! What the kernel counts of this process: the judge beside a real engine's own counters.

use crate::error::{Error, Result};

/// Counters since the process began.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Kernel {
    /// Bytes that were fetched from devices (`read_bytes` of /proc/self/io).
    pub read_bytes: u64,
    /// Bytes that were, or will be, sent to devices (`write_bytes`); a page counts when it is dirtied, also where its
    /// file is removed before it is sent.
    pub written_bytes: u64,
    /// CPU nanoseconds of all threads.
    pub cpu_ns: u64,
}

impl Kernel {
    /// Now.
    pub fn now() -> Result<Self> {
        let io = read("/proc/self/io")?;
        let cpu = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
        Ok(Self {
            read_bytes: field(&io, "read_bytes"),
            written_bytes: field(&io, "write_bytes"),
            cpu_ns: cpu.tv_sec as u64 * 1_000_000_000 + cpu.tv_nsec as u64,
        })
    }
}

fn read(file: &str) -> Result<String> {
    std::fs::read_to_string(file).map_err(|e| Error::io(file, "read", e))
}

/// The number behind `name: `.
fn field(text: &str, name: &str) -> u64 {
    let value = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(": "));
    value.and_then(|value| value.parse().ok()).unwrap_or_default()
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
    fn the_time_of_this_process_is_seen() {
        let before = Kernel::now().unwrap();
        let after = Kernel::now().unwrap();
        assert!(after.cpu_ns > before.cpu_ns, "{before:?} {after:?}");
    }
}
