//! Holds an object to one policy wherever it is mounted. Used by `compile`. Adds grants where mounts show objects that
//! are denied elsewhere, or the kernel's own file systems.

use std::collections::HashSet;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use jp_confine_engine::build::{Grant, GrantKind, Origin};
use jp_confine_engine::decide::{self, Lookup, Request};
use jp_confine_engine::image::Image;
use jp_confine_engine::pattern::Pattern;
use jp_confine_engine::tiers::Tiers;
use jp_confine_engine::{Capabilities, canonical};

use crate::compile::{device_nodes, image};
use crate::error::Failure;
use crate::host::context::{Context, HANDLES};
use crate::sys::mount_table::{Copy, KernelMount, ParsedMounts};
use crate::text::quote;

/// The directories of a process itself. They are links, and lead each process elsewhere.
const OWN: [&str; 2] = ["/proc/self", "/proc/thread-self"];

/// The kernel's own file systems and devices at unusual places.
#[derive(Debug, Default)]
pub(crate) struct Unusual {
    /// The file systems, granted or not.
    pub(crate) mounts: Vec<KernelMount>,
    /// A device node in a granted directory.
    pub(crate) device: Option<PathBuf>,
    /// Mounts that grant less than the directory around them.
    restricted: Vec<PathBuf>,
}

impl Unusual {
    /// A place where Landlock grants more than the policy, because it grants the directory around it.
    pub(crate) fn exceeds(&self) -> Option<&Path> {
        self.restricted.first().or(self.device.as_ref()).map(PathBuf::as_path)
    }
}

/// The mounts, while a policy is assembled.
#[derive(Debug)]
pub(crate) struct SecondMounts<'t> {
    mounts: &'t ParsedMounts<'t>,
    warnings: Vec<String>,
}

/// The rest of the policy.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ground<'a> {
    pub(crate) tiers: &'a Tiers,
    /// Sensitive files that no pattern protects, because nothing is declared.
    pub(crate) exposed: Option<&'a Tiers>,
    /// The root of the workspace.
    pub(crate) workspace: &'a Path,
}

impl<'t> SecondMounts<'t> {
    /// Makes `control` and restricting patterns hold wherever their objects are mounted.
    pub(crate) fn of(
        mounts: &'t ParsedMounts<'t>,
        control: &mut Vec<(PathBuf, String)>,
        tiers: &mut Tiers,
    ) -> Self {
        repeat_control(mounts, control);
        let warnings = repeat_patterns(mounts, tiers);
        Self { mounts, warnings }
    }

    /// Adds to `grants` and `warnings`.
    ///
    /// # Errors
    /// Fails if the grants cannot be compiled into an image.
    pub(crate) fn hold(
        self,
        context: &Context,
        ground: Ground<'_>,
        grants: &mut Vec<Grant>,
        warnings: &mut Vec<String>,
    ) -> Result<Unusual, Failure> {
        let parts = Parts { mounts: self.mounts, grants: grants.as_slice(), ground };
        let (mounts, mut added) = parts.added()?;
        warnings.extend(self.warnings.into_iter().chain(added.warnings));
        grants.append(&mut added.grants);
        // If there is such a node, the outer run judges each open already.
        let is_inner = context.variable(HANDLES.as_ref()).is_some();
        let device = if is_inner { None } else { device_nodes::find(grants) };
        Ok(Unusual { mounts, device, restricted: added.restricted })
    }
}

/// Grants to add to a policy, and the warnings about them.
#[derive(Debug, Default)]
struct Added {
    grants: Vec<Grant>,
    warnings: Vec<String>,
    restricted: Vec<PathBuf>,
}

/// The policy so far, and the mounts.
#[derive(Clone, Copy, Debug)]
struct Parts<'a> {
    mounts: &'a ParsedMounts<'a>,
    grants: &'a [Grant],
    ground: Ground<'a>,
}

impl Parts<'_> {
    /// Finds the grants to add.
    ///
    /// # Errors
    /// Fails if they cannot be compiled into an image.
    fn added(&self) -> Result<(Vec<KernelMount>, Added), Failure> {
        let kernel = self.mounts.of_kernel();
        let reached: HashSet<&OsStr> = self
            .grants
            .iter()
            .filter(|grant| !grant.caps.is_empty())
            .map(|grant| grant.anchor.as_os_str())
            .collect();
        let opens =
            self.ground.tiers.opening().next().is_some() || self.ground.tiers.default.is_some();
        let is_reached = |path: &Path| {
            opens || path.ancestors().any(|directory| reached.contains(directory.as_os_str()))
        };
        let shown: Vec<&KernelMount> = kernel.iter().filter(|it| is_reached(&it.at)).collect();
        let mut denied = self.denied();
        denied.retain(|(_, copy)| is_reached(&copy.at));
        let of_kernel = shown.iter().flat_map(|mount| [&mount.at, &mount.usual]);
        let of_copies = denied.iter().flat_map(|(_, copy)| [&copy.at, &copy.of]);
        let places = outermost(of_kernel.chain(of_copies));
        let mut added = Added::default();
        if !places.is_empty() {
            let grants = image::over(self.grants, &places);
            let Ground { tiers, workspace, .. } = self.ground;
            let image = image::image_of(&grants, Some(tiers), workspace)?;
            let before = Before { grants: &grants, image: &image::parse_image(&image)? };
            for mount in shown {
                before.add_kernel(mount, &mut added);
            }
            for (denial, copy) in &denied {
                before.add_copy(*denial, copy, &mut added);
            }
        }
        Ok((kernel, added))
    }

    /// The other reachable places of denied objects, each with the grant that denies it. Sensitive objects have no such
    /// grant.
    fn denied(&self) -> Vec<(Option<&Grant>, Copy)> {
        let mut found = Vec::new();
        let mut add = |denial, path: &Path| {
            found.extend(self.mounts.copies(path).into_iter().map(|copy| (denial, copy)));
        };
        for grant in self.grants.iter().filter(|grant| may_deny(grant)) {
            add(Some(grant), &grant.anchor);
        }
        for stem in self.ground.exposed.into_iter().flat_map(Tiers::sensitive_places) {
            add(None, &stem);
        }
        found
    }
}

/// The canonical `paths`, without most of those below another.
fn outermost<'p>(paths: impl Iterator<Item = &'p PathBuf>) -> Vec<&'p Path> {
    let mut sorted: Vec<&Path> = paths.map(PathBuf::as_path).collect();
    sorted.sort_unstable_by_key(|path| path.as_os_str());
    sorted.dedup_by(|path, above| canonical::below(above, path).is_some());
    sorted
}

/// Whether it may remove rights. Built-in grants only add rights, except for their exclusions.
fn may_deny(grant: &Grant) -> bool {
    match grant.kind {
        GrantKind::Tombstone { .. } => true,
        GrantKind::Plain | GrantKind::External { .. } => {
            is_declared(grant) || grant.caps.is_empty() || !grant.carve_outs.is_empty()
        }
        _ => false,
    }
}

fn is_declared(grant: &Grant) -> bool {
    matches!(
        grant.origin,
        Origin::Rule { .. } | Origin::Flag { .. } | Origin::Profile { named: true, .. }
    )
}

/// The policy without the additions, as far as it concerns these places.
struct Before<'a> {
    grants: &'a [Grant],
    image: &'a Image<'a>,
}

impl Before<'_> {
    fn lookup(&self, path: &Path) -> Lookup {
        decide::lookup(self.image, &Request::canonical(path.as_os_str().as_bytes()))
    }

    /// The capabilities at a path, from rules or tiers.
    fn held(&self, path: &Path) -> Capabilities {
        let found = self.lookup(path);
        found.granted(self.image).union(found.opened(self.image))
    }

    fn winner(&self, path: &Path) -> Option<&Grant> {
        self.grants.get(self.lookup(path).rule?.index())
    }

    /// Whether a person granted something at exactly this path.
    fn is_named(&self, path: &Path) -> bool {
        self.winner(path).is_some_and(|grant| grant.anchor == path && is_declared(grant))
    }

    /// Grants at `mount` only the rights that its usual place has, as far as they are granted here.
    fn add_kernel(&self, mount: &KernelMount, added: &mut Added) {
        let KernelMount { at, usual, .. } = mount;
        let before = self.held(at);
        let here = before.intersection(self.held(usual));
        let carved = self.carved_below(usual);
        let why = || format!("{} is mounted at {}", usual.display(), at.display());
        let mut grants = self.repeated_below(usual, at, &why());
        let same = here == before && carved.is_empty() && grants.is_empty();
        if same || self.is_named(at) {
            return;
        }
        added.restricted.push(at.clone());
        added.warnings.push(format!(
            "{} shows {}: what holds there holds here",
            quote::path(&at.to_string_lossy()),
            usual.display()
        ));
        added.grants.push(grant(at.clone(), here, carved, why()));
        added.grants.append(&mut grants);
    }

    /// Denies at the copy what is denied at the original.
    fn add_copy(&self, denial: Option<&Grant>, copy: &Copy, added: &mut Added) {
        let Copy { at, of } = copy;
        let before = self.held(at);
        let lost = match denial {
            // Nobody granted the original, so the copy is not granted either.
            None if self.is_named(at) => Capabilities::NONE,
            None => Capabilities::ALL.difference(self.held(of)),
            Some(denial) => match self.winner(of) {
                Some(winner) if winner == denial => self.lost_at(denial),
                // A deeper grant decides. It gets its own turn.
                _ => return,
            },
        };
        let here = before.difference(lost);
        let carved = if denial.is_some() { self.carved_below(of) } else { Vec::new() };
        if here == before && carved.is_empty() {
            return;
        }
        let why = || format!("{} is mounted at {}", of.display(), at.display());
        let mut grants = self.repeated_below(of, at, &why());
        let shown = |path: &Path| quote::path(&path.to_string_lossy());
        added.warnings.push(format!(
            "{} is mounted at {}: what is denied there is denied here",
            shown(of),
            shown(at)
        ));
        added.grants.push(grant(at.clone(), here, carved, why()));
        added.grants.append(&mut grants);
    }

    /// The capabilities that a grant removes from those around it.
    fn lost_at(&self, grant: &Grant) -> Capabilities {
        if grant.caps.is_empty() {
            return Capabilities::ALL;
        }
        let around = grant.anchor.parent().map_or(Capabilities::NONE, |parent| self.held(parent));
        around.difference(grant.caps)
    }

    /// The exclusions below a path, from the grant that decides there. Relative to the path.
    fn carved_below(&self, path: &Path) -> Vec<String> {
        let Some(grant) = self.winner(path) else { return Vec::new() };
        let Some(way) = canonical::below(&grant.anchor, path) else { return Vec::new() };
        let rest = |pattern: &String| decide::exclusion_behind(pattern, way.as_os_str().as_bytes());
        grant.carve_outs.iter().filter_map(rest).collect()
    }

    /// The grants below `from` as needed below `to`, without rights that are not granted there.
    fn repeated_below(&self, from: &Path, to: &Path, why: &str) -> Vec<Grant> {
        let mut repeated = Vec::new();
        for one in self.grants {
            let is_own = OWN.iter().any(|own| one.anchor.starts_with(own));
            let Ok(below) = one.anchor.strip_prefix(from) else { continue };
            let decides = || self.winner(&one.anchor).is_some_and(|winner| winner == one);
            if is_own || below.as_os_str().is_empty() || !decides() {
                continue;
            }
            let at = to.join(below);
            if self.is_named(&at) {
                continue;
            }
            let caps = self.held(&at).intersection(one.caps);
            repeated.push(grant(at, caps, one.carve_outs.clone(), why.to_owned()));
        }
        repeated
    }
}

/// Protects the launcher's own files and directories on other mounts, too.
fn repeat_control(mounts: &ParsedMounts<'_>, control: &mut Vec<(PathBuf, String)>) {
    let copies = |(path, why): &(PathBuf, String)| {
        let copies = mounts.copies(path).into_iter();
        copies.map(|copy| (copy.at, why.clone())).collect::<Vec<_>>()
    };
    let repeated: Vec<_> = control.iter().flat_map(copies).collect();
    control.extend(repeated);
}

/// Makes restricting patterns match wherever their objects are mounted. Returns warnings.
fn repeat_patterns(mounts: &ParsedMounts<'_>, tiers: &mut Tiers) -> Vec<String> {
    let copies = |path: &Path| {
        let copies = mounts.copies(path).into_iter();
        copies.map(|copy| (copy.at, copy.of)).collect()
    };
    let told = |pattern: &Pattern| {
        format!("`{}` holds at each place where what it names is mounted", pattern.text)
    };
    tiers.repeat(copies).into_iter().map(told).collect()
}

fn grant(anchor: PathBuf, caps: Capabilities, carve_outs: Vec<String>, why: String) -> Grant {
    let origin = Origin::Product { why };
    Grant { carve_outs, ..Grant::new(anchor, caps, GrantKind::Plain, origin) }
}
