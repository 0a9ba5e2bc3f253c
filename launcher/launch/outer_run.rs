//! Finds the runs around this one: this launcher may itself be a confined program. Then the policies of all runs apply
//! to its program.

use std::ffi::OsStr;
use std::fs::File;
use std::io;
use std::os::fd::{OwnedFd, RawFd};
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use jp_confine_engine::Capabilities;
use jp_confine_engine::canonical::{self, Op};
use jp_confine_engine::decide::{self, Request, Verdict};
use jp_confine_engine::image::{Image, ImageError, LEVELS, Text};

use crate::cli::Enforce;
use crate::error::Failure;
use crate::host::context::{Context, HANDLES};
use crate::host::machine::Machine;
use crate::host::outer_views::numbers;
use crate::plan::Plan;
use crate::sys::child;
use crate::sys::landlock_bounds::LandlockRule;
use crate::sys::memfd::{self, SharedPage};

/// The runs around this one.
#[derive(Debug)]
pub(crate) struct Outer {
    /// The descriptors of their images and page, in the format of the environment variable.
    pub(crate) handles: String,
    images: Vec<Vec<u8>>,
    page: RawFd,
}

impl Outer {
    /// Looks for them in the environment.
    ///
    /// # Errors
    /// They are of another version of jp-confine, or there are too many. Or the launcher cannot find out whether they
    /// exist.
    pub(crate) fn find(context: &Context) -> Result<Option<Self>, Failure> {
        let handles = context.variable(HANDLES.as_ref()).and_then(|value| value.to_str());
        let Some((handles, numbers)) = handles.and_then(|text| Some((text, numbers(text)?))) else {
            return Ok(None);
        };
        let Some(([first, page], inner)) = numbers.split_first_chunk() else { return Ok(None) };
        let mut images = Vec::new();
        for &number in std::iter::once(first).chain(inner) {
            // The variable is somebody's own, and there is no run.
            let Some(image) =
                memfd::read_sealed(child::duplicate(number)).map_err(|error| untold(&error))?
            else {
                return Ok(None);
            };
            match Image::parse(&image) {
                Ok(_) => images.push(image),
                Err(ImageError::Version) => return Err(other_version()),
                Err(_) => return Ok(None),
            }
        }
        if images.len() >= LEVELS {
            return Err(Failure::own(format!("{LEVELS} runs are inside each other already")));
        }
        Ok(Some(Self { handles: handles.to_owned(), images, page: *page }))
    }

    /// Rejects options that need a supervisor of this run's own.
    ///
    /// # Errors
    /// `strict` was requested.
    pub(crate) fn require(&self, enforce: Enforce) -> Result<(), Failure> {
        if enforce != Enforce::Strict {
            return Ok(());
        }
        let why = if self.supervises() {
            "--enforce strict cannot be had inside a supervised run: there is neither a supervisor nor \
             Landlock for this one"
        } else {
            "--enforce strict cannot be had inside another run: there is no supervisor for this one"
        };
        Err(Failure::advised(why, "start it outside of that run"))
    }

    /// The layers that confine a program started inside, in one line.
    pub(crate) fn holding(&self, plan: &Plan) -> String {
        let held = if plan.bounds.is_some() {
            "library and Landlock"
        } else if self.supervises() {
            "the library alone, so that calls which avoid libc are held by the outer policy only"
        } else {
            "the library alone, which a program can evade"
        };
        format!(
            "inside another run: held by both policies, this one by {held}; static programs do not start"
        )
    }

    /// Whether one of the outer runs has a supervisor. Then there is no Landlock for this run (`docs/decisions/0027`).
    pub(crate) fn supervises(&self) -> bool {
        self.images().any(|image| image.behind().supervisor)
    }

    /// The rights that the outer runs' library needs inside this run: to write their records of denials.
    pub(crate) fn needs(&self) -> Vec<LandlockRule> {
        self.texts(Text::EventsPath).map(|record| LandlockRule::writing(&record)).collect()
    }

    /// The preload library of the outermost run, which alone chooses it.
    pub(crate) fn library(&self) -> PathBuf {
        self.texts(Text::ShimPath).next().unwrap_or_default()
    }

    /// Whether the outer policies allow creating, updating and deleting files in `dir`, which is absolute.
    pub(crate) fn lets_write(&self, context: &Context, dir: &Path) -> bool {
        let Ok(resolved) = canonical::resolve(Path::new("/"), dir, Op::Content) else {
            return false;
        };
        let path = context.outer_views.real(resolved.path);
        let request = Request::canonical(path.as_os_str().as_bytes());
        let allows =
            |image| decide::access(&image, &request, Capabilities::WRITE) == Verdict::Allow;
        self.images().all(allows)
    }

    /// The page that all of the runs share.
    pub(crate) fn page(&self) -> io::Result<SharedPage> {
        let path = self.texts(Text::SharedPage).next().unwrap_or_default();
        let file = match child::duplicate(self.page) {
            Ok(file) => file,
            Err(_) => OwnedFd::from(File::options().read(true).write(true).open(&path)?),
        };
        Ok(SharedPage { file, path })
    }

    /// Their images, from the outside in.
    pub(crate) fn images(&self) -> impl Iterator<Item = Image<'_>> {
        self.images.iter().filter_map(|image| Image::read(image).ok())
    }

    fn texts(&self, text: Text) -> impl Iterator<Item = PathBuf> {
        let path = |bytes: &[u8]| PathBuf::from(OsStr::from_bytes(bytes));
        self.images().map(move |image| path(image.text(text)))
    }
}

/// The machine's features for a run inside `outer`. A process can have only one listener. A supervisor within a run
/// would itself be confined by that run's policy.
pub(crate) fn machine(context: &Context, outer: Option<&Outer>) -> Machine {
    let machine = context.machine();
    if outer.is_some() { machine.without_listener() } else { machine }
}

fn other_version() -> Failure {
    Failure::advised(
        "this is inside a run of another version of jp-confine, whose policy cannot be read",
        "use the same version inside as outside",
    )
}

fn untold(error: &io::Error) -> Failure {
    Failure::advised(
        format!("whether this is inside another run cannot be told: {error}"),
        "allow more open files (ulimit -n)",
    )
}
