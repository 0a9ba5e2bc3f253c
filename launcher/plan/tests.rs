//! Tests plans for policies on real trees, and their effect in the kernel.

use std::fs;
use std::os::fd::AsFd as _;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::symlink;

use jp_confine_engine::Capabilities;
use jp_confine_engine::build::{GrantKind, ImageSpec, Origin};
use jp_confine_engine::decide::{self, Request, Verdict};
use jp_confine_engine::file_policy::FilePolicy;
use jp_confine_engine::pattern::Places;
use jp_confine_engine::tier::Tier;
use landlock::AccessFs;
use tempfile::TempDir;

use super::holder::LandlockPart;
use super::*;
use crate::cli::Options;
use crate::compile::image;
use crate::compile::views::Views;
use crate::config::written_view::WrittenView;
use crate::host::context::Context;
use crate::sys::landlock as kernel;

const READ: Capabilities = Capabilities::READ;
const RUN: Capabilities = Capabilities::READ.union(Capabilities::EXECUTE);
pub(super) const NEW: Machine = Machine {
    landlock: 7,
    listener: true,
    openat2: true,
    proc: true,
    own_descriptors: true,
    ptrace: true,
    traces_all: true,
    descriptors: true,
    writes_cores: false,
};

/// A tree and grants on it.
struct Scene {
    tree: TempDir,
    grants: Vec<Grant>,
    tiers: Tiers,
    user: Uid,
}

impl Scene {
    fn new(files: &[&str]) -> Self {
        let tree = tempfile::tempdir().expect("a directory");
        for file in files {
            let path = tree.path().join(file);
            fs::create_dir_all(path.parent().expect("a parent")).expect("directories");
            fs::write(path, file).expect("a file");
        }
        Self { tree, grants: Vec::new(), tiers: Tiers::default(), user: Uid::ROOT }
    }

    fn root(&self) -> PathBuf {
        self.tree.path().canonicalize().expect("canonical")
    }

    fn grant(mut self, path: &str, caps: Capabilities, except: &[&str]) -> Self {
        let anchor = self.root().join(path).components().collect();
        let origin = Origin::Product { why: path.to_owned() };
        let mut grant = Grant::new(anchor, caps, GrantKind::Plain, origin);
        grant.carve_outs = except.iter().map(|&pattern| pattern.to_owned()).collect();
        self.grants.push(grant);
        self
    }

    /// Adds a pattern of this tier for a directory.
    fn tier(mut self, tier: Tier, folder: &str) -> Self {
        let root = self.root();
        let mut policy = FilePolicy::default();
        policy.list_mut(tier).push(format!("{}/**", root.join(folder).display()));
        let places = Places::without_home(&root);
        self.tiers = Tiers::new(&policy, None, places).expect("a pattern");
        self
    }

    fn image(&self) -> Result<Vec<u8>, Failure> {
        image::build_image(&ImageSpec {
            tiers: (!self.tiers.is_empty()).then_some(&self.tiers),
            ..ImageSpec::to_ask(&self.grants, &self.root())
        })
    }

    fn plan_on(&self, machine: Machine, enforce: Enforce) -> Result<Plan, Failure> {
        let root = self.root();
        let image = self.image()?;
        Plan::of(&PlanInput {
            has_devices: false,
            kernel_mounts: &[],
            own_caches: None,
            grants: &self.grants,
            image: &image::parse_image(&image)?,
            tiers: &self.tiers,
            workspace: &root,
            own: &[],
            user: self.user,
            machine,
            enforce,
            judges_network: false,
            lists_programs: false,
        })
    }

    /// Whether the policy allows reading each path, and whether Landlock does.
    fn answers(&self, plan: &Plan, paths: &[&str]) -> Vec<(bool, bool)> {
        let paths: Vec<PathBuf> = paths.iter().map(|path| self.root().join(path)).collect();
        let image = self.image().expect("an image");
        let image = image::parse_image(&image).expect("an image");
        let policy = paths.iter().map(|path| {
            let request = Request::canonical(path.as_os_str().as_bytes());
            decide::access(&image, &request, READ) == Verdict::Allow
        });
        let ruleset = kernel::ruleset(plan.bounds.as_ref().expect("bounds")).expect("a ruleset");
        let held = std::thread::scope(|scope| {
            let confined = scope.spawn(|| {
                rustix::thread::set_no_new_privs(true).expect("no privileges");
                kernel::restrict(ruleset.as_fd()).expect("Landlock");
                let reads = |path: &PathBuf| {
                    if path.is_dir() { fs::read_dir(path).is_ok() } else { fs::read(path).is_ok() }
                };
                paths.iter().map(reads).collect::<Vec<bool>>()
            });
            confined.join().expect("no panic")
        });
        policy.zip(held).collect()
    }

    fn plan(&self) -> Plan {
        self.plan_on(NEW, Enforce::Layered).expect("a plan")
    }

    /// The rights of the rule on a path of the tree, if there is one.
    fn rights(&self, plan: &Plan, path: &str) -> Option<landlock::BitFlags<AccessFs>> {
        let path: PathBuf = self.root().join(path).components().collect();
        let bounds = plan.bounds.as_ref().expect("Landlock takes part");
        let mut rules = bounds.rules.iter().filter(|rule| rule.path == path);
        let rights = rules.next().map(|rule| rule.rights);
        assert!(rules.next().is_none(), "two rules on {}", path.display());
        rights
    }
}

/// The calls trapped because of the policy.
fn traps(plan: &Plan) -> Traps {
    Traps { namespaces: false, ..plan.traps.expect("a supervisor") }
}

/// If the library cannot be loaded, other layers hold its part, and the start says so in one line.
#[test]
fn the_library_can_be_left_out() {
    let mut plan = Scene::new(&[]).plan();
    assert!(plan.loads_library && plan.holders.iter().all(|holder| holder.library));
    plan.leave_out_library("it is nowhere");
    assert!(!plan.loads_library && plan.holders.iter().all(|holder| !holder.library));
    assert!(plan.holders.iter().all(|holder| !holder.layers().is_empty()));
    let line = "the library is not loaded, as it is nowhere: the kernel's layers hold alone";
    assert_eq!(plan.weaker.as_deref(), Some(line));
}

#[test]
fn namespaces_are_trapped_where_root_lacks_the_capability() {
    let trapped = |user| {
        let scene = Scene { user, ..Scene::new(&[]) };
        scene.plan().traps.expect("a supervisor").namespaces
    };
    assert!(trapped(Uid::ROOT));
    assert!(!trapped(Uid::from_raw(1000)));
}

#[test]
fn memory_stays_readable_where_the_supervisor_needs_leave_to_read_it() {
    let hiding = |traces_all| {
        let machine = Machine { traces_all, ..NEW };
        let plan = Scene::new(&[]).plan_on(machine, Enforce::Layered).expect("a plan");
        plan.traps.expect("a supervisor").hiding
    };
    assert!(hiding(false) && !hiding(true));
}

/// No call creates the file of a crash.
#[test]
fn nothing_is_made_of_crashes_where_the_kernel_would() {
    for (writes_cores, enforce) in
        [(true, Enforce::Layered), (true, Enforce::Cooperative), (false, Enforce::Layered)]
    {
        let machine = Machine { writes_cores, ..NEW };
        let plan = Scene::new(&[]).plan_on(machine, enforce).expect("a plan");
        assert_eq!(plan.withholds_cores, writes_cores);
        assert_eq!(
            plan.traps.is_some_and(|traps| traps.cores),
            writes_cores && plan.traps.is_some()
        );
    }
}

#[test]
fn what_landlock_can_say_is_not_trapped() {
    let scene = Scene::new(&["a/file"]).grant("", RUN, &[]).grant("a", READ.union(RUN), &[]);
    let plan = scene.plan();
    assert_eq!(traps(&plan), Traps::default());
    assert!(plan.holders.iter().all(|holder| holder.landlock == LandlockPart::Exact), "{plan:?}");
    assert!(plan.notes.is_empty(), "{:?}", plan.notes);
    assert_eq!(scene.rights(&plan, "a"), None, "it says nothing new");
}

#[test]
fn where_landlock_is_exact_it_answers_as_the_policy_does() {
    if kernel::version() == 0 {
        return;
    }
    let files = ["a/x", "a/keys/b_key", "a/keys/b", "a/d/e/f", "a/d/g", "b/x", "b/c/x", "c"];
    let scenes = [
        Scene::new(&files).grant("a", READ, &["keys/*_key", "d/e"]),
        Scene::new(&files).grant("a", READ, &[]).grant("a/d", Capabilities::NONE, &[]),
        Scene::new(&files)
            .grant("", READ, &["c"])
            .grant("a", Capabilities::NONE, &[])
            .grant("a/d/e", READ, &[])
            .grant("b/c", Capabilities::ALL, &[]),
        Scene::new(&files).grant("", RUN, &[]).grant("a", READ, &["x"]).grant(
            "b/c/later",
            Capabilities::NONE,
            &[],
        ),
    ];
    for scene in scenes {
        let plan = scene.plan();
        assert_eq!(plan.holders[0].landlock, LandlockPart::Exact, "{:?}", scene.grants);
        let directories = ["", "a", "a/keys", "a/d", "a/d/e", "b", "b/c"];
        let answers = scene.answers(&plan, &files);
        assert!(answers.iter().any(|(policy, _)| *policy));
        for (path, (policy, held)) in files.iter().zip(answers) {
            assert_eq!(policy, held, "{path} of {:?}", scene.grants);
        }
        for (path, (policy, held)) in directories.iter().zip(scene.answers(&plan, &directories)) {
            // The supervisor allows the listings that Landlock cannot allow.
            let agree = policy == held || policy && traps(&plan).listings;
            assert!(agree, "listing of {path} of {:?}", scene.grants);
        }
    }
}

/// A scene with a view of `to` at `home/tool`, and its grants.
fn scene_with_view() -> Scene {
    let mut scene = Scene::new(&["home/tool/x", "home/a/x", "to/x"]);
    let root = scene.root();
    let view = WrittenView { from: root.join("home/tool"), to: root.join("to"), writable: true };
    let options = Options { views: vec![view], ..Options::default() };
    let workspace = root.join("ws");
    let views = Views::resolve(&Context::bare(&root), &workspace, &options, &[], |_| false);
    let views = views.expect("a view that works");
    scene.grants.extend(views.typed().map(|(grant, ..)| grant.clone()).chain(views.denials()));
    scene
}

/// The kernel denies whatever meets the real files at the place of a view.
#[test]
fn the_place_of_a_view_has_no_rule() {
    let scene = scene_with_view();
    let plan = scene.plan();
    let place = scene.root().join("home/tool");
    let rules = plan.bounds.iter().flat_map(|bounds| &bounds.rules);
    let around: Vec<_> = rules.filter(|rule| place.starts_with(&rule.path)).collect();
    assert!(around.is_empty(), "{around:?}");
    assert!(scene.rights(&plan, "to").is_some_and(|rights| rights.contains(AccessFs::MakeReg)));
    if kernel::version() > 0 {
        let answers = scene.answers(&plan, &["home/tool/x", "to/x"]);
        assert_eq!(answers, [(false, false), (true, true)]);
    }
}

/// As for any denial below a grant of changes, Landlock cannot hold it, and the supervisor does.
#[test]
fn the_place_of_a_view_below_a_grant_is_trapped() {
    let plan = scene_with_view().grant("home", Capabilities::ALL, &[]).plan();
    assert!(traps(&plan).writes, "{plan:?}");
    assert!(plan.holders.iter().all(|holder| holder.supervisor), "{plan:?}");
}

#[test]
fn changes_are_trapped_where_an_entry_belongs_to_the_directory_above() {
    let scene = Scene::new(&["a/file"]).grant("a", Capabilities::ALL, &[]);
    let plan = scene.plan();
    assert_eq!(traps(&plan), Traps { writes: true, ..Traps::default() });
    let rights = scene.rights(&plan, "a").expect("a rule");
    assert!(rights.contains(AccessFs::MakeReg) && rights.contains(AccessFs::RemoveFile));
}

/// Landlock knows nothing of sensitive paths, which need a prompt.
#[test]
fn reads_are_left_to_landlock_where_nobody_is_asked() {
    let mut scene = Scene::new(&["a/.env"]).grant("a", READ, &[]);
    assert!(scene.plan().leaves_reads && scene.plan().leaves_listings);
    scene.grants[0].origin = Origin::Flag { text: "-r a".to_owned() };
    let root = scene.root();
    let places = Places::without_home(&root);
    scene.tiers = Tiers::new(&FilePolicy::default(), Some(&[]), places).expect("patterns");
    let plan = scene.plan();
    assert_eq!(plan.holders[0].landlock, LandlockPart::Exact);
    assert!(!plan.leaves_reads);
}

#[test]
fn a_denial_is_left_out_of_what_is_named() {
    let files = ["etc/passwd", "etc/shadow", "etc/ssh/config", "etc/ssh/a_key", "etc/ssl/c/pem"];
    let scene = Scene::new(&files).grant("etc", READ, &["shadow*", "ssh/*_key"]);
    symlink("shadow", scene.root().join("etc/link")).expect("a link");
    let plan = scene.plan();
    assert_eq!(traps(&plan), Traps::default());
    assert_eq!(plan.holders[0].landlock, LandlockPart::Exact);
    let has = |path: &str, right: AccessFs| {
        scene.rights(&plan, path).is_some_and(|rights| rights.contains(right))
    };
    assert!(has("etc", AccessFs::ReadDir) && !has("etc", AccessFs::ReadFile));
    assert!(has("etc/ssh", AccessFs::ReadDir) && !has("etc/ssh", AccessFs::ReadFile));
    assert!(has("etc/passwd", AccessFs::ReadFile));
    assert!(has("etc/ssh/config", AccessFs::ReadFile));
    assert!(has("etc/ssl", AccessFs::ReadFile));
    for absent in ["etc/shadow", "etc/ssh/a_key", "etc/ssl/c", "etc/link"] {
        assert_eq!(scene.rights(&plan, absent), None, "{absent}");
    }
}

#[test]
fn a_denied_directory_may_not_be_listed_either() {
    let scene = Scene::new(&["a/b/file", "a/secret/file", "a/c"]).grant("a", READ, &[]).grant(
        "a/secret",
        Capabilities::NONE,
        &[],
    );
    let plan = scene.plan();
    assert_eq!(traps(&plan), Traps { listings: true, ..Traps::default() });
    assert!(plan.leaves_reads && !plan.leaves_listings, "files are named one by one");
    assert_eq!(scene.rights(&plan, "a"), None);
    assert!(scene.rights(&plan, "a/b").is_some_and(|rights| rights.contains(AccessFs::ReadDir)));
    let alone = scene.plan_on(NEW.without_listener(), Enforce::Layered).expect("a plan");
    assert!(!alone.leaves_reads && alone.holders[0].landlock == LandlockPart::Bound, "{alone:?}");
    assert!(scene.rights(&alone, "a").is_some_and(|rights| rights.contains(AccessFs::ReadDir)));
}

#[test]
fn a_denial_that_is_not_there_yet_is_held_too() {
    let scene = Scene::new(&["a/b/file", "a/c"]).grant("a", READ, &[]).grant(
        "a/b/later/secret",
        Capabilities::NONE,
        &[],
    );
    let plan = scene.plan();
    // It may become a directory then. Its names must be hidden like its content.
    assert_eq!(traps(&plan), Traps { listings: true, ..Traps::default() });
    assert!(scene.rights(&plan, "a/b/file").is_some());
    assert_eq!(scene.rights(&plan, "a/b"), None);
}

/// Programs that the run may create and start need a right on the existing directory, which extends to its content. So
/// there is no such right if that content may not be read.
#[test]
fn programs_to_come_open_nothing_beside_them() {
    for around in [Capabilities::NONE, Capabilities::CREATE, Capabilities::EXECUTE] {
        let scene = Scene::new(&["a/file"]).grant("", RUN, &[]).grant("a", around, &[]).grant(
            "a/new",
            Capabilities::ALL,
            &[],
        );
        let plan = scene.plan();
        assert!(!scene.rights(&plan, "").is_some_and(|it| it.contains(AccessFs::Execute)));
        let rights = scene.rights(&plan, "a").unwrap_or_default();
        assert!(around.contains(Capabilities::EXECUTE) || !rights.contains(AccessFs::Execute));
        assert!(plan.notes.iter().any(|note| note.contains("start in the next run")), "{plan:?}");
        assert!(traps(&plan).executes, "the supervisor says why");
    }
}

/// A missing name opens nothing in the directory around it.
#[test]
fn what_is_missing_opens_nothing_around_it() {
    for caps in [READ, RUN, Capabilities::ALL.difference(Capabilities::EXECUTE), Capabilities::ALL]
    {
        let scene = Scene::new(&["home/.ssh/key"]).grant("home/notes", caps, &[]);
        let plan = scene.plan();
        assert_eq!(plan.bounds.as_ref().expect("bounds").rules, [], "{caps}");
    }
    for tier in [Tier::Read, Tier::Write, Tier::Prompt] {
        let scene = Scene::new(&["home/.ssh/key"]).tier(tier, "home/notes");
        assert_eq!(scene.plan().bounds.expect("bounds").rules, [], "{tier:?}");
    }
}

/// If a pattern matches only some entries of a directory, there are rules for those alone.
#[test]
fn a_pattern_opens_nothing_beside_what_it_matches() {
    let bounds = |pattern: &str| {
        let mut scene =
            Scene::new(&["home/.ssh/key", "home/a.md", "home/p/bin/tool", "home/q/key"]);
        let root = scene.root();
        let read_paths = vec![format!("{}/{pattern}", root.display())];
        let policy = FilePolicy { read_paths, ..FilePolicy::default() };
        scene.tiers = Tiers::new(&policy, None, Places::without_home(&root)).expect("a pattern");
        let rules = scene.plan().bounds.expect("bounds").rules;
        let name = |rule: LandlockRule| {
            let name = rule.path.strip_prefix(&root).map(Path::to_owned).unwrap_or(rule.path);
            name.display().to_string()
        };
        rules.into_iter().map(name).collect::<Vec<_>>()
    };
    assert_eq!(bounds("home/*.md"), ["home/a.md"]);
    assert_eq!(bounds("home/*/bin/**"), ["home/p/bin"]);
    assert_eq!(bounds("home/p"), ["home/p"], "to list it");
    assert!(bounds("home/**/*.md").is_empty() && bounds("home/{a,b}.md").is_empty());
}

/// Landlock's rule is tied to an existing object: it vanishes or moves with it.
#[test]
fn programs_that_may_be_made_anew_are_judged_by_call() {
    let scene = Scene::new(&["a/target/p"])
        .grant("a", Capabilities::ALL.difference(Capabilities::EXECUTE), &[])
        .grant("a/target", Capabilities::ALL, &[]);
    let plan = scene.plan();
    assert!(traps(&plan).executes && !traps(&plan).reads, "{plan:?}");
    let root = scene.root().join("a");
    let mut rules = plan.bounds.as_ref().expect("bounds").rules.iter();
    assert!(rules.any(|rule| rule.path == root && rule.rights.contains(AccessFs::Execute)));
    let alone =
        Scene::new(&["a/tool"]).grant("a", READ, &[]).grant("a/tool", Capabilities::ALL, &[]);
    assert!(traps(&alone.plan()).executes, "it may make itself anew");
    let whole = Scene::new(&["a/tool"]).grant("", Capabilities::ALL, &[]);
    assert!(!traps(&whole.plan()).executes, "nobody makes the workspace itself anew");
    let kept = Scene::new(&["a/tool"])
        .grant("a", Capabilities::ALL.difference(Capabilities::EXECUTE), &[])
        .grant("a/tool", RUN, &[]);
    assert!(kept.plan().traps.is_some_and(|traps| !traps.executes));
}

/// A moved object keeps its Landlock rule. So it gets none if a rule above it suffices.
#[test]
fn programs_that_may_be_moved_are_judged_by_call() {
    let data = Capabilities::ALL.difference(Capabilities::EXECUTE);
    let typed = |around: &str, bin, caps| {
        let scene = Scene::new(&["a/bin/p", "data/f"]).grant(around, RUN, &[]);
        let mut scene = scene.grant("a/bin", bin, &[]).grant("data", caps, &[]);
        scene.grants[1].origin = Origin::Flag { text: "-x bin".to_owned() };
        scene
    };
    let plan = typed("", Capabilities::ALL, data).plan();
    assert!(traps(&plan).executes, "{plan:?}");
    assert!(plan.notes.iter().any(|note| note.contains("bin: the supervisor")), "{plan:?}");
    for (around, bin, caps, why) in [
        ("", Capabilities::ALL, Capabilities::ALL, "they may start there, too"),
        ("", Capabilities::ALL.difference(Capabilities::DELETE), data, "it stays"),
        ("", RUN, data, "it would gain something there"),
        ("a", Capabilities::ALL, data, "the rule above stays"),
    ] {
        assert!(!traps(&typed(around, bin, caps).plan()).executes, "{why}");
    }
}

/// The library still leaves reads to Landlock, which allows no more than the policy.
#[test]
fn reads_of_what_the_run_makes_are_judged_by_call() {
    let typed = |caps| {
        let mut scene = Scene::new(&["a/file"]).grant("", Capabilities::NONE, &[]);
        scene = scene.grant("a", caps, &[]).grant("b", caps, &[]);
        scene.grants[1].origin = Origin::Flag { text: "-w a".to_owned() };
        scene.grants[2].origin = Origin::Flag { text: "-w b".to_owned() };
        scene
    };
    let data = Capabilities::ALL.difference(Capabilities::EXECUTE);
    let plan = typed(data).plan();
    assert!(traps(&plan).reads && plan.leaves_reads, "{plan:?}");
    assert!(plan.notes.iter().any(|note| note.contains("a, ") && note.contains("b: ")), "{plan:?}");
    assert!(!traps(&typed(READ.union(Capabilities::UPDATE)).plan()).reads, "nothing is made");
    let mut around = typed(data);
    around.grants[0].caps = READ;
    assert!(!traps(&around.plan()).reads, "it may be read where it is made");
}

#[test]
fn reads_are_trapped_where_denied_names_may_appear() {
    let scene = Scene::new(&["a/file"]).grant("a", Capabilities::ALL, &[]).grant(
        "a/.env",
        Capabilities::NONE,
        &[],
    );
    let plan = scene.plan();
    let all = Traps { listings: false, ..Traps::ALL };
    assert_eq!(traps(&plan), all);
    assert!(!plan.leaves_reads);
    assert!(plan.notes.iter().any(|note| note.contains("may appear")), "{:?}", plan.notes);
}

#[test]
fn a_tree_that_traps_does_not_widen_the_ones_around_it() {
    let scene = Scene::new(&["w/file", "home/key", "usr/tool"])
        .grant("", READ, &[])
        .grant("home", Capabilities::NONE, &[])
        .grant("w", Capabilities::ALL, &[])
        .grant("w/.env", Capabilities::NONE, &[]);
    let plan = scene.plan();
    assert!(traps(&plan).reads);
    assert_eq!(scene.rights(&plan, ""), None);
    assert!(scene.rights(&plan, "usr").is_some() && scene.rights(&plan, "w").is_some());
    assert_eq!(scene.rights(&plan, "home"), None);
}

// conformance: 076-153
#[test]
fn creating_without_changing_is_trapped() {
    let create = READ.union(Capabilities::CREATE);
    let scene = Scene::new(&["a/b/file"]).grant("a/b", create, &[]);
    assert!(traps(&scene.plan()).writes);
}

// conformance: 076-153
/// A new file is opened for writing. So the supervisor keeps create apart from update.
#[test]
fn each_change_has_rights_of_its_own() {
    let rights = [AccessFs::MakeReg, AccessFs::WriteFile, AccessFs::RemoveFile];
    for (change, expected) in [
        (Capabilities::CREATE, [true, true, false]),
        (Capabilities::UPDATE, [false, true, false]),
        (Capabilities::DELETE, [false, false, true]),
    ] {
        let scene = Scene::new(&["a/b/file"]).grant("a/b", READ.union(change), &[]);
        let held = scene.rights(&scene.plan(), "a/b").expect("a rule");
        assert_eq!(rights.map(|right| held.contains(right)), expected, "{change}");
    }
}

#[test]
fn what_landlock_cannot_take_apart_is_trapped() {
    for caps in [Capabilities::EXECUTE, Capabilities::CREATE.union(Capabilities::DELETE)] {
        let plan = Scene::new(&["a/file"]).grant("a", caps, &[]).plan();
        assert!(traps(&plan).reads, "{caps}");
    }
}

#[test]
fn a_tier_opens_what_it_says_and_a_question_nothing() {
    let bound = |tier| {
        let scene = Scene::new(&["a/file", "o/file"]).grant("a", READ, &[]).tier(tier, "o");
        let plan = scene.plan();
        assert!(traps(&plan).reads, "{plan:?}");
        scene.rights(&plan, "o")
    };
    assert!(bound(Tier::Read).is_some_and(|rights| rights.contains(AccessFs::ReadFile)));
    assert_eq!(bound(Tier::Prompt), None);
}

#[test]
fn what_is_absent_is_remembered() {
    let scene = Scene::new(&["a/file"]).grant("a", READ, &[]).grant("a/new", RUN, &[]);
    let plan = scene.plan();
    assert_eq!(plan.absent, [scene.root().join("a/new")]);
    assert_eq!(scene.rights(&plan, "a/new"), None);
}

#[test]
fn a_machine_that_lacks_something_is_told_of() {
    let scene = Scene::new(&["a/file"]).grant("a", READ, &[]);
    let on = |machine: Machine| scene.plan_on(machine, Enforce::Layered).expect("a plan");
    let no_landlock = on(Machine { landlock: 0, ..NEW });
    assert!(no_landlock.bounds.is_none() && no_landlock.static_programs_allowed());
    assert!(traps(&no_landlock).processes);
    assert!(traps(&no_landlock).reads && traps(&no_landlock).executes);
    let old = on(Machine { landlock: 2, ..NEW }).describe();
    assert!(!old.contains("Landlock 2:") && old.contains("Landlock 3:"), "{old}");
    let alone = on(NEW.without_listener());
    assert!(alone.bounds.is_some() && alone.traps.is_none() && !alone.static_programs_allowed());
    let nothing = on(Machine { landlock: 0, ..NEW }.without_listener());
    assert!(nothing.bounds.is_none() && nothing.traps.is_none());
    for plan in [no_landlock, alone, nothing] {
        assert!(plan.weaker.as_ref().is_some_and(|line| !line.contains('\n')), "{plan:?}");
    }
    assert_eq!(on(NEW).weaker, None);
    let blind = on(Machine { proc: false, own_descriptors: false, ..NEW });
    assert!(blind.weaker.is_some_and(|line| line.contains("`rm -r` fail")));
}

#[test]
fn strict_needs_every_layer() {
    let scene = Scene::new(&["a/file"]).grant("a", READ, &[]);
    assert!(scene.plan_on(NEW, Enforce::Strict).is_ok());
    let failure = scene.plan_on(NEW.without_listener(), Enforce::Strict).expect_err("incomplete");
    assert_eq!(failure.status(), 125);
    let Failure::Own { message, advice } = failure else { panic!("not our own") };
    assert!(message.contains("listener") && advice.is_some(), "{message}");
}

#[test]
fn cooperation_needs_no_plan() {
    let plan = Scene::new(&[]).plan_on(NEW, Enforce::Cooperative).expect("a plan");
    assert!(plan.bounds.is_none() && plan.traps.is_none() && plan.weaker.is_none());
    assert_eq!(plan.holders[0].layers(), "library (cooperative)");
}
