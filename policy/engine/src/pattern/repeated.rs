//! Makes a pattern match at the other mount points of the paths that it names. Used by [`crate::tiers`].

use std::path::{Path, PathBuf};
use std::string::String;
use std::sync::OnceLock;
use std::vec::Vec;

use super::{Pattern, escaped, glob, literal_part, stem, valid};

impl Pattern {
    /// Also matches at the copies that `copies` knows of a directory or file. Each copy has its place and the path that
    /// it copies, which may be deeper. Returns whether there are any. A copy whose name is not UTF-8 is left out.
    pub(crate) fn repeat(&mut self, copies: &impl Fn(&Path) -> Vec<(PathBuf, PathBuf)>) -> bool {
        let mut more: Vec<String> = Vec::new();
        for one in &self.globs {
            let (text, stem) = (one.as_str(), stem(one));
            if stem == Path::new("/") {
                continue;
            }
            let rest = text.get(literal_part(text).len()..).unwrap_or_default();
            for (at, of) in copies(&stem) {
                let Some(at) = at.to_str().map(escaped) else { continue };
                for text in self.at_copy(&at, &of, &stem, rest) {
                    if valid(&text).is_ok() && !self.globs.contains(&text) && !more.contains(&text)
                    {
                        more.push(text);
                    }
                }
            }
        }
        let is_any = !more.is_empty();
        if is_any {
            // The last glob must stay last: it says where the pattern itself leads.
            self.globs.splice(1..1, more);
            self.matchers = OnceLock::new();
        }
        is_any
    }

    /// The globs at the copy `at` of the path `of` that match the same as one with this `stem` and `rest`.
    fn at_copy(&self, at: &str, of: &Path, stem: &Path, rest: &str) -> Vec<String> {
        let below = |rest: &str| [at, "/", rest].concat();
        if of == stem {
            return Vec::from([if rest.is_empty() { at.into() } else { below(rest) }]);
        }
        let mut texts = Vec::new();
        if rest.starts_with("**") {
            texts.push(below(rest));
        } else if let Some(rest) = behind(stem, of, rest) {
            texts.push(below(rest));
        }
        if self.matches(of) {
            texts.extend([at.into(), below("**")]);
        }
        texts
    }
}

/// The part of `rest` after `of`, if `rest` comes after `stem`. `None` if the beginning of `rest` does not match `of`,
/// component by component.
fn behind<'r>(stem: &Path, of: &Path, mut rest: &'r str) -> Option<&'r str> {
    for name in of.strip_prefix(stem).ok()?.components() {
        let (first, after) = rest.split_once('/')?;
        if first.contains("**") || first.contains(['{', '[']) {
            return None;
        }
        if !glob(first).ok()?.compile_matcher().is_match(name.as_os_str()) {
            return None;
        }
        rest = after;
    }
    Some(rest)
}

#[cfg(test)]
mod tests {
    use crate::pattern::Places;

    use super::*;

    fn repeated(text: &str, at: &str, of: &str) -> Pattern {
        let places = Places::without_home(Path::new("/w"));
        let mut pattern = Pattern::new(text, places, true).expect("a pattern");
        let copies = |path: &Path| {
            let known = Path::new(of).starts_with(path) || Path::new(of) == path;
            let copy = || (PathBuf::from(at), PathBuf::from(of));
            known.then(copy).into_iter().collect()
        };
        pattern.repeat(&copies);
        pattern
    }

    #[test]
    fn it_matches_where_the_same_is_mounted() {
        for (text, of, yes, no) in [
            ("/none/s/**", "/none/s", "/m/k", "/mm"),
            ("/none/s", "/none/s", "/m/k/l", "/n"),
            ("/none/s/**", "/none/s/deep", "/m", "/mm"),
            ("/none/s/*.key", "/none/s", "/m/a.key", "/m/a.pub"),
            ("/none/s/*.key", "/none/s/a.key", "/m", "/mm"),
            ("/none/*/x/*.key", "/none/b/x", "/m/a.key", "/m/a.pub"),
            ("/none/s/**/*.key", "/none/s/b", "/m/c/a.key", "/m/a"),
        ] {
            let pattern = repeated(text, "/m", of);
            assert!(pattern.matches(Path::new(yes)), "{text} of {of}: {yes}");
            assert!(!pattern.matches(Path::new(no)), "{text} of {of}: {no}");
        }
        assert!(!repeated("/none/s/*.key", "/m", "/none/s/b").matches(Path::new("/m")));
    }

    #[test]
    fn it_keeps_its_own_place() {
        let pattern = repeated("/none/s/**", "/m", "/none/s");
        assert_eq!(pattern.expanded(), "/none/s/**");
        assert_eq!(pattern.stem(), Path::new("/none/s"));
        assert!(pattern.matches(Path::new("/none/s/k")));
    }
}
