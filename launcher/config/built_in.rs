//! The built-in profiles as constants, which `build.rs` makes of `profiles/*.toml`.

use jp_confine_engine::Capabilities;

use crate::config::profile::{Profile, Seeds};
use crate::config::written_view::WrittenView;

/// A profile as [`Profile`] has it, by the keys of its table.
#[derive(Debug)]
pub(crate) struct BuiltIn {
    name: &'static str,
    entries: &'static [(Capabilities, &'static str)],
    programs: &'static [&'static str],
    includes: &'static [&'static str],
    make: &'static [&'static str],
    builds: &'static [&'static str],
    view: &'static [(&'static str, &'static str)],
    cache: &'static [(&'static str, &'static str)],
    variables: &'static [(&'static str, &'static str)],
    except: &'static [(&'static str, &'static [&'static str])],
    seeds: &'static [BuiltInSeeds],
}

/// What one of the workspace's own caches has from the user's, as [`Seeds`] has it.
#[derive(Debug)]
struct BuiltInSeeds {
    cache: &'static str,
    from: &'static str,
    link: &'static [&'static str],
    copy: &'static [&'static str],
    skip: &'static [&'static str],
}

include!(concat!(env!("OUT_DIR"), "/built_in.rs"));

impl BuiltIn {
    /// The profile, or the baseline for the empty name.
    pub(crate) fn named(name: &str) -> Option<Profile> {
        ALL.iter().find(|known| known.name == name).map(Self::profile)
    }

    fn profile(&self) -> Profile {
        let view = |(from, to): &(&str, &str)| WrittenView::of(from.as_bytes(), to.as_bytes());
        Profile {
            name: self.name.to_owned(),
            own: false,
            programs: owned(self.programs),
            includes: owned(self.includes),
            entries: self.entries.iter().map(|&(caps, path)| (caps, path.to_owned())).collect(),
            except: self
                .except
                .iter()
                .map(|(path, list)| ((*path).to_owned(), owned(list)))
                .collect(),
            make: owned(self.make),
            builds: owned(self.builds),
            views: self.view.iter().flat_map(view).collect(),
            caches: self.cache.iter().map(|&(from, name)| (from.to_owned(), name.into())).collect(),
            variables: self
                .variables
                .iter()
                .map(|&(name, cache)| (name.to_owned(), cache.into()))
                .collect(),
            seeds: self.seeds.iter().map(BuiltInSeeds::seeds).collect(),
        }
    }
}

impl BuiltInSeeds {
    fn seeds(&self) -> Seeds {
        Seeds {
            cache: self.cache.into(),
            from: self.from.to_owned(),
            links: owned(self.link),
            copies: owned(self.copy),
            skips: owned(self.skip),
        }
    }
}

fn owned(words: &[&str]) -> Vec<String> {
    words.iter().map(|&word| word.to_owned()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::decode;
    use crate::config::profiles::{AGENTS, BASELINE, BUILT_IN};

    #[test]
    fn a_built_in_profile_is_what_its_file_says() {
        let all = BUILT_IN.iter().chain(&AGENTS).chain(&[("", BASELINE)]);
        for (name, text) in all.clone() {
            let written = decode::built_in(name, text).expect("a right table");
            assert_eq!(BuiltIn::named(name), Some(written), "{name}");
        }
        assert_eq!(all.count(), ALL.len());
    }
}
