//! POSIX message queues. Landlock has no right for their names. So they are judged as files in `/dev/mqueue`
//! (`mq_overview(7)`), whether or not that is mounted.

use std::ffi::CString;

use jp_confine_engine::decide::{self, OpenVerdict};
use rustix::io::Errno;

use super::open::OpenArguments;
use crate::prompt::during_run::subject::Subject;
use crate::record::denial::Reason;
use crate::record::usage::UseKind;
use crate::supervisor::descriptor_slot;
use crate::supervisor::task::Task;
use crate::sys::notification::CallResult;
use crate::sys::queues;

const QUEUES: &[u8] = b"/dev/mqueue/";

/// The flags with a meaning here.
const KNOWN: i32 = libc::O_ACCMODE | libc::O_CREAT | libc::O_EXCL | libc::O_NONBLOCK;

/// The queue that a call names.
struct Queue {
    /// The name for the kernel, without a slash.
    name: CString,
    /// The path to judge.
    path: Vec<u8>,
}

impl Queue {
    /// # Errors
    /// The kernel's for an invalid name, and `EACCES` if the name means another queue for the caller.
    fn read(task: &Task<'_>, name: u64) -> Result<Self, Errno> {
        let name = task.caller.text(name)?;
        let text = name.as_bytes();
        if text.is_empty() {
            return Err(Errno::NOENT);
        }
        if matches!(text, b"." | b"..") || text.contains(&b'/') {
            return Err(Errno::ACCESS);
        }
        let path = [QUEUES, text].concat();
        if !task.caller.proc().is_own_ipc_namespace(task.caller.tid()) {
            return Err(task.refused(Reason::Namespace, Subject::new(&path)));
        }
        Ok(Self { name, path })
    }
}

/// `mq_open(2)`.
///
/// # Errors
/// The kernel's, and `EACCES` or `ENOENT` if the policy denies it.
pub(crate) fn open(
    task: &Task<'_>,
    name: u64,
    flags: i32,
    mode: u32,
    attributes: u64,
) -> Result<CallResult, Errno> {
    // The kernel also reads them first.
    let attributes = match attributes {
        0 => None,
        address => Some(task.caller.words(address)?),
    };
    let queue = Queue::read(task, name)?;
    let asked = OpenArguments::new(flags & KNOWN, mode);
    if asked.changes() {
        descriptor_slot::expect(&task.caller)?;
    }
    let _acting = task.begin()?;
    let subject = Subject::new(&queue.path);
    let (how, otherwise) = match task
        .settle_open(|image, request| asked.judge(image, request), subject)?
    {
        OpenVerdict::OnlyNew(denial) => (asked.with(libc::O_EXCL), Some((Errno::EXIST, denial))),
        OpenVerdict::OnlyExisting(denial) => {
            (asked.without(libc::O_CREAT), Some((Errno::NOENT, denial)))
        }
        _ => (asked, None),
    };
    if how.has(libc::O_CREAT) {
        task.prepare_to_make()?;
    }
    let file = queues::open(&queue.name, how.flags(), mode, attributes.as_ref());
    let file = file.map_err(|errno| match otherwise {
        Some((other, denial)) if errno == other => task.denied(denial, subject),
        _ => errno,
    })?;
    if how.has(libc::O_CREAT) {
        task.learn(UseKind::Made, &queue.path, how.need_to_make());
    } else {
        task.learn(UseKind::Used, &queue.path, how.need_on_existing());
    }
    Ok(CallResult::Descriptor { file, closes: true })
}

/// `mq_unlink(2)`.
///
/// # Errors
/// As [`open`].
pub(crate) fn remove(task: &Task<'_>, name: u64) -> Result<CallResult, Errno> {
    let queue = Queue::read(task, name)?;
    let _acting = task.begin()?;
    let subject = Subject::new(&queue.path);
    task.settle(decide::remove(task.image(), &subject.request()), subject)?;
    queues::remove(&queue.name)?;
    task.learn_judged(subject, decide::remove);
    Ok(CallResult::Value(0))
}
