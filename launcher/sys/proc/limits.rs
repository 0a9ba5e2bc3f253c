//! `/proc/TID/limits` (`proc_pid_limits(5)`): to read it takes no capability, as prlimit(2) does of a process that
//! changed its user.

use rustix::io::Errno;

use super::Proc;

/// How long a thread may make files, in bytes.
///
/// # Errors
/// `EACCES` where it cannot be told.
pub(crate) fn file_size(proc: &Proc, tid: i32) -> Result<u64, Errno> {
    soft(&proc.text(tid, "limits")?, "Max file size").ok_or(Errno::ACCESS)
}

/// Above which number a thread gets no descriptors.
///
/// # Errors
/// `EACCES` where it cannot be told.
pub(crate) fn open_files(proc: &Proc, tid: i32) -> Result<u64, Errno> {
    soft(&proc.text(tid, "limits")?, "Max open files").ok_or(Errno::ACCESS)
}

fn soft(text: &str, name: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix(name))?;
    match line.split_ascii_whitespace().next()? {
        "unlimited" => Some(u64::MAX),
        number => number.parse().ok(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_soft_limit_counts() {
        let text = "Limit                     Soft Limit           Hard Limit           Units     \n\
            Max file size             4096                 unlimited            bytes     \n\
            Max data size             unlimited            8192                 bytes     \n";
        assert_eq!(soft(text, "Max file size"), Some(4096));
        assert_eq!(soft(text, "Max data size"), Some(u64::MAX));
        assert_eq!(soft(text, "Max stack size"), None);
    }
}
