//! Auto-run files (spec §10.1): which changes need a prompt, and what allows them without one.

use std::path::{Path, PathBuf};

use jp_confine_engine::Capabilities;
use jp_confine_engine::autorun;
use jp_confine_engine::autorun::list::Place;
use jp_confine_engine::build::{Grant, GrantKind, Origin};
use jp_confine_engine::decide::{self, Denial, Destination, Request, Verdict};
use jp_confine_engine::image::Image;
use jp_confine_engine::tier::Restraint;
use jp_confine_engine::tiers::Tiers;

use crate::place::image_with;
use crate::tiers::{places, rule};

/// The workspace is `/w`, entered at `/w/pkg`. Its repositories are `/w/.git` and `/hub/.git`, and the home is `/h`.
fn bases() -> Vec<(Place, PathBuf)> {
    [
        (Place::Top, "/w"),
        (Place::Top, "/w/pkg"),
        (Place::Repository, "/hub/.git"),
        (Place::Hooks, "/w/.husky"),
        (Place::Included, "/w/.shared-config"),
        (Place::Bare, "/w"),
        (Place::Commands, "/h/tools/bin"),
        (Place::Home, "/h"),
        (Place::Config, "/h/.config"),
        (Place::Data, "/h/.local/share"),
    ]
    .map(|(place, path)| (place, path.into()))
    .into()
}

/// Grants on the whole workspace, the hub, the home and two other projects, and those of a profile and the product.
fn grants() -> Vec<Grant> {
    let profile = || Origin::Profile { name: "p".into(), entry: "e".into(), named: false };
    let own = Origin::Product { why: "temp".into() };
    let all = |anchor: &str| rule(anchor, Capabilities::ALL, GrantKind::Plain);
    let by = |anchor: &str, origin| Grant { origin, ..all(anchor) };
    vec![
        all("/w"),
        all("/w/sub"),
        all("/w/.mcp.json"),
        all("/w/.codex"),
        all("/hub"),
        all("/h"),
        all("/other"),
        all("/more/.git"),
        by("/h/.cache", profile()),
        by("/w/tmp", own),
    ]
}

struct Judge(Vec<u8>);

impl Judge {
    fn of(added: &[&str], released: &[&str]) -> Self {
        let [added, released] =
            [added, released].map(|texts| texts.iter().map(|&it| it.into()).collect::<Vec<_>>());
        let tiers = Tiers::default().guarding(bases(), &added, &released, places());
        let tiers = tiers.expect("patterns");
        Self(image_with(&grants(), Some(&tiers), Path::new("/w")))
    }

    fn image(&self) -> Image<'_> {
        Image::parse(&self.0).expect("an image")
    }

    fn says(&self, need: Capabilities, path: &str) -> &'static str {
        word(decide::access(&self.image(), &Request::canonical(path.as_bytes()), need))
    }

    fn changes(&self, path: &str) -> &'static str {
        let each = [Capabilities::CREATE, Capabilities::UPDATE, Capabilities::DELETE];
        let said = each.map(|need| self.says(need, path));
        assert_eq!(said, [said[0]; 3], "{path}");
        said[0]
    }
}

fn word(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Allow => "allow",
        Verdict::Deny(Denial { ask: true, restraint: Some(Restraint::Autorun), .. }) => "ask",
        Verdict::Deny(_) => "deny",
    }
}

#[test]
fn changes_are_asked_about_and_nothing_else() {
    let judge = Judge::of(&[], &[]);
    for path in [
        "/w/.envrc",
        "/w/pkg/.envrc",
        "/w/.vscode/tasks.json",
        "/w/.idea",
        "/w/.idea/a/b.xml",
        "/w/.git",
        "/w/.git/hooks",
        "/w/.git/hooks/pre-commit",
        "/w/.git/config",
        "/w/.git/modules/a/config",
        "/w/.git/modules/a/modules/b/c/config",
        "/w/.git/modules/a/hooks/post-checkout",
        "/w/.git/worktrees/x/config.worktree",
        "/w/.git/remotes/origin",
        "/w/.git/branches/a/b",
        "/w/.git/worktrees/old/config",
        "/w/.git/worktrees/old/hooks/post-commit",
        "/w/.git/worktrees/old/modules/a/config",
        "/w/.git/modules/a/remotes/origin",
        "/w/.husky/pre-commit",
        "/w/.shared-config",
        "/w/HEAD",
        "/hub/.git/hooks/pre-push",
        "/hub/.envrc",
        "/h/.bashrc",
        "/h/.config/fish/conf.d/x.fish",
        "/h/.local/share/applications/x.desktop",
        "/h/bin/ls",
        "/other/.envrc",
        "/other/.git/config",
        "/more/.git/hooks/update",
    ] {
        assert_eq!(judge.changes(path), "ask", "{path}");
        let reading = Capabilities::READ.union(Capabilities::EXECUTE);
        assert_eq!(judge.says(reading, path), "allow", "{path}");
    }
}

#[test]
fn what_nobody_obeys_is_free() {
    let judge = Judge::of(&[], &[]);
    for path in [
        "/w/.vscode",
        "/w/.vscode/extensions.json",
        "/w/src/.envrc",
        "/w/sub/.envrc",
        "/w/sub/.git/hooks/pre-commit.sample",
        "/w/.git/modules/x/refs/heads/config",
        "/w/.git/modules/x/logs/refs/heads/hooks/y",
        "/w/.git/modules/x/refs/remotes/origin/main",
        "/w/.git/worktrees/y/HEAD",
        "/w/a/hub.git/HEAD",
        "/w/sub/.git/HEAD",
        "/w/sub/.gitmodules",
        "/w/vendor/x/.vscode/tasks.json",
        "/w/.envrcs",
        "/w/.gitignore",
        "/w/.git/hooks/pre-commit.sample",
        "/w/.git/config.lock",
        "/w/.git/index",
        "/w/.git/HEAD",
        "/w/.git/objects/config",
        "/w/.git/refs/heads/hooks/x",
        "/w/.git/info/exclude",
        "/h/.config/app/settings",
        "/h/.cache/.envrc",
        "/h/work/.bashrc",
        "/other/src/.envrc",
        "/more/.git/HEAD",
        "/w/tmp/.envrc",
    ] {
        assert_eq!(judge.changes(path), "allow", "{path}");
    }
}

/// A run may remove a repository that it has no rule about, and create one by ordinary names.
#[test]
fn repositories_further_down_may_go_as_they_came() {
    let judge = Judge::of(&[], &[]);
    for path in [
        "/w/sub/.git/config",
        "/w/hub.git",
        "/w/hub.git/config",
        "/w/hub.git/sub/.git/config",
        "/w/a.git/b.git/config",
        "/w/a/.git/b/.git/config",
        "/w/a/hub.git/hooks/update",
        "/w/a/hub.git/worktrees/x/commondir",
        "/w/sub/.git",
        "/w/a/b/.git",
        "/w/.git/commondir",
        "/w/.git/worktrees/new/commondir",
        "/w/.git/worktrees/old/commondir",
        "/w/.git/modules/a/commondir",
        "/w/a/b/.git/hooks/pre-commit",
        "/w/a/.git/modules/x/config",
        "/other/a/.git/config",
    ] {
        assert_eq!(judge.says(Capabilities::CREATE, path), "ask", "{path}");
        assert_eq!(judge.says(Capabilities::UPDATE, path), "ask", "{path}");
        assert_eq!(judge.says(Capabilities::DELETE, path), "allow", "{path}");
    }
}

/// Names that appear through a move are judged like names that are created one by one.
#[test]
fn directories_bring_names_along() {
    let judge = Judge::of(&[], &[]);
    let image = judge.image();
    for (from, to, expected) in [
        ("/w/evil", "/w/a/.git", "deny"),
        ("/w/evil", "/w/a", "allow"),
        ("/w/tmp/evil", "/w/a", "deny"),
        ("/w/b/.git", "/w/a/.git", "allow"),
        ("/w/v", "/w/.vscode", "deny"),
        ("/other/v", "/other/.vscode", "deny"),
        ("/w/v", "/w/.github", "allow"),
    ] {
        let [from, to] = [from, to].map(|path| Request::canonical(path.as_bytes()));
        assert_eq!(word(decide::admit_contents(&image, &from, &to)), expected, "{from:?} {to:?}");
    }
    for (to, expected) in [("/w/a/.git", "deny"), ("/w/.vscode", "deny"), ("/w/a", "allow")] {
        let to = Request::canonical(to.as_bytes());
        assert_eq!(word(decide::admit_symlink(&image, &to)), expected, "{to:?}");
    }
}

#[test]
fn a_rule_that_names_it_and_a_flag_let_it_go_on() {
    let judge = Judge::of(&[], &["/w/.vscode/**", "/w/.env*"]);
    for path in
        ["/w/.mcp.json", "/w/.codex", "/w/.codex/hooks.json", "/w/.vscode/tasks.json", "/w/.envrc"]
    {
        assert_eq!(judge.changes(path), "allow", "{path}");
    }
    assert_eq!(judge.changes("/w/.idea/x"), "ask");
}

#[test]
fn patterns_add_to_the_list_and_cost_reads_nothing() {
    let judge = Judge::of(&["**/.envrc", "/w/Justfile"], &[]);
    for path in ["/w/src/.envrc", "/w/Justfile", "/w/.envrc", "/w/.git/config"] {
        assert_eq!(judge.changes(path), "ask", "{path}");
        assert_eq!(judge.says(Capabilities::READ, path), "allow", "{path}");
    }
    let image = judge.image();
    assert!(decide::grants_beneath(&image, b"/w/src", Capabilities::READ));
    assert!(!decide::grants_beneath(&image, b"/w/src", Capabilities::UPDATE));
}

#[test]
fn directories_are_made_and_removed_by_their_names() {
    let judge = Judge::of(&[], &[]);
    let image = judge.image();
    for path in ["/w/.git", "/w/.git/hooks", "/w/.idea", "/w/.idea/a"] {
        let request = Request::canonical(path.as_bytes());
        assert_eq!(decide::make_directory(&image, &request), Verdict::Allow, "{path}");
        assert_eq!(decide::remove_directory(&image, &request), Verdict::Allow, "{path}");
        assert_eq!(word(decide::remove(&image, &request)), "ask", "{path}");
    }
}

#[test]
fn consent_is_to_changes() {
    let judge = Judge::of(&[], &[]);
    let request = Request::canonical(b"/w/.envrc").consented();
    for need in [Capabilities::CREATE, Capabilities::UPDATE, Capabilities::DELETE] {
        assert_eq!(decide::access(&judge.image(), &request, need), Verdict::Allow);
    }
}

#[test]
fn a_spelling_by_way_of_a_link_counts() {
    let judge = Judge::of(&[], &[]);
    let request = Request::by_route(b"/w/tools/tasks.json", b"/w/.vscode/tasks.json");
    assert_eq!(word(decide::access(&judge.image(), &request, Capabilities::CREATE)), "ask");
    assert_eq!(word(decide::access(&judge.image(), &request, Capabilities::READ)), "allow");
}

#[test]
fn moves_and_links() {
    let judge = Judge::of(&[], &[]);
    let image = judge.image();
    let request = |path: &'static str| Request::canonical(path.as_bytes());
    let moved =
        |from, to| word(decide::rename(&image, &request(from), &request(to), Destination::Missing));
    assert_eq!(moved("/w/a", "/w/.envrc"), "ask");
    assert_eq!(moved("/w/.envrc", "/w/a"), "ask");
    assert_eq!(moved("/w/a", "/w/b"), "allow");
    let consented = request("/w/.envrc").consented();
    let away = decide::rename(&image, &consented, &request("/w/a"), Destination::Missing);
    assert_eq!(word(away), "allow");
    let linked = |old, new| word(decide::link(&image, &request(old), &request(new)));
    assert_eq!(linked("/w/a", "/w/.envrc"), "ask");
    assert_eq!(linked("/w/.envrc", "/w/a"), "deny");
    assert_eq!(linked("/w/a", "/w/b"), "allow");
}

#[test]
fn directories_take_what_is_in_them_along() {
    let judge = Judge::of(&[], &[]);
    let image = judge.image();
    let moved = |from: &str, to: &str| {
        let [from, to] = [from, to].map(|path| Request::canonical(path.as_bytes()));
        word(decide::relocate(&image, &from, &to))
    };
    for from in ["/w/.vscode", "/w/.git/hooks", "/w/.git/modules", "/w/.cargo", "/h/.config"] {
        assert_eq!(moved(from, "/w/x"), "ask", "{from}");
    }
    assert_eq!(moved("/w/pkg", "/w/x"), "ask", "a list begins there");
    for from in ["/w/src", "/w/vendor/.git", "/w/.github"] {
        assert_eq!(moved(from, "/w/x"), "allow", "{from}");
    }
    assert_eq!(moved("/w/.vscode", "/other/.vscode"), "allow", "it is one there, too");
}

#[test]
fn configurations_of_git_are_told_apart() {
    let judge = Judge::of(&[], &[]);
    let image = judge.image();
    for path in
        ["/w/.git/config", "/hub/.git/config", "/w/.git/modules/a/config", "/more/.git/config"]
    {
        assert!(autorun::is_git_config(&image, path.as_bytes()), "{path}");
    }
    for path in ["/w/.git/hooks/config", "/w/.envrc", "/w/sub/.git/HEAD"] {
        assert!(!autorun::is_git_config(&image, path.as_bytes()), "{path}");
    }
}

/// Each first name must pass the quick check, or its entry would match nothing.
#[test]
fn every_entry_matches() {
    let judge = Judge::of(&[], &[]);
    let begin = |place| match place {
        Place::Top | Place::Bare => "/w",
        Place::Repository => "/w/.git",
        Place::Hooks => "/w/.husky",
        Place::Home => "/h",
        Place::Config => "/h/.config",
        Place::Data => "/h/.local/share",
        Place::Included => "/w/.shared-config",
        Place::Commands => "/h/tools/bin",
    };
    for place in Place::ALL {
        for entry in place.entries().iter().filter(|entry| !entry.may_go) {
            let name = match entry.pattern {
                "**" if place == Place::Included => String::new(),
                pattern => format!("/{}", pattern.replace("**", "x/y").replace('*', "z")),
            };
            let path = format!("{}{name}", begin(place));
            let expected = if path.starts_with("/w/.codex") { "allow" } else { "ask" };
            let expected = if path == "/w/.mcp.json" { "allow" } else { expected };
            assert_eq!(judge.changes(&path), expected, "{path}");
        }
    }
}
