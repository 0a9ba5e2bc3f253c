//! Finds the descriptors that the launcher, or a parent's exec, left open for this process.

use core::ffi::c_int;

use jp_confine_engine::image::LEVELS;

use crate::sys::startup::Startup;

/// The variable that names them, as `IMAGE:GENERATION[:IMAGE]…`: the outermost run's image, the page that all runs
/// share, and the images of the nested runs from the outside in.
pub(crate) const VARIABLE: &[u8] = b"JP_CONFINE=";

/// Descriptor numbers, outermost image first; `generation` is -1 if there is none.
#[derive(Clone, Copy)]
pub(crate) struct RunHandle {
    images: [c_int; LEVELS],
    count: usize,
    pub(crate) generation: c_int,
}

impl RunHandle {
    /// Reads the variable that the process was started with.
    pub(crate) fn find(startup: Option<Startup>) -> Option<Self> {
        Startup::inherited(startup, VARIABLE, Self::parse)
    }

    /// The images, outermost first.
    pub(crate) fn images(&self) -> &[c_int] {
        self.images.get(..self.count).unwrap_or(&[])
    }

    #[cold]
    fn parse(value: &[u8]) -> Option<Self> {
        let mut numbers = value.split(|&byte| byte == b':');
        let first = number(numbers.next()?)?;
        let generation = number(numbers.next()?)?;
        let mut handle = Self { images: [first; LEVELS], count: 1, generation };
        for inner in numbers {
            *handle.images.get_mut(handle.count)? = number(inner)?;
            handle.count = handle.count.saturating_add(1);
        }
        Some(handle)
    }
}

#[cold] // like all code that runs once, so that it lies beside that
fn number(digits: &[u8]) -> Option<c_int> {
    core::str::from_utf8(digits).ok()?.parse().ok()
}
