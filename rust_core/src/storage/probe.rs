//! What a drive does with direct reads of a file, so many of them in flight, in wall time, and what they take of a
//! core.

use crate::error::{Error, Result};
use crate::random::{Random, Stream};
use crate::task::wall::{self, WallClock};
use hdrhistogram::Histogram;
use rustix::fs::{Mode, OFlags};
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::Arc;

/// Direct I/O wants memory that begins at a page.
const ALIGNED: usize = 4096;

/// Random reads of a file, each by a thread that waits for it.
#[derive(Debug, Clone, Copy)]
pub struct RandomReads<'a> {
    /// The file, on whose drive all of it lies.
    pub path: &'a Path,
    /// Bytes of one; each begins at a multiple of them.
    pub bytes: u64,
    /// Threads, and so reads in flight.
    pub threads: u32,
    /// How long they go on.
    pub seconds: f64,
    /// Of the places that are drawn: those of the turn before are what caches would have.
    pub seed: u64,
    /// Whether they go past the operating system's page cache.
    pub is_direct: bool,
}

/// What was seen of them.
#[derive(Debug, Clone, Copy, PartialEq, serde::Serialize)]
pub struct ReadsSeen {
    /// Reads per second of all threads.
    pub per_s: f64,
    /// CPU time of their threads for one, in microseconds.
    pub cpu_us: f64,
    /// What half of them took at most, in microseconds.
    pub p50_us: f64,
    /// What 99 of 100 took at most, in microseconds.
    pub p99_us: f64,
}

/// What one thread saw: nanoseconds of its reads, and of its CPU time.
struct Seen {
    took_ns: Histogram<u64>,
    cpu_ns: u64,
}

impl RandomReads<'_> {
    /// Reads, and says what was seen.
    ///
    /// # Errors
    ///
    /// If the file cannot be opened as asked, is shorter than one read, or a read fails.
    pub fn run(self) -> Result<ReadsSeen> {
        let failed = |action| move |error| Error::io(self.path.display().to_string(), action, error);
        let direct = if self.is_direct { OFlags::DIRECT } else { OFlags::empty() };
        let opened = rustix::fs::open(self.path, OFlags::RDONLY | OFlags::CLOEXEC | direct, Mode::empty());
        let file = Arc::new(File::from(opened.map_err(|error| failed("open")(error.into()))?));
        let places = file.metadata().map_err(failed("read"))?.len() / self.bytes.max(1);
        if places == 0 || self.threads == 0 {
            return Err(Error::invalid("probe", self.bytes, "reads that fit into the file, by a thread at least"));
        }
        let clock = WallClock::default();
        let end_ns = (self.seconds.max(0.0) * 1e9) as u64;
        let spawn = |n| {
            let (file, random) = (file.clone(), Random::derive(self.seed, Stream::Client(n)));
            wall::spawn(format!("reader-{n}"), move || go(&file, self.bytes, places, random, clock, end_ns))
        };
        let threads: Vec<_> = (0..self.threads).map(spawn).collect();
        let seen: Vec<_> = threads.into_iter().map(|thread| thread.join().expect("readers do not panic")).collect();
        let seconds = clock.now_ns() as f64 / 1e9;
        let (mut took_ns, mut cpu_ns) = (times(), 0);
        for one in seen {
            let one = one.map_err(failed("read"))?;
            took_ns.add(one.took_ns).expect("all have the same range");
            cpu_ns += one.cpu_ns;
        }
        let quantile_us = |part| took_ns.value_at_quantile(part) as f64 / 1e3;
        Ok(ReadsSeen {
            per_s: took_ns.len() as f64 / seconds,
            cpu_us: cpu_ns as f64 / 1e3 / took_ns.len() as f64,
            p50_us: quantile_us(0.5),
            p99_us: quantile_us(0.99),
        })
    }
}

/// One thread's reads until `end_ns`, one at least.
fn go(file: &File, bytes: u64, places: u64, mut random: Random, clock: WallClock, end_ns: u64) -> io::Result<Seen> {
    let mut memory = vec![0u8; bytes as usize + ALIGNED];
    let first = memory.as_ptr().align_offset(ALIGNED);
    let buffer = &mut memory[first..first + bytes as usize];
    let (mut took_ns, cpu_began_ns, mut before_ns) = (times(), wall::thread_cpu_ns(), clock.now_ns());
    while took_ns.is_empty() || before_ns < end_ns {
        file.read_exact_at(buffer, random.below(places) * bytes)?;
        let now_ns = clock.now_ns();
        took_ns.saturating_record(now_ns - before_ns);
        before_ns = now_ns;
    }
    Ok(Seen { took_ns, cpu_ns: wall::thread_cpu_ns() - cpu_began_ns })
}

/// Times up to a minute, to three digits.
fn times() -> Histogram<u64> {
    Histogram::new_with_bounds(1, 60_000_000_000, 3).expect("the bounds are fixed")
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    fn reads(path: &Path) -> RandomReads<'_> {
        RandomReads { path, bytes: 4096, threads: 2, seconds: 0.02, seed: 1, is_direct: false }
    }

    fn file_of(bytes: usize) -> tempfile::NamedTempFile {
        let mut file = tempfile::NamedTempFile::new().unwrap();
        file.write_all(&vec![1; bytes]).unwrap();
        file
    }

    #[test]
    fn every_thread_reads_and_is_counted() {
        let file = file_of(64 << 10);
        let seen = reads(file.path()).run().unwrap();
        assert!(seen.per_s > 0.0 && seen.cpu_us > 0.0, "{seen:?}");
        assert!(seen.p50_us <= seen.p99_us, "{seen:?}");
        let one = RandomReads { seconds: 0.0, threads: 3, ..reads(file.path()) }.run().unwrap();
        assert!(one.per_s > 0.0, "one of each thread at least: {one:?}");
    }

    #[test]
    fn a_file_that_is_missing_or_too_short_is_refused() {
        let missing = Path::new("/nowhere/at/all");
        assert!(matches!(reads(missing).run(), Err(Error::Io { .. })));
        assert!(matches!(reads(file_of(100).path()).run(), Err(Error::Invalid { .. })));
    }
}
