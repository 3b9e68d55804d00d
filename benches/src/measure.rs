//! Time, memory, and what the machine does besides. Reads `/proc`, so it needs Linux.

use std::fs;
use std::io;
use std::time::{Duration, Instant};

/// What something cost.
#[derive(Debug, Clone, Copy, Default)]
pub struct Cost {
    /// The time that passed.
    pub wall: Duration,
    /// The processor time of all threads.
    pub cpu: Duration,
}

/// A running measurement.
#[derive(Debug)]
pub struct Stopwatch {
    start: Instant,
    cpu: Duration,
}

impl Stopwatch {
    /// Starts now.
    pub fn start() -> io::Result<Self> {
        let cpu = cpu_time()?;
        Ok(Self {
            start: Instant::now(),
            cpu,
        })
    }

    /// What was spent since the start.
    pub fn stop(self) -> io::Result<Cost> {
        let wall = self.start.elapsed();
        Ok(Cost {
            wall,
            cpu: cpu_time()?.saturating_sub(self.cpu),
        })
    }
}

/// The processor time of the threads that live. Nanoseconds per thread, where the total of the process is counted
/// in hundredths of a second; [`runtime`] keeps its threads so that none takes its time away with it.
pub fn cpu_time() -> io::Result<Duration> {
    // The time of a thread that runs is brought up to date when it stops running.
    std::thread::sleep(Duration::from_micros(1));
    let mut nanos = 0u64;
    for thread in fs::read_dir("/proc/self/task")? {
        let file = thread?.path().join("schedstat");
        match fs::read_to_string(&file) {
            Ok(text) => {
                let time = text.split_whitespace().next().and_then(|t| t.parse::<u64>().ok());
                nanos += time.ok_or_else(|| io::Error::other(format!("no time in {}", file.display())))?;
            }
            // The thread ended meanwhile.
            Err(e) if e.kind() == io::ErrorKind::NotFound || e.raw_os_error() == Some(3) => {}
            Err(e) => return Err(e),
        }
    }
    Ok(Duration::from_nanos(nanos))
}

/// A runtime of so many worker threads, whose threads for blocking work stay as long as it does.
pub fn runtime(threads: usize) -> io::Result<tokio::runtime::Runtime> {
    tokio::runtime::Builder::new_multi_thread()
        .worker_threads(threads.max(1))
        .thread_keep_alive(Duration::from_secs(86_400))
        .enable_all()
        .build()
}

/// The memory that the process has now, in bytes.
pub fn resident_memory() -> io::Result<u64> {
    status("VmRSS:")
}

/// The most memory that the process ever had, or had since [`forget_peak_memory`], in bytes.
pub fn peak_memory() -> io::Result<u64> {
    status("VmHWM:")
}

/// The bytes that the process has read from files so far, those that the system had in memory included.
pub fn bytes_read() -> io::Result<u64> {
    let text = fs::read_to_string("/proc/self/io")?;
    let read = text.lines().find_map(|l| l.strip_prefix("rchar:"));
    read.and_then(|l| l.trim().parse::<u64>().ok())
        .ok_or_else(|| io::Error::other("no rchar in /proc/self/io"))
}

/// Lets [`peak_memory`] forget what was before.
pub fn forget_peak_memory() -> io::Result<()> {
    // See proc_pid_clear_refs(5): 5 sets the high water mark to what is resident now.
    fs::write("/proc/self/clear_refs", "5")
}

fn status(name: &str) -> io::Result<u64> {
    let text = fs::read_to_string("/proc/self/status")?;
    let line = text.lines().find_map(|l| l.strip_prefix(name));
    line.and_then(|l| l.trim().strip_suffix("kB")?.trim().parse::<u64>().ok())
        .map(|kib| kib * 1024)
        .ok_or_else(|| io::Error::other(format!("no {name} in /proc/self/status")))
}

/// How many threads wanted to run over the last 1, 5 and 15 minutes, on average. Well above those of the benchmark
/// means that its wall times are not to be trusted.
pub fn load_average() -> String {
    let text = fs::read_to_string("/proc/loadavg").unwrap_or_default();
    text.split_whitespace().take(3).collect::<Vec<_>>().join(" ")
}

/// Processor, cores and memory.
pub fn machine() -> String {
    let cpu = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let model = cpu
        .lines()
        .find_map(|l| l.strip_prefix("model name")?.split_once(':'));
    let model = model.map_or("unknown processor", |(_, name)| name.trim());
    let cores = std::thread::available_parallelism().map_or(0, usize::from);
    let memory = fs::read_to_string("/proc/meminfo").unwrap_or_default();
    let memory = memory
        .lines()
        .find_map(|l| l.strip_prefix("MemTotal:")?.trim().strip_suffix("kB"));
    let gib = memory
        .and_then(|m| m.trim().parse::<u64>().ok())
        .map_or(0, |kib| kib >> 20);
    format!("{model}, {cores} cores, {gib} GiB")
}

/// Prints what figures depend on: machine, load, build, and the command that repeats them.
pub fn print_conditions() {
    let quoted = |argument: String| match argument.contains(char::is_whitespace) {
        true => format!("{argument:?}"),
        false => argument,
    };
    let command = std::env::args().skip(1).map(quoted).collect::<Vec<_>>().join(" ");
    let name = std::env::args().next().unwrap_or_default();
    let name = name.rsplit('/').next().unwrap_or_default().to_string();
    let (build, flag) = match cfg!(debug_assertions) {
        true => ("debug build: figures mean nothing", ""),
        false => ("release build", "--release "),
    };
    println!("machine: {}; load average {}; {build}", machine(), load_average());
    println!("repeat:  cargo run {flag}-p drumlin-benches --bin {name} -- {command}");
}

/// The least of the durations; zero for none.
pub fn best(durations: impl IntoIterator<Item = Duration>) -> Duration {
    durations.into_iter().min().unwrap_or_default()
}

/// The median of the durations, the lower of two; zero for none.
pub fn median(durations: impl IntoIterator<Item = Duration>) -> Duration {
    let mut sorted: Vec<_> = durations.into_iter().collect();
    sorted.sort();
    sorted
        .get(sorted.len().saturating_sub(1) / 2)
        .copied()
        .unwrap_or_default()
}

/// The geometric mean of the ratios; 1 for none.
pub fn geometric_mean(ratios: &[f64]) -> f64 {
    if ratios.is_empty() {
        return 1.0;
    }
    let count = u32::try_from(ratios.len()).unwrap_or(u32::MAX);
    (ratios.iter().map(|r| r.ln()).sum::<f64>() / f64::from(count)).exp()
}

/// Milliseconds.
pub fn ms(duration: Duration) -> f64 {
    duration.as_secs_f64() * 1e3
}
