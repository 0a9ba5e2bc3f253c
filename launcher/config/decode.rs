//! Decodes a document into rules, or into an error that points at the wrong word.
//!
//! No key is skipped in silence. An unknown key is a typo that would change a security rule [R17]. A key that this
//! version does not enforce would be a false promise (spec §13).

use std::ops::Range;
use std::rc::Rc;
use std::sync::Arc;

use jp_confine_engine::Capability;
use jp_confine_engine::file_policy::FilePolicy;
use jp_confine_engine::layers::Layered;
use jp_confine_engine::model::{FsRule, RuleSource};
use jp_confine_engine::tier::Tier;

use super::decode_resources::{self, Resources};
pub(crate) use super::decode_tools::Tool;
use super::document::{self, Notation, TableEntry, Value, ValueNode};
use crate::config::profile::Profile;
use crate::error::Failure;
use crate::error::diagnostic::{Diagnostic, nearest};
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

    /// Whether it is written as TOML.
    pub(super) const fn is_toml(&self) -> bool {
        matches!(self.notation, Notation::Toml)
    }

    /// Whether it has a value under these keys.
    pub(super) fn has(&self, keys: &[&str]) -> bool {
        let root = document::parse(&self.source, self.notation);
        root.is_ok_and(|root| root.find(keys).is_some())
    }

    /// The line of the pattern `text` in the list `field`.
    pub(crate) fn line_of_pattern(&self, field: &str, text: &str) -> Option<u32> {
        let it = self.patterns.iter().find(|it| it.field == field && it.text == text)?;
        Some(it.line)
    }
}

/// Decodes the text of a policy file.
pub(crate) fn file(source: &Rc<Source>, notation: Notation, trust: Trust) -> Decoded<File> {
    let root = document::parse(source, notation)?;
    let mut decoder = Decoder::new(source);
    let entries = decoder.table(&root)?;
    let is_jp = entries.iter().any(|entry| entry.key == "conversation");
    let (mut access, mut tiers) = (AccessTable::default(), None);
    let (mut tools, mut profiles) = (Vec::new(), Vec::new());
    for entry in entries {
        match &*entry.key {
            "access" => access = decoder.access(&entry.value)?,
            "file_policy" => tiers = Some(decoder.file_policy(&entry.value, trust)?),
            "tools" => decoder.tools(&entry.value, trust, false, &mut tools)?,
            "conversation" => {
                for inner in decoder.table(&entry.value)? {
                    if inner.key == "tools" {
                        decoder.tools(&inner.value, trust, true, &mut tools)?;
                    }
                }
            }
            "profiles" if trust == Trust::User => {
                for inner in decoder.table(&entry.value)? {
                    profiles.push(decoder.profile(&inner.key, &inner.value)?);
                }
            }
            "profiles" => {
                return Err(Box::new(
                    decoder
                        .at(&entry.key_span, "profiles are not defined in a workspace")
                        .label("this file may be anybody's")
                        .help(
                            "profiles grant paths outside the workspace: define them in the user \
                             configuration, or in a --policy file outside the workspace",
                        ),
                ));
            }
            "mounts" | "approvals" | "enforce" | "isolated" => {
                return decoder.not_enforced(entry);
            }
            _ if is_jp => {}
            key if Tier::ALL.iter().any(|tier| tier.field() == key) => {
                return Err(Box::new(
                    decoder
                        .at(&entry.key_span, format!("`{key}` outside of `file_policy`"))
                        .label("a key of `[file_policy]`")
                        .help("write it below `[file_policy]`"),
                ));
            }
            _ => return decoder.unknown(entry, &["access", "file_policy", "tools", "profiles"]),
        }
    }
    let Decoder { marks, patterns, .. } = decoder;
    let AccessTable { fs, sensitive, autorun, resources } = access;
    let source = Rc::clone(source);
    Ok(File {
        source,
        notation,
        trust,
        fs,
        tiers,
        sensitive,
        autorun,
        resources,
        tools,
        profiles,
        marks,
        patterns,
    })
}

/// Decodes a built-in profile or the baseline.
pub(crate) fn built_in(name: &str, text: &str) -> Result<Profile, Failure> {
    let source = Rc::new(Source::new(&format!("profiles/{name}.toml"), text.to_owned()));
    let root = document::parse(&source, Notation::Toml).map_err(Failure::Configuration)?;
    let mut decoder = Decoder::new(&source);
    decoder.profile(name, &root).map_err(Failure::Configuration)
}

pub(super) struct Decoder<'a> {
    source: &'a Rc<Source>,
    marks: Vec<Mark>,
    patterns: Vec<Written>,
    /// See [`Resources::unsaid`].
    pub(super) unsaid: Option<(RuleSource, String)>,
    /// The last place whose line was looked up, and how many lines end before it. Rules come in order, so the text is
    /// read only once for the lines of all of them.
    counted: (usize, usize),
}

const RULE_KEYS: [&str; 8] =
    ["path", "external", "read", "write", "create", "update", "delete", "execute"];

impl<'a> Decoder<'a> {
    fn new(source: &'a Rc<Source>) -> Self {
        Self { source, marks: Vec::new(), patterns: Vec::new(), unsaid: None, counted: (0, 0) }
    }
}

impl Decoder<'_> {
    pub(super) fn access(&mut self, node: &ValueNode<'_>) -> Decoded<AccessTable> {
        let mut access = AccessTable::default();
        for entry in self.table(node)? {
            match &*entry.key {
                "fs" => {
                    access.fs = Some(self.list("fs", &RULE_KEYS, &entry.value, Self::rule)?);
                }
                "sensitive_paths" => {
                    access.sensitive = self.patterns("sensitive_paths", &entry.value)?;
                }
                "autorun_paths" => {
                    access.autorun = self.patterns("autorun_paths", &entry.value)?;
                }
                key if decode_resources::KEYS.contains(&key) => {
                    self.resource(entry, &mut access.resources)?;
                }
                _ => {
                    let others = ["fs", "sensitive_paths", "autorun_paths"];
                    let known: Vec<&str> =
                        others.into_iter().chain(decode_resources::KEYS).collect();
                    return self.unknown(entry, &known);
                }
            }
        }
        Ok(access)
    }

    fn rule(&mut self, index: usize, node: &ValueNode<'_>) -> Decoded<FsRule> {
        let entries = self.table(node)?;
        let Some(path) = entries.iter().find(|entry| entry.key == "path") else {
            let misspelled = entries.iter().find(|entry| {
                !RULE_KEYS.contains(&&*entry.key) && nearest(&entry.key, &RULE_KEYS) == Some("path")
            });
            return match misspelled {
                Some(entry) => self.unknown(entry, &RULE_KEYS),
                None => Err(Box::new(
                    self.at(&node.span, "a rule without `path`")
                        .label("which path is this about?")
                        .help(
                            "add `path = \"…\"`, relative to the workspace; `.` is the workspace",
                        ),
                )),
            };
        };
        let mut rule = FsRule::new(self.string(&path.value)?);
        for entry in entries {
            rule = match &*entry.key {
                "path" => rule,
                "external" => rule.with_external(self.boolean(&entry.value)?),
                "write" => rule.with_write(self.boolean(&entry.value)?),
                key => match Capability::from_name(key) {
                    Some(capability) => rule.with(capability, self.boolean(&entry.value)?),
                    None => return self.unknown(entry, &RULE_KEYS),
                },
            };
        }
        let source =
            RuleSource { layer: self.layer(), index, line: Some(self.line(path.key_span.start)) };
        self.marks.push(Mark {
            rule: source.clone(),
            path: path.value.span.clone(),
            whole: node.span.clone(),
        });
        Ok(rule.with_source(source))
    }

    /// The name of the file in the sources of rules.
    pub(super) fn layer(&self) -> Arc<str> {
        Arc::clone(&self.source.name)
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

    pub(super) fn table<'n>(&self, node: &'n ValueNode<'n>) -> Decoded<&'n [TableEntry<'n>]> {
        match &node.value {
            Value::Table(entries) => Ok(entries),
            _ => self.expected(node, "a table", ""),
        }
    }

    pub(super) fn string<'n>(&self, node: &'n ValueNode<'n>) -> Decoded<&'n str> {
        match &node.value {
            Value::String(text) => Ok(text),
            _ => self.expected(node, "a string", "put it in double quotes"),
        }
    }

    pub(super) fn strings(&self, node: &ValueNode<'_>) -> Decoded<Vec<String>> {
        match &node.value {
            Value::Array(items) => {
                items.iter().map(|item| Ok(self.string(item)?.to_owned())).collect()
            }
            _ => self.expected(node, "a list of strings", "write `[\"…\"]`"),
        }
    }

    pub(super) fn boolean(&self, node: &ValueNode<'_>) -> Decoded<bool> {
        match &node.value {
            Value::Boolean(boolean) => Ok(*boolean),
            _ => self.expected(node, "a boolean", "write `true` or `false`, without quotes"),
        }
    }

    pub(super) fn at(&self, span: &Range<usize>, title: impl Into<String>) -> Diagnostic {
        Diagnostic::at(self.source, span.clone(), title)
    }

    pub(super) fn expected<T>(&self, node: &ValueNode<'_>, wanted: &str, help: &str) -> Decoded<T> {
        let diagnostic = self
            .at(&node.span, format!("expected {wanted}"))
            .label(format!("this is {}", node.value.kind()));
        Err(Box::new(if help.is_empty() { diagnostic } else { diagnostic.help(help) }))
    }

    pub(super) fn unknown<T>(&self, entry: &TableEntry<'_>, known: &[&str]) -> Decoded<T> {
        let help = match nearest(&entry.key, known) {
            Some(near) => format!("did you mean `{near}`?"),
            None => format!("expected one of: {}", known.join(", ")),
        };
        Err(Box::new(
            self.at(&entry.key_span, format!("unknown key `{}`", entry.key))
                .label("not a key of this table")
                .help(help),
        ))
    }

    /// The error for a key that only a later version enforces. If it were accepted now, a restriction would be ignored.
    fn not_enforced<T>(&self, entry: &TableEntry<'_>) -> Decoded<T> {
        Err(Box::new(
            self.at(&entry.key_span, format!("`{}` is not enforced by this version", entry.key))
                .label("would be ignored")
                .help("remove it, or keep it in a file that this version is not given"),
        ))
    }
}
