//! Assembles all grants of a run in the order that the image gives meaning to. The longest anchor wins, and on the same
//! anchor the last grant.

pub(crate) mod ceilings;
pub(crate) mod flags;
mod home;
mod user_profiles;

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::{fs, mem};

use jp_confine_engine::build::{Grant, GrantKind, Origin};
use jp_confine_engine::decide::{self, Request, Verdict};
use jp_confine_engine::tier::Restraint;
use jp_confine_engine::tiers::Tiers;
use jp_confine_engine::{Capabilities, canonical};

pub(crate) use self::ceilings::Ceilings;
use self::flags::Flag;
pub(crate) use self::flags::Flags;
use crate::cli::Options;
use crate::compile::image::{self, image_over};
use crate::compile::led_path::Led;
use crate::compile::planted_links;
use crate::compile::profiles::Resolved;
use crate::compile::views::Views;
use crate::error::Failure;
use crate::host::context::Context;
use crate::host::workspace::Workspace;
use crate::sys::child;

/// The parts that the grants of a run are assembled from.
#[derive(Debug)]
pub(crate) struct Parts<'a> {
    pub(crate) context: &'a Context,
    pub(crate) workspace: &'a Workspace,
    pub(crate) options: &'a Options,
    /// The baseline, unless it is left out, and the picked profiles.
    pub(crate) tables: &'a [Resolved],
    pub(crate) flags: &'a Flags,
    pub(crate) views: &'a Views,
    pub(crate) tiers: &'a Tiers,
    /// The grants of `access.fs` and of the workspace itself.
    pub(crate) rules: Vec<Grant>,
    /// The program's private `TMPDIR`, if there is a run.
    pub(crate) temp: Option<&'a Path>,
    /// The directory of the preload library, which every program of a run reads.
    pub(crate) shim: Option<&'a Path>,
    /// The launcher's own files and directories, each with its purpose.
    pub(crate) control: Vec<(PathBuf, String)>,
}

impl Parts<'_> {
    /// Assembles the grants, and returns warnings with them. Looks at the disk.
    ///
    /// # Errors
    /// Fails if a flag leads through a link that programs could have created.
    pub(crate) fn assemble(self) -> Result<(Vec<Grant>, Vec<String>), Failure> {
        let grants = self.without(&[])?;
        let root = &self.workspace.root;
        let led = self.flags.led.iter().chain(self.tables.iter().flat_map(|table| &table.led));
        let planted = planted_links::planted(led, &grants, self.tiers, root)?;
        let mut warnings = Vec::from_iter(self.idle(&grants)?);
        warnings.extend(self.denied_whole());
        if planted.is_empty() {
            return Ok((grants, warnings));
        }
        // A link adds nothing to rights that are granted anyway.
        let all: Vec<&Led> = planted.iter().map(|planted| planted.led).collect();
        let others = self.without(&all)?;
        let mut left_out = Vec::new();
        for one in &planted {
            if left_out.contains(&one.led) || holds(&others, &one.led.grant, root)? {
                continue;
            }
            if self.flags.led.contains(one.led) {
                return Err(Failure::advised(one.told(), one.way_out()));
            }
            warnings.push(format!("{}: left out; {}", one.told(), one.way_out()));
            left_out.push(one.led);
        }
        Ok((self.without(&left_out)?, warnings))
    }

    /// All grants but these.
    fn without(&self, left_out: &[&Led]) -> Result<Vec<Grant>, Failure> {
        let flags = self.flags;
        let root = &self.workspace.root;
        let mut grants = Vec::new();
        for table in self.tables {
            let kept = |grant: &&Grant| left_out.iter().all(|led| led.grant != **grant);
            grants.extend(table.grants.iter().filter(kept).cloned());
        }
        merge_equal(&mut grants);
        drop_redundant(&mut grants);
        // Inside the workspace only its own rules grant. Built-in grants neither narrow nor widen them. A person's own
        // denials narrow them like typed ones.
        grants.retain(|grant| canonical::below(root, &grant.anchor).is_none());
        let ceilings = self.ceilings();
        let mut grants: Vec<Grant> =
            grants.into_iter().filter_map(|grant| flags.apply(grant, &ceilings)).collect();
        grants.extend(self.temporary());
        grants.extend(self.home(&grants, &ceilings));
        grants.extend(self.rules.iter().cloned().filter_map(|rule| ceilings.narrow(rule)));
        grants.extend(self.denied_inside().filter_map(|denial| ceilings.narrow(denial)));
        grants.extend(self.views.denials());
        self.add_flags(&mut grants, left_out, &ceilings)?;
        grants.extend(self.shim.map(|shim| {
            let origin = Origin::Product { why: "the preload library".to_owned() };
            Grant::new(shim.to_owned(), Capabilities::READ, GrantKind::Plain, origin)
        }));
        grants.extend(self.control.iter().map(|(path, why)| {
            let origin = Origin::Product { why: why.clone() };
            Grant::new(path.clone(), Capabilities::NONE, GrantKind::Control, origin)
        }));
        drop_hidden(&mut grants);
        for grant in &mut grants {
            grant.anchor = self.context.outer_views.real(mem::take(&mut grant.anchor));
        }
        Ok(grants)
    }

    fn temporary(&self) -> Vec<Grant> {
        let (paths, origin) = if self.options.share_tmp {
            (self.flags.shared.clone(), Origin::Flag { text: "--share-tmp".to_owned() })
        } else {
            let why = "the private TMPDIR of this run".to_owned();
            (self.temp.map(Path::to_owned).into_iter().collect(), Origin::Product { why })
        };
        let grant = |path| Grant::new(path, Capabilities::ALL, GrantKind::Plain, origin.clone());
        paths.into_iter().map(grant).collect()
    }

    /// Flags add to the rights at their path and remove none: `-x .` keeps the workspace writable. Those rights may
    /// already be limited by a flag on a directory above.
    fn add_flags(
        &self,
        grants: &mut Vec<Grant>,
        left_out: &[&Led],
        ceilings: &Ceilings<'_>,
    ) -> Result<(), Failure> {
        let is_left_out = |anchor: &Path| {
            left_out.iter().any(|led| led.grant.anchor == anchor && self.flags.led.contains(led))
        };
        let paths = self.flags.paths.iter().map(|(anchor, flag)| (anchor.as_path(), flag));
        let mut rest: Vec<(&Path, &Flag)> =
            paths.filter(|(anchor, _)| !is_left_out(anchor)).collect();
        while !rest.is_empty() {
            let anchors: BTreeSet<&Path> = rest.iter().map(|(anchor, _)| *anchor).collect();
            let is_below =
                |anchor: &Path| anchor.ancestors().skip(1).any(|dir| anchors.contains(dir));
            let (below, above) = rest.into_iter().partition(|(anchor, _)| is_below(anchor));
            self.add_beside(grants, above, ceilings)?;
            rest = below;
        }
        Ok(())
    }

    /// Adds flags that are not on paths below one another.
    fn add_beside(
        &self,
        grants: &mut Vec<Grant>,
        flags: Vec<(&Path, &Flag)>,
        ceilings: &Ceilings<'_>,
    ) -> Result<(), Failure> {
        let anchors: Vec<&Path> = flags.iter().map(|(anchor, _)| *anchor).collect();
        let before = image_over(grants, None, &anchors, &self.workspace.root)?;
        let image = image::parse_image(&before)?;
        for (anchor, flag) in flags {
            let held = decide::lookup(&image, &Request::canonical(bytes(anchor))).caps;
            let asked = self.asked_as_sensitive(grants, anchor)?;
            let added = held.difference(asked).union(flag.caps);
            let caps = if flag.deny { Capabilities::NONE } else { added };
            let origin = Origin::Flag { text: flag.text.clone() };
            let mut grant = Grant::new(anchor.to_owned(), caps, GrantKind::Plain, origin);
            if !flag.deny && ceilings.left(anchor).is_some() {
                grant.carve_outs = self.excepted(anchor);
            }
            grants.push(grant);
        }
        Ok(())
    }

    /// The rights of a broader rule that need a prompt at a sensitive path. A flag on such a path grants only its own
    /// rights, without a prompt (spec §10).
    fn asked_as_sensitive(&self, grants: &[Grant], path: &Path) -> Result<Capabilities, Failure> {
        if !self.tiers.is_sensitive(path) {
            return Ok(Capabilities::NONE);
        }
        let image = image_over(grants, Some(self.tiers), &[path], &self.workspace.root)?;
        let found = decide::lookup(&image::parse_image(&image)?, &Request::canonical(bytes(path)));
        let is_asked = found.restraint == Some(Restraint::Sensitive);
        Ok(if is_asked { found.asks } else { Capabilities::NONE })
    }
}

/// The missing grants for inherited open files outside the workspace at `root`. The program may reopen them by name
/// (`/dev/stdout`) with the same access.
pub(crate) fn inherited(
    context: &Context,
    grants: &[Grant],
    root: &Path,
) -> Result<Vec<Grant>, Failure> {
    let mut open = open_files();
    for file in &mut open {
        file.path = context.outer_views.real(mem::take(&mut file.path));
    }
    let paths: Vec<&Path> = open.iter().map(|file| file.path.as_path()).collect();
    let image = image_over(grants, None, &paths, root)?;
    let image = image::parse_image(&image)?;
    let mut by_path: BTreeMap<PathBuf, (Capabilities, i32)> = BTreeMap::new();
    for Inherited { fd, path, caps } in open {
        let held = decide::lookup(&image, &Request::canonical(bytes(&path))).caps;
        if !held.contains(caps) && !path.starts_with(root) {
            let entry = by_path.entry(path).or_insert((held, fd));
            entry.0 = entry.0.union(caps);
        }
    }
    let grant =
        |(path, (caps, fd))| Grant::new(path, caps, GrantKind::Plain, Origin::Inherited { fd });
    Ok(by_path.into_iter().map(grant).collect())
}

/// Merges built-in grants on one path by adding them up, unless one of them denies it. Two profiles may each need a
/// part of the same directory. A grant that a person named stays named, even if other profiles need it, too.
fn merge_equal(grants: &mut Vec<Grant>) {
    let mut merged: Vec<Grant> = Vec::with_capacity(grants.len());
    let mut places: HashMap<OsString, usize> = HashMap::new();
    for grant in grants.drain(..) {
        let Some(&place) = places.get(grant.anchor.as_os_str()) else {
            places.insert(grant.anchor.clone().into(), merged.len());
            merged.push(grant);
            continue;
        };
        let Some(known) = merged.get_mut(place) else { continue };
        if grant.caps.is_empty() {
            *known = grant;
        } else if !known.caps.is_empty() {
            known.caps = known.caps.union(grant.caps);
            if is_named(&grant.origin) {
                known.origin = grant.origin;
            }
            known.carve_outs.extend(grant.carve_outs);
        }
    }
    *grants = merged;
}

/// Drops denials inside a hidden directory. The anchor of a rule is always visible, but these paths are to look absent
/// like the rest.
fn drop_hidden(grants: &mut Vec<Grant>) {
    let kinds: HashMap<OsString, bool> = grants
        .iter()
        .map(|grant| (grant.anchor.clone().into(), grant.kind == GrantKind::Hidden))
        .collect();
    grants.retain(|grant| {
        let mut above = grant.anchor.ancestors().skip(1);
        let nearest = above.find_map(|dir| kinds.get(dir.as_os_str()));
        grant.kind != GrantKind::Hidden || nearest != Some(&true)
    });
}

/// Whether it belongs to a profile that a person wrote and named.
const fn is_named(origin: &Origin) -> bool {
    matches!(origin, Origin::Profile { named: true, .. })
}

/// Drops built-in grants that only repeat the nearest one above, as `/usr/bin` does once `/bin` is resolved. Keeps
/// those that a person named, because only they apply to tool input.
fn drop_redundant(grants: &mut Vec<Grant>) {
    let above: HashMap<OsString, (Capabilities, bool)> = grants
        .iter()
        .map(|grant| (grant.anchor.clone().into(), (grant.caps, grant.carve_outs.is_empty())))
        .collect();
    grants.retain(|grant| {
        let nearest = grant.anchor.ancestors().skip(1).find_map(|dir| above.get(dir.as_os_str()));
        !nearest.is_some_and(|&(caps, whole)| whole && caps == grant.caps && !caps.is_empty())
            || !grant.carve_outs.is_empty()
            || is_named(&grant.origin)
    });
}

fn bytes(path: &Path) -> &[u8] {
    std::os::unix::ffi::OsStrExt::as_bytes(path.as_os_str())
}

/// A file that stays open across exec.
struct Inherited {
    fd: i32,
    path: PathBuf,
    caps: Capabilities,
}

/// Regular files and devices that the program will find open. Leaves out directories, because one descriptor must not
/// grant a tree.
fn open_files() -> Vec<Inherited> {
    let one = |&fd: &i32| {
        let flags = child::kept_open_for(fd).filter(|flags| flags & libc::O_PATH == 0)?;
        let link = PathBuf::from(format!("/proc/self/fd/{fd}"));
        let path = fs::read_link(&link).ok().filter(|path| path.is_absolute())?;
        // The name of a deleted file leads nowhere, or to another file.
        if link.metadata().ok()?.is_dir() || !path.exists() {
            return None;
        }
        let caps = match flags & libc::O_ACCMODE {
            libc::O_RDONLY => Capabilities::READ,
            libc::O_WRONLY => Capabilities::UPDATE,
            _ => Capabilities::READ.union(Capabilities::UPDATE),
        };
        Some(Inherited { fd, path, caps })
    };
    child::inherited_descriptors().iter().filter_map(one).collect()
}

/// Whether `grants` already hold the rights of another grant at its anchor.
fn holds(grants: &[Grant], other: &Grant, root: &Path) -> Result<bool, Failure> {
    let image = image_over(grants, None, &[&other.anchor], root)?;
    let image = image::parse_image(&image)?;
    let request = Request::canonical(bytes(&other.anchor));
    Ok(decide::access(&image, &request, other.caps) == Verdict::Allow)
}

/// The loaders as programs name them. Even if `/lib64` is a link, the name in it is often one, too.
const LOADERS: [&str; 5] = [
    "/lib64/ld-linux-x86-64.so.2",
    "/lib/ld-linux-x86-64.so.2",
    "/lib/ld-linux-aarch64.so.1",
    "/lib/ld-musl-x86_64.so.1",
    "/lib/ld-musl-aarch64.so.1",
];

/// Links that programs use all the time, so that the image resolves them once. They are those of the built-in tables,
/// those at the top of the tree, the loaders, and the workspace's own spelling.
pub(crate) fn aliases(workspace: &Workspace, tables: &[Resolved]) -> Vec<(PathBuf, PathBuf)> {
    let top = ["/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/var/run", "/var/lock"];
    let mut aliases: BTreeMap<PathBuf, PathBuf> = BTreeMap::new();
    for link in top.map(PathBuf::from) {
        if let Some(target) = canonical::existing(&link)
            && target != link
        {
            aliases.insert(link, target);
        }
    }
    for loader in LOADERS.map(Path::new) {
        let directory = loader.parent().and_then(canonical::existing);
        let link = directory.zip(loader.file_name()).map(|(parent, name)| parent.join(name));
        if let Some((link, target)) = link.zip(canonical::existing(loader))
            && link != target
        {
            aliases.insert(link, target);
        }
    }
    for table in tables {
        aliases.extend(table.links.iter().cloned());
    }
    if let Some(spelled) = &workspace.spelled {
        let plain = !spelled.components().any(|part| part.as_os_str() == "..");
        if plain && spelled.is_absolute() {
            aliases.insert(spelled.clone(), workspace.root.clone());
        }
    }
    aliases.into_iter().collect()
}
