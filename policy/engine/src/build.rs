//! Writes images: compiled grants in, one flat piece of memory out.

mod beyond;
mod bytes;
mod folds;
mod reach;
mod trie;
mod views;

use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::vec;
use std::vec::Vec;

use zerocopy::little_endian::{U32, U64};
use zerocopy::{FromBytes as _, IntoBytes as _};

pub use self::beyond::Beyond;
use self::folds::Ground;
use self::trie::{Prefix, Trie};
pub use self::views::View;
use crate::autorun::list::Place;
use crate::build::bytes::{intern, size};
pub use crate::build_error::BuildError;
use crate::canonical;
use crate::capability::Capabilities;
pub use crate::fold_table::Volume;
use crate::grant::is_control;
pub use crate::grant::{Grant, GrantKind, Origin, decider};
use crate::image::tiers::ASKS;
use crate::image::{Behind, Image, checksum};
use crate::layout::{
    BACKING, Base, Header, ImageError, MAGIC, NONE, Node, Rule, Slot, Span, TIED, Text, VERSION,
    VIEW,
};
use crate::table::{NO_PATTERNS, Table};
use crate::tier::Tier;
use crate::tiers::Tiers;

/// Everything an image is made of.
#[derive(Clone, Copy, Debug)]
pub struct ImageSpec<'a> {
    /// In declared order. Of several grants on one anchor the last wins.
    pub grants: &'a [Grant],
    /// The tier layer, if there is one.
    pub tiers: Option<&'a Tiers>,
    /// The rules about other things than files.
    pub beyond: Beyond<'a>,
    /// Canonical workspace root. The routes of external rules are below it.
    pub workspace: &'a Path,
    /// Directories in which names that differ in case are equal.
    pub volumes: &'a [Volume],
    /// Symlinks known when the policy was compiled: absolute spelling, canonical absolute target.
    pub aliases: &'a [(PathBuf, PathBuf)],
    /// The views. The grants say what a run may do below their backings, and should deny everything at their places.
    pub views: &'a [View],
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

impl<'a> ImageSpec<'a> {
    /// An image that no program is started with, for queries only. It has the grants in the canonical `workspace` and
    /// nothing else.
    #[must_use]
    pub fn to_ask(grants: &'a [Grant], workspace: &'a Path) -> Self {
        let nowhere = Path::new("/");
        Self {
            grants,
            tiers: None,
            beyond: Beyond::default(),
            workspace,
            volumes: &[],
            aliases: &[],
            views: &[],
            session: 0,
            shim_path: nowhere,
            events_path: nowhere,
            temp_dir: nowhere,
            shared_page: nowhere,
            json: &[],
        }
    }
}

/// The image of `spec`, as the launcher seals it.
///
/// A control entry keeps the grants of its place, except every way to change it. Nothing below it grants more.
///
/// # Errors
/// [`BuildError`] where a path is not canonical or a table would not fit.
pub fn build(spec: &ImageSpec<'_>) -> Result<Vec<u8>, BuildError> {
    image(spec, &folds::form(spec)?, None)
}

/// As [`build`], with its second `form`, or as that on the `ground` of the policy as it was written.
fn image(
    spec: &ImageSpec<'_>,
    form: &[u8],
    ground: Option<&Ground<'_>>,
) -> Result<Vec<u8>, BuildError> {
    let table = spec.tiers.map(Tiers::table).transpose()?;
    let ways = views::ways(spec.views, spec.grants);
    let mut tables = Tables {
        trie: Trie::new(ground.is_some()),
        rules: vec![],
        patterns: vec![],
        table: table.unwrap_or(&NO_PATTERNS),
        tiers: spec.tiers,
        ground,
        open: reach::open_ground(spec.grants),
        bytes: vec![],
    };
    let controls = || spec.grants.iter().enumerate().filter(|(_, grant)| is_control(grant));
    for (_, control) in controls() {
        let at = tables.trie.place(&control.anchor)?.at;
        tables.trie.prefixes[at].control = true;
    }
    for grant in spec.grants {
        tables.add(grant, spec.workspace)?;
    }
    for (id, control) in controls() {
        tables.mask(id, control)?;
    }
    for (spelled, target) in spec.aliases {
        tables.lead(spelled, target)?;
    }
    for (place, backing) in &ways {
        let at = tables.lead(place, backing)?;
        tables.trie.prefixes[at].node.view = VIEW;
    }
    for view in spec.views {
        let at = tables.trie.place(&view.backing)?.at;
        tables.trie.prefixes[at].node.view |= BACKING;
    }
    tables.trie.summarise(&tables.rules);
    tables.write(spec, form)
}

struct Tables<'a> {
    trie: Trie<'a>,
    rules: Vec<Rule>,
    patterns: Vec<Span>,
    table: &'a Table,
    tiers: Option<&'a Tiers>,
    /// Of a second form.
    ground: Option<&'a Ground<'a>>,
    /// See [`reach::open_ground`].
    open: Option<&'a Path>,
    bytes: Vec<u8>,
}

impl<'a> Tables<'a> {
    /// Adds the next grant. If a control entry covers it, it only counts for the capabilities that the entry keeps.
    fn add(&mut self, grant: &'a Grant, workspace: &Path) -> Result<(), BuildError> {
        let id = self.rules.len();
        let mut rule = self.rule(grant, workspace)?;
        rule.names_autorun = self.names_autorun(id, grant, workspace).into();
        let trie::TriePlace { at, covered } = self.trie.place(&grant.anchor)?;
        let prefix = &mut self.trie.prefixes[at];
        if !is_control(grant) {
            prefix.held = Some(id);
        }
        if !covered || matches!(grant.kind, GrantKind::Control | GrantKind::Tombstone { .. }) {
            let earlier = prefix.node.rule;
            prefix.node.rule = size(id)?;
            let has_route = |rule: &Rule| rule.route.count.get() > 0;
            if has_route(&rule) && self.rules.get(earlier.get() as usize).is_some_and(has_route) {
                rule.earlier = earlier;
            }
        }
        self.rules.push(rule);
        Ok(())
    }

    fn rule(&mut self, grant: &Grant, workspace: &Path) -> Result<Rule, BuildError> {
        let mut route = Span::default();
        if let GrantKind::External { lexical_path }
        | GrantKind::Tombstone { lexical_path: Some(lexical_path) } = &grant.kind
        {
            route = intern(&mut self.bytes, workspace.join(lexical_path).as_os_str().as_bytes())?;
        }
        let patterns =
            Span { offset: size(self.patterns.len())?, count: size(grant.carve_outs.len())? };
        for pattern in &grant.carve_outs {
            let text = intern(&mut self.bytes, pattern.as_bytes())?;
            self.patterns.push(text);
        }
        Ok(Rule {
            caps: grant.caps.bits(),
            hidden: u8::from(grant.kind == GrantKind::Hidden),
            reach: reach::of(grant, self.open, self.table) as u8,
            names_autorun: 0,
            patterns,
            route,
            earlier: NONE.into(),
            state: self.table.state_behind(grant.anchor.as_os_str().as_bytes()).into(),
        })
    }

    /// Whether somebody allows changes of an auto-run file by naming it, or a symlink to it. Of ready-made grants only
    /// those for the state of a program count: others name files that programs need to read, and options may widen a
    /// grant above them.
    fn names_autorun(&self, id: usize, grant: &Grant, workspace: &Path) -> bool {
        let exact = self.ground.map(|ground| ground.exact);
        let grant = exact.and_then(|exact| exact.grants.get(id)).unwrap_or(grant);
        let tiers = exact.map_or(self.tiers, |exact| exact.tiers);
        let is_meant = grant.is_state
            || matches!(
                grant.origin,
                Origin::Rule { .. } | Origin::Flag { .. } | Origin::Profile { named: true, .. }
            );
        let may_change = grant.caps.intersects(Capabilities::WRITE);
        let Some(tiers) = tiers.filter(|_| is_meant && may_change) else { return false };
        let spelled = match &grant.kind {
            GrantKind::External { lexical_path } => Some(workspace.join(lexical_path)),
            _ => None,
        };
        tiers.is_autorun(&grant.anchor) || spelled.is_some_and(|path| tiers.is_autorun(&path))
    }

    /// Leads names from one canonical path to another. Returns the index of the first.
    fn lead(&mut self, from: &'a Path, to: &Path) -> Result<usize, BuildError> {
        let text = intern(&mut self.bytes, to.as_os_str().as_bytes())?;
        let at = self.trie.place(from)?.at;
        self.trie.prefixes[at].node.alias = text;
        Ok(at)
    }

    /// Gives the control entry `id` the grants of its place, except every way to change it.
    fn mask(&mut self, id: usize, control: &'a Grant) -> Result<(), BuildError> {
        let at = self.trie.place(&control.anchor)?.at;
        let holder = self.trie.holder(at).map(|held| self.rules[held]);
        let rule = &mut self.rules[id];
        rule.caps = holder.map_or(0, |holder| holder.caps) & !Capabilities::WRITE.bits();
        rule.hidden = holder.map_or(0, |holder| holder.hidden);
        Ok(())
    }

    fn write(mut self, spec: &ImageSpec<'_>, form: &[u8]) -> Result<Vec<u8>, BuildError> {
        let nodes: Vec<Node> = self.trie.prefixes.iter().map(|prefix| prefix.node).collect();
        let slots = self.slots()?;
        let beyond = beyond::Tables::of(spec.beyond, &mut self.bytes)?;
        let mut texts = [Span::default(); Text::COUNT];
        texts[Text::ShimPath as usize] =
            intern(&mut self.bytes, spec.shim_path.as_os_str().as_bytes())?;
        texts[Text::EventsPath as usize] =
            intern(&mut self.bytes, spec.events_path.as_os_str().as_bytes())?;
        texts[Text::TempDir as usize] =
            intern(&mut self.bytes, spec.temp_dir.as_os_str().as_bytes())?;
        texts[Text::SharedPage as usize] =
            intern(&mut self.bytes, spec.shared_page.as_os_str().as_bytes())?;
        texts[Text::Workspace as usize] =
            intern(&mut self.bytes, spec.workspace.as_os_str().as_bytes())?;

        let bases = self.bases(spec.workspace)?;
        let views = views::of_image(spec.views, &mut self.bytes)?;
        let volumes = self.ground.map(|ground| ground.volumes(&mut self.bytes)).transpose()?;
        let volumes = volumes.unwrap_or_default();
        let mut image = vec![0; size_of::<Header>()];
        let mut append = |elements: &[u8], count: usize| {
            let offset = size(image.len())?;
            image.extend_from_slice(elements);
            Ok::<_, BuildError>(Span { offset, count: size(count)? })
        };
        let nodes = append(nodes.as_bytes(), nodes.len())?;
        let slots = append(slots.as_bytes(), slots.len())?;
        let rules = append(self.rules.as_bytes(), self.rules.len())?;
        let patterns = append(self.patterns.as_bytes(), self.patterns.len())?;
        let classes = append(&self.table.classes, self.table.classes.len())?;
        let states = append(self.table.states.as_bytes(), self.table.states.len())?;
        let edges = append(self.table.edges.as_bytes(), self.table.edges.len())?;
        let starts = append(self.table.starts.as_bytes(), self.table.starts.len())?;
        let autorun = append(bases.as_bytes(), bases.len())?;
        let views = append(views.as_bytes(), views.len())?;
        let variables = append(beyond.variables.as_bytes(), beyond.variables.len())?;
        let commands = append(beyond.commands.as_bytes(), beyond.commands.len())?;
        let lines = append(beyond.lines.as_bytes(), beyond.lines.len())?;
        let words = append(beyond.words.as_bytes(), beyond.words.len())?;
        let (table, fold_texts) = self.ground.map_or((&[][..], &[][..]), Ground::folds);
        let volumes = append(volumes.as_bytes(), volumes.len())?;
        let folds = append(table.as_bytes(), table.len())?;
        let fold_texts = append(fold_texts, fold_texts.len())?;
        let folded = append(form, form.len())?;
        let bytes = append(&self.bytes, self.bytes.len())?;
        let json = append(spec.json, spec.json.len())?;
        let length = size(image.len())?;
        let default = spec.tiers.and_then(|tiers| tiers.default).map_or(0, Tier::number);
        let asks = spec.tiers.is_some_and(|tiers| tiers.asks);
        let is_tied = self.rules.iter().any(|rule| rule.earlier.get() != NONE);
        let mut header = Header {
            magic: MAGIC,
            version: VERSION.into(),
            length,
            checksum: U64::ZERO,
            session: spec.session.into(),
            behind: U32::ZERO,
            nodes,
            slots,
            rules,
            patterns,
            default_tier: if asks { default | ASKS } else { default }.into(),
            classes,
            states,
            edges,
            starts,
            autorun,
            views,
            variables,
            environment: beyond.environment,
            flags: (beyond.flags | if is_tied { TIED } else { 0 }).into(),
            commands,
            lines,
            words,
            bytes,
            texts,
            volumes,
            folds,
            fold_texts,
            folded,
            json,
        };
        sum_up(&mut image, &mut header);
        Ok(image)
    }

    /// Puts those first that can concern paths in the workspace.
    fn bases(&mut self, workspace: &Path) -> Result<Vec<Base>, BuildError> {
        let bytes = &mut self.bytes;
        let bases = self.tiers.map(Tiers::bases).unwrap_or_default();
        let is_near = |(_, base): &(Place, PathBuf)| {
            canonical::below(base, workspace).or(canonical::below(workspace, base)).is_some()
        };
        let (near, others): (Vec<_>, Vec<_>) = bases.into_iter().partition(is_near);
        let base = |(place, path): &(Place, PathBuf)| {
            let path = intern(bytes, path.as_os_str().as_bytes())?;
            Ok(Base { place: *place as u8, path })
        };
        near.iter().chain(&others).map(base).collect()
    }

    fn slots(&mut self) -> Result<Vec<Slot>, BuildError> {
        let bytes = &mut self.bytes;
        let slot = |(child, prefix): (usize, &Prefix<'_>)| {
            let name = intern(bytes, prefix.name)?;
            let (parent, child) = (size(prefix.parent)?, size(child)?);
            Ok(Slot { parent, child, hash: prefix.hash.into(), name })
        };
        self.trie.slots().map(slot).collect()
    }
}

/// Writes into `image`, built by [`build`], which layers back up the preload library. They are planned once the image
/// can be asked for its grants.
///
/// # Errors
/// The reader's error, if `image` is not an image.
pub fn set_behind(image: &mut [u8], behind: Behind) -> Result<(), ImageError> {
    Image::parse(image)?;
    let (mut header, _) = Header::read_from_prefix(image).map_err(|_| ImageError::Truncated)?;
    header.behind = behind.bits().into();
    sum_up(image, &mut header);
    Ok(())
}

/// Puts `header` in its place, with the checksum of what follows.
fn sum_up(image: &mut [u8], header: &mut Header) {
    image[..size_of::<Header>()].copy_from_slice(header.as_bytes());
    header.checksum = checksum(&image[Header::SUMMED..header.json.offset.get() as usize]).into();
    image[..size_of::<Header>()].copy_from_slice(header.as_bytes());
}
