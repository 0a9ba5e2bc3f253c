//! What a person should know about a policy that is nevertheless honoured.

use std::path::PathBuf;
use std::string::String;

use crate::canonical::ResolveError;
use crate::model::RuleSource;

/// Something to print before the run; it never makes a policy wider than it reads.
#[derive(Debug, thiserror::Error)]
pub enum Warning {
    /// A layer emptied the list, which lifts every restriction (R15).
    #[error(
        "{layer} leaves `access.fs` empty: everything inside the workspace is allowed again; \
         to deny everything instead, keep one rule: `path = \".\"` without a capability"
    )]
    Lifted {
        /// The layer that did it.
        layer: String,
    },
    /// An external rule cannot hold here, and became a denial (spec §6.1, §6.4).
    #[error("{rule}: `{path}` {why}; it is denied instead")]
    Dropped {
        /// The rule.
        rule: RuleSource,
        /// Its path as written.
        path: String,
        /// Why it cannot hold.
        why: DropReason,
    },
    /// The target of an external rule contains the workspace, which it does not govern (R3).
    #[error(
        "{rule}: `{path}` leads to {}, which contains the workspace; \
         inside the workspace only its own rules count", target.display()
    )]
    ContainsWorkspace {
        /// The rule.
        rule: RuleSource,
        /// Its path as written.
        path: String,
        /// Where it leads.
        target: PathBuf,
    },
}

/// Why an external rule was dropped.
#[derive(Debug, thiserror::Error)]
pub enum DropReason {
    /// Its path, or what a link there names, does not exist on this machine.
    #[error("leads to nothing on this machine")]
    Missing,
    /// Its target cannot be found out.
    #[error("cannot be resolved ({0})")]
    Unresolvable(ResolveError),
    /// Nobody approved its target.
    #[error("leads to {}, which is not approved", target.display())]
    Unapproved {
        /// Where it leads.
        target: PathBuf,
    },
    /// Another target was approved.
    #[error("leads to {} now, and {} was approved", target.display(), previous.display())]
    Retargeted {
        /// The approved target.
        previous: PathBuf,
        /// Where it leads now.
        target: PathBuf,
    },
}
