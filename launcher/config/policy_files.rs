//! Reads policy files: the user's, the workspace's, and those that the command line names, with what they extend. Used by
//! `layers`.

use std::io;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::FileTypeExt as _;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use jp_confine_engine::canonical::{self, Op};
use jp_confine_engine::control;

use super::decode::{self, File, Origin, Trust};
use super::document::Notation;
use super::extends;
use crate::error::Failure;
use crate::error::source::Source;
use crate::files;
use crate::host::context::Context;
use crate::host::workspace_markers::Marks;
use crate::text::quote;

/// Longest policy file in bytes. A longer file was not meant as a policy.
pub(super) const LONGEST: u64 = 16 << 20;

/// How deep files may extend each other.
const DEEPEST: usize = 64;

/// The policies that the command line names, lowest layer first.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Named<'o> {
    /// A host's `Context` that standard input had.
    pub(crate) context: Option<&'o [u8]>,
    /// The files of `--policy`.
    pub(crate) files: &'o [PathBuf],
}

/// The decoded files, lowest layer first.
#[derive(Debug, Default)]
pub(super) struct NamedFiles {
    pub(super) files: Vec<File>,
    /// Their canonical paths, and the symlinks that lead to them.
    pub(super) places: Vec<PathBuf>,
    /// Warnings about files that were not found.
    pub(super) warnings: Vec<String>,
}

impl NamedFiles {
    /// Reads them for the workspace at `root`.
    ///
    /// # Errors
    /// A file cannot be read or decoded, or extends itself.
    pub(super) fn read(context: &Context, root: &Path, named: Named<'_>) -> Result<Self, Failure> {
        let mut reader = Reader { context, root, found: Self::default(), around: Vec::new() };
        if let Some(text) = named.context {
            let origin = Origin { trust: Trust::User, is_named: true };
            reader.found.files.push(decode(Path::new("-"), text.to_owned(), origin)?);
        }
        for name in named.files {
            reader.add(name, Trust::User)?;
        }
        reader.found.files.iter_mut().for_each(|file| file.mark_dropped(root));
        Ok(reader.found)
    }
}

struct Reader<'a> {
    context: &'a Context,
    root: &'a Path,
    found: NamedFiles,
    /// The files that extend the one that is read now, by their canonical paths.
    around: Vec<PathBuf>,
}

impl Reader<'_> {
    /// Adds the file `name`, and those that it extends, with at most this trust: a workspace's file may not lend more
    /// than it has.
    fn add(&mut self, name: &Path, most: Trust) -> Result<(), Failure> {
        let (path, place) = self.place(name)?;
        let inside = place.as_ref().is_some_and(|place| place.starts_with(self.root));
        let trust = if inside { Trust::Workspace } else { most };
        let text = read_named(&path).map_err(|error| unreadable(name, &error))?;
        if place.is_none() && text.trim_ascii().is_empty() {
            // The program that should have filled it failed, or it was read before.
            return Err(unreadable(name, &io::Error::other("nothing came out of it")));
        }
        let file = decode(name, text, Origin { trust, is_named: true })?;
        // No program can change the symlinks of descriptors.
        let way = place.iter().flat_map(|_| control::way(&path));
        self.found.places.extend(way.filter(|path| !path.starts_with("/proc")));
        let (Some(place), Some(dir), true) = (place, path.parent(), file.is_jp) else {
            self.found.files.push(file);
            return Ok(());
        };
        let extended = extends::files_of(file.extends.as_deref(), dir)?;
        let source = &file.source.name;
        let warning = |name| format!("{source} extends {}, which is no file", quote::path(name));
        self.found.warnings.extend(extended.missing.iter().map(|name| warning(name)));
        self.around.push(place);
        self.add_all(&extended.before, trust)?;
        self.found.files.push(file);
        self.add_all(&extended.after, trust)?;
        self.around.pop();
        Ok(())
    }

    fn add_all(&mut self, names: &[PathBuf], most: Trust) -> Result<(), Failure> {
        for name in names {
            let is_around = name.canonicalize().is_ok_and(|place| self.around.contains(&place));
            if is_around || self.around.len() >= DEEPEST {
                return Err(Failure::advised(
                    format!("the policy file {} extends itself", quote::place(name)),
                    "leave it out of one of the `extends` that lead back to it",
                ));
            }
            self.add(name, most)?;
        }
        Ok(())
    }

    /// The path to read, and the canonical one. The latter is `None` for a descriptor that has none.
    fn place(&self, name: &Path) -> Result<(PathBuf, Option<PathBuf>), Failure> {
        let mut path = self.context.absolute(name);
        let place = match path.canonicalize() {
            Ok(seen) => {
                let place = self.context.outer_views.real(seen.clone());
                if place != seen {
                    path.clone_from(&place);
                }
                Some(place)
            }
            Err(_) if files::given(&path).is_some() => None,
            Err(error) => return Err(unreadable(name, &error)),
        };
        let link = place.as_ref().and_then(|to| led_out(self.context, self.root, &path, to));
        link.map_or(Ok((path, place)), |link| Err(led(name, &link)))
    }
}

/// The workspace's own file, at `path`. An empty one if there is none.
pub(super) fn own(path: &Path) -> Result<File, Failure> {
    let found = optional(path, Trust::Workspace)?;
    found.map_or_else(|| decode(path, Vec::new(), of_jp_confine(Trust::Workspace)), Ok)
}

/// The file at `path`, if there is one. A broken symlink is an error, since it means that a policy is missing.
pub(super) fn optional(path: &Path, trust: Trust) -> Result<Option<File>, Failure> {
    match files::read(path, LONGEST) {
        Ok(text) => {
            let file = decode(path, text, of_jp_confine(trust))?;
            if file.extends.is_some() {
                return Err(Failure::advised(
                    format!(
                        "{} has `extends`, which counts in files that are named",
                        file.source.name
                    ),
                    "name the files with -p, or leave `extends` out",
                ));
            }
            Ok(Some(file))
        }
        Err(error) if absent(&error) && path.symlink_metadata().is_err() => Ok(None),
        Err(error) => Err(unreadable(path, &error)),
    }
}

const fn of_jp_confine(trust: Trust) -> Origin {
    Origin { trust, is_named: false }
}

fn absent(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
}

/// Reads a named file: a descriptor that this process was given, even a pipe, or a regular file.
pub(super) fn read_named(path: &Path) -> io::Result<Vec<u8>> {
    match files::given(path) {
        Some(_) => files::read_all(files::open_given(path)?, LONGEST),
        None => files::read(path, LONGEST).map_err(|error| {
            if is_pipe(path) {
                return io::Error::other("it is a pipe; hand it over as -p <(cat PIPE)");
            }
            error
        }),
    }
}

fn is_pipe(path: &Path) -> bool {
    path.metadata().is_ok_and(|found| found.file_type().is_fifo())
}

/// The symlink on the way from `path` to `place` that leads out of a workspace. A run there could have created it, and
/// a policy outside has the user's trust.
fn led_out(context: &Context, root: &Path, path: &Path, place: &Path) -> Option<PathBuf> {
    if let Some((link, _)) = Marks::of(context).led_out(path, place) {
        return Some(link);
    }
    let found = canonical::resolve(Path::new("/"), path, Op::Content).ok()?;
    let mut links = found.steps.into_iter().map(|step| step.link);
    links.find(|link| link.starts_with(root) && !place.starts_with(root))
}

fn led(name: &Path, link: &Path) -> Failure {
    let link = quote::quoted(link.as_os_str().as_bytes());
    Failure::advised(
        format!(
            "the policy file {}: {link} is a symlink out of its workspace that a run could have made",
            quote::place(name)
        ),
        "if its target is meant: name that with -p",
    )
}

fn unreadable(path: &Path, error: &io::Error) -> Failure {
    Failure::advised(
        format!("the policy file {} cannot be read: {error}", quote::place(path)),
        "without it the policy would be another one, so nothing was run",
    )
}

fn decode(path: &Path, text: Vec<u8>, origin: Origin) -> Result<File, Failure> {
    let name = path.display().to_string();
    let text = String::from_utf8(text).map_err(|error| {
        let at = error.utf8_error().valid_up_to();
        Failure::own(format!("the policy file {} is not UTF-8 at byte {at}", quote::place(path)))
    })?;
    let notation = notation(path, &text);
    let source = Rc::new(Source::new(&name, text));
    decode::file(&source, notation, origin).map_err(Failure::Configuration)
}

/// The notation of a file by its extension. Without a known one, as for a pipe, its first character decides.
fn notation(path: &Path, text: &str) -> Notation {
    let by_text =
        || if text.trim_start().starts_with('{') { Notation::Json } else { Notation::Toml };
    Notation::named(path).unwrap_or_else(by_text)
}
