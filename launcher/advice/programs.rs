//! Suggests a rule for a program that no rule allows to start: the narrowest that does, tried on the evaluator.

use std::collections::BTreeMap;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use jp_confine_engine::canonical::{self, Op};
use jp_confine_engine::commands::{CommandRule, Listed, REST};
use jp_confine_engine::image::Image;
use jp_confine_engine::invocation::{self, Invocation};
use jp_confine_engine::rule_name::RuleName;

use crate::advice::advisor::Advice;
use crate::compile::prepared::Prepared;
use crate::compile::{image, programs};
use crate::config::decode_resources;
use crate::config::edit::rule_text;
use crate::host::context::Context;
use crate::record::command_line::CommandLine;
use crate::record::denial::Denial;
use crate::sys::path::path_of;
use crate::text::quote;

/// The programs that a run lists, and where the launcher looks for programs.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Programs<'a> {
    listed: &'a [Listed],
    context: &'a Context,
    workspace: &'a Path,
    private_temp: Option<&'a Path>,
}

impl<'a> Programs<'a> {
    /// The programs of a policy that lists any.
    pub(crate) fn of(context: &'a Context, prepared: &'a Prepared) -> Option<Self> {
        let listed = prepared.commands.as_deref()?;
        let private_temp = prepared.private_temp.as_deref();
        Some(Self { listed, context, workspace: prepared.root.as_path(), private_temp })
    }

    /// The rule that denied starting a program, for people.
    pub(super) fn rule(&self, denial: &Denial) -> RuleName {
        let line = CommandLine::of(denial);
        match self.about(denial, line.name()) {
            Some(listed) => named(listed),
            None => "access.commands does not list it".into(),
        }
    }

    /// The suggestion for a denied start.
    pub(super) fn advise(&self, denial: &Denial) -> Advice {
        let line = CommandLine::of(denial);
        let Some(key) = self.key(denial, &line) else {
            let name = quote::printable(line.name());
            return Advice::Never(format!(
                "its file is not called `{name}`: list a link to it that is"
            ));
        };
        if line.arguments().last().is_some_and(|last| *last == REST.as_bytes()) {
            let last = quote::path(REST);
            return Advice::Never(format!("no rule can: at the end `{last}` stands for any"));
        }
        let known = self.about(denial, line.name());
        let mut rule = known.map_or_else(CommandRule::default, |listed| listed.rule.clone());
        let passing = self.private_temp.and_then(Path::to_str);
        rule.args.get_or_insert_default().push(line.pattern(passing));
        let replaces = known.is_some();
        let addition = Listed { key, program: path_of(&denial.path).to_owned(), rule };
        if self.is_allowed_with(&addition, denial, &line) {
            Advice::Command { key: addition.key, rule: addition.rule, replaces }
        } else {
            Advice::Never("a run around this one may not list it either".to_owned())
        }
    }

    fn about(&self, denial: &Denial, name: &[u8]) -> Option<&Listed> {
        let program = path_of(&denial.path);
        let mut about = self.listed.iter().filter(|listed| listed.program == program);
        about.find(|listed| listed.name().as_bytes() == name)
    }

    /// The key of a program, by the name that it was called by. Either that name, if it means this file, or a path that
    /// ends in it.
    fn key(&self, denial: &Denial, line: &CommandLine<'_>) -> Option<String> {
        let name = std::str::from_utf8(line.name())
            .ok()
            .filter(|name| decode_resources::unsound(name).is_none())?;
        if let Some(listed) = self.about(denial, name.as_bytes()) {
            return Some(listed.key.clone());
        }
        let program = path_of(&denial.path);
        let meant = programs::along_path(self.context, name).and_then(|it| it.canonicalize().ok());
        if meant.as_deref() == Some(program) {
            return Some(name.to_owned());
        }
        let path = if program.file_name().is_some_and(|it| it.as_bytes() == name.as_bytes()) {
            program.to_owned()
        } else {
            self.link(line, program)?
        };
        let inside = path.strip_prefix(self.workspace).ok().and_then(Path::to_str);
        inside.map(|inside| format!("./{inside}")).or_else(|| path.to_str().map(str::to_owned))
    }

    /// The link by which the program was called, within the limits of a lookup by key. Looks at the disk.
    fn link(&self, line: &CommandLine<'_>, program: &Path) -> Option<PathBuf> {
        let path: PathBuf = self.workspace.join(path_of(line.called())).components().collect();
        let found = canonical::resolve(self.workspace, &path, Op::Content).ok()?;
        (found.path == program && path.ends_with(path_of(line.name()))).then_some(path)
    }

    fn is_allowed_with(&self, addition: &Listed, denial: &Denial, line: &CommandLine<'_>) -> bool {
        let mut listed: Vec<Listed> = self.listed.to_vec();
        listed.retain(|known| known.key != addition.key);
        listed.push(addition.clone());
        let image = programs::image_of(&listed);
        let allows = |image: &Image<'_>| {
            let arguments = line.arguments();
            let invocation = Invocation {
                program: &denial.path,
                called: line.name(),
                arguments: arguments.len(),
            };
            let mut is = |at: usize, word: &[u8]| arguments.get(at).is_some_and(|it| *it == word);
            invocation::judge(image, &invocation, &mut is).is_ok()
        };
        image.is_ok_and(|image| image::parse_image(&image).is_ok_and(|image| allows(&image)))
    }
}

/// Makes each rule list all argument patterns of its key, since a file has one rule for each key.
pub(super) fn unite(all: &mut [Advice]) {
    let mut listed: BTreeMap<String, Vec<Vec<String>>> = BTreeMap::new();
    for advice in all.iter() {
        let Advice::Command { key, rule, .. } = advice else { continue };
        let known = listed.entry(key.clone()).or_default();
        for line in rule.args.iter().flatten() {
            if !known.contains(line) {
                known.push(line.clone());
            }
        }
    }
    for advice in all {
        if let Advice::Command { key, rule, .. } = advice {
            rule.args = listed.get(key).cloned();
        }
    }
}

/// A rule, by its key and its place.
fn named(listed: &Listed) -> RuleName {
    let place = listed.rule.source.place();
    let words = place.as_ref().map(|place| format!(" ({place})")).unwrap_or_default();
    RuleName::written(format!("{}{words}", rule_text::command_table(&listed.key)), place.as_ref())
}
