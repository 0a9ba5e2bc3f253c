//! Defines the policy as people write it (spec §2.2) and as tools receive it (spec §2.3, §2.5).

use std::fmt;
use std::string::String;
use std::sync::Arc;
use std::vec::Vec;

use camino::{Utf8Path, Utf8PathBuf};
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::file_policy::FilePolicy;
use crate::lexical::{self, LexicalError};
use crate::rule_name::FileLine;
use crate::{Capabilities, Capability};

/// Uses the lower-case name.
impl Serialize for Capability {
    fn serialize<S: Serializer>(&self, out: S) -> Result<S::Ok, S::Error> {
        out.serialize_str(self.as_str())
    }
}

impl<'de> Deserialize<'de> for Capability {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let name = String::deserialize(from)?;
        Self::from_name(&name)
            .ok_or_else(|| D::Error::custom("expected read, create, update, delete or execute"))
    }
}

/// Its names.
#[cfg(feature = "schema")]
impl schemars::JsonSchema for Capability {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Capability".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        let names: Vec<&str> = Self::ALL.iter().map(|capability| capability.as_str()).collect();
        schemars::json_schema!({ "type": "string", "enum": names })
    }
}

/// The layer of the rules that stand for flags on the command line.
pub const TYPED: &str = "flags";

/// A policy for one tool or one run.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Policy {
    /// Absent: the file system is unrestricted, but only inside the workspace (spec §2.1).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub access: Option<Access>,
    /// The tier layer. Absent: there is none (spec §9).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file_policy: Option<FilePolicy>,
}

impl Policy {
    /// The declared file-system rules, or `None` if nothing is declared. An empty list also means that. Spec §2.1
    /// judges this for each resource type, after the layers are merged.
    #[must_use]
    pub fn declared_fs(&self) -> Option<&[FsRule]> {
        let rules = &self.access.as_ref()?.fs;
        (!rules.is_empty()).then_some(rules)
    }
}

/// The rules of a policy, by resource type.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Access {
    /// File-system rules in declared order. A non-empty list means default-deny.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub fs: Vec<FsRule>,
    /// Patterns added to the list of sensitive paths (spec §10).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub sensitive_paths: Vec<String>,
    /// Patterns added to the list of auto-run files (spec §10.1).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub autorun_paths: Vec<String>,
}

/// Where a rule was written. It travels with the rule for messages and is never serialised.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RuleSource {
    /// The layer as a person knows it: a file name, or `flags`.
    pub layer: Arc<str>,
    /// Position within the layer's list, from 0.
    pub index: usize,
    /// Line in the layer's file, from 1.
    pub line: Option<u32>,
}

impl RuleSource {
    /// The line of the file. `None` for a rule that is in no file.
    #[must_use]
    pub fn place(&self) -> Option<FileLine> {
        let in_file = !matches!(&*self.layer, "" | TYPED);
        self.line.filter(|_| in_file).map(|line| FileLine { file: Arc::clone(&self.layer), line })
    }
}

impl fmt::Display for RuleSource {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "access.fs rule {}", self.index + 1)?;
        if !self.layer.is_empty() {
            write!(out, " of {}", self.layer)?;
        }
        match self.line {
            Some(line) => write!(out, " (line {line})"),
            None => Ok(()),
        }
    }
}

/// One file-system rule as written (spec §2.2, RFD 076).
///
/// Two rules are equal when they say the same, wherever they were written.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct FsRule {
    /// The path, relative to the workspace. `.` is the workspace. No patterns.
    #[cfg_attr(feature = "schema", schemars(with = "String"))]
    path: Utf8PathBuf,
    /// Whether the path is a symlink that may lead out of the workspace, to an approved target.
    #[serde(default, skip_serializing_if = "is_false")]
    external: bool,
    /// Read files, list directories.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    read: Option<bool>,
    /// `create`, `update` and `delete` together. One that is named overrides it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    write: Option<bool>,
    /// Create files and directories.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    create: Option<bool>,
    /// Change what exists: contents, mode, times.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    update: Option<bool>,
    /// Delete, and move away.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    delete: Option<bool>,
    /// Start programs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    execute: Option<bool>,
    #[serde(skip)]
    source: RuleSource,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "the signature that serde calls")]
const fn is_false(value: &bool) -> bool {
    !*value
}

impl FsRule {
    /// A rule on `path`, workspace-relative and literal (no glob meaning), that denies everything
    /// until a capability is set.
    #[must_use]
    pub fn new(path: impl Into<Utf8PathBuf>) -> Self {
        Self {
            path: path.into(),
            external: false,
            read: None,
            write: None,
            create: None,
            update: None,
            delete: None,
            execute: None,
            source: RuleSource::default(),
        }
    }

    /// The rule with one capability set or, with `false`, denied explicitly.
    #[must_use]
    pub const fn with(mut self, capability: Capability, granted: bool) -> Self {
        let field = match capability {
            Capability::Read => &mut self.read,
            Capability::Create => &mut self.create,
            Capability::Update => &mut self.update,
            Capability::Delete => &mut self.delete,
            Capability::Execute => &mut self.execute,
        };
        *field = Some(granted);
        self
    }

    /// The rule with the `write` alias set. It is the value of create, update and delete if they are not set
    /// themselves.
    #[must_use]
    pub const fn with_write(mut self, granted: bool) -> Self {
        self.write = Some(granted);
        self
    }

    /// The rule with the acknowledgement that its path may lead outside the workspace (RFD D43).
    #[must_use]
    pub const fn with_external(mut self, external: bool) -> Self {
        self.external = external;
        self
    }

    /// The rule with a note of where it was written.
    #[must_use]
    pub fn with_source(mut self, source: RuleSource) -> Self {
        self.source = source;
        self
    }

    /// The path as written.
    #[must_use]
    pub fn path(&self) -> &Utf8Path {
        &self.path
    }

    /// The path in normal form (spec §3), which identifies an external rule. Empty for the workspace itself.
    ///
    /// # Errors
    /// [`LexicalError`] if it is not a path below the workspace.
    pub fn lexical_path(&self) -> Result<Utf8PathBuf, LexicalError> {
        let normal = lexical::normalise(self.path.as_str().as_bytes())?;
        // Whole components of UTF-8 are UTF-8.
        Ok(Utf8PathBuf::from(normal.to_string_lossy().into_owned()))
    }

    /// Whether the path is allowed to lead outside the workspace.
    #[must_use]
    pub const fn external(&self) -> bool {
        self.external
    }

    /// Where the rule was written.
    #[must_use]
    pub const fn source(&self) -> &RuleSource {
        &self.source
    }

    /// Whether files may be read and directories listed.
    #[must_use]
    pub fn read(&self) -> bool {
        self.read.unwrap_or(false)
    }

    /// Whether entries may be created.
    #[must_use]
    pub fn create(&self) -> bool {
        self.create.or(self.write).unwrap_or(false)
    }

    /// Whether existing files may be changed.
    #[must_use]
    pub fn update(&self) -> bool {
        self.update.or(self.write).unwrap_or(false)
    }

    /// Whether entries may be removed.
    #[must_use]
    pub fn delete(&self) -> bool {
        self.delete.or(self.write).unwrap_or(false)
    }

    /// Whether files may be run as programs.
    #[must_use]
    pub fn execute(&self) -> bool {
        self.execute.unwrap_or(false)
    }

    /// The effective capabilities, with the alias expanded.
    #[must_use]
    pub fn capabilities(&self) -> Capabilities {
        Capabilities::NONE
            .with_if(self.read(), Capabilities::READ)
            .with_if(self.create(), Capabilities::CREATE)
            .with_if(self.update(), Capabilities::UPDATE)
            .with_if(self.delete(), Capabilities::DELETE)
            .with_if(self.execute(), Capabilities::EXECUTE)
    }

    /// The wire form of this rule at the given place (spec §2.3).
    pub(crate) fn compiled(
        &self,
        lexical_path: Utf8PathBuf,
        approved_target: Option<Utf8PathBuf>,
    ) -> CompiledRule {
        CompiledRule {
            lexical_path,
            external: approved_target.is_some(),
            approved_target,
            read: self.read,
            write: self.write,
            create: self.create,
            update: self.update,
            delete: self.delete,
            execute: self.execute,
        }
    }

    fn meaning(&self) -> (&Utf8Path, bool, [Option<bool>; 6]) {
        let fields = [self.read, self.write, self.create, self.update, self.delete, self.execute];
        (&self.path, self.external, fields)
    }
}

impl PartialEq for FsRule {
    fn eq(&self, other: &Self) -> bool {
        self.meaning() == other.meaning()
    }
}

impl Eq for FsRule {}

/// The file-system rules a tool receives to check itself: `{"fs":[…]}` (spec §2.5).
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CompiledAccess {
    /// The rules in declared order. Empty means unrestricted inside the workspace.
    #[serde(default)]
    pub fs: Vec<CompiledRule>,
}

/// A rule as tools receive it (spec §2.3, §2.5). Unset capabilities stay `null`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct CompiledRule {
    /// Workspace-relative. Canonical for an ordinary rule, as written but normalised for an external one. The root is
    /// the empty string.
    #[cfg_attr(feature = "schema", schemars(with = "String"))]
    pub lexical_path: Utf8PathBuf,
    /// Whether the rule's anchor is a target outside the workspace.
    #[serde(default)]
    pub external: bool,
    /// That target, absolute and canonical. Set exactly if `external` is.
    #[serde(default)]
    #[cfg_attr(feature = "schema", schemars(with = "Option<String>"))]
    pub approved_target: Option<Utf8PathBuf>,
    /// Read files, list directories.
    #[serde(default)]
    pub read: Option<bool>,
    /// The default of the next three.
    #[serde(default)]
    pub write: Option<bool>,
    /// Create entries.
    #[serde(default)]
    pub create: Option<bool>,
    /// Change existing files.
    #[serde(default)]
    pub update: Option<bool>,
    /// Remove entries.
    #[serde(default)]
    pub delete: Option<bool>,
    /// Run files as programs.
    #[serde(default)]
    pub execute: Option<bool>,
}

impl CompiledRule {
    /// A rule that denies everything on a workspace-relative path.
    pub(crate) fn deny_all(lexical_path: impl Into<Utf8PathBuf>) -> Self {
        Self { lexical_path: lexical_path.into(), ..Self::default() }
    }

    /// The rule in the form in which a person could have written it.
    #[must_use]
    pub fn written(&self) -> FsRule {
        let root = self.lexical_path.as_str().is_empty();
        FsRule {
            path: if root { Utf8PathBuf::from(".") } else { self.lexical_path.clone() },
            external: self.external,
            read: self.read,
            write: self.write,
            create: self.create,
            update: self.update,
            delete: self.delete,
            execute: self.execute,
            source: RuleSource::default(),
        }
    }
}
