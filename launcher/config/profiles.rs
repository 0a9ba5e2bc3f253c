//! Holds the built-in profiles and the user's own, and picks those of a run.

use std::cell::OnceCell;
use std::ffi::OsStr;

use crate::config::built_in::BuiltIn;
use crate::config::profile::Profile;
use crate::error::Failure;
use crate::error::diagnostic::nearest;
use crate::text::quote;

/// The text of the baseline.
#[cfg(test)]
pub(crate) const BASELINE: &str = include_str!("../../profiles/baseline.toml");

pub(crate) const BUILT_IN: [(&str, &str); 7] = [
    ("c", include_str!("../../profiles/c.toml")),
    ("git", include_str!("../../profiles/git.toml")),
    ("go", include_str!("../../profiles/go.toml")),
    ("java", include_str!("../../profiles/java.toml")),
    ("node", include_str!("../../profiles/node.toml")),
    ("python", include_str!("../../profiles/python.toml")),
    ("rust", include_str!("../../profiles/rust.toml")),
];

/// The profiles of coding agents, each for the program of its name. They hold credentials, so no other program gets
/// them.
pub(crate) const AGENTS: [(&str, &str); 7] = [
    ("aider", include_str!("../../profiles/aider.toml")),
    ("claude", include_str!("../../profiles/claude.toml")),
    ("codex", include_str!("../../profiles/codex.toml")),
    ("copilot", include_str!("../../profiles/copilot.toml")),
    ("gemini", include_str!("../../profiles/gemini.toml")),
    ("opencode", include_str!("../../profiles/opencode.toml")),
    ("pi", include_str!("../../profiles/pi.toml")),
];

/// The name that stands for no profile.
pub(crate) const NONE: &str = "none";

/// The name that stands for the profiles of all tools in `includes`.
const ALL_TOOLS: &str = "*";

/// The names of the built-in profiles of tools.
fn tools() -> impl Iterator<Item = &'static str> {
    BUILT_IN.iter().map(|(name, _)| *name)
}

/// The text of a built-in profile.
pub(crate) fn text_of(name: &str) -> Option<&'static str> {
    let mut all = BUILT_IN.iter().chain(&AGENTS);
    all.find(|(known, _)| *known == name).map(|(_, text)| *text)
}

/// The names of all built-in profiles.
pub(crate) fn built_in() -> impl Iterator<Item = &'static str> {
    tools().chain(AGENTS.iter().map(|(name, _)| *name))
}

/// The profiles that may be named: the built-in ones and those of the user's own files. A later one replaces an earlier
/// one of the same name.
#[derive(Debug)]
pub(crate) struct Profiles {
    all: Vec<Profile>,
    /// Those of [`AGENTS`] that were needed. Most runs need none.
    agents: [OnceCell<Option<Profile>>; AGENTS.len()],
}

impl Profiles {
    /// The built-in profiles with the user's on top.
    pub(crate) fn with(user: Vec<Profile>) -> Self {
        let mut all: Vec<Profile> = tools().filter_map(BuiltIn::named).collect();
        for profile in user {
            all.retain(|known| known.name != profile.name);
            all.push(Profile { own: true, ..profile });
        }
        Self { all, agents: Default::default() }
    }

    /// All of them, those of agents last.
    pub(crate) fn every(&self) -> Vec<&Profile> {
        let agents = AGENTS.iter().filter_map(|(name, _)| self.find(name));
        let is_own = |agent: &&Profile| self.all.iter().any(|known| known.name == agent.name);
        self.all.iter().chain(agents.filter(|it| !is_own(it))).collect()
    }

    /// The profiles for a run: those `named`, or else those that claim `program`. If none claims it, those of all tools
    /// apply, because a shell may run any of their programs.
    pub(crate) fn pick(
        &self,
        named: &[String],
        program: Option<&OsStr>,
    ) -> Result<Vec<&Profile>, Failure> {
        if named.iter().any(|name| name == NONE) {
            return if named.len() == 1 {
                Ok(Vec::new())
            } else {
                Err(Failure::own("--profile none excludes every other --profile"))
            };
        }
        let mut picked = Vec::new();
        for name in named {
            self.add(name, &mut picked)?;
        }
        if !named.is_empty() {
            return Ok(picked);
        }
        let program = program.and_then(OsStr::to_str).unwrap_or_default();
        for profile in self.all.iter().filter(|profile| profile.claims(program)) {
            self.add(&profile.name, &mut picked)?;
        }
        if picked.is_empty() {
            let is_agent = AGENTS.iter().any(|(name, _)| *name == program);
            self.add(if is_agent { program } else { ALL_TOOLS }, &mut picked)?;
        }
        Ok(picked)
    }

    /// The profile of this name, if there is one.
    fn find(&self, name: &str) -> Option<&Profile> {
        let known = self.all.iter().find(|profile| profile.name == name);
        let agents = AGENTS.iter().zip(&self.agents);
        let mut agents = agents.filter(|_| known.is_none());
        let Some((_, cell)) = agents.find(|((agent, _), _)| *agent == name) else { return known };
        cell.get_or_init(|| BuiltIn::named(name)).as_ref()
    }

    /// The error for a name that no profile has.
    pub(crate) fn unknown(&self, name: &str) -> Failure {
        let mut names: Vec<&str> = built_in().collect();
        names.extend(self.all.iter().map(|profile| profile.name.as_str()));
        names.sort_unstable();
        names.dedup();
        let advice = nearest(name, &names).map_or_else(
            || format!("there are: {}, none", names.join(", ")),
            |near| format!("did you mean `{near}`?"),
        );
        Failure::advised(format!("there is no profile `{}`", quote::path(name)), advice)
    }

    fn add<'a>(&'a self, name: &str, picked: &mut Vec<&'a Profile>) -> Result<(), Failure> {
        if picked.iter().any(|known| known.name == name) {
            return Ok(());
        }
        if name == ALL_TOOLS {
            return tools().try_for_each(|name| self.add(name, picked));
        }
        let Some(profile) = self.find(name) else {
            return Err(self.unknown(name));
        };
        picked.push(profile);
        for included in &profile.includes {
            self.add(included, picked)?;
        }
        Ok(())
    }
}

impl Profile {
    /// The runtime baseline.
    pub(crate) fn baseline() -> Option<Self> {
        BuiltIn::named("")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn picked(named: &[&str], program: &str) -> Vec<String> {
        let profiles = Profiles::with(Vec::new());
        let named: Vec<String> = named.iter().map(|&name| name.to_owned()).collect();
        let picked = profiles.pick(&named, Some(OsStr::new(program))).expect("known profiles");
        picked.iter().map(|profile| profile.name.clone()).collect()
    }

    #[test]
    fn the_program_picks_the_profile() {
        assert_eq!(picked(&[], "cargo"), ["rust", "c", "git"]);
        assert_eq!(picked(&[], "python3.12"), ["python", "c", "git"]);
        for (program, name) in [("npm", "node"), ("go", "go"), ("mvn", "java"), ("gradlew", "java")]
        {
            assert_eq!(picked(&[], program), [name, "c", "git"]);
        }
        assert_eq!(picked(&[], "bash"), ["c", "git", "go", "java", "node", "python", "rust"]);
        assert_eq!(picked(&["git"], "cargo"), ["git"]);
        assert_eq!(picked(&["none"], "cargo"), [""; 0]);
        let tools = ["c", "git", "go", "java", "node", "python", "rust"];
        assert_eq!(picked(&[], "claude"), [["claude"].as_slice(), &tools].concat());
        assert_eq!(picked(&["codex"], "npx"), [["codex"].as_slice(), &tools].concat());
    }

    #[test]
    fn an_unknown_profile_is_an_error() {
        let profiles = Profiles::with(Vec::new());
        let Err(Failure::Own { message, advice }) = profiles.pick(&["rsut".to_owned()], None)
        else {
            panic!("there is no such profile");
        };
        assert_eq!(message, "there is no profile `rsut`");
        assert_eq!(advice.as_deref(), Some("did you mean `rust`?"));
    }
}
