//! Leaves a nested launcher's own lookups out of the report of this run. They are denied all the same.

use std::collections::HashMap;
use std::io::{self, BufRead as _, BufReader};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use jp_confine_engine::Capabilities;
use jp_confine_engine::canonical::{self, Op};

use crate::files;
use crate::host::context::Context;
use crate::host::program_lookup::own_path;
use crate::record::denial::Denial;
use crate::sys::path::path_of;

/// Name parts of the calls that only look, and open nothing.
const LOOKING: [&[u8]; 3] = [b"stat", b"access", b"readlink"];

/// Whether a call only looks, and opens nothing.
pub(crate) fn only_looks(call: &[u8]) -> bool {
    LOOKING.iter().any(|name| call.windows(name.len()).any(|part| part == *name))
}

/// The launchers that the run starts.
#[derive(Debug)]
pub(crate) struct Inner {
    /// The canonical paths of the launcher's own files and directories.
    own: Vec<PathBuf>,
    /// For each program, whether it is a launcher.
    known: HashMap<Vec<u8>, bool>,
}

impl Inner {
    /// Those of a run with this `context`.
    pub(crate) fn of(context: &Context) -> Self {
        // In the configuration directory a launcher looks up only that file. Other files are for those who name them.
        let data = context.homes.data.as_ref().map(|home| home.join("jp-confine"));
        let places = data.into_iter().chain(context.configuration());
        let resolved = places.filter_map(|place| {
            Some(canonical::resolve(Path::new("/"), &place, Op::Content).ok()?.path)
        });
        Self { own: resolved.collect(), known: HashMap::new() }
    }

    /// Whether a denial hid a launcher's own path from it, or a directory on the way there. Other denials of a launcher
    /// are reported, and so are those of other programs. Looks at the disk.
    pub(crate) fn looks_up_its_own(&mut self, denial: &Denial) -> bool {
        let looks_absent = denial.hidden && denial.reason.is_policy();
        let reads = looks_absent && denial.missing == Capabilities::READ;
        reads && self.is_own(denial) && self.is_launcher(&denial.program)
    }

    fn is_own(&self, denial: &Denial) -> bool {
        let path = path_of(&denial.path);
        let looks = only_looks(&denial.call);
        self.own.iter().any(|own| path.starts_with(own) || looks && own.starts_with(path))
    }

    /// Whether a program has the same contents as this one, whatever its name: any program may be called `jp-confine`.
    fn is_launcher(&mut self, program: &[u8]) -> bool {
        if let Some(known) = self.known.get(program) {
            return *known;
        }
        let is_same = is_same(path_of(program), &own_path()).unwrap_or(false);
        self.known.insert(program.to_owned(), is_same);
        is_same
    }
}

/// Whether two files are the same file, or have the same contents.
fn is_same(one: &Path, other: &Path) -> io::Result<bool> {
    // A confined program may have replaced the file, for instance by a pipe.
    let [one, other] = [files::open_file(one)?, files::open_file(other)?];
    let [first, second] = [one.metadata()?, other.metadata()?];
    if (first.dev(), first.ino()) == (second.dev(), second.ino()) {
        return Ok(true);
    }
    if !first.is_file() || first.len() != second.len() {
        return Ok(false);
    }
    let [mut one, mut other] = [BufReader::new(one), BufReader::new(other)];
    loop {
        let [left, right] = [one.fill_buf()?, other.fill_buf()?];
        let length = left.len().min(right.len());
        if left.get(..length) != right.get(..length) {
            return Ok(false);
        }
        if length == 0 {
            return Ok(left.len() == right.len());
        }
        one.consume(length);
        other.consume(length);
    }
}
