//! Decides which environment variables a program starts with (spec §11.2). Withheld ones do not exist in the run at
//! all.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt as _;

use jp_confine_engine::coverage::Coverage;
use jp_confine_engine::env::{Env, EnvRule};
use jp_confine_engine::model::{RuleSource, TYPED};
use jp_confine_engine::variables;

use crate::text::quote;

/// Variables by which the loader or libc's start-up code would run code before the library does, or write files
/// (`ld.so(8)`). No hook sees that code.
const BYPASSES: [&str; 5] =
    ["LD_AUDIT", "LD_DEBUG_OUTPUT", "LD_PROFILE", "LD_PROFILE_OUTPUT", "GMON_OUT_PREFIX"];

/// Variables that shells set for each program they start, and that nothing else sets.
const OF_SHELLS: [&str; 4] = ["OLDPWD", "PWD", "SHLVL", "_"];

/// The value of `--env`: `NAME`, the start of names followed by `*`, or `NAME=VALUE`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct EnvOption {
    pub(crate) name: String,
    /// The value to set. `None` keeps the value of the environment.
    pub(crate) value: Option<OsString>,
}

impl EnvOption {
    /// The name and the value of `NAME=VALUE`. `None` for a name alone.
    pub(crate) fn assignment(&self) -> Option<(&str, &OsStr)> {
        Some((&self.name, self.value.as_deref()?))
    }

    /// Parses the option's value.
    ///
    /// # Errors
    /// A message for people that says what is wrong with the name.
    pub(crate) fn parse(word: &OsStr) -> Result<Self, String> {
        let mut parts = word.as_bytes().splitn(2, |byte| *byte == b'=');
        let name = parts.next().map(std::str::from_utf8).and_then(Result::ok);
        let name = name.ok_or("the name is not UTF-8")?.to_owned();
        let value = parts.next().map(|value| OsStr::from_bytes(value).to_owned());
        Env::readable(std::slice::from_ref(&name)).map_err(|error| error.to_string())?;
        if value.is_some() && name.ends_with('*') {
            return Err(format!("`{name}` is many variables, which cannot have one value"));
        }
        match beyond_rules(&name) {
            Some(why) => Err(why),
            None => Ok(Self { name, value }),
        }
    }

    /// The rule that it stands for. `index` is its position among the options.
    pub(crate) fn rule(&self, index: usize) -> EnvRule {
        let source = RuleSource { layer: TYPED.into(), index, line: None };
        EnvRule { name: self.name.clone(), read: true, source }
    }
}

/// Why no rule can be about the variable `name`, if none can.
pub(crate) fn beyond_rules(name: &str) -> Option<String> {
    if variables::is_owned(name.as_bytes()) {
        return Some(format!(
            "`{name}` is set by jp-confine itself in every run: it cannot be granted, denied or set"
        ));
    }
    BYPASSES.contains(&name).then(|| {
        format!("`{name}` never reaches a program of a run: it would act before the policy does")
    })
}

/// Whether a rule can be about the variable `name` alone.
fn can_be_named(name: &str) -> bool {
    !name.ends_with('*') && EnvOption::parse(name.as_ref()).is_ok()
}

/// The rules on the environment of a program.
#[derive(Debug, Default)]
pub(crate) struct Environment {
    pub(crate) rules: Env,
    /// Whether variables without a rule are withheld, except those of the base set.
    pub(crate) is_declared: bool,
}

impl Environment {
    /// Whether the program gets a variable.
    pub(crate) fn passes(&self, name: &OsStr) -> bool {
        let name = name.as_bytes();
        match self.rules.judge(name) {
            _ if BYPASSES.iter().any(|known| known.as_bytes() == name) => false,
            Coverage::Allowed => true,
            Coverage::Denied => false,
            Coverage::Uncovered => !self.is_declared || variables::is_base(name),
        }
    }

    /// The names of the withheld variables among `given`, sorted.
    fn withheld<'g>(&self, given: &'g [(OsString, OsString)]) -> Vec<&'g OsStr> {
        let names = given.iter().map(|(name, _)| name.as_os_str());
        let is_withheld =
            |name: &&OsStr| !variables::is_owned(name.as_bytes()) && !self.passes(name);
        let mut names: Vec<&OsStr> = names.filter(is_withheld).collect();
        names.sort_unstable();
        names
    }

    /// Lists for people which of the variables `given` are withheld. It never shows their values.
    pub(crate) fn note(&self, given: &[(OsString, OsString)]) -> Option<String> {
        let names = self.withheld(given).into_iter();
        let names: Vec<String> = names.map(|name| quote::printable(name.as_bytes())).collect();
        (!names.is_empty()).then(|| format!("environment: withheld are {}", names.join(", ")))
    }

    /// The variables among `given` that a failed program may have missed: those that rules withhold and could grant by
    /// name.
    pub(crate) fn missed(&self, given: &[(OsString, OsString)], status: u8) -> Vec<String> {
        if !self.is_declared || status == 0 {
            return Vec::new();
        }
        let names = self.withheld(given).into_iter().filter_map(OsStr::to_str);
        let names = names.filter(|name| !OF_SHELLS.contains(name) && can_be_named(name));
        names.map(str::to_owned).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn environment(rules: &[(&str, bool)], is_declared: bool) -> Environment {
        let rule = |&(name, read): &(&str, bool)| EnvRule {
            name: name.to_owned(),
            read,
            ..EnvRule::default()
        };
        let rules = Env::new(&rules.iter().map(rule).collect::<Vec<_>>()).expect("sound");
        Environment { rules, is_declared }
    }

    #[test]
    fn undeclared_everything_passes_but_what_acts_before_the_policy() {
        let all = environment(&[], false);
        assert!(all.passes("AWS_SECRET_ACCESS_KEY".as_ref()) && all.passes("PATH".as_ref()));
        assert!(!all.passes("LD_AUDIT".as_ref()));
    }

    #[test]
    fn declared_the_base_set_passes_and_what_is_granted() {
        let some = environment(&[("AWS_*", true), ("AWS_SECRET_*", false), ("LANG", false)], true);
        for (name, expected) in [
            ("PATH", true),
            ("HOME", true),
            ("USER", true),
            ("LC_ALL", true),
            ("TERM", true),
            ("LANG", false),
            ("LANGUAGE", false),
            ("AWS_REGION", true),
            ("AWS_SECRET_ACCESS_KEY", false),
            ("TOKEN", false),
        ] {
            assert_eq!(some.passes(name.as_ref()), expected, "{name}");
        }
        let none = environment(&[("*", false)], true);
        assert!(!none.passes("PATH".as_ref()));
    }

    #[test]
    fn withheld_names_are_told_and_nothing_else() {
        let some = environment(&[("A", true)], true);
        let given = ["B\x1b", "PATH", "A", "TMPDIR", "LD_PRELOAD", "C", "PWD"];
        let given = given.map(|name| (OsString::from(name), OsString::from("value")));
        assert_eq!(some.note(&given).as_deref(), Some("environment: withheld are B\\x1b, C, PWD"));
        assert_eq!(environment(&[], false).note(&given), None);
        assert_eq!(some.missed(&given, 1), ["B\x1b", "C"]);
        let unnamed = ["LD_AUDIT", "A*", "D"].map(|name| (name.into(), OsString::new()));
        assert_eq!(some.missed(&unnamed, 1), ["D"]);
        assert!(some.missed(&given, 0).is_empty());
        let bypass = [("LD_AUDIT".into(), "x".into())];
        assert!(environment(&[], false).missed(&bypass, 1).is_empty());
    }

    #[test]
    fn options_are_names_beginnings_or_values() {
        let parse = |word: &str| EnvOption::parse(word.as_ref());
        let granted = |name: &str, value: Option<&str>| {
            Ok(EnvOption { name: name.to_owned(), value: value.map(OsString::from) })
        };
        assert_eq!(parse("A"), granted("A", None));
        assert_eq!(parse("A_*"), granted("A_*", None));
        assert_eq!(parse("A=b=c"), granted("A", Some("b=c")));
        assert_eq!(parse("A="), granted("A", Some("")));
        for word in ["", "=b", "A*B", "A*=b", "LD_PRELOAD", "JP_CONFINE=1", "TMPDIR=/", "LD_AUDIT"]
        {
            assert!(parse(word).is_err(), "{word}");
        }
    }
}
