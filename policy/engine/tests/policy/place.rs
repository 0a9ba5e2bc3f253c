//! A scratch directory with a workspace `w` in it, and short notations for its content.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use jp_confine_engine::Capability;
use jp_confine_engine::approvals::ApprovedTargets;
use jp_confine_engine::build::{Beyond, BuildError, Grant, ImageSpec, build};
use jp_confine_engine::canonical::Root;
use jp_confine_engine::check::Context;
use jp_confine_engine::compile::{Compiled, compile};
use jp_confine_engine::compile_error::CompileError;
use jp_confine_engine::file_policy::FilePolicy;
use jp_confine_engine::model::FsRule;
use jp_confine_engine::tier::Tier;
use jp_confine_engine::tiers::Tiers;

pub(crate) struct Place {
    folder: tempfile::TempDir,
    base: PathBuf,
    pub(crate) root: Root,
}

impl Place {
    /// Entries separated by spaces: `w/dir/` is a directory, `w/file` a file, `w/link=text` a symlink. `@` in a text
    /// stands for the scratch directory. Parents are created as needed.
    pub(crate) fn new(entries: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let base = folder.path().canonicalize().unwrap();
        fs::create_dir(base.join("w")).unwrap();
        let root = Root::open(&base.join("w")).unwrap();
        let place = Self { folder, base, root };
        entries.split_whitespace().for_each(|entry| place.add(entry));
        place
    }

    pub(crate) fn add(&self, entry: &str) {
        let (name, text) = entry.split_once('=').unzip();
        let path = self.path(name.unwrap_or(entry));
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        match text {
            Some(text) => symlink(text.replace('@', self.base.to_str().unwrap()), &path).unwrap(),
            None if entry.ends_with('/') => fs::create_dir_all(&path).unwrap(),
            None => fs::write(&path, "").unwrap(),
        }
    }

    /// The absolute path of an entry in the scratch directory.
    pub(crate) fn path(&self, relative: &str) -> PathBuf {
        self.base.join(relative)
    }

    /// A path as tests write it, relative to the scratch directory.
    pub(crate) fn short(&self, path: &Path) -> String {
        path.strip_prefix(&self.base).unwrap_or(path).display().to_string()
    }

    /// Text with the name of the scratch directory replaced by `@`.
    pub(crate) fn anonymous(&self, text: &str) -> String {
        text.replace(self.folder.path().to_str().unwrap(), "@")
            .replace(self.base.to_str().unwrap(), "@")
    }

    /// Targets approved as `name=path`, with the path relative to the scratch directory.
    pub(crate) fn approvals(&self, approved: &str) -> ApprovedTargets {
        let mut targets = ApprovedTargets::default();
        for (name, path) in approved.split_whitespace().filter_map(|one| one.split_once('=')) {
            targets.approve(name, self.path(path));
        }
        targets
    }

    pub(crate) fn compile(&self, rules: &str, approved: &str) -> Result<Compiled, CompileError> {
        let rules = self::rules(rules);
        let declared = (!rules.is_empty()).then_some(rules.as_slice());
        compile(&self.root, declared, &self.approvals(approved))
    }

    pub(crate) fn policy(&self, rules: &str, approved: &str) -> Policy<'_> {
        let grants = self.compile(rules, approved).unwrap().grants;
        self.policy_of(grants)
    }

    pub(crate) fn policy_of(&self, grants: Vec<Grant>) -> Policy<'_> {
        let image = image(&grants, self.root.as_path());
        Policy { place: self, grants, image }
    }
}

/// A workspace with the image of its policy.
pub(crate) struct Policy<'a> {
    pub(crate) place: &'a Place,
    pub(crate) grants: Vec<Grant>,
    pub(crate) image: Vec<u8>,
}

impl Policy<'_> {
    pub(crate) fn context(&self) -> Context<'_> {
        Context::new(&self.place.root, &self.grants, &self.image)
    }
}

pub(crate) fn image(grants: &[Grant], workspace: &Path) -> Vec<u8> {
    image_with(grants, None, workspace)
}

pub(crate) fn image_with(grants: &[Grant], tiers: Option<&Tiers>, workspace: &Path) -> Vec<u8> {
    try_image_with(grants, tiers, workspace).unwrap()
}

pub(crate) fn try_image_with(
    grants: &[Grant],
    tiers: Option<&Tiers>,
    workspace: &Path,
) -> Result<Vec<u8>, BuildError> {
    let spec = ImageSpec {
        grants,
        tiers,
        beyond: Beyond::default(),
        workspace,
        volumes: &[],
        aliases: &[],
        views: &[],
        session: 0,
        shim_path: Path::new(""),
        events_path: Path::new(""),
        temp_dir: Path::new(""),
        shared_page: Path::new(""),
        json: b"",
    };
    build(&spec)
}

/// Rules separated by spaces: `path:caps`, or `path!caps` for external ones. Capabilities are letters of `rcudx`, and
/// `w` for the alias.
pub(crate) fn rules(text: &str) -> Vec<FsRule> {
    text.split_whitespace().map(rule).collect()
}

fn rule(text: &str) -> FsRule {
    let (path, letters) = text.split_once([':', '!']).unwrap();
    let bare = FsRule::new(path).with_external(text.contains('!'));
    letters.chars().fold(bare, |rule, letter| match letter {
        'w' => rule.with_write(true),
        letter => rule.with(capability(letter), true),
    })
}

pub(crate) fn capability(letter: char) -> Capability {
    match letter {
        'r' => Capability::Read,
        'c' => Capability::Create,
        'u' => Capability::Update,
        'd' => Capability::Delete,
        'x' => Capability::Execute,
        other => panic!("no capability {other}"),
    }
}

/// Capabilities by letter, or `-` for none.
pub(crate) fn letters(capabilities: impl IntoIterator<Item = Capability>) -> String {
    let letter = |one: Capability| if one == Capability::Execute { 'x' } else { initial(one) };
    let letters: String = capabilities.into_iter().map(letter).collect();
    if letters.is_empty() { "-".to_owned() } else { letters }
}

fn initial(capability: Capability) -> char {
    capability.as_str().chars().next().unwrap()
}

/// `deny=PATTERN`, `prompt=…`, `read=…`, `write=…`, `default=TIER`, separated by spaces.
pub(crate) fn file_policy(text: &str) -> FilePolicy {
    let mut policy = FilePolicy::default();
    for (field, value) in text.split_whitespace().filter_map(|word| word.split_once('=')) {
        match Tier::from_name(field) {
            Some(tier) => policy.list_mut(tier).push(value.to_owned()),
            None => policy.default = Tier::from_name(value),
        }
    }
    policy
}
