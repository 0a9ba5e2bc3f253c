//! Explains why a path is treated as it is: the data behind `jp-confine explain` (spec §18).

use std::ffi::OsStr;
use std::format;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;
use std::string::{String, ToString as _};
use std::vec::Vec;

use serde::Serialize;

use crate::autorun::{self, list};
use crate::canonical::{self, Op, ResolveError, Resolved};
use crate::capability::{Capabilities, Capability};
use crate::check::{self, CheckVerdict, Context};
use crate::decide::{self, Request};
use crate::grant::{Grant, GrantKind};
use crate::image::Image;
use crate::layout::RuleId;
use crate::lexical::{self, bytes};
use crate::pattern::Pattern;
use crate::rule_name::RuleName;
use crate::tiers::{List, Tiers};
use crate::{verdict, views};

/// Everything to say about one path, judged as a system call would be. Bytes of paths that are not UTF-8 are written
/// `\xNN`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Explanation {
    /// The path as given.
    pub path: String,
    /// Where the path leads, absolute and canonical. `None` if it cannot be resolved.
    pub resolved: Option<String>,
    /// The name by which programs of the run know that path, if a view shows it.
    pub place: Option<String>,
    /// Whether something exists there.
    pub exists: bool,
    /// Why the path cannot be resolved.
    pub error: Option<String>,
    /// The symlinks followed, in order.
    pub steps: Vec<Followed>,
    /// One entry per capability.
    pub capabilities: Vec<Judgement>,
    /// Every pattern of a tier, or of the sensitive paths, that matches the resolved path. A pattern that restricts is
    /// also listed if it matches the spelling that led there.
    pub patterns: Vec<Matched>,
    /// Every grant that covers the resolved path, from the weakest to the one that wins. The last one is a tier that
    /// grants where no rule reaches (spec §9.6).
    pub candidates: Vec<Candidate>,
    /// For a symlink, the data about the symlink itself, which is judged for deletion.
    pub entry: Option<ExplainedEntry>,
    /// Patterns about paths below the directory that keep it from moving. Everything else allows the move.
    pub kept_by: Vec<String>,
}

/// A symlink itself, wherever it leads.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ExplainedEntry {
    /// Its own path, absolute and canonical.
    pub path: String,
    /// Like [`Explanation::patterns`].
    pub patterns: Vec<Matched>,
    /// Like [`Explanation::candidates`].
    pub candidates: Vec<Candidate>,
}

/// A symlink that was followed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Followed {
    /// The path of the symlink.
    pub link: String,
    /// Its text.
    pub text: String,
}

/// The answer for one capability.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Judgement {
    /// The capability.
    pub capability: Capability,
    /// The canonical path that was judged: for deletion of a symlink the symlink itself, otherwise its target.
    pub on: Option<String>,
    /// The answer.
    pub verdict: CheckVerdict,
    /// Whether the denial makes the name look absent (R18).
    pub hidden: bool,
    /// The source of the rule that decided, the pattern that withholds its grant, or the pattern that grants where no
    /// rule reaches. It may also say that something stays although its rule grants deletion.
    pub rule: Option<RuleName>,
}

/// A pattern that matches the path.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Matched {
    /// Its list, by the name in policy files.
    pub list: &'static str,
    /// As written.
    pub pattern: String,
    /// For an entry of the built-in list of auto-run files: who obeys the file, and when.
    pub obeyed: Option<String>,
    /// The policy file that has it. `null` if it is built in.
    pub file: Option<String>,
    /// Its line in that file, from 1.
    pub line: Option<u32>,
}

/// A grant that covers the path, or the tier that grants it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Candidate {
    /// The source that declared it. For a tier, the pattern or its default.
    pub rule: RuleName,
    /// Its anchor. For a pattern, the directory below which it matches.
    pub anchor: String,
    /// Its capabilities. For the grant that decides, the capabilities on this very path.
    pub grants: Vec<Capability>,
    /// The kind of grant. `None` for a tier.
    #[serde(flatten)]
    pub kind: Option<GrantKind>,
    /// Patterns of paths below the anchor that it does not grant.
    pub except: Vec<String>,
    /// Whether it decides.
    pub wins: bool,
    /// The number of components of the anchor. More components win.
    #[serde(skip)]
    depth: usize,
}

/// Explains `path`, absolute or relative to the absolute directory `base`. The image of `context` must have been built
/// with `tiers`.
#[must_use]
pub fn explain(context: &Context<'_>, tiers: &Tiers, base: &Path, path: &Path) -> Explanation {
    let resolve = |op| {
        let found = canonical::resolve(base, path, op)?;
        let found =
            context.image().map_or(Ok(found.clone()), |image| views::lead(image, found, op));
        found.map(as_own_process)
    };
    let (followed_to, entry) = (resolve(Op::Content), resolve(Op::Entry));
    // Without `..`, as for `check` and for system calls of programs.
    let route = lexical::normalise_absolute(&base.join(path));
    let found = followed_to.as_ref().ok();
    // If a slash follows an entry, the entry is a directory, or nobody can remove it.
    let is_entry = found.is_some() || !lexical::demands_directory(bytes(path));
    let entry = entry.as_ref().ok().filter(|_| is_entry);
    let judge = |capability| {
        let place = if capability == Capability::Delete { entry } else { found };
        judgement(context, tiers, capability, (place, &route))
    };
    let link = entry.filter(|entry| found.is_none_or(|found| found.path != entry.path));
    Explanation {
        path: readable(path),
        resolved: found.map(|resolved| readable(&resolved.path)),
        place: found.zip(context.image()).and_then(|(found, image)| place(image, &found.path)),
        exists: found.is_some_and(|resolved| resolved.exists),
        error: followed_to.as_ref().err().map(ResolveError::to_string),
        steps: found.map(followed).unwrap_or_default(),
        capabilities: Capability::ALL.into_iter().map(judge).collect(),
        patterns: found.map(|it| matched(context, tiers, &it.path, &route)).unwrap_or_default(),
        candidates: found
            .map(|resolved| candidates(context, tiers, &resolved.path, &route))
            .unwrap_or_default(),
        entry: link.map(|link| ExplainedEntry {
            path: readable(&link.path),
            patterns: matched(context, tiers, &link.path, &route),
            candidates: candidates(context, tiers, &link.path, &route),
        }),
        kept_by: entry
            .and_then(|entry| kept_by(context, tiers, &entry.path, &route))
            .unwrap_or_default(),
    }
}

/// The name that a view gives to the canonical `path`.
fn place(image: &Image<'_>, path: &Path) -> Option<String> {
    let name = views::to_place(image, bytes(path))?.apply(bytes(path));
    Some(readable(Path::new(OsStr::from_bytes(&name))))
}

/// The name of the patterns of `--allow-autorun`, which are in no list of a file.
const RELEASED: &str = "allow_autorun";

/// A name that hardly any pattern is about specifically.
const ANOTHER: &str = "?";

/// The patterns that keep a directory in place although it may be deleted. Restrictions of tiers below it would not
/// move along (spec §9.6). Looks at the disk.
fn kept_by(
    context: &Context<'_>,
    tiers: &Tiers,
    directory: &Path,
    route: &Path,
) -> Option<Vec<String>> {
    let image = context.image()?;
    let other = directory.with_file_name(ANOTHER);
    let (from, to) =
        (Request::by_route(bytes(directory), bytes(route)), Request::canonical(bytes(&other)));
    let may_be_deleted = match check::verdict(image, &from, Capability::Delete) {
        verdict::Verdict::Allow => true,
        verdict::Verdict::Deny(denial) => denial.ask,
    };
    let is_directory = || directory.symlink_metadata().is_ok_and(|found| found.is_dir());
    let stays = || decide::relocate(image, &from, &to) != verdict::Verdict::Allow;
    let patterns = || tiers.described_between(directory, &other).into_iter();
    (may_be_deleted && is_directory() && stays())
        .then(|| patterns().map(|pattern| pattern.words).collect())
}

/// Replaces the process number by `self`. `/proc/self` leads to the number of the process that asks, and that is not
/// the process that explains. For every process, the policy calls its own entries `/proc/self`.
fn as_own_process(mut resolved: Resolved) -> Resolved {
    let own = Path::new("/proc").join(std::process::id().to_string());
    if let Ok(rest) = resolved.path.strip_prefix(&own) {
        resolved.path = Path::new("/proc/self").join(rest).components().collect();
    }
    resolved
}

fn judgement(
    context: &Context<'_>,
    tiers: &Tiers,
    capability: Capability,
    (place, route): (Option<&Resolved>, &Path),
) -> Judgement {
    let mut judgement = Judgement {
        capability,
        on: place.map(|resolved| readable(&resolved.path)),
        verdict: CheckVerdict::Deny,
        hidden: false,
        rule: None,
    };
    let (Some(image), Some(place)) = (context.image(), place) else { return judgement };
    let request = Request::by_route(bytes(&place.path), bytes(route));
    let found = decide::lookup(image, &request);
    judgement.rule = if found.opened(image).is_empty() {
        found.rule.and_then(|id| context.origin(id, capability))
    } else {
        Some(tiers.opener(&found, &place.path, route).0)
    };
    match check::verdict(image, &request, capability) {
        verdict::Verdict::Allow => judgement.verdict = CheckVerdict::Allow,
        verdict::Verdict::Deny(denial) => {
            judgement.hidden = denial.hidden;
            if denial.ask {
                judgement.verdict = CheckVerdict::Prompt;
            }
            if let Some(stays) = context.stays(image, &request, capability) {
                judgement.rule = Some(stays.why().into());
            }
            if let Some(restraint) = denial.restraint {
                judgement.rule = Some(tiers.described(restraint, &place.path, route));
            }
        }
    }
    judgement
}

fn matched(context: &Context<'_>, tiers: &Tiers, path: &Path, route: &Path) -> Vec<Matched> {
    let matching = tiers.matching(path, route);
    let matched = |(list, pattern): (List, &Pattern)| Matched {
        list: if list == List::Released { RELEASED } else { list.field() },
        pattern: pattern.text.clone(),
        obeyed: None,
        file: pattern.place.as_ref().map(|place| place.file.to_string()),
        line: pattern.place.as_ref().map(|place| place.line),
    };
    let built_in = built_in(context, tiers, path, route);
    matching.map(matched).chain(built_in).collect()
}

/// The entry of the built-in list of auto-run files, with who obeys it.
fn built_in(context: &Context<'_>, tiers: &Tiers, path: &Path, route: &Path) -> Option<Matched> {
    let image = context.image()?;
    [path, route].into_iter().find_map(|path| autorun::entry(image, bytes(path)))?;
    let (place, list::Entry { pattern, .. }) = tiers.autorun_entry(path, route)?;
    Some(Matched {
        list: List::Autorun.field(),
        pattern: format!("{}{pattern}", place.written()),
        obeyed: Some(tiers.obeyed(path, route)),
        file: None,
        line: None,
    })
}

fn candidates(context: &Context<'_>, tiers: &Tiers, path: &Path, route: &Path) -> Vec<Candidate> {
    let request = Request::by_route(bytes(path), bytes(route));
    let found = context.image().map(|image| (image, decide::lookup(image, &request)));
    let opened = found.filter(|(image, found)| !found.opened(image).is_empty());
    let ruled = found.filter(|_| opened.is_none());
    let held = |index| {
        let (image, found) =
            ruled.filter(|(_, found)| found.rule.map(RuleId::index) == Some(index))?;
        Some(found.granted(image))
    };
    let grants = context.grants().iter().enumerate();
    let mut candidates: Vec<Candidate> = grants
        .filter(|(_, grant)| path.starts_with(&grant.anchor))
        .map(|(index, grant)| candidate(grant, held(index)))
        .chain(opened.map(|(image, found)| {
            let (rule, below) = tiers.opener(&found, path, route);
            opener(rule, &below, found.opened(image))
        }))
        .collect();
    candidates.sort_by_key(|candidate| (candidate.wins, candidate.depth));
    candidates
}

/// A grant that covers the path. `held` is what the evaluator says that it grants there if it wins.
fn candidate(grant: &Grant, held: Option<Capabilities>) -> Candidate {
    Candidate {
        rule: grant.origin.name(),
        anchor: readable(&grant.anchor),
        grants: held.unwrap_or(grant.caps).iter().collect(),
        kind: Some(grant.kind.clone()),
        except: grant.carve_outs.clone(),
        wins: held.is_some(),
        depth: grant.anchor.components().count(),
    }
}

/// A tier that grants the path, with a pattern that matches below a directory.
fn opener(rule: RuleName, below: &Path, opened: Capabilities) -> Candidate {
    Candidate {
        rule,
        anchor: readable(below),
        grants: opened.iter().collect(),
        kind: None,
        except: Vec::new(),
        wins: true,
        depth: below.components().count(),
    }
}

fn followed(resolved: &Resolved) -> Vec<Followed> {
    let steps = resolved.steps.iter();
    steps.map(|step| Followed { link: readable(&step.link), text: readable(&step.text) }).collect()
}

/// The path as text. Bytes that are not UTF-8 become `\xNN`.
fn readable(path: &Path) -> String {
    let mut text = String::new();
    for chunk in bytes(path).utf8_chunks() {
        text.push_str(chunk.valid());
        text.extend(chunk.invalid().iter().map(|byte| format!("\\x{byte:02x}")));
    }
    text
}
