//! Starts the program with its command line, environment and kernel restrictions. Used by `front` and `supervise`.

use std::ffi::{CString, OsStr, OsString};
use std::io;
use std::net::SocketAddr;
use std::os::fd::{AsRawFd as _, OwnedFd};
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use rustix::process::Pid;

use crate::config::environment::Environment;
use crate::error::{Failure, NotRun};
use crate::host::context::{Context, HANDLES, LISTEN_PID, NOTE};
use crate::launch::outer_run::Outer;
use crate::launch::preload_library;
use crate::network::proxy;
use crate::sys::child::{self, KernelConfinement, NotStarted};
use crate::sys::signals::Inherited;

/// Other variables for the temporary directory, for programs that ignore `TMPDIR`: zsh keeps here-documents there
/// (zshparam(1)), and tmux(1) its sockets. Each value is the directory with this suffix.
const OTHER_NAMES_OF_TEMP: [(&str, &str); 2] = [("TMPPREFIX", "/zsh"), ("TMUX_TMPDIR", "")];

/// A program to run confined.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Confined<'a> {
    /// Its path.
    pub(crate) file: &'a Path,
    /// Its name as typed, and its arguments.
    pub(crate) name: &'a OsStr,
    pub(crate) arguments: &'a [OsString],
    /// The preload library.
    pub(crate) shim: &'a Path,
    /// Whether the library is preloaded. False if the loader could not load it.
    pub(crate) preloads: bool,
    /// The sealed image, and the shared page if it is this run's own.
    pub(crate) handles: &'a [&'a OwnedFd],
    /// The run around this one, if there is one.
    pub(crate) outer: Option<&'a Outer>,
    /// The value of `TMPDIR`.
    pub(crate) temp: &'a Path,
    /// The environment that the launcher was started with, and other facts captured at its start.
    pub(crate) context: &'a Context,
    /// The proxy that the program uses, if any.
    pub(crate) proxy: Option<SocketAddr>,
    pub(crate) variables: &'a Environment,
    /// Variables that name the workspace's own caches.
    pub(crate) cache_variables: &'a [(String, PathBuf)],
}

impl Confined<'_> {
    /// Starts the program as a child of this process. If `kernel` has a filter, this process gets from the child the
    /// descriptor by which system calls are answered. `stopped` is called if the program is stopped before it executes.
    ///
    /// # Errors
    /// As [`child::Program::start`].
    pub(crate) fn start(
        &self,
        inherited: Inherited,
        kernel: &KernelConfinement<'_>,
        stopped: &mut dyn FnMut(Pid, i32),
    ) -> Result<Pid, NotStarted> {
        let file = c_string(self.file.as_os_str())?;
        let library = c_string(self.shim.as_os_str())?;
        let words =
            std::iter::once(self.name).chain(self.arguments.iter().map(OsString::as_os_str));
        let arguments: Vec<CString> = words.map(c_string).collect::<Result<_, _>>()?;
        child::Program {
            file: &file,
            arguments: &arguments,
            environment: &self.environment()?,
            own_number: self.context.is_activated.then_some(LISTEN_PID),
            handles: self.handles,
            inherited,
            kernel,
            library: &library,
        }
        .start(stopped)
    }

    /// The variables that the program may have, and those that a confined program needs.
    fn environment(&self) -> io::Result<Vec<CString>> {
        let own_preloads = self.context.variable(OsStr::new("LD_PRELOAD"));
        let given = own_preloads.filter(|_| !self.variables.is_declared);
        // The library comes first: a libc in front of it would hide its functions.
        let shim = self.preloads.then_some(self.shim.as_os_str());
        let preloads: Vec<&OsStr> = shim.into_iter().chain(given).collect();
        let outer = self.outer.iter().map(|outer| outer.handles.clone());
        let own = self.handles.iter().map(|fd| fd.as_raw_fd().to_string());
        let handles: Vec<String> = outer.chain(own).collect();
        let mut own = vec![
            ("LD_PRELOAD", preloads.join(OsStr::new(":"))),
            (HANDLES, handles.join(":").into()),
            ("TMPDIR", self.temp.into()),
            (NOTE.0, NOTE.1.into()),
        ];
        own.extend(self.other_names_of_temp());
        own.extend(self.proxy.into_iter().flat_map(proxy::variables));
        let kept = |name: &OsStr| {
            own.iter().all(|(known, _)| name != *known)
                && !(self.context.is_activated && name == LISTEN_PID)
                && self.cache_variables.iter().all(|(known, _)| name != known.as_str())
                && self.variables.passes(name)
        };
        let given = self
            .context
            .environment
            .iter()
            .map(|(name, value)| (name.as_os_str(), value.as_os_str()));
        let own = own.iter().map(|(name, value)| (OsStr::new(*name), value.as_os_str()));
        let caches = self.cache_variables.iter();
        let caches = caches.map(|(name, path)| (OsStr::new(name), path.as_os_str()));
        let variables = given.filter(|(name, _)| kept(name)).chain(own).chain(caches);
        let variables = variables
            .map(|(name, value)| CString::new([name.as_bytes(), b"=", value.as_bytes()].concat()));
        Ok(variables.collect::<Result<_, _>>()?)
    }

    /// [`OTHER_NAMES_OF_TEMP`] that the user has not set. Values from an outer run are not the user's.
    fn other_names_of_temp(&self) -> impl Iterator<Item = (&'static str, OsString)> {
        let is_given = |name: &str| {
            let name = OsStr::new(name);
            self.outer.is_none()
                && self.variables.passes(name)
                && self.context.variable(name).is_some()
        };
        let value = |end: &str| [self.temp.as_os_str(), OsStr::new(end)].join(OsStr::new(""));
        let names = OTHER_NAMES_OF_TEMP.into_iter().filter(move |(name, _)| !is_given(name));
        names.map(move |(name, end)| (name, value(end)))
    }

    /// Why the program was not started, for the user.
    pub(crate) fn failed(&self, why: NotStarted) -> Failure {
        let error = match why {
            NotStarted::Library(error) => {
                return preload_library::unloadable(self.shim, &error.into());
            }
            NotStarted::Process(error) => io::Error::from(error),
        };
        if error.kind() == io::ErrorKind::NotFound {
            return Failure::NotFound { program: self.name.into() };
        }
        let reason = NotRun::Unfit(error.to_string());
        Failure::NotExecutable { path: self.file.to_owned(), reason }
    }
}

fn c_string(text: &OsStr) -> io::Result<CString> {
    Ok(CString::new(text.as_bytes())?)
}
