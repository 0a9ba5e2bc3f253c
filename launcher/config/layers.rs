//! Reads the configuration files in their order, and merges their rules (spec §18 "Layers").

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use camino::Utf8PathBuf;
use jp_confine_engine::Capability;
use jp_confine_engine::canonical::{Op, Root};
use jp_confine_engine::compile_error::CompileError;
use jp_confine_engine::layers::{self, Layer, Layered, Merged};
use jp_confine_engine::model::FsRule;
use jp_confine_engine::warning::Warning;

use super::decode::{File, Tool, Trust};
use super::policy_files::{self, Named, NamedFiles};
use super::scope::Scope;
use crate::config::profile::Profile;
use crate::error::Failure;
use crate::error::diagnostic::{Diagnostic, nearest};
use crate::error::source::Source;
use crate::host::context::Context;
use crate::host::workspace;
use crate::text::quote;

/// All configuration files of a run, lowest layer first.
#[derive(Debug)]
pub(crate) struct Layers {
    files: Vec<File>,
    /// The index of the workspace's own file. It is an empty one if the workspace has none.
    own: usize,
    /// The canonical files given with `--policy`, and the symlinks that lead to them. No confined program may change
    /// them.
    pub(crate) policy_files: Vec<PathBuf>,
    /// Warnings about files that were not found.
    pub(crate) warnings: Vec<String>,
}

/// The merged rules of `access.fs`.
#[derive(Debug)]
pub(crate) struct Declared {
    /// `None` if no rule is declared.
    pub(crate) rules: Option<Vec<FsRule>>,
    pub(crate) warnings: Vec<Warning>,
    /// The scopes with external rules: a run without a tool, and every enabled tool that runs here.
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
    /// Reads the user configuration, the file of the workspace at `root`, and those that the command line names.
    pub(crate) fn load(context: &Context, root: &Path, named: Named<'_>) -> Result<Self, Failure> {
        let mut files = Vec::new();
        if let Some(file) = context.configuration() {
            files.extend(policy_files::optional(&file, Trust::User)?);
        }
        let own = files.len();
        files.push(policy_files::own(&root.join(workspace::FILE))?);
        let NamedFiles { files: mut others, places, warnings } =
            NamedFiles::read(context, root, named)?;
        files.append(&mut others);
        let layers = Self { files, own, policy_files: places, warnings };
        layers.check_origins()?;
        Ok(layers)
    }

    /// The targets that the authors of received rules approved, by the rules' paths.
    pub(crate) fn approved(&self) -> impl Iterator<Item = &(Utf8PathBuf, Utf8PathBuf)> {
        self.files.iter().flat_map(|file| &file.approved)
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
        let is_offered = |name: &&str| self.runs_here(name) && self.is_enabled(name);
        let mut names: Vec<&str> = tools.filter(is_offered).collect();
        names.sort_unstable();
        names.dedup();
        std::iter::once(None)
            .chain(names.into_iter().map(Some))
            .map(|tool| Scope { tool: tool.map(str::to_owned), rules: self.external_rules(tool) })
            .filter(|scope| !scope.rules.is_empty())
            .collect()
    }

    /// The words that start `tool`, from the highest layer that says so. Empty if none does.
    pub(crate) fn command_of(&self, tool: &str) -> &[String] {
        let mut commands = self.tables_of(tool).map(|known| &known.command);
        commands.find(|words| !words.is_empty()).map_or(&[], Vec::as_slice)
    }

    /// Whether a host offers the tool.
    fn is_enabled(&self, tool: &str) -> bool {
        self.tables_of(tool).find_map(|known| known.enabled).unwrap_or(true)
    }

    /// The tables of a tool, that of the highest layer first.
    fn tables_of(&self, tool: &str) -> impl Iterator<Item = &Tool> {
        let tools = self.files.iter().rev().flat_map(|file| &file.tools);
        tools.filter(move |known| known.name == tool)
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
        let origin = self.tables_of(tool).find_map(|it| it.origin.as_deref());
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
