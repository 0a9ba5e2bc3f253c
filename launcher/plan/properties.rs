//! Tests Landlock's bounds against the policy, with generated policies and trees.

use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};
use std::{fmt, fs};

use jp_confine_engine::build::{Grant, GrantKind, ImageSpec, Origin};
use jp_confine_engine::decide::{self, Request};
use jp_confine_engine::file_policy::FilePolicy;
use jp_confine_engine::image::Image;
use jp_confine_engine::pattern::Places;
use jp_confine_engine::tier::Tier;
use jp_confine_engine::tiers::Tiers;
use jp_confine_engine::{Capabilities, Capability};
use landlock::{AccessFs, BitFlags, make_bitflags};
use rustix::process::Uid;

use super::holder::LandlockPart;
use super::tests::NEW;
use super::*;
use crate::compile::image;

/// How many policies are tried, each with its own tree.
const ROUNDS: u64 = 150;

const DIRECTORIES: [&str; 12] = [
    "ws",
    "ws/src",
    "ws/src/deep",
    "ws/target",
    "ws/target/debug",
    "home",
    "home/notes",
    "home/notes/sub",
    "home/out",
    "home/.ssh",
    "data",
    "data/a",
];
const FILES: [&str; 4] = ["file", "key", "tool", "page.md"];

/// Capabilities as rules usually have them, and some odd ones.
const SETS: [Capabilities; 8] = [
    Capabilities::NONE,
    Capabilities::READ,
    Capabilities::READ.union(Capabilities::EXECUTE),
    Capabilities::ALL.difference(Capabilities::EXECUTE),
    Capabilities::ALL,
    Capabilities::CREATE.union(Capabilities::EXECUTE),
    Capabilities::EXECUTE,
    Capabilities::UPDATE.union(Capabilities::DELETE),
];

/// The part of each pattern after the root of the tree. A leading `~` makes it match on the whole disk.
const PATTERNS: [&str; 12] = [
    "/home/notes",
    "/home/notes/**",
    "/home/*/file",
    "/home/**/*.md",
    "/data/**",
    "/data",
    "~/**/key",
    "/home/out/**",
    "/ws/target/**",
    "/*/*/page.md",
    "/home/?otes/**",
    "/ws/**",
];

/// Reproducible pseudo-random numbers (xorshift, Marsaglia 2003).
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 % limit as u64).expect("small")
    }

    fn one_in(&mut self, chances: usize) -> bool {
        self.below(chances) == 0
    }

    fn pick<T: Copy>(&mut self, of: &[T]) -> T {
        of[self.below(of.len())]
    }
}

/// A tree, a policy for it, and the user.
struct World {
    _tree: tempfile::TempDir,
    root: PathBuf,
    grants: Vec<Grant>,
    tiers: Tiers,
    user: Uid,
    machine: Machine,
    enforce: Enforce,
}

impl World {
    fn of(numbers: &mut Numbers) -> Self {
        let tree = tempfile::tempdir().expect("a directory");
        let root = tree.path().canonicalize().expect("canonical");
        plant(&root, numbers);
        let grants = (0..=numbers.below(5)).map(|_| grant(&root, numbers)).collect();
        let (machine, enforce) = match numbers.below(6) {
            0 => (NEW.without_listener(), Enforce::Layered),
            1 => (NEW, Enforce::Strict),
            _ => (NEW, Enforce::Layered),
        };
        let user = numbers.pick(&[Uid::ROOT, Uid::from_raw(1000)]);
        let tiers = tiers(&root, numbers);
        Self { _tree: tree, root, grants, tiers, user, machine, enforce }
    }

    fn image(&self) -> Vec<u8> {
        let workspace = self.root.join("ws");
        let tiers = (!self.tiers.is_empty()).then_some(&self.tiers);
        let spec = ImageSpec { tiers, ..ImageSpec::to_ask(&self.grants, &workspace) };
        image::build_image(&spec).expect("an image")
    }

    fn plan(&self, image: &Image<'_>) -> Plan {
        Plan::of(&PlanInput {
            grants: &self.grants,
            image,
            tiers: &self.tiers,
            workspace: &self.root.join("ws"),
            own: &[],
            user: self.user,
            machine: self.machine,
            enforce: self.enforce,
            judges_network: false,
            lists_programs: false,
            has_devices: false,
            kernel_mounts: &[],
            own_caches: None,
        })
        .expect("a plan")
    }

    /// Existing paths: in the tree, around it, and elsewhere.
    fn paths(&self) -> Vec<PathBuf> {
        let mut found: Vec<PathBuf> = self.root.ancestors().map(Path::to_owned).collect();
        found.extend(["/etc/passwd", "/usr/bin"].map(PathBuf::from));
        let mut open = vec![self.root.clone()];
        while let Some(directory) = open.pop() {
            for entry in fs::read_dir(&directory).expect("a directory").flatten() {
                let kind = entry.file_type().expect("a kind");
                open.extend(kind.is_dir().then(|| entry.path()));
                found.extend((!kind.is_symlink()).then(|| entry.path()));
            }
        }
        found
    }
}

impl fmt::Display for World {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for grant in &self.grants {
            let (anchor, caps) = (grant.anchor.display(), grant.caps);
            writeln!(f, "{anchor}: {caps} but {:?}, {:?}", grant.carve_outs, grant.kind)?;
        }
        for (tier, pattern) in self.tiers.opening() {
            writeln!(f, "{tier:?} {}", pattern.text)?;
        }
        for pattern in self.tiers.withholding() {
            writeln!(f, "withholding {pattern}")?;
        }
        writeln!(f, "default {:?}, {:?}", self.tiers.default, self.enforce)
    }
}

fn plant(root: &Path, numbers: &mut Numbers) {
    for directory in DIRECTORIES.into_iter().filter(|_| !numbers.one_in(4)).collect::<Vec<_>>() {
        fs::create_dir_all(root.join(directory)).expect("a directory");
        for file in FILES {
            if numbers.one_in(2) {
                let path = root.join(directory).join(file);
                fs::write(&path, file).expect("a file");
                // A file that nobody can start would not influence the plan.
                fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).expect("a mode");
            }
        }
    }
    if numbers.one_in(2) {
        let link = root.join(numbers.pick(&["link", "ws/link", "home/link"]));
        // The directory may be missing.
        let _ = symlink(root.join(numbers.pick(&DIRECTORIES)), link);
    }
}

fn place(root: &Path, numbers: &mut Numbers) -> PathBuf {
    let directory = root.join(numbers.pick(&DIRECTORIES));
    if numbers.one_in(4) { directory.join(numbers.pick(&FILES)) } else { directory }
}

fn grant(root: &Path, numbers: &mut Numbers) -> Grant {
    let (anchor, caps) = (place(root, numbers), numbers.pick(&SETS));
    let origin = match numbers.below(3) {
        0 => Origin::Product { why: String::new() },
        1 => Origin::Flag { text: String::new() },
        _ => Origin::Baseline { entry: String::new() },
    };
    let hidden = caps.is_empty() && numbers.one_in(2);
    let kind = if hidden { GrantKind::Hidden } else { GrantKind::Plain };
    let mut grant = Grant::new(anchor, caps, kind, origin);
    if numbers.one_in(5) && !caps.is_empty() {
        grant.carve_outs = vec![numbers.pick(&["key", "*/key", "sub"]).to_owned()];
    }
    grant
}

fn tiers(root: &Path, numbers: &mut Numbers) -> Tiers {
    let mut policy = FilePolicy::default();
    if numbers.one_in(2) {
        for _ in 0..=numbers.below(3) {
            let pattern = numbers.pick(&PATTERNS);
            let text = match pattern.strip_prefix("~/") {
                Some(everywhere) => everywhere.to_owned(),
                None => format!("{}{pattern}", root.display()),
            };
            policy.list_mut(numbers.pick(&Tier::ALL)).push(text);
        }
    }
    if numbers.one_in(6) {
        policy.default = Some(numbers.pick(&Tier::ALL));
    }
    Tiers::new(&policy, None, Places::without_home(&root.join("ws"))).expect("patterns")
}

/// Compares Landlock and the policy.
struct Both<'a> {
    world: &'a World,
    image: &'a Image<'a>,
    rules: &'a [LandlockRule],
    paths: &'a [PathBuf],
}

impl Both<'_> {
    /// The rights among these that Landlock allows on the object.
    fn held(&self, path: &Path, rights: BitFlags<AccessFs>) -> BitFlags<AccessFs> {
        let around = self.rules.iter().filter(|rule| path.starts_with(&rule.path));
        around.fold(BitFlags::empty(), |all, rule| all | rule.rights) & rights
    }

    /// Whether the policy allows any of it there, possibly after a prompt.
    fn allows(&self, path: &Path, caps: Capabilities) -> bool {
        let found = decide::lookup(self.image, &Request::canonical(path.as_os_str().as_bytes()));
        found.caps.union(found.asks).intersects(caps)
    }

    /// Whether the policy allows any of it on the path, on a directory above, or on everything in one of these. A rule
    /// on a directory above also counts if tiers leave some of its rights.
    fn allows_around(&self, path: &Path, caps: Capabilities) -> bool {
        let in_all = |above: &Path| self.allows(&above.join("any/any/any"), caps);
        let in_part = |above: &Path| {
            let above = above.as_os_str().as_bytes();
            let found = decide::lookup(self.image, &Request::canonical(above));
            let granted = found.granted(self.image).intersection(caps);
            granted.iter().any(|one| decide::may_be_left(self.image, above, one.into()))
        };
        path.ancestors().any(|above| self.allows(above, caps) || in_all(above) || in_part(above))
    }

    /// Whether Landlock may let it start as a side effect: it is readable, and beside a place where the run may create
    /// programs.
    fn starts_beside(&self, path: &Path) -> bool {
        let beside = |workshop: PathBuf| {
            let mut around = workshop.ancestors().skip(1).filter(|dir| dir.is_dir());
            around.any(|dir| path.starts_with(dir) && self.allows(dir, Capabilities::READ))
        };
        let makes = |place: &PathBuf| {
            let needed = [Capabilities::CREATE, Capabilities::EXECUTE];
            needed
                .iter()
                .all(|&one| self.allows(place, one) || self.allows(&place.join("any"), one))
        };
        let granted = self.world.grants.iter().map(|grant| grant.anchor.clone());
        let opened = self.world.tiers.opening().map(|(_, pattern)| pattern.stem());
        granted.chain(opened).filter(makes).any(beside)
    }

    /// The first access to a file that Landlock allows but must not, in words.
    fn excess_of_file(&self, path: &Path) -> Option<&'static str> {
        let held = |rights| !self.held(path, rights).is_empty();
        let starts = make_bitflags!(AccessFs::{Execute | ReadFile});
        let made = Capabilities::CREATE;
        // A program that creates a file may read and write it, and the kernel reads a program that it starts
        // (docs/enforcement.md).
        let read = Capabilities::READ.union(Capabilities::EXECUTE).union(made);
        let written = Capabilities::UPDATE.union(made);
        if held(AccessFs::ReadFile.into()) && !self.allows_around(path, read) {
            return Some("read");
        }
        if held(make_bitflags!(AccessFs::{WriteFile | Truncate}))
            && !self.allows_around(path, written)
        {
            return Some("update");
        }
        let is_started = self.held(path, starts) == starts;
        let may_start = self.allows_around(path, Capabilities::EXECUTE) || self.starts_beside(path);
        (is_started && !may_start).then_some("execute")
    }

    /// As `excess_of_file`, for a directory.
    fn excess_of_directory(&self, path: &Path) -> Option<&'static str> {
        let held = |rights| !self.held(path, rights).is_empty();
        let entries = || self.paths.iter().filter(|entry| entry.parent() == Some(path));
        let on_entries = |caps| {
            self.allows_around(&path.join("any"), caps)
                || entries().any(|entry| self.allows(entry, caps))
        };
        if held(AccessFs::ReadDir.into()) && !self.allows_around(path, Capabilities::READ) {
            return Some("list");
        }
        let makes = make_bitflags!(AccessFs::{MakeReg | MakeDir | MakeSym | MakeFifo | MakeSock});
        if held(makes) && !on_entries(Capabilities::CREATE) {
            return Some("create");
        }
        let removes = make_bitflags!(AccessFs::{RemoveFile | RemoveDir});
        (held(removes) && !on_entries(Capabilities::DELETE)).then_some("delete")
    }

    /// A capability that Landlock allows there and the policy does not, although the plan says that Landlock is exact.
    fn inexact(&self, path: &Path, plan: &Plan) -> Option<Capability> {
        let of = |capability| match capability {
            Capability::Read if path.is_dir() => AccessFs::ReadDir.into(),
            Capability::Read => AccessFs::ReadFile.into(),
            Capability::Execute => make_bitflags!(AccessFs::{Execute | ReadFile}),
            _ => AccessFs::WriteFile.into(),
        };
        let capabilities = [Capability::Read, Capability::Update, Capability::Execute];
        let exact = plan.holders.iter().filter(|holder| holder.landlock == LandlockPart::Exact);
        let exact = exact.map(|holder| holder.capability).filter(|it| capabilities.contains(it));
        let is_of_files = |it: &Capability| *it == Capability::Read || !path.is_dir();
        exact.filter(is_of_files).find(|&capability| {
            self.held(path, of(capability)) == of(capability)
                && !self.allows(path, capability.into())
        })
    }
}

/// On every existing path, the policy must allow all that Landlock allows, there or on a directory above. Landlock
/// cannot express less. Readable programs beside a place where the run may create some may start as well.
#[test]
fn bounds_never_exceed_the_policy() {
    let (mut allowing, mut beside) = (0, 0);
    for round in 1..=ROUNDS {
        let world = World::of(&mut Numbers(round.wrapping_mul(0x9E37_79B9_7F4A_7C15)));
        let image = world.image();
        let image = image::parse_image(&image).expect("an image");
        let plan = world.plan(&image);
        let rules = &plan.bounds.as_ref().expect("Landlock takes part").rules;
        let paths = world.paths();
        let both = Both { world: &world, image: &image, rules, paths: &paths };
        for path in &paths {
            let excess = if path.is_dir() {
                both.excess_of_directory(path)
            } else {
                both.excess_of_file(path)
            };
            let scene = || format!("round {round}, {}: {world}{rules:#?}", path.display());
            assert_eq!(excess, None, "{}", scene());
            assert_eq!(both.inexact(path, &plan), None, "{}", scene());
            allowing += usize::from(!both.held(path, AccessFs::ReadFile.into()).is_empty());
            beside += usize::from(both.starts_beside(path));
        }
        for rule in rules {
            assert!(rule.path.symlink_metadata().is_ok(), "round {round}: {rule:?}");
        }
    }
    assert!(allowing > 1000 && beside > 100, "they allow too little to say anything");
}
