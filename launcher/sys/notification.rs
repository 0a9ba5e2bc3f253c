//! Receives trapped calls from the kernel, and answers them (`seccomp_unotify(2)`). Used by the supervisor.

use std::mem::MaybeUninit;
use std::os::fd::{AsRawFd as _, OwnedFd, RawFd};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;

/// Wakes the answering thread on the processor that the caller leaves (Linux 6.6).
const SYNC_WAKE_UP: u64 = 1;

/// The descriptor by which a filter's trapped calls are received.
#[derive(Debug)]
pub(crate) struct NotificationListener(OwnedFd);

/// A trapped call. Its caller waits until the call is answered, or dies.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Notification {
    /// The kernel's number of the notification.
    pub(crate) id: u64,
    /// The calling thread.
    pub(crate) tid: i32,
    /// The number of the call.
    pub(crate) number: i64,
    /// Its arguments, as they were in the registers.
    pub(crate) arguments: [u64; 6],
    /// The address of the calling instruction in the caller's memory.
    pub(crate) instruction: u64,
}

/// The result of a trapped call for its caller.
#[derive(Debug)]
pub(crate) enum CallResult {
    /// The call succeeds with this value.
    Value(i64),
    /// The call succeeds with a copy of this descriptor.
    Descriptor {
        /// The descriptor to copy.
        file: OwnedFd,
        /// Whether the copy closes when its process executes another program.
        closes: bool,
    },
    /// The caller makes the call itself.
    Continue,
}

/// How many calls in a row may be gone when they are fetched. After that the listener counts as broken, and callers
/// must not wait for it.
const VAIN: usize = 100_000;

impl NotificationListener {
    /// Takes over the descriptor that `seccomp(2)` gave.
    pub(crate) fn new(listener: OwnedFd) -> Self {
        // SAFETY: the call takes a number and changes only the listener. An older kernel that does not know it answers
        // EINVAL, and is slower.
        unsafe {
            libc::ioctl(listener.as_raw_fd(), libc::SECCOMP_IOCTL_NOTIF_SET_FLAGS, SYNC_WAKE_UP)
        };
        Self(listener)
    }

    /// Waits for the next trapped call. `None` if no process is left that could make one.
    pub(crate) fn receive(&self) -> Option<Notification> {
        for _ in 0..VAIN {
            match self.receive_once() {
                Ok(notification) => return Some(notification),
                Err(Errno::INTR) => {}
                // The caller just died, or no process with the filter is left.
                Err(Errno::NOENT) if !self.is_deserted() => {}
                Err(_) => return None,
            }
        }
        None
    }

    fn receive_once(&self) -> Result<Notification, Errno> {
        // The kernel demands zeroed memory.
        let mut raw = MaybeUninit::<libc::seccomp_notif>::zeroed();
        self.control(libc::SECCOMP_IOCTL_NOTIF_RECV, raw.as_mut_ptr())?;
        // SAFETY: integers, zeroed and then filled in by the kernel.
        let raw = unsafe { raw.assume_init() };
        Ok(Notification {
            id: raw.id,
            tid: raw.pid.cast_signed(),
            number: raw.data.nr.into(),
            arguments: raw.data.args,
            instruction: raw.data.instruction_pointer,
        })
    }

    /// Whether no process can make a call that this listener would receive.
    fn is_deserted(&self) -> bool {
        let mut polled = [PollFd::new(&self.0, PollFlags::IN)];
        let _ = poll(&mut polled, Some(&Timespec { tv_sec: 0, tv_nsec: 0 }));
        polled.iter().any(|one| one.revents().contains(PollFlags::HUP))
    }

    /// Whether the caller still waits. If it does, all that was read of it was its own, and not another thread's.
    pub(crate) fn is_waiting(&self, id: u64) -> bool {
        let mut id = id;
        self.control(libc::SECCOMP_IOCTL_NOTIF_ID_VALID, &raw mut id).is_ok()
    }

    /// Answers a call.
    ///
    /// # Errors
    /// `ENOENT` if the caller is gone. For a descriptor also the errors of the caller's table (`EMFILE`).
    pub(crate) fn answer(&self, id: u64, answer: CallResult) -> Result<(), Errno> {
        match answer {
            CallResult::Value(value) => self.send(id, value, 0, 0),
            CallResult::Continue => {
                let flag = u32::try_from(libc::SECCOMP_USER_NOTIF_FLAG_CONTINUE).unwrap_or(1);
                self.send(id, 0, 0, flag)
            }
            CallResult::Descriptor { file, closes } => self.send_descriptor(id, file, closes),
        }
    }

    /// Makes a call fail.
    ///
    /// # Errors
    /// `ENOENT` if the caller is gone.
    pub(crate) fn fail(&self, id: u64, error: i32) -> Result<(), Errno> {
        self.send(id, 0, error.wrapping_neg(), 0)
    }

    fn send(&self, id: u64, val: i64, error: i32, flags: u32) -> Result<(), Errno> {
        let mut response = libc::seccomp_notif_resp { id, val, error, flags };
        self.control(libc::SECCOMP_IOCTL_NOTIF_SEND, &raw mut response).map(drop)
    }

    /// Puts the file into the caller's table, closes it here, and then answers. If the caller writes a program and
    /// starts it, no other process may have it open for writing (`ETXTBSY`). Until the answer, only the caller's death
    /// ends its call.
    fn send_descriptor(&self, id: u64, file: OwnedFd, closes: bool) -> Result<(), Errno> {
        let number = self.add_descriptor(id, &file, closes)?;
        drop(file);
        self.send(id, number.into(), 0, 0)
    }

    fn add_descriptor(&self, id: u64, file: &OwnedFd, closes: bool) -> Result<i32, Errno> {
        let mut request = libc::seccomp_notif_addfd {
            id,
            flags: 0,
            srcfd: file.as_raw_fd().unsigned_abs(),
            newfd: 0,
            newfd_flags: if closes { libc::O_CLOEXEC.unsigned_abs() } else { 0 },
        };
        loop {
            match self.control(libc::SECCOMP_IOCTL_NOTIF_ADDFD, &raw mut request) {
                Err(Errno::INTR) => {}
                settled => return settled,
            }
        }
    }

    /// Makes an ioctl(2) on the listener, with the structure of the request.
    fn control<T>(&self, request: libc::Ioctl, argument: *mut T) -> Result<i32, Errno> {
        let listener: RawFd = self.0.as_raw_fd();
        // SAFETY: the callers above pass the structure that belongs to the request.
        let result = unsafe { libc::ioctl(listener, request, argument) };
        if result < 0 { Err(super::last_error()) } else { Ok(result) }
    }
}
