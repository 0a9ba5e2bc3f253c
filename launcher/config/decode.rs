//! Decodes a document into rules, or into an error that points at the wrong word.
//!
//! No key is skipped in silence. An unknown key is a typo that would change a security rule [R17]. A key that this
//! version does not enforce would be a false promise (spec §13).

use std::ops::Range;
use std::rc::Rc;
use std::sync::Arc;

use camino::Utf8PathBuf;
use jp_confine_engine::file_policy::FilePolicy;
use jp_confine_engine::layers::Layered;
use jp_confine_engine::model::{FsRule, RuleSource};
use jp_confine_engine::tier::Tier;
use serde::Deserialize;
use toml::de::DeValue;

use super::decode_resources::{self, Resources};
pub(crate) use super::decode_tools::Tool;
use super::document::{self, Node, Notation, TableEntry};
use super::extends::Extension;
use super::typed;
use crate::config::profile::Profile;
use crate::error::diagnostic::Diagnostic;
use crate::error::source::Source;

/// Result of decoding one part of a file.
pub(super) type Decoded<T> = Result<T, Box<Diagnostic>>;

/// The possible author of a file (spec §18).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Trust {
    /// The user. The file may define profiles, which grant absolute paths.
    User,
    /// Anybody who can commit to the workspace.
    Workspace,
}

/// A decoded file.
#[derive(Debug)]
pub(crate) struct File {
    pub(crate) source: Rc<Source>,
    pub(crate) notation: Notation,
    pub(crate) trust: Trust,
    /// `access.fs` of the run.
    pub(crate) fs: Option<Layered<FsRule>>,
    pub(crate) tiers: Option<FilePolicy>,
    /// `access.sensitive_paths`.
    pub(crate) sensitive: Vec<String>,
    /// `access.autorun_paths`.
    pub(crate) autorun: Vec<String>,
    /// The rest of `access` of the run.
    pub(crate) resources: Resources,
    pub(crate) tools: Vec<Tool>,
    pub(crate) profiles: Vec<Profile>,
    /// The files that a JP file extends. `None` if it does not say so.
    pub(crate) extends: Option<Vec<Extension>>,
    /// Whether it is one of JP's.
    pub(crate) is_jp: bool,
    /// Whether its rules are compiled ones, from a host or from `compile`.
    pub(crate) is_received: bool,
    /// Targets that the author of received rules approved: the rule's path, and the target.
    pub(crate) approved: Vec<(Utf8PathBuf, Utf8PathBuf)>,
    marks: Vec<Mark>,
    patterns: Vec<Written>,
}

/// The place of a pattern of paths in a file.
#[derive(Debug)]
struct Written {
    /// The key of its list.
    field: &'static str,
    text: String,
    line: u32,
}

/// An `access` table.
#[derive(Debug, Default)]
pub(super) struct AccessTable {
    pub(super) fs: Option<Layered<FsRule>>,
    pub(super) sensitive: Vec<String>,
    pub(super) autorun: Vec<String>,
    pub(super) resources: Resources,
}

/// The place of a rule in a file, for errors that show only when the rule is compared with the disk.
#[derive(Debug)]
struct Mark {
    rule: RuleSource,
    /// The value of `path`.
    path: Range<usize>,
    /// The whole rule.
    whole: Range<usize>,
}

impl File {
    /// The place of the value of `path` in a rule of this file, or for another field the place of the rule.
    pub(crate) fn place_of(&self, rule: &RuleSource, field: &str) -> Option<Range<usize>> {
        let mark = self.marks.iter().find(|mark| mark.rule == *rule)?;
        Some(if field == "path" { mark.path.clone() } else { mark.whole.clone() })
    }

    /// The line of the pattern `text` in the list `field`.
    pub(crate) fn line_of_pattern(&self, field: &str, text: &str) -> Option<u32> {
        let it = self.patterns.iter().find(|it| it.field == field && it.text == text)?;
        Some(it.line)
    }
}

/// The first keys of JP's own files.
const JP: [&str; 11] = [
    "assistant",
    "config_load_paths",
    "conversation",
    "editor",
    "extends",
    "inherit",
    "interrupt",
    "plugins",
    "providers",
    "style",
    "template",
];

/// The first keys of a compiled policy. Policies that people write have `access` around the rules.
const RECEIVED: [&str; 4] = ["root", "fs", "net", "env"];

/// Who wrote a file, and whether its name was typed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Origin {
    pub(crate) trust: Trust,
    /// Such a file may be one of JP's, or a compiled policy. In jp-confine's own files every unknown key is a typo.
    pub(crate) is_named: bool,
}

/// Decodes the text of a policy file.
pub(crate) fn file(source: &Rc<Source>, notation: Notation, origin: Origin) -> Decoded<File> {
    let root = document::parse(source, notation)?;
    let mut decoder = Decoder::new(source);
    let trust = origin.trust;
    let entries = decoder.table(&root)?;
    let has = |keys: &[&str]| entries.iter().any(|entry| keys.contains(&entry.name()));
    let is_jp = has(&["conversation"]) || (origin.is_named && has(&JP));
    let is_received = origin.is_named && !is_jp && has(&RECEIVED);
    let mut parts = Parts::default();
    if is_received {
        decoder.received(entries, trust, &mut parts)?;
    } else {
        for entry in entries {
            decoder.part(entry, trust, is_jp, &mut parts)?;
        }
    }
    let Decoder { marks, patterns, .. } = decoder;
    let AccessTable { fs, sensitive, autorun, resources } = parts.access;
    let source = Rc::clone(source);
    Ok(File {
        source,
        notation,
        trust,
        fs,
        tiers: parts.tiers,
        sensitive,
        autorun,
        resources,
        tools: parts.tools,
        profiles: parts.profiles,
        extends: parts.extends,
        is_jp,
        is_received,
        approved: parts.approved,
        marks,
        patterns,
    })
}

/// The decoded tables of a file.
#[derive(Debug, Default)]
pub(super) struct Parts {
    pub(super) access: AccessTable,
    pub(super) tiers: Option<FilePolicy>,
    pub(super) approved: Vec<(Utf8PathBuf, Utf8PathBuf)>,
    tools: Vec<Tool>,
    profiles: Vec<Profile>,
    extends: Option<Vec<Extension>>,
}

impl Decoder<'_> {
    /// Decodes one of the first keys of a file.
    fn part(
        &mut self,
        entry: TableEntry<'_, '_>,
        trust: Trust,
        is_jp: bool,
        into: &mut Parts,
    ) -> Decoded<()> {
        match entry.name() {
            "access" => into.access = self.access(entry.value)?,
            "file_policy" => into.tiers = Some(self.file_policy(entry.value, trust)?),
            "tools" => self.tools(entry.value, trust, false, &mut into.tools)?,
            "conversation" => {
                for inner in self.table(entry.value)? {
                    if inner.name() == "tools" {
                        self.tools(inner.value, trust, true, &mut into.tools)?;
                    }
                }
            }
            "extends" if is_jp => into.extends = Some(self.read(entry.value)?),
            "profiles" if trust == Trust::User => {
                for inner in self.table(entry.value)? {
                    into.profiles.push(self.profile(inner.name(), inner.value)?);
                }
            }
            "profiles" => {
                return Err(Box::new(
                    self.at(entry.key.span(), "profiles are not defined in a workspace")
                        .label("this file may be anybody's")
                        .help(
                            "profiles grant paths outside the workspace: define them in the user \
                             configuration, or in a --policy file outside the workspace",
                        ),
                ));
            }
            // For editors.
            "$schema" => drop(self.read::<String>(entry.value)?),
            "mounts" | "approvals" | "enforce" | "isolated" => return self.not_enforced(entry),
            _ if is_jp => {}
            key if Tier::ALL.iter().any(|tier| tier.field() == key) => {
                return Err(Box::new(
                    self.at(entry.key.span(), format!("`{key}` outside of `file_policy`"))
                        .label("a key of `[file_policy]`")
                        .help("write it below `[file_policy]`"),
                ));
            }
            _ => {
                let known = ["$schema", "access", "file_policy", "tools", "profiles"];
                return self.unknown(entry, &known);
            }
        }
        Ok(())
    }
}

/// Decodes the file of a built-in profile or the baseline.
#[cfg(test)]
pub(crate) fn built_in(name: &str, text: &str) -> Decoded<Profile> {
    let source = Rc::new(Source::new(&format!("profiles/{name}.toml"), text.to_owned()));
    let root = document::parse(&source, Notation::Toml)?;
    Decoder::new(&source).profile(name, &root)
}

pub(super) struct Decoder<'a> {
    source: &'a Rc<Source>,
    marks: Vec<Mark>,
    patterns: Vec<Written>,
    /// The last place whose line was looked up, and how many lines end before it. Rules come in order, so the text is
    /// read only once for the lines of all of them.
    counted: (usize, usize),
}

impl<'a> Decoder<'a> {
    fn new(source: &'a Rc<Source>) -> Self {
        Self { source, marks: Vec::new(), patterns: Vec::new(), counted: (0, 0) }
    }
}

impl Decoder<'_> {
    pub(super) fn access(&mut self, node: &Node<'_>) -> Decoded<AccessTable> {
        let mut access = AccessTable::default();
        for entry in self.table(node)? {
            match entry.name() {
                "fs" => access.fs = Some(self.file_rules(entry)?),
                _ => self.access_besides(&["fs"], entry, &mut access)?,
            }
        }
        Ok(access)
    }

    /// Decodes one key of `access` besides `others`, which stand beside it.
    pub(super) fn access_besides(
        &mut self,
        others: &[&str],
        entry: TableEntry<'_, '_>,
        into: &mut AccessTable,
    ) -> Decoded<()> {
        match entry.name() {
            "sensitive_paths" => into.sensitive = self.patterns("sensitive_paths", entry.value)?,
            "autorun_paths" => into.autorun = self.patterns("autorun_paths", entry.value)?,
            key if decode_resources::KEYS.contains(&key) => {
                self.resource(entry, &mut into.resources)?;
            }
            _ => {
                let lists = ["sensitive_paths", "autorun_paths"];
                let known = [others, &lists, &decode_resources::KEYS].concat();
                return self.unknown(entry, &known);
            }
        }
        Ok(())
    }

    /// Records the place of a rule.
    pub(super) fn mark(&mut self, rule: RuleSource, path: Range<usize>, whole: Range<usize>) {
        self.marks.push(Mark { rule, path, whole });
    }

    fn file_rules(&mut self, entry: TableEntry<'_, '_>) -> Decoded<Layered<FsRule>> {
        let mut list: Layered<FsRule> = self.list(entry)?;
        for (index, rule, node) in typed::rules(&mut list, entry.value) {
            let path = document::find(node, &["path"]).unwrap_or(node).span();
            let source = self.source_of(index, path.start);
            *rule = rule.clone().with_source(source.clone());
            self.mark(source, path, node.span());
        }
        Ok(list)
    }

    /// The source of a rule that begins at byte `offset`.
    pub(super) fn source_of(&mut self, index: usize, offset: usize) -> RuleSource {
        let layer = Arc::clone(&self.source.name);
        RuleSource { layer, index, line: Some(self.line(offset)) }
    }

    /// The 1-based line that holds byte `offset`.
    pub(super) fn line(&mut self, offset: usize) -> u32 {
        let (place, before) = if offset < self.counted.0 { (0, 0) } else { self.counted };
        self.counted = (offset, before + self.source.breaks(place..offset));
        u32::try_from(self.counted.1).unwrap_or(u32::MAX).saturating_add(1)
    }

    /// Records the place of a pattern of the list `field`.
    pub(super) fn note_pattern(&mut self, field: &'static str, text: &str, offset: usize) {
        let (text, line) = (text.to_owned(), self.line(offset));
        self.patterns.push(Written { field, text, line });
    }

    /// Reads a value as a type of the policy.
    pub(super) fn read<'a, T: Deserialize<'a>>(&self, node: &Node<'a>) -> Decoded<T> {
        typed::read(self.source, node)
    }

    pub(super) fn table<'n, 'a>(&self, node: &'n Node<'a>) -> Decoded<Vec<TableEntry<'n, 'a>>> {
        match node.get_ref() {
            DeValue::Table(_) => Ok(document::entries(node)),
            _ => self.expected(node, "a table"),
        }
    }

    pub(super) fn at(&self, span: Range<usize>, title: impl Into<String>) -> Diagnostic {
        Diagnostic::at(self.source, span, title)
    }

    pub(super) fn expected<T>(&self, node: &Node<'_>, wanted: &str) -> Decoded<T> {
        Err(Box::new(self.at(node.span(), format!("expected {wanted}")).label("this is none")))
    }

    pub(super) fn unknown<T>(&self, entry: TableEntry<'_, '_>, known: &[&str]) -> Decoded<T> {
        Err(Box::new(typed::unknown_key(self.source, entry.key.span(), entry.name(), known)))
    }

    /// The error for a key that only a later version enforces. If it were accepted now, a restriction would be ignored.
    fn not_enforced<T>(&self, entry: TableEntry<'_, '_>) -> Decoded<T> {
        Err(Box::new(
            self.at(
                entry.key.span(),
                format!("`{}` is not enforced by this version", entry.name()),
            )
            .label("would be ignored")
            .help("remove it, or keep it in a file that this version is not given"),
        ))
    }
}
