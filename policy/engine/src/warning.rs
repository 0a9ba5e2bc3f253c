//! Warnings about a policy that is nevertheless applied.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::string::{String, ToString as _};
use std::vec::Vec;

use crate::canonical::ResolveError;
use crate::capability::Capabilities;
use crate::grant::{Grant, GrantKind, Origin};
use crate::lexical;
use crate::model::RuleSource;
use crate::slips::Slip;
use crate::tiers::{TierError, Tiers};

/// A warning to print before the run. It never makes a policy wider than it reads.
#[derive(Debug, thiserror::Error)]
pub enum Warning {
    /// A layer emptied the list, which lifts every restriction (R15).
    #[error(
        "{layer} leaves `access.fs` empty: everything inside the workspace is allowed again; \
         to deny everything instead, keep one rule: `path = \".\"` without a capability"
    )]
    Lifted {
        /// The layer that emptied it.
        layer: String,
    },
    /// A layer emptied a list of rules about something else than files.
    #[error(
        "{layer} leaves `access.{list}` empty, which lifts all of its rules: nothing is forbidden there"
    )]
    LiftedOther {
        /// The layer that emptied it.
        layer: String,
        /// The list: `net`, for instance.
        list: &'static str,
    },
    /// An external rule does not apply here, and became a denial (spec §6.1, §6.4).
    #[error("{rule}: `{path}` {why}; it is denied instead")]
    Dropped {
        /// The rule.
        rule: RuleSource,
        /// Its path as written.
        path: String,
        /// Why it does not apply.
        why: DropReason,
    },
    /// A pattern that would grant something can match nothing (spec §9.1).
    #[error("left out: {0}")]
    LeftOut(TierError),
    /// A pattern that would grant something does not follow a symlink. It grants only the path that its spelling names.
    #[error(
        "`{pattern}` of {field}: {} is a link that leads out of the workspace, or that what runs here could have \
         made: where it leads nothing is opened; if that is meant, name its target",
        link.display()
    )]
    NotFollowed {
        /// The pattern as written.
        pattern: String,
        /// Its list.
        field: &'static str,
        /// The symlink, canonical.
        link: PathBuf,
    },
    /// A rule is valid, but may be a mistake.
    #[error("{rule}: `{path}` {slip}")]
    Slip {
        /// The rule.
        rule: RuleSource,
        /// Its path as written.
        path: String,
        /// The likely mistake.
        slip: Slip,
    },
    /// All host rules deny, and one of them does not say whether it allows its host.
    #[error(
        "{}: `{host}` has no `allow`, which means `allow = false`, and no other rule of access.net allows a host: \
         programs can connect to none; write `allow = true` if it is meant to be allowed",
        place(rule)
    )]
    NoHostAllowed {
        /// The first rule without `allow`.
        rule: RuleSource,
        /// Its host.
        host: String,
    },
    /// Rules name sensitive paths, so no prompt is needed for these (spec §10).
    #[error("programs may use sensitive files, because rules name them: {}", listed(rules))]
    NamesSensitive {
        /// The rules in words.
        rules: Vec<String>,
    },
    /// Rules name auto-run files, so no prompt is needed to change these (spec §10.1).
    #[error("programs may change auto-run files, because rules name them: {}", listed(rules))]
    NamesAutorun {
        /// The rules in words.
        rules: Vec<String>,
    },
    /// The target of an external rule contains the workspace. The rule does not govern the workspace (R3).
    #[error(
        "{rule}: `{path}` leads to {}, which contains the workspace; \
         inside the workspace only its own rules count", target.display()
    )]
    ContainsWorkspace {
        /// The rule.
        rule: RuleSource,
        /// Its path as written.
        path: String,
        /// The target of the path.
        target: PathBuf,
    },
    /// The denial that replaces a dropped rule covers something that every program needs (spec §6.4, §12.1).
    #[error(
        "{rule}: `{path}` is denied, and with it {}, which the baseline grants to every program \
         (`{entry}`): programs may fail to start; remove the rule, or lead its link elsewhere",
        target.display()
    )]
    CoversBaseline {
        /// The rule.
        rule: RuleSource,
        /// Its path as written.
        path: String,
        /// The denied target.
        target: PathBuf,
        /// The entry of the baseline that would apply there.
        entry: String,
    },
}

impl Warning {
    /// The warning, naming this list. Merging did not know its name.
    #[must_use]
    pub fn about(self, list: &'static str) -> Self {
        match self {
            Self::Lifted { layer } => Self::LiftedOther { layer, list },
            other => other,
        }
    }

    /// The path of a rule that would apply if a person approved its target.
    #[must_use]
    pub fn approvable(&self) -> Option<&str> {
        match self {
            Self::Dropped {
                path,
                why: DropReason::Unapproved { .. } | DropReason::Retargeted { .. },
                ..
            } => Some(path),
            _ => None,
        }
    }
}

/// A warning for each denial of a dropped rule at or below a grant of the baseline. A denial above it withholds
/// nothing, because the longest anchor wins (spec §5.1).
///
/// `grants` are all grants of the run, in declared order.
#[must_use]
pub fn covered_baseline(grants: &[Grant]) -> Vec<Warning> {
    let is_tombstone = |grant: &&Grant| matches!(grant.kind, GrantKind::Tombstone { .. });
    if !grants.iter().any(|grant| is_tombstone(&grant)) {
        return Vec::new();
    }
    let others = grants.iter().filter(|grant| !is_tombstone(grant));
    let holders: HashMap<&Path, &Grant> =
        others.map(|grant| (grant.anchor.as_path(), grant)).collect();
    let covers = |tombstone: &Grant| {
        let holder = tombstone.anchor.ancestors().find_map(|dir| holders.get(dir))?;
        let (Origin::Baseline { entry }, false) = (&holder.origin, holder.caps.is_empty()) else {
            return None;
        };
        let Origin::Rule { layer, index, line, path } = tombstone.origin.clone() else {
            return None;
        };
        Some(Warning::CoversBaseline {
            rule: RuleSource { layer, index, line },
            path,
            target: tombstone.anchor.clone(),
            entry: entry.clone(),
        })
    };
    grants.iter().filter(is_tombstone).filter_map(covers).collect()
}

/// A warning about the rules that grant something on a path of the list of sensitive paths, or below it (spec §10). The
/// path of the rule may be a symlink with such a name. `tiers` must contain that list, and paths of rules are relative
/// to `root`.
#[must_use]
pub fn named_sensitive(grants: &[Grant], tiers: &Tiers, root: &Path) -> Option<Warning> {
    let grants = grants.iter().filter(|grant| !grant.caps.is_empty());
    let rules = naming(grants, root, |path| tiers.is_sensitive(path));
    (!rules.is_empty()).then_some(Warning::NamesSensitive { rules })
}

/// The warnings about rules of `grants` that name entries of a list of `tiers`. Paths of rules are relative to `root`.
pub fn named(
    grants: &[Grant],
    tiers: &Tiers,
    root: &Path,
) -> impl Iterator<Item = Warning> + use<> {
    let sensitive = named_sensitive(grants, tiers, root);
    sensitive.into_iter().chain(named_autorun(grants, tiers, root))
}

/// As [`named_sensitive`], for rules that allow changes of an auto-run file (spec §10.1).
#[must_use]
pub fn named_autorun(grants: &[Grant], tiers: &Tiers, root: &Path) -> Option<Warning> {
    let grants = grants.iter().filter(|grant| grant.caps.intersects(Capabilities::WRITE));
    let rules = naming(grants, root, |path| tiers.is_autorun(path));
    (!rules.is_empty()).then_some(Warning::NamesAutorun { rules })
}

/// The rules among `grants`, in words, whose path is on a list. The path may be a symlink with such a name.
fn naming<'g>(
    grants: impl Iterator<Item = &'g Grant>,
    root: &Path,
    is_listed: impl Fn(&Path) -> bool,
) -> Vec<String> {
    let names = |grant: &&Grant| {
        let Origin::Rule { path, .. } = &grant.origin else { return false };
        let spelled = lexical::normalise(path.as_bytes()).map(|path| root.join(path));
        is_listed(&grant.anchor) || spelled.is_ok_and(|spelled| is_listed(&spelled))
    };
    let mut rules: Vec<String> =
        grants.filter(names).map(|grant| grant.origin.to_string()).collect();
    rules.dedup();
    rules
}

/// A warning about each pattern of `tiers` that was left out.
pub fn left_out(tiers: &Tiers) -> impl Iterator<Item = Warning> {
    tiers.dropped.iter().cloned().map(Warning::LeftOut)
}

/// Where a rule is written: the file, and the line if known.
fn place(rule: &RuleSource) -> String {
    match rule.line {
        Some(line) => std::format!("{}:{line}", rule.layer),
        None => rule.layer.to_string(),
    }
}

/// The first of `rules`, and how many more there are.
fn listed(rules: &[String]) -> String {
    const NAMED: usize = 3;
    let named = rules.iter().take(NAMED).map(String::as_str).collect::<Vec<_>>().join(", ");
    match rules.len().saturating_sub(NAMED) {
        0 => named,
        more => std::format!("{named} and {more} more"),
    }
}

/// Why an external rule was dropped.
#[derive(Debug, thiserror::Error)]
pub enum DropReason {
    /// Its path, or the target of a symlink there, does not exist on this machine.
    #[error("leads to nothing on this machine")]
    Missing,
    /// Its target cannot be resolved.
    #[error("cannot be resolved ({0})")]
    Unresolvable(ResolveError),
    /// Nobody approved its target.
    #[error("leads to {}, which is not approved", target.display())]
    Unapproved {
        /// The present target.
        target: PathBuf,
    },
    /// Nobody can approve its target. Approvals are kept as JSON, which cannot contain it.
    #[error(
        "leads to {}, which is not UTF-8: rename that before it can be approved", target.display()
    )]
    NotUtf8 {
        /// The present target.
        target: PathBuf,
    },
    /// Another target was approved.
    #[error("leads to {} now, and {} was approved", target.display(), previous.display())]
    Retargeted {
        /// The approved target.
        previous: PathBuf,
        /// The present target.
        target: PathBuf,
    },
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::file_policy::FilePolicy;
    use crate::pattern::Places;

    fn rule(anchor: &str, caps: Capabilities) -> Grant {
        let origin =
            Origin::Rule { layer: "f".into(), index: 0, line: Some(3), path: anchor.into() };
        Grant::new(anchor.into(), caps, GrantKind::Plain, origin)
    }

    #[test]
    fn rules_that_name_sensitive_paths_are_warned_of() {
        let places = Places {
            home: Some(Path::new("/h")),
            protected: &["/h".into()],
            workspace: Path::new("/w"),
        };
        let tiers = Tiers::new(&FilePolicy::default(), Some(&[]), places).expect("patterns");
        let told = |grants: &[Grant]| {
            named_sensitive(grants, &tiers, Path::new("/w")).map(|it| it.to_string())
        };
        let (read, none) = (Capabilities::READ, Capabilities::NONE);
        let typed =
            Grant { origin: Origin::Flag { text: "-r /w/.env".into() }, ..rule("/w/.env", read) };
        assert_eq!(told(&[rule("/w", read), rule("/h/.aws", read), typed]), None);
        assert_eq!(told(&[rule("/w/.env", none)]), None, "a denial");
        let led = |path: &str| {
            let origin =
                Origin::Rule { layer: "f".into(), index: 0, line: None, path: path.into() };
            Grant { origin, ..rule("/w/cfg/prod", read) }
        };
        assert_eq!(told(&[led("cfg/prod")]), None);
        let text = told(&[led("./cfg/../.env")]).expect("a warning about a link");
        assert!(text.ends_with("rule `./cfg/../.env` (f, rule 1)"), "{text}");
        let named = [rule("/w/.env", read), rule("/h/.ssh/config", read)];
        let text = told(&named).expect("a warning");
        assert!(text.ends_with("rule `/w/.env` (f:3), rule `/h/.ssh/config` (f:3)"), "{text}");
        let many: Vec<Grant> = (0..5).map(|n| rule(&std::format!("/w/{n}/.env"), read)).collect();
        assert!(told(&many).is_some_and(|text| text.ends_with("and 2 more")));
    }
}
