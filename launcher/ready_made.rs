//! The ready-made grants of a run: the baseline, and the profiles that fit its program (spec §12.1).

use std::ffi::OsStr;
use std::path::Path;

use crate::anchors::Anchors;
use crate::cli::Options;
use crate::config::layers::Layers;
use crate::context::Context;
use crate::failure::Failure;
use crate::profile::{Profile, Profiles, Resolved};

/// What was picked, and what it comes to on this machine.
#[derive(Debug)]
pub(crate) struct ReadyMade {
    /// The baseline, unless it is left out, and the profiles.
    pub(crate) tables: Vec<Resolved>,
    /// The names of the profiles.
    pub(crate) profiles: Vec<String>,
    /// Where the entries led.
    pub(crate) anchors: Anchors,
}

impl ReadyMade {
    /// Picks and resolves them for `program`, if one is to be run. Where it `begins` now, the folders that its
    /// tools would make are made first.
    pub(crate) fn pick(
        context: &Context,
        options: &Options,
        layers: &Layers,
        program: Option<&OsStr>,
        begins: bool,
    ) -> Result<Self, Failure> {
        let baseline = (!options.no_baseline).then(Profile::baseline).transpose()?;
        let known = Profiles::with(layers.profiles())?;
        let name = program.and_then(|program| Path::new(program).file_name());
        let picked = known.pick(&options.profiles, name)?;
        if begins {
            let name = name.and_then(OsStr::to_str).unwrap_or_default();
            let own = picked.iter().filter(|profile| profile.claims(name));
            own.for_each(|profile| profile.make_folders(context));
        }
        let mut anchors = Anchors::default();
        let tables = baseline
            .iter()
            .chain(picked.iter().copied())
            .map(|table| table.resolve(context, &mut anchors, !options.show_denied))
            .collect();
        let profiles = picked.iter().map(|profile| profile.name.clone()).collect();
        Ok(Self { tables, profiles, anchors })
    }
}
