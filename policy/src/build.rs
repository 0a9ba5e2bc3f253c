//! The writer of images: compiled grants in, one flat piece of memory out.

use std::borrow::ToOwned as _;
use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Component, Path, PathBuf};
use std::string::String;
use std::vec;
use std::vec::Vec;

use serde::Serialize;
use zerocopy::IntoBytes as _;
use zerocopy::little_endian::{U32, U64};

use crate::capability::Capabilities;
use crate::image::{
    ALIAS_BELOW, HIDDEN_BELOW, Header, MAGIC, NONE, Node, Rule, Slot, Span, Text, VERSION,
    checksum, edge_hash,
};

/// One compiled rule, whoever declared it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Grant {
    /// Canonical absolute path that the grant stands on: bytes, no `.` or `..` components.
    pub anchor: PathBuf,
    /// What it grants there and below.
    pub caps: Capabilities,
    /// What sort of grant it is.
    pub kind: GrantKind,
    /// Who declared it.
    pub origin: Origin,
    /// Patterns relative to the anchor, `*` matching within one component: each excludes what it
    /// matches, with all below, from the grant.
    pub carve_outs: Vec<String>,
}

impl Grant {
    /// A grant without exclusions.
    #[must_use]
    pub fn new(anchor: PathBuf, caps: Capabilities, kind: GrantKind, origin: Origin) -> Self {
        Self { anchor, caps, kind, origin, carve_outs: Vec::new() }
    }
}

/// What sort of grant it is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum GrantKind {
    /// An ordinary rule, a flag, a baseline or profile entry.
    Plain,
    /// An approved external rule (RFD D43); the anchor is its approved target.
    External {
        /// The rule's own path, workspace-relative and normalised.
        lexical_path: String,
    },
    /// What a dropped rule leaves behind: it denies everything (spec §6.4).
    Tombstone,
    /// Deny-all on the workspace root: rules were declared, whatever became of them.
    Sentinel,
    /// The home directory: what no deeper grant covers looks absent (spec §12.1).
    Hidden,
    /// The whole workspace, because no rules were declared.
    Workspace,
    /// A file or folder of the launcher's own: never writable, whatever the rules say (spec §8.1).
    Control,
}

/// Who declared a grant.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "from", rename_all = "snake_case")]
pub enum Origin {
    /// The runtime baseline.
    Baseline {
        /// The entry as the baseline spells it.
        entry: String,
    },
    /// A tool profile.
    Profile {
        /// The profile.
        name: String,
        /// The entry as the profile spells it.
        entry: String,
    },
    /// A file that was open when the run began.
    Inherited {
        /// Its descriptor.
        fd: i32,
    },
    /// A rule of a policy file.
    Rule {
        /// The file, or another name of the configuration layer.
        layer: String,
        /// Its place in that layer's list, from zero.
        index: usize,
        /// Its line in the file, from one.
        line: Option<u32>,
        /// Its path as written.
        path: String,
    },
    /// A command line flag.
    Flag {
        /// The flag with its value.
        text: String,
    },
    /// The product's own.
    Product {
        /// What for.
        why: String,
    },
}

impl std::fmt::Display for Origin {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Baseline { entry } => write!(f, "baseline {entry}"),
            Self::Profile { name, entry } => write!(f, "profile {name}: {entry}"),
            Self::Inherited { fd } => write!(f, "inherited descriptor {fd}"),
            Self::Rule { layer, line: Some(line), path, .. } => {
                write!(f, "rule `{path}` ({layer}:{line})")
            }
            Self::Rule { layer, index, path, .. } => {
                write!(f, "rule `{path}` ({layer}, rule {})", index + 1)
            }
            Self::Flag { text } => write!(f, "flag {text}"),
            Self::Product { why } => f.write_str(why),
        }
    }
}

/// Everything an image is made of.
#[derive(Clone, Copy, Debug)]
pub struct ImageSpec<'a> {
    /// In declared order: of grants on one anchor the last wins.
    pub grants: &'a [Grant],
    /// Canonical workspace root; external rules' routes are below it.
    pub workspace: &'a Path,
    /// Links known when the policy was compiled: absolute spelling, canonical absolute target.
    pub aliases: &'a [(PathBuf, PathBuf)],
    /// A random number for this run.
    pub session: u64,
    /// Absolute path of the preload library.
    pub shim_path: &'a Path,
    /// Absolute path of the file that denials are appended to.
    pub events_path: &'a Path,
    /// Absolute path of the directory that temporary files go to.
    pub temp_dir: &'a Path,
    /// Absolute path under which a process that lost its descriptor finds the shared page.
    pub shared_page: &'a Path,
    /// The compiled policy as JSON.
    pub json: &'a [u8],
}

/// Why no image could be written.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BuildError {
    /// An anchor or alias is not absolute and canonical.
    #[error("`{}` is not an absolute path without `.` and `..`", .0.display())]
    NotCanonical(PathBuf),
    /// More than 4 GiB of policy.
    #[error("the policy is too large")]
    TooLarge,
}

/// The image of `spec`, as the launcher seals it.
///
/// # Errors
/// [`BuildError`] where a path is not canonical or a table would not fit.
pub fn build(spec: &ImageSpec<'_>) -> Result<Vec<u8>, BuildError> {
    let mut tables = Tables::new();
    let masked = mask_control(spec.grants);
    for (index, grant) in masked.iter().enumerate() {
        if let Some(grant) = grant {
            tables.add_grant(index, grant, spec.workspace)?;
        } else {
            tables.add_shadowed()?;
        }
    }
    for (spelled, target) in spec.aliases {
        let text = tables.intern(target.as_os_str().as_bytes())?;
        let node = tables.node(spelled)?;
        tables.trie[node].alias = text;
    }
    tables.summarise(0);
    tables.write(spec)
}

/// Control entries keep what would be granted there, less every way to change it, and nothing
/// below them opens up again: deeper grants are left out (`None`).
fn mask_control(grants: &[Grant]) -> Vec<Option<Grant>> {
    let controls: Vec<&Grant> =
        grants.iter().filter(|grant| grant.kind == GrantKind::Control).collect();
    let mask = |grant: &Grant| {
        if grant.kind == GrantKind::Control {
            let holder = winner(grants, &grant.anchor);
            let caps = holder.map_or(Capabilities::NONE, |holder| holder.caps);
            let hidden = holder.is_some_and(|holder| holder.kind == GrantKind::Hidden);
            return Some(Grant {
                caps: caps.difference(Capabilities::WRITE),
                kind: if hidden { GrantKind::Hidden } else { GrantKind::Control },
                ..grant.clone()
            });
        }
        let below = controls.iter().any(|control| {
            grant.anchor.starts_with(&control.anchor) && grant.kind != GrantKind::Tombstone
        });
        (!below).then(|| grant.clone())
    };
    grants.iter().map(mask).collect()
}

/// Who holds `path` when control entries are left out of account.
fn winner<'a>(grants: &'a [Grant], path: &Path) -> Option<&'a Grant> {
    grants
        .iter()
        .filter(|grant| grant.kind != GrantKind::Control && path.starts_with(&grant.anchor))
        .max_by_key(|grant| grant.anchor.components().count())
}

#[derive(Default)]
struct TrieNode {
    rule: Option<u32>,
    alias: Span,
    children: BTreeMap<Vec<u8>, usize>,
    /// Whether its rule has exclusions, each a denial below.
    carved: bool,
    below_all: u8,
    below_any: u8,
    flags: u8,
}

struct Tables {
    trie: Vec<TrieNode>,
    rules: Vec<Rule>,
    patterns: Vec<Span>,
    bytes: Vec<u8>,
}

impl Tables {
    fn new() -> Self {
        Self { trie: vec![TrieNode::default()], rules: vec![], patterns: vec![], bytes: vec![] }
    }

    fn add_grant(
        &mut self,
        index: usize,
        grant: &Grant,
        workspace: &Path,
    ) -> Result<(), BuildError> {
        let mut route = Span::default();
        if let GrantKind::External { lexical_path } = &grant.kind {
            route = self.intern(workspace.join(lexical_path).as_os_str().as_bytes())?;
        }
        let patterns =
            Span { offset: size(self.patterns.len())?, count: size(grant.carve_outs.len())? };
        for pattern in &grant.carve_outs {
            let text = self.intern(pattern.as_bytes())?;
            self.patterns.push(text);
        }
        let node = self.node(&grant.anchor)?;
        let earlier = self.trie[node].rule.filter(|&id| self.is_external(id));
        let both_external = route.count.get() > 0;
        self.trie[node].rule = Some(size(index)?.get());
        self.trie[node].carved = !grant.carve_outs.is_empty();
        self.rules.push(Rule {
            caps: grant.caps.bits(),
            hidden: u8::from(grant.kind == GrantKind::Hidden),
            reserved: [0; 2],
            patterns,
            route,
            earlier: earlier.filter(|_| both_external).unwrap_or(NONE).into(),
        });
        Ok(())
    }

    /// Keeps the numbering for a grant that a control entry covers.
    fn add_shadowed(&mut self) -> Result<(), BuildError> {
        let empty = Span { offset: size(self.patterns.len())?, count: U32::ZERO };
        self.rules.push(Rule {
            caps: 0,
            hidden: 0,
            reserved: [0; 2],
            patterns: empty,
            route: Span::default(),
            earlier: NONE.into(),
        });
        Ok(())
    }

    fn is_external(&self, id: u32) -> bool {
        self.rules.get(id as usize).is_some_and(|rule| rule.route.count.get() > 0)
    }

    fn intern(&mut self, text: &[u8]) -> Result<Span, BuildError> {
        let span = Span { offset: size(self.bytes.len())?, count: size(text.len())? };
        self.bytes.extend_from_slice(text);
        Ok(span)
    }

    /// The node of an absolute canonical path, made with those above it where missing.
    fn node(&mut self, path: &Path) -> Result<usize, BuildError> {
        let mut components = path.components();
        if components.next() != Some(Component::RootDir) {
            return Err(BuildError::NotCanonical(path.to_owned()));
        }
        let mut at = 0;
        for component in components {
            let Component::Normal(name) = component else {
                return Err(BuildError::NotCanonical(path.to_owned()));
            };
            at = self.child(at, name);
        }
        Ok(at)
    }

    fn child(&mut self, parent: usize, name: &OsStr) -> usize {
        if let Some(&child) = self.trie[parent].children.get(name.as_bytes()) {
            return child;
        }
        let child = self.trie.len();
        self.trie.push(TrieNode::default());
        self.trie[parent].children.insert(name.as_bytes().to_owned(), child);
        child
    }

    /// Fills in what the rules strictly below each node grant, all of them and any of them, and
    /// what there is below.
    fn summarise(&mut self, node: usize) -> (u8, u8) {
        let children: Vec<usize> = self.trie[node].children.values().copied().collect();
        let carved = self.trie[node].carved;
        let mut all = if carved { 0 } else { Capabilities::ALL.bits() };
        let mut any = 0;
        for child in children {
            let (child_all, child_any) = self.summarise(child);
            all &= child_all;
            any |= child_any;
            self.trie[node].flags |= self.trie[child].flags;
        }
        self.trie[node].below_all = all;
        self.trie[node].below_any = any;
        if self.trie[node].alias.count.get() > 0 {
            self.trie[node].flags |= ALIAS_BELOW;
        }
        let own = self.trie[node].rule.and_then(|id| self.rules.get(id as usize));
        if own.is_some_and(|rule| rule.hidden != 0) {
            self.trie[node].flags |= HIDDEN_BELOW;
        }
        own.map_or((all, any), |rule| (all & rule.caps, any | rule.caps))
    }

    fn write(mut self, spec: &ImageSpec<'_>) -> Result<Vec<u8>, BuildError> {
        let slots = self.slots()?;
        let nodes: Vec<Node> = self.trie.iter().map(flat).collect();
        let mut texts = [Span::default(); Text::COUNT];
        texts[Text::ShimPath as usize] = self.intern(spec.shim_path.as_os_str().as_bytes())?;
        texts[Text::EventsPath as usize] = self.intern(spec.events_path.as_os_str().as_bytes())?;
        texts[Text::TempDir as usize] = self.intern(spec.temp_dir.as_os_str().as_bytes())?;
        texts[Text::SharedPage as usize] = self.intern(spec.shared_page.as_os_str().as_bytes())?;

        let mut body = Vec::new();
        let mut append = |elements: &[u8], count: usize| {
            let offset = size(size_of::<Header>() + body.len())?;
            body.extend_from_slice(elements);
            Ok::<_, BuildError>(Span { offset, count: size(count)? })
        };
        let nodes = append(nodes.as_bytes(), nodes.len())?;
        let slots = append(slots.as_bytes(), slots.len())?;
        let rules = append(self.rules.as_bytes(), self.rules.len())?;
        let patterns = append(self.patterns.as_bytes(), self.patterns.len())?;
        let bytes = append(&self.bytes, self.bytes.len())?;
        let checksum = U64::new(checksum(&body));
        let json =
            Span { offset: size(size_of::<Header>() + body.len())?, count: size(spec.json.len())? };
        let length = size(size_of::<Header>() + body.len() + spec.json.len())?;
        let header = Header {
            magic: MAGIC,
            version: VERSION.into(),
            length,
            checksum,
            session: spec.session.into(),
            nodes,
            slots,
            rules,
            patterns,
            bytes,
            texts,
            json,
        };
        let mut image = header.as_bytes().to_owned();
        image.extend_from_slice(&body);
        image.extend_from_slice(spec.json);
        Ok(image)
    }

    /// The edges as an open-addressed table, at most half full.
    fn slots(&mut self) -> Result<Vec<Slot>, BuildError> {
        let capacity = (self.trie.len() * 2).next_power_of_two();
        let free =
            Slot { parent: U32::ZERO, child: U32::ZERO, hash: U32::ZERO, name: Span::default() };
        let mut slots = vec![free; capacity];
        for parent in 0..self.trie.len() {
            let edges: Vec<(Vec<u8>, usize)> =
                self.trie[parent].children.iter().map(|(name, &id)| (name.clone(), id)).collect();
            for (name, child) in edges {
                let parent = size(parent)?.get();
                let hash = edge_hash(parent, &name);
                let name = self.intern(&name)?;
                let mut at = hash as usize & (capacity - 1);
                while slots[at].child.get() != 0 {
                    at = (at + 1) & (capacity - 1);
                }
                slots[at] =
                    Slot { parent: parent.into(), child: size(child)?, hash: hash.into(), name };
            }
        }
        Ok(slots)
    }
}

fn flat(node: &TrieNode) -> Node {
    Node {
        rule: node.rule.unwrap_or(NONE).into(),
        alias: node.alias,
        below_all: node.below_all,
        below_any: node.below_any,
        interior: u8::from(!node.children.is_empty()),
        flags: node.flags,
    }
}

fn size(count: usize) -> Result<U32, BuildError> {
    u32::try_from(count).map(U32::new).map_err(|_| BuildError::TooLarge)
}

/// The description of a grant that `compile` and `explain` print.
impl std::fmt::Display for Grant {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} on {} ({})", self.caps, self.anchor.display(), self.origin)?;
        if self.carve_outs.is_empty() {
            return Ok(());
        }
        write!(f, " except {}", self.carve_outs.join(", "))
    }
}
