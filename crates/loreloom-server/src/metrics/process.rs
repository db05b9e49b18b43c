//! Figures of the process, by the names that Prometheus clients use.
//!
//! The kernel of Linux has them in files. Elsewhere they are left out.

use std::fmt::Write as _;

/// What the kernel says about the process; `None` where it does not say it.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct ProcessFigures {
    resident: Option<u64>,
    mapped: Option<u64>,
    threads: Option<u64>,
    cpu_seconds: Option<f64>,
    open_files: Option<u64>,
    most_files: Option<u64>,
}

/// The kernel counts processor time in hundredths of a second on every machine.
const TICKS: f64 = 100.0;

impl ProcessFigures {
    /// The figures of now.
    #[expect(clippy::disallowed_methods, reason = "these are no files, but answers of the kernel")]
    pub(super) fn now() -> Self {
        let read = |name: &str| std::fs::read_to_string(format!("/proc/self/{name}")).ok();
        let files = std::fs::read_dir("/proc/self/fd").ok().map(Iterator::count);
        let status = read("status").unwrap_or_default();
        let limits = read("limits").unwrap_or_default();
        Self {
            resident: kilobytes(&status, "VmRSS:"),
            mapped: kilobytes(&status, "VmSize:"),
            threads: after(&status, "Threads:"),
            cpu_seconds: read("stat").as_deref().and_then(cpu_seconds),
            // Reading the list opens one more.
            open_files: files.map(|count| count.saturating_sub(1) as u64),
            most_files: after(&limits, "Max open files"),
        }
    }

    pub(super) fn write(&self, out: &mut String) {
        #[expect(clippy::cast_precision_loss, reason = "Prometheus reads all numbers as floats")]
        let float = |value: Option<u64>| value.map(|value| value as f64);
        let rows = [
            ("resident_memory_bytes", "gauge", "Memory in use.", float(self.resident)),
            ("virtual_memory_bytes", "gauge", "Memory that is mapped.", float(self.mapped)),
            ("threads", "gauge", "Threads.", float(self.threads)),
            ("cpu_seconds_total", "counter", "Processor time.", self.cpu_seconds),
            ("open_fds", "gauge", "Open files and connections.", float(self.open_files)),
            ("max_fds", "gauge", "The most of them that may be open.", float(self.most_files)),
        ];
        for (name, kind, help, value) in rows {
            let Some(value) = value else { continue };
            // Writing into a text does not fail.
            let _fine = writeln!(out, "# HELP process_{name} {help}\n# TYPE process_{name} {kind}");
            let _fine = writeln!(out, "process_{name} {value}");
        }
    }
}

/// The first number after a word at the beginning of a line.
fn after(text: &str, word: &str) -> Option<u64> {
    let rest = text.lines().find_map(|line| line.strip_prefix(word))?;
    rest.split_whitespace().next()?.parse().ok()
}

fn kilobytes(status: &str, word: &str) -> Option<u64> {
    after(status, word).map(|kilobytes| kilobytes * 1024)
}

/// Processor time of user and kernel. The name of the process, in brackets, may hold blanks.
fn cpu_seconds(stat: &str) -> Option<f64> {
    let (_, fields) = stat.rsplit_once(')')?;
    let mut times = fields.split_whitespace().skip(11).map(str::parse::<f64>);
    let (user, kernel) = (times.next()?.ok()?, times.next()?.ok()?);
    Some((user + kernel) / TICKS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_of_the_kernel_are_read() {
        let status = "Name:\tx\nVmSize:\t  200 kB\nVmRSS:\t   100 kB\nThreads:\t7\n";
        assert_eq!(kilobytes(status, "VmRSS:"), Some(102_400));
        assert_eq!(after(status, "Threads:"), Some(7));
        let limits =
            "Limit  Soft  Hard\nMax open files            1024                 4096  files\n";
        assert_eq!(after(limits, "Max open files"), Some(1024));
        let stat = "1 (a ) b) S 0 1 1 0 -1 4 10 0 0 0 150 25 0 0 20 0 7 0 1";
        assert_eq!(cpu_seconds(stat), Some(1.75));
        assert_eq!(cpu_seconds("1"), None);
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn a_running_process_has_all_of_them() {
        let mut text = String::new();
        ProcessFigures::now().write(&mut text);
        assert_eq!(text.lines().filter(|line| line.starts_with("process_")).count(), 6, "{text}");
    }
}
