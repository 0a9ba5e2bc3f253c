//! Handles moves onto a directory that the program cannot see. A program that sees the directory moves the entry into
//! it, under the entry's own name.

use std::borrow::Cow;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use jp_confine_engine::Capabilities;
use jp_confine_engine::decide::Request;

use crate::advice::advisor::Advisor;
use crate::advice::request::Asked;
use crate::record::denial::Denial;
use crate::sys::path::path_of;

/// Calls that give an entry another name.
const NAMING: [&[u8]; 5] = [b"rename", b"renameat", b"renameat2", b"link", b"linkat"];

/// Name prefixes of the calls that list a directory. Their callers do not check whether it is one.
const LISTING: [&[u8]; 4] = [b"opendir", b"fdopendir", b"scandir", b"fts"];

impl Advisor<'_> {
    /// The denial as that of the program's next request once it sees the directory. Also for a denial of looking for
    /// that directory. Looks at the disk.
    pub(super) fn as_put<'d>(&self, denial: Cow<'d, Denial>) -> Cow<'d, Denial> {
        let put = self.put(&denial).or_else(|| {
            let refused = self.past().refused.iter().map(|(one, _)| one);
            let mut put =
                refused.filter(|one| is_look(&denial, one)).filter_map(|one| self.put(one));
            put.next()
        });
        put.map_or(denial, Cow::Owned)
    }

    /// The denial of moving into the directory, for a `denial` of replacing it.
    fn put(&self, denial: &Denial) -> Option<Denial> {
        let [from, to] = ends(denial)?;
        let inside = self.inside(from, to)?.into_os_string();
        let inside = inside.as_bytes().to_vec();
        if !denial.second {
            return Some(Denial { other: inside, ..denial.clone() });
        }
        let exists = path_of(&inside).symlink_metadata().is_ok();
        let missing = if exists { Capabilities::UPDATE } else { Capabilities::CREATE };
        let route = path_of(&denial.route).join(from.file_name()?);
        let route = route.as_os_str().as_bytes().to_vec();
        Some(Denial { path: inside, route, missing, ..denial.clone() })
    }

    /// The path of `from` in the directory `to`, if the program could not see that one. A directory would replace an
    /// empty one, if no look at that was denied.
    fn inside(&self, from: &Path, to: &Path) -> Option<PathBuf> {
        let is_directory = |path: &Path| path.symlink_metadata().is_ok_and(|it| it.is_dir());
        let sight = Asked::ScreenVisibility(Request::canonical(to.as_os_str().as_bytes()));
        let is_empty = || to.read_dir().is_ok_and(|mut entries| entries.next().is_none());
        let hidden = self.denials.map_or(&[][..], |denials| denials.hidden());
        let is_looked_for = || hidden.iter().any(|(one, _)| path_of(&one.path) == to);
        let takes_place = || is_directory(from) && is_empty() && !is_looked_for();
        let is_put = is_directory(to) && !self.allows(sight) && !takes_place();
        is_put.then(|| Some(to.join(from.file_name()?)))?
    }
}

/// The entry to be renamed or linked, and its new name.
pub(super) fn ends(denial: &Denial) -> Option<[&Path; 2]> {
    let is_pair = denial.reason.is_policy() && !denial.other.is_empty();
    let [path, other] = [&denial.path, &denial.other].map(|it| path_of(it));
    let ends = if denial.second { [other, path] } else { [path, other] };
    (is_pair && NAMING.contains(&denial.call.as_slice())).then_some(ends)
}

/// Whether the program of both denials looked for a directory that it was to `put` something into.
fn is_look(denial: &Denial, put: &Denial) -> bool {
    let lists = LISTING.iter().any(|call| denial.call.starts_with(call));
    denial.hidden
        && !lists
        && denial.program == put.program
        && ends(put).is_some_and(|[_, to]| to == path_of(&denial.path))
}
