//! Reads `/proc/TID/limits` (`proc_pid_limits(5)`). That takes no capability, while prlimit(2) needs one for a process
//! that changed its user.

use rustix::io::Errno;

use super::Proc;

/// The limit on the length of a thread's files, in bytes.
///
/// # Errors
/// `EACCES` if it cannot be read.
pub(crate) fn file_size(proc: &Proc, tid: i32) -> Result<u64, Errno> {
    soft(&proc.text(tid, "limits")?, "Max file size").ok_or(Errno::ACCESS)
}

/// The limit on a thread's descriptors: all their numbers are below it.
///
/// # Errors
/// `EACCES` if it cannot be read.
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
