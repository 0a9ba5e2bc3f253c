//! The built-in grants of a run: the baseline, and the profiles that fit its program (spec §12.1).

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

use jp_confine_engine::Capabilities;
use jp_confine_engine::build::Grant;
use jp_confine_engine::canonical::Root;
use jp_confine_engine::decide::{self, Request, Verdict};
use jp_confine_engine::image::Image;
use rustix::fs::{Mode, mkdirat};

use crate::cli::Options;
use crate::compile::caches::Caches;
use crate::compile::private_files;
use crate::compile::profiles::Resolved;
use crate::compile::purpose::Stage;
use crate::compile::typed_program;
use crate::config::layers::Layers;
use crate::config::profile::Profile;
use crate::config::profiles::{self, Profiles};
use crate::error::Failure;
use crate::host::context::Context;
use crate::host::workspace::Workspace;
use crate::network::names;

/// The picked profiles, resolved on this machine.
#[derive(Debug)]
pub(crate) struct ReadyMade {
    /// The baseline, unless it is left out, and the profiles.
    pub(crate) tables: Vec<Resolved>,
    /// The names of the profiles.
    pub(crate) profiles: Vec<String>,
    /// Directories in the workspace that its tools create under a temporary name beside them.
    pub(crate) folders: Vec<String>,
    pub(crate) caches: Caches,
}

impl ReadyMade {
    /// Picks and resolves the profiles for `program`, if one will run. If it begins now, creates the directories that its
    /// tools would create, and their caches.
    pub(crate) fn pick(
        context: &Context,
        workspace: &Workspace,
        options: &Options,
        layers: &Layers,
        program: Option<&OsStr>,
        stage: Stage<'_>,
    ) -> Result<Self, Failure> {
        let mut caches = Caches::of(context, workspace, options, stage);
        let baseline = (!options.no_baseline).then(Profile::baseline).flatten();
        let known = Profiles::with(layers.profiles());
        let name = program.and_then(|program| Path::new(program).file_name());
        let picked = known.pick(&options.profiles, name)?;
        let mut folders = Vec::new();
        if stage.begins(options) {
            let name = name.and_then(OsStr::to_str).unwrap_or_default();
            for profile in picked.iter().filter(|profile| profile.claims(name)) {
                profile.make_folders(context);
                folders.extend(profile.workspace_folders().map(str::to_owned));
            }
        }
        let mut resolve = |table: &Profile| {
            let table = caches.counting(table);
            let mut resolved = table.resolve(context, options);
            caches.add(context, options, &table, &mut resolved);
            resolved
        };
        let tables = baseline.iter().chain(picked.iter().copied());
        let mut tables: Vec<Resolved> = tables.map(&mut resolve).collect();
        if let Some(program) = program.filter(|_| is_typed(options)) {
            tables.push(typed_program::grants(context, &workspace.root, program));
        }
        let grants = Vec::from_iter(caches.grant(&tables));
        tables.push(Resolved { grants, ..Resolved::default() });
        private_files::narrow(&mut tables, stage.ground());
        let profiles = picked.iter().map(|profile| profile.name.clone()).collect();
        Ok(Self { tables, profiles, folders, caches })
    }

    /// Without a network also removes the sockets of name lookup services, which pass each queried name to the network.
    pub(crate) fn reaching(mut self, network: bool) -> Self {
        for table in &mut self.tables {
            let is_service = |grant: &Grant| names::is_service(grant.anchor.as_os_str().as_bytes());
            table.grants.retain(|grant| network || !is_service(grant));
        }
        self
    }
}

/// Whether a person typed the program, and did not exclude profiles.
fn is_typed(options: &Options) -> bool {
    !options.service
        && !options.hosted
        && !options.profiles.iter().any(|name| name == profiles::NONE)
}

/// Creates these directories in the workspace at `root`, if `image` allows creating them but no other name beside them.
/// Cargo, for instance, first creates `target` under a generated name. Existing directories are left alone.
pub(crate) fn make_in_workspace(root: &Root, image: &Image<'_>, folders: &[String]) {
    let may_create = |name: &str| {
        let path = root.as_path().join(name);
        let request = Request::canonical(path.as_os_str().as_bytes());
        decide::access(image, &request, Capabilities::CREATE) == Verdict::Allow
    };
    for folder in folders.iter().filter(|folder| may_create(folder)) {
        if !may_create(&format!("{folder}-beside")) {
            // If that fails, the tool reports it.
            let _ = root.hold().map(|held| mkdirat(held, folder, Mode::from_raw_mode(0o777)));
        }
    }
}

#[cfg(test)]
mod tests {
    use jp_confine_engine::build::{GrantKind, Origin};

    use super::*;

    #[test]
    fn without_the_network_nobody_is_asked_for_names() {
        let origin = Origin::Baseline { entry: String::new() };
        let grant = |path: &str| {
            Grant::new(path.into(), Capabilities::UPDATE, GrantKind::Plain, origin.clone())
        };
        let baseline = Profile::baseline().expect("the table");
        let listed = baseline.entries.iter().map(|(_, path)| grant(path)).collect();
        let tables = vec![Resolved { grants: listed, ..Resolved::default() }];
        let all = ReadyMade {
            tables,
            profiles: Vec::new(),
            folders: Vec::new(),
            caches: Caches::default(),
        };
        let before = all.tables[0].grants.len();
        let all = all.reaching(false);
        let left: Vec<_> = all.tables[0].grants.iter().map(|grant| grant.anchor.clone()).collect();
        assert_eq!(left.len() + 2, before, "{left:?}");
        assert!(
            !left
                .iter()
                .any(|path| path.ends_with("socket") || path.ends_with("io.systemd.Resolve"))
        );
    }
}
