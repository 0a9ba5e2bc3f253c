//! Reads the configuration files in their order, and merges their rules (spec §18 "Layers").

use std::collections::BTreeSet;
use std::io;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::FileTypeExt as _;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use jp_confine_engine::canonical::{self, Op, Root};
use jp_confine_engine::compile_error::CompileError;
use jp_confine_engine::layers::{self, Layer, Layered, Merged};
use jp_confine_engine::model::FsRule;
use jp_confine_engine::warning::Warning;
use jp_confine_engine::{Capability, control};

use super::decode::{self, File, Tool, Trust};
use super::document::Notation;
use super::scope::Scope;
use crate::config::profile::Profile;
use crate::error::Failure;
use crate::error::diagnostic::{Diagnostic, nearest};
use crate::error::source::Source;
use crate::files;
use crate::host::context::Context;
use crate::host::workspace;
use crate::host::workspace_markers::Marks;
use crate::text::quote;

/// Longest policy file in bytes. A longer file was not meant as a policy.
const LONGEST: u64 = 16 << 20;

/// All configuration files of a run, lowest layer first.
#[derive(Debug)]
pub(crate) struct Layers {
    files: Vec<File>,
    /// The index of the workspace's own file. It is an empty one if the workspace has none.
    own: usize,
    /// The canonical files given with `--policy`, and the symlinks that lead to them. No confined program may change
    /// them.
    pub(crate) policy_files: Vec<PathBuf>,
}

/// The merged rules of `access.fs`.
#[derive(Debug)]
pub(crate) struct Declared {
    /// `None` if no rule is declared.
    pub(crate) rules: Option<Vec<FsRule>>,
    pub(crate) warnings: Vec<Warning>,
    /// The scopes with external rules: a run without a tool, and every tool that runs here.
    pub(crate) scopes: Vec<Scope>,
}

impl Declared {
    /// The part that counts in this run: usually all of it, and no paths. If `learn` looks for rules inside the
    /// workspace `learned_in`, only rules about the outside count. Then the canonical paths inside that rules deny come
    /// with it.
    pub(crate) fn counting(self, learned_in: Option<&Root>) -> (Self, Vec<PathBuf>) {
        let Some(root) = learned_in else { return (self, Vec::new()) };
        let withheld = self.withheld(root);
        (self.outside(), withheld)
    }

    /// The canonical paths inside `root` that rules grant nothing on. A path that does not resolve is left to the
    /// compiler of rules.
    fn withheld(&self, root: &Root) -> Vec<PathBuf> {
        let inside = self.rules.iter().flatten().filter(|rule| !rule.external());
        inside
            .filter(|rule| rule.capabilities().is_empty())
            .filter_map(|rule| root.resolve(rule.path().as_std_path(), Op::Content).ok())
            .map(|resolved| resolved.path)
            .filter(|path| path != root.as_path())
            .collect()
    }

    /// Its external rules, with every capability on the inside.
    fn outside(self) -> Self {
        let rules = self.rules.into_iter().flatten();
        let external: Vec<FsRule> = rules.filter(FsRule::external).collect();
        let inside = FsRule::new(".")
            .with(Capability::Read, true)
            .with_write(true)
            .with(Capability::Execute, true);
        let rules = (!external.is_empty()).then(|| [vec![inside], external].concat());
        Self { rules, ..self }
    }
}

impl Layers {
    /// Reads the user configuration, the file of the workspace at `root`, and the files given with
    /// `--policy`.
    pub(crate) fn load(context: &Context, root: &Path, named: &[PathBuf]) -> Result<Self, Failure> {
        let mut files = Vec::new();
        if let Some(file) = context.configuration() {
            files.extend(optional(&file, Trust::User)?);
        }
        let own = files.len();
        files.push(own_file(&root.join(workspace::FILE))?);
        let mut policy_files = Vec::new();
        for name in named {
            let mut path = context.absolute(name);
            let place = match path.canonicalize() {
                Ok(seen) => {
                    let place = context.outer_views.real(seen.clone());
                    if place != seen {
                        path.clone_from(&place);
                    }
                    Some(place)
                }
                Err(_) if files::given(&path).is_some() => None,
                Err(error) => return Err(unreadable(name, &error)),
            };
            if let Some(link) = place.as_ref().and_then(|to| led_out(context, root, &path, to)) {
                return Err(led(name, &link));
            }
            let inside = place.as_ref().is_some_and(|place| place.starts_with(root));
            let trust = if inside { Trust::Workspace } else { Trust::User };
            let text = read_named(&path).map_err(|error| unreadable(name, &error))?;
            if place.is_none() && text.trim_ascii().is_empty() {
                // The program that should have filled it failed, or it was read before.
                return Err(unreadable(name, &io::Error::other("nothing came out of it")));
            }
            files.push(decode(name, text, trust)?);
            // No program can change the symlinks of descriptors.
            let way = place.iter().flat_map(|_| control::way(&path));
            policy_files.extend(way.filter(|path| !path.starts_with("/proc")));
        }
        let layers = Self { files, own, policy_files };
        layers.check_origins()?;
        Ok(layers)
    }

    /// Takes out the rules of the run, with those of `tool` if one is named.
    pub(crate) fn declared(&mut self, tool: Option<&str>) -> Result<Declared, Failure> {
        if let Some(tool) = tool {
            self.check_tool(tool)?;
        }
        let scopes = self.scopes();
        let of_tool = |file: &mut File| {
            let named = file.tools.iter_mut().find(|known| Some(known.name.as_str()) == tool);
            named.and_then(|known| known.fs.take())
        };
        let lists = self.files.iter_mut().flat_map(|file| {
            let lists = [file.fs.take(), of_tool(file)];
            let name = file.source.name.to_string();
            lists.into_iter().flatten().map(move |list| Layer { name: name.clone(), list })
        });
        let (rules, warnings) = layers::merge(lists);
        Ok(Declared { rules: (!rules.is_empty()).then_some(rules), warnings, scopes })
    }

    /// The files, lowest layer first.
    pub(crate) fn files(&self) -> &[File] {
        &self.files
    }

    /// Those that belong to one workspace: its own file, and those given with `--policy`. The others are for all.
    pub(crate) fn of_workspace(&self) -> (&[File], &[File]) {
        let (shared, own) = self.files.split_at(self.own);
        (own, shared)
    }

    /// The file of the workspace itself. It is empty if there is none.
    pub(crate) fn workspace_file(&self) -> Option<&Rc<Source>> {
        self.files.get(self.own).map(|file| &file.source)
    }

    /// The index of the workspace's own file in [`Self::files`].
    pub(super) const fn own(&self) -> usize {
        self.own
    }

    /// The scopes with external rules. Call it before [`Self::declared`] takes the rules out.
    pub(crate) fn scopes(&self) -> Vec<Scope> {
        let tools = self.files.iter().flat_map(|file| &file.tools).map(|tool| tool.name.as_str());
        let mut names: Vec<&str> = tools.filter(|name| self.runs_here(name)).collect();
        names.sort_unstable();
        names.dedup();
        std::iter::once(None)
            .chain(names.into_iter().map(Some))
            .map(|tool| Scope { tool: tool.map(str::to_owned), rules: self.external_rules(tool) })
            .filter(|scope| !scope.rules.is_empty())
            .collect()
    }

    /// Whether a tool runs here, neither in the host nor on a server, so that rules for it can be enforced.
    pub(crate) fn runs_here(&self, tool: &str) -> bool {
        self.origin_elsewhere(tool).is_none()
    }

    /// The external rules of [`Self::declared`]. Other rules do not affect how these merge.
    fn external_rules(&self, tool: Option<&str>) -> Vec<FsRule> {
        let lists = self.files.iter().flat_map(|file| {
            let named = file.tools.iter().find(|known| Some(known.name.as_str()) == tool);
            [file.fs.as_ref(), named.and_then(|known| known.fs.as_ref())].into_iter().flatten()
        });
        let external = |list: &Layered<FsRule>| {
            let (Layered::Plain(value) | Layered::Merged(Merged { value, .. })) = list;
            let value = value.iter().filter(|rule| rule.external()).cloned().collect();
            let list = match list {
                Layered::Plain(_) => Layered::Plain(value),
                Layered::Merged(Merged { strategy, dedup, discard_when_merged, .. }) => {
                    let (strategy, dedup) = (*strategy, *dedup);
                    let discard_when_merged = *discard_when_merged;
                    Layered::Merged(Merged { strategy, value, dedup, discard_when_merged })
                }
            };
            Layer { name: String::new(), list }
        };
        layers::merge(lists.map(external)).0
    }

    /// The profiles that the user's files define, lowest layer first.
    pub(crate) fn profiles(&self) -> Vec<Profile> {
        self.files.iter().flat_map(|file| file.profiles.iter().cloned()).collect()
    }

    /// The failure for `error`, with the rule's place in its file.
    pub(crate) fn locate(&self, error: &CompileError) -> Failure {
        let place = self.files.iter().find_map(|file| {
            let named = file.source.name == error.rule().layer;
            Some((&file.source, file.place_of(error.rule(), error.field()).filter(|_| named)?))
        });
        let Some((source, span)) = place else {
            return Failure::advised(error.to_string(), error.help());
        };
        let title = format!("`{}` cannot be a rule", error.path());
        let diagnostic = Diagnostic::at(source, span, title).label(error.problem().to_string());
        Failure::Configuration(Box::new(diagnostic.help(error.help())))
    }

    /// An error if no file defines the tool.
    fn check_tool(&self, name: &str) -> Result<(), Failure> {
        let is_known = self.tools().any(|(_, tool)| tool.name == name);
        if is_known { Ok(()) } else { Err(self.no_such_tool(name)) }
    }

    /// The tools of each file.
    fn tools(&self) -> impl Iterator<Item = (&File, &Tool)> {
        self.files.iter().flat_map(|file| file.tools.iter().map(move |tool| (file, tool)))
    }

    /// Rejects `access` on a tool that runs in the host or on a server. It could not be enforced, so it would be a
    /// false promise, whichever tool the run is for (spec §2.6, RFD 076).
    fn check_origins(&self) -> Result<(), Failure> {
        for (file, tool) in self.tools() {
            let name = &tool.name;
            if let (Some(span), Some(origin)) = (&tool.access, self.origin_elsewhere(name)) {
                return Err(Failure::Configuration(Box::new(
                    Diagnostic::at(
                        &file.source,
                        span.clone(),
                        format!("`access` on the {origin} tool `{name}`"),
                    )
                    .label("cannot be enforced: the tool does not run here")
                    .help("remove it, or make the tool `source = \"local\"`"),
                )));
            }
        }
        Ok(())
    }

    /// The origin of a tool that does not run here.
    fn origin_elsewhere(&self, tool: &str) -> Option<&str> {
        let tools = self.files.iter().rev().flat_map(|file| &file.tools);
        let origin = tools.filter(|known| known.name == tool).find_map(|it| it.origin.as_deref());
        origin.filter(|origin| matches!(origin.split('.').next(), Some("builtin" | "mcp")))
    }

    fn no_such_tool(&self, name: &str) -> Failure {
        let tools = self.files.iter().flat_map(|file| &file.tools);
        let names: BTreeSet<&str> = tools.map(|tool| tool.name.as_str()).collect();
        let names = Vec::from_iter(names);
        let advice = match nearest(name, &names) {
            Some(near) => format!("did you mean `{near}`?"),
            None if names.is_empty() => "no policy file defines a tool".to_owned(),
            None => format!("there are: {}", names.join(", ")),
        };
        Failure::advised(format!("no policy file has [tools.{}]", quote::path(name)), advice)
    }
}

/// The workspace's own file, at `path`.
fn own_file(path: &Path) -> Result<File, Failure> {
    let found = optional(path, Trust::Workspace)?;
    found.map_or_else(|| decode(path, Vec::new(), Trust::Workspace), Ok)
}

/// The file at `path`, if there is one. A broken symlink is an error, since it means that a policy is missing.
fn optional(path: &Path, trust: Trust) -> Result<Option<File>, Failure> {
    match files::read(path, LONGEST) {
        Ok(text) => decode(path, text, trust).map(Some),
        Err(error) if absent(&error) && path.symlink_metadata().is_err() => Ok(None),
        Err(error) => Err(unreadable(path, &error)),
    }
}

fn absent(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
}

/// Reads a named file: a descriptor that this process was given, even a pipe, or a regular file.
fn read_named(path: &Path) -> io::Result<Vec<u8>> {
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

fn decode(path: &Path, text: Vec<u8>, trust: Trust) -> Result<File, Failure> {
    let name = path.display().to_string();
    let text = String::from_utf8(text).map_err(|error| {
        let at = error.utf8_error().valid_up_to();
        Failure::own(format!("the policy file {} is not UTF-8 at byte {at}", quote::place(path)))
    })?;
    let notation = notation(path, &text);
    let source = Rc::new(Source::new(&name, text));
    decode::file(&source, notation, trust).map_err(Failure::Configuration)
}

/// The notation of a file by its extension. Without a known one, as for a pipe, its first character decides.
fn notation(path: &Path, text: &str) -> Notation {
    let by_text =
        || if text.trim_start().starts_with('{') { Notation::Json } else { Notation::Toml };
    Notation::named(path).unwrap_or_else(by_text)
}
