//! Describes a denied change of git's configuration for the report, beside the rule.

use jp_confine_engine::report_protocol;

use crate::advice::advisor::Advisor;
use crate::record::denial::{Denial, Layer};
use crate::sys::path::path_of;
use crate::text::quote::printable;

/// The changes to a git configuration, or the reason why nobody could tell them.
pub(super) fn changes(denial: &Denial, advisor: &Advisor<'_>) -> Option<String> {
    let call = printable(&denial.call);
    if let Some(variables) = report_protocol::changed(&call) {
        return Some(format!("this changes {variables}"));
    }
    let is_rename = denial.layer == Layer::Shim && ["rename", "renameat"].contains(&call.as_str());
    let entry = advisor.tiers.autorun_entry(path_of(&denial.path), path_of(&denial.route));
    if is_rename && entry.is_some_and(|(_, entry)| entry.is_git_config) {
        let way_out = advisor.unsupervised.way_out();
        let unread = "without a supervisor nobody reads what is written";
        return Some(format!("{unread}; {way_out}"));
    }
    None
}
