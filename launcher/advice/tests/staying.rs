//! Tests suggestions about directories that stay in their place because of their possible contents.

use std::fs;

use jp_confine_engine::file_policy::FilePolicy;

use super::withheld::tiers;
use super::*;

/// The suggestion for moving `dir` to `new` under these rules. Paths are relative to the workspace.
fn told(rules: &[(&str, Capabilities, &[&str])], policy: &FilePolicy) -> String {
    let folder = tempfile::tempdir().expect("a folder");
    let root = folder.path().canonicalize().expect("a folder");
    let [from, to] = ["dir", "new"].map(|name| root.join(name));
    fs::create_dir(&from).expect("a folder");
    let [from, to] = [&from, &to].map(|path| path.to_str().expect("UTF-8"));
    let rule = |(path, caps, left_out): &(&str, Capabilities, &[&str])| {
        let origin = Origin::Flag { text: format!("RULE {path}") };
        let grant =
            Grant::new(root.join(path).components().collect(), *caps, GrantKind::Plain, origin);
        let carve_outs = left_out.iter().map(|&one| one.to_owned()).collect();
        Grant { carve_outs, ..grant }
    };
    let grants: Vec<Grant> = rules.iter().map(rule).collect();
    let tiers = tiers(policy);
    let advisor = Advisor { workspace: &root, ..advisor(&grants, &[], &tiers) };
    let advice = advisor.advise(&pair("rename", from, to, D, false));
    in_line(advice).replace(&format!("{}/", root.display()), "")
}

/// Rules below the new place prevent the move only while the ends differ. It does not matter what these rules grant, or
/// whether anything is there.
#[test]
fn a_folder_goes_where_the_same_is_granted() {
    let free = FilePolicy::default();
    let change = R.union(Capabilities::WRITE);
    let add = R.union(C).union(U);
    let alike = "-w new; new: read, create, update, delete";
    for (rules, expected) in [
        (&[("dir", change), ("new", add), ("new/o", R)][..], alike),
        (&[("dir", change), ("new", add), ("new/o", C)], alike),
        (&[("dir", change), ("new/o", add)], alike),
        (
            &[("dir", change), ("new", Capabilities::WRITE), ("new/o", R)],
            "-r new; new: read, create, update, delete",
        ),
        (
            &[("dir", change.union(X)), ("new", Capabilities::WRITE), ("new/o", R)],
            "-x new; new: read, create, update, delete, execute",
        ),
        (
            &[("dir", change), ("dir/k", Capabilities::WRITE), ("new", add), ("new/o", R)],
            "-r dir/k; -w new; dir/k: read, create, update, delete; new: read, create, update, delete",
        ),
        // The option also grants reading, and files readable at the new place must be readable here.
        (
            &[("dir", Capabilities::WRITE), ("new", C.union(U)), ("new/o", C)],
            "-w new; -r dir; new: create, update, delete",
        ),
    ] {
        let rules: Vec<_> = rules.iter().map(|(path, caps)| (*path, *caps, &[][..])).collect();
        assert_eq!(told(&rules, &free), expected, "{rules:?}");
    }
}

/// If equal grants at both ends do not let it move either, the suggestion names the cause.
#[test]
fn what_keeps_a_folder_that_has_the_same_there_is_told() {
    let free = FilePolicy::default();
    let asked = FilePolicy { default: Some(Tier::Prompt), ..FilePolicy::default() };
    let change = R.union(Capabilities::WRITE);
    let named = ("new/.env", R, &[][..]);
    let may_be = "what is asked about in it here may be granted there by flag RULE new/.env: a copy takes that \
                 question";
    let left_out = "there what the rule leaves out would be granted, too: copy what may be read";
    for (policy, rules, expected) in [
        (&free, &[("dir", change, &[][..]), ("new", change, &[]), named][..], may_be),
        (&free, &[("dir", change, &[]), ("new", R.union(C), &[]), named], may_be),
        (&asked, &[("dir", change, &[]), ("new", change, &[]), named], may_be),
        (&free, &[("", change, &["dir/k"])], left_out),
        (&free, &[("", change, &["dir/k"]), ("new", R, &[])], left_out),
    ] {
        assert_eq!(told(rules, policy), expected, "{rules:?}");
    }
}
