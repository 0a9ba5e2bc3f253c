//! As `script.rs`: macOS has no views, so the kernel starts every script.

use core::ffi::CStr;

use jp_confine_engine::image::Image;

use super::Program;
use super::program::{Executable, Interpreter};
use crate::errno::Errno;

/// The scripts of a program, which nobody needs to remember.
pub(super) struct Scripts;

impl Scripts {
    pub(super) const fn new(_: bool) -> Self {
        Self
    }

    #[expect(clippy::unused_self, clippy::unnecessary_wraps, reason = "as on Linux")]
    pub(super) const fn add(
        &mut self,
        _: &Image<'_>,
        _: &Executable,
        _: &Interpreter,
    ) -> Result<(), Errno> {
        Ok(())
    }

    #[expect(clippy::unused_self, reason = "as on Linux")]
    pub(super) fn with_start(
        &mut self,
        _: &Image<'_>,
        program: Program,
        (_, path): (&CStr, &CStr),
        run: impl FnOnce(&CStr, Program) -> Errno,
    ) -> Errno {
        run(path, program)
    }
}
