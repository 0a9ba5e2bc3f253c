//! Reads which kernel features to treat as absent, so that another machine can be simulated.

use super::Feature;
use crate::error::Failure;

/// The environment variable that lists them, separated by commas.
pub(crate) const WITHOUT: &str = "JP_CONFINE_WITHOUT";

/// The features to treat as absent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Absent {
    features: Vec<Feature>,
    /// The newest version of Landlock to use.
    pub(super) landlock: i32,
}

impl Absent {
    /// No feature.
    pub(crate) const NONE: Self = Self { features: Vec::new(), landlock: i32::MAX };

    /// Reads the value of [`WITHOUT`]. `landlock:3` stands for version 3 of Landlock. Empty words are ignored.
    ///
    /// # Errors
    /// For a word that is not a feature: otherwise a misspelt feature would stay in use.
    pub(crate) fn parse(text: &str) -> Result<Self, Failure> {
        let mut absent = Self::NONE;
        for word in text.split(',').filter(|word| !word.is_empty()) {
            let older = word.strip_prefix("landlock:").and_then(|version| version.parse().ok());
            let feature = Feature::ALL.into_iter().find(|feature| feature.name() == word);
            match (feature, older) {
                (Some(feature), _) => absent.features.push(feature),
                (None, Some(version @ 0..)) => absent.landlock = version,
                (None, _) => return Err(unknown(word)),
            }
        }
        Ok(absent)
    }

    pub(super) fn names(&self, feature: Feature) -> bool {
        self.features.contains(&feature)
    }
}

fn unknown(word: &str) -> Failure {
    let known = Feature::ALL.map(Feature::name).join(", ");
    Failure::advised(
        format!("{WITHOUT} names `{}`, which is no feature", word.escape_debug()),
        format!("known: {known}, landlock:N"),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn features_are_named() {
        let absent = |text| Absent::parse(text).expect("features");
        assert_eq!(absent(""), Absent::NONE);
        assert!(absent("openat2,proc").names(Feature::Proc));
        assert!(!absent("openat2,proc").names(Feature::Ptrace));
        assert_eq!(absent("listener,landlock:2").landlock, 2);
    }

    #[test]
    fn a_word_that_is_no_feature_is_an_error_that_names_those_that_are() {
        for word in ["landlok", "landlock:", "landlock:x", "landlock:-1", " listener", "Proc"] {
            let failure = Absent::parse(&format!("proc,{word}")).expect_err("no feature");
            assert_eq!(failure.status(), 125);
            let text = format!("{failure:?}");
            assert!(
                text.contains(&format!("`{word}`")) && text.contains("known: landlock, "),
                "{text}"
            );
        }
    }
}
