//! Inspects executable files by their descriptors. Used by the launcher before it starts a program, and by the supervisor.

use std::os::fd::AsFd;

use jp_confine_engine::executable::{Contents, ExecutableKind, HEAD, Head};
use rustix::io::{Errno, pread};

/// An open file.
struct Opened<F>(F);

impl<F: AsFd> Contents for Opened<F> {
    type Error = Errno;
    const CUT_OFF: Errno = Errno::IO;

    fn read_at(&self, offset: u64, to: &mut [u8]) -> Result<usize, Errno> {
        let mut filled = 0;
        while let Some(rest) = to.get_mut(filled..).filter(|rest| !rest.is_empty()) {
            match pread(&self.0, rest, offset.saturating_add(filled as u64)) {
                Ok(0) => break,
                Ok(count) => filled += count,
                Err(Errno::INTR) => {}
                Err(errno) => return Err(errno),
            }
        }
        Ok(filled)
    }
}

/// Tells the kind of a file, and the path of a script's interpreter or a dynamic program's loader. The path is empty for
/// other kinds.
///
/// # Errors
/// Those of `pread(2)`; `EIO` if the file ends within the path.
pub(crate) fn inspect(file: impl AsFd) -> Result<(ExecutableKind, Vec<u8>), Errno> {
    let (file, mut room, mut path) = (Opened(file), [0; HEAD], Vec::new());
    let head = Head::read(&file, &mut room)?;
    let kind = head.kind(|_, part| {
        path.extend(part);
        Ok(())
    })?;
    Ok((kind, path))
}
