//! Resolves the paths of `-r`, `-w`, `-x` and `--deny`. Used by `grants`, which adds them to the other grants.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use jp_confine_engine::build::{Grant, GrantKind, Origin};
use jp_confine_engine::canonical::{self, Op};
use jp_confine_engine::model::TYPED;
use jp_confine_engine::{Capabilities, decide, slips};

use super::{Ceilings, Parts};
use crate::cli::Options;
use crate::compile::led_path::Led;
use crate::compile::views::Views;
use crate::error::Failure;
use crate::host::context::Context;
use crate::text::quote;

/// The place of most programs and libraries.
const SYSTEM: &str = "/usr";

/// The resolved paths of flags, each with the rights it adds or a denial.
#[derive(Debug)]
pub(crate) struct Flags {
    pub(super) paths: BTreeMap<PathBuf, Flag>,
    /// Those that grant something elsewhere than they are spelled.
    pub(super) led: Vec<Led>,
    /// The directories that `--share-tmp` grants: `/tmp`, and that of `TMPDIR`.
    pub(super) shared: Vec<PathBuf>,
    /// Warnings of likely mistakes.
    pub(crate) warnings: Vec<String>,
}

/// The grant of flags on one path, or their denial.
#[derive(Debug, Default)]
pub(crate) struct Flag {
    pub(super) caps: Capabilities,
    pub(super) deny: bool,
    pub(super) text: String,
}

impl Flags {
    /// Resolves the paths of `-r`, `-w`, `-x` and `--deny` from the working directory. Flags on one path add up. A
    /// denial outweighs them, in whatever order they were typed.
    pub(crate) fn resolve(context: &Context, options: &Options) -> Result<Self, Failure> {
        let read = Capabilities::READ;
        let lists: [(&str, Option<Capabilities>, &[PathBuf]); 4] = [
            ("-r", Some(read), &options.read),
            ("-w", Some(read.union(Capabilities::WRITE)), &options.write),
            ("-x", Some(read.union(Capabilities::EXECUTE)), &options.exec),
            ("--deny", None, &options.deny),
        ];
        let shared = if options.share_tmp { shared(context) } else { Vec::new() };
        let (paths, led, warnings) = (BTreeMap::new(), Vec::new(), Vec::new());
        let mut flags = Self { paths, led, shared, warnings };
        for (name, caps, paths) in lists {
            for path in paths {
                flags.resolve_one(context, name, caps, path)?;
            }
        }
        Ok(flags)
    }

    fn resolve_one(
        &mut self,
        context: &Context,
        name: &str,
        caps: Option<Capabilities>,
        path: &Path,
    ) -> Result<(), Failure> {
        let text = format!("{name} {}", path.display());
        if path.as_os_str().is_empty() {
            return Err(Failure::advised(
                format!("{name} names the empty path"),
                "the working directory is `.`",
            ));
        }
        let resolved = canonical::resolve(&context.cwd, path, Op::Content)
            .map_err(|error| Failure::own(format!("{text}: {error}")))?;
        let anchor = context.outer_views.real(resolved.path);
        if !resolved.exists && caps.is_none() {
            refuse_slip(path)?;
        }
        let creates = caps.is_none_or(|caps| caps.contains(Capabilities::CREATE));
        if !resolved.exists && !creates {
            self.warnings.push(format!("{text}: there is no such file"));
        }
        if let Some(caps) = caps.filter(|_| !resolved.steps.is_empty()) {
            let origin = Origin::Flag { text: text.clone() };
            let grant = Grant::new(anchor.clone(), caps, GrantKind::Plain, origin);
            self.led.push(Led { grant, spelled: context.cwd.join(path), view: None });
        }
        self.add(anchor, caps, &text);
        Ok(())
    }

    /// Adds the rights that typed views have at their backings.
    pub(crate) fn add_views(&mut self, views: &Views) {
        for (grant, led, text) in views.typed() {
            self.led.extend(led.cloned());
            self.add(grant.anchor.clone(), Some(grant.caps), text);
        }
    }

    /// Whether a flag grants something.
    pub(crate) fn grant(&self) -> bool {
        self.grant_at(|_| true)
    }

    /// Whether a flag grants something at a path that `is_meant`.
    pub(crate) fn grant_at(&self, is_meant: impl Fn(&Path) -> bool) -> bool {
        self.paths.iter().any(|(anchor, flag)| !flag.caps.is_empty() && is_meant(anchor))
    }

    /// The paths of flags with the capabilities that they grant there, which are none for a denial.
    pub(crate) fn at_paths(&self) -> impl Iterator<Item = (&Path, Capabilities)> {
        self.paths.iter().map(|(anchor, flag)| (anchor.as_path(), flag.caps))
    }

    fn add(&mut self, anchor: PathBuf, caps: Option<Capabilities>, text: &str) {
        let flag = self.paths.entry(anchor).or_default();
        let Some(caps) = caps else {
            // The denial outweighs the other flags, so its text is the one to report.
            if !flag.deny {
                *flag = Flag { deny: true, text: text.to_owned(), ..Flag::default() };
            }
            return;
        };
        flag.caps = flag.caps.union(caps);
        if !flag.text.is_empty() {
            flag.text.push(' ');
        }
        flag.text.push_str(text);
    }

    /// Applies the flags to a built-in grant at or below one of their paths. Typed options count for more than built-in
    /// grants. `None` if they deny it. Below a denial it only grants what the flags grant there.
    pub(super) fn apply(&self, mut grant: Grant, ceilings: &Ceilings<'_>) -> Option<Grant> {
        if self.paths.is_empty() {
            return Some(grant);
        }
        let left = ceilings.left(&grant.anchor);
        if grant.caps.is_empty() || left.is_some_and(Capabilities::is_empty) {
            return ceilings.narrow(grant);
        }
        let above = || grant.anchor.ancestors().filter_map(|dir| self.paths.get(dir));
        grant.caps =
            left.unwrap_or_else(|| above().fold(grant.caps, |caps, flag| caps.union(flag.caps)));
        Some(grant)
    }
}

/// The host's directories for temporary files. `TMPDIR` shares neither the home nor a directory above it.
fn shared(context: &Context) -> Vec<PathBuf> {
    let mut shared: Vec<PathBuf> = Path::new("/tmp").canonicalize().into_iter().collect();
    let is_above_home = |home: &PathBuf| home.starts_with(&context.temp);
    let is_too_much =
        context.temp.parent().is_none() || context.canonical_home.iter().any(is_above_home);
    if !is_too_much && !shared.iter().any(|dir| context.temp.starts_with(dir)) {
        shared.push(context.temp.clone());
    }
    shared
}

impl Parts<'_> {
    /// The limits that the command line and the person's profiles set for all grants at and below their paths.
    pub(super) fn ceilings(&self) -> Ceilings<'_> {
        let mut ceilings = Ceilings::default();
        for shared in &self.flags.shared {
            ceilings.grant(shared, Capabilities::ALL);
        }
        for rule in self.rules.iter().filter(|rule| is_typed_mount(rule)) {
            ceilings.grant(&rule.anchor, rule.caps);
        }
        for denial in self.own_inside().filter(|grant| grant.caps.is_empty()) {
            ceilings.deny_rules(&denial.anchor);
        }
        for (anchor, flag) in &self.flags.paths {
            if flag.deny {
                ceilings.deny(anchor);
            } else {
                ceilings.grant(anchor, flag.caps);
            }
        }
        ceilings
    }

    /// The names that built-in grants exclude below `anchor`. A command-line grant below a denial leaves them excluded,
    /// since it does not name them.
    pub(super) fn excepted(&self, anchor: &Path) -> Vec<String> {
        let grants = self.tables.iter().flat_map(|table| &table.grants);
        let excepted = grants.filter_map(|grant| {
            let way = canonical::below(&grant.anchor, anchor)?.as_os_str();
            let rest = |pattern| decide::exclusion_behind(pattern, way.as_encoded_bytes());
            Some(grant.carve_outs.iter().filter_map(move |pattern| rest(pattern)))
        });
        excepted.flatten().collect()
    }

    /// Warns if a denial leaves nothing of the workspace around it, or of the system's programs.
    pub(super) fn denied_whole(&self) -> Vec<String> {
        let root = &self.workspace.root;
        let ceilings = self.ceilings();
        let denial = |place: &Path| {
            let nothing = ceilings.left(place).is_some_and(Capabilities::is_empty);
            let mut flags = place.ancestors().filter_map(|dir| self.flags.paths.get(dir));
            let denial = flags.find(|flag| flag.deny).filter(|_| nothing)?;
            (!ceilings.grants_below(place)).then(|| quote::path(&denial.text))
        };
        let denied_root = || denial(root).filter(|_| !self.flags.paths.contains_key(root));
        let of_workspace = denied_root().map(|denial| {
            let keep = quote::words(&[("-w", root.clone()), ("-x", root.clone())]);
            format!("{denial} denies the workspace, too; to keep it, add {keep}")
        });
        let of_system = denial(Path::new(SYSTEM)).map(|denial| {
            let keep = quote::words(&[("-x", SYSTEM.into()), ("-r", "/etc".into())]);
            format!(
                "{denial} denies the system's programs and libraries, too; to keep them, add {keep}"
            )
        });
        let is_whole = !self.options.hosted;
        of_workspace.into_iter().chain(of_system).filter(|_| is_whole).collect()
    }
}

/// Whether it is a mount of this command line.
fn is_typed_mount(rule: &Grant) -> bool {
    let is_typed = matches!(&rule.origin, Origin::Rule { layer, .. } if **layer == *TYPED);
    is_typed && matches!(rule.kind, GrantKind::External { .. })
}

/// Rejects a path of `--deny` that does not exist and looks like a mistake. It would deny nothing.
fn refuse_slip(path: &Path) -> Result<(), Failure> {
    let shown = quote::path(&path.to_string_lossy());
    let refuse = |advice: &str| {
        let message = format!("--deny {shown}: the option takes a path, and nothing has this name");
        Err(Failure::advised(message, advice))
    };
    if path.starts_with("~") {
        return refuse("the shell replaces an unquoted `~` that begins a word: `--deny ~/NAME`");
    }
    if slips::is_pattern(&path.to_string_lossy()) {
        return refuse("patterns belong in `deny_paths` of `[file_policy]`, in a policy file");
    }
    Ok(())
}
