//! The options that every command takes, as its subcommands have them: `-h` there shows the subcommand's own options,
//! and `--help` all.

use clap::{ArgMatches, Args, Command, Error, FromArgMatches};

use super::options::Options;

/// The same options, which `-h` leaves out.
#[derive(Debug, Default)]
pub(super) struct Further(pub(super) Options);

impl Args for Further {
    fn augment_args(command: Command) -> Command {
        let own: Vec<_> = command.get_arguments().map(|one| one.get_id().clone()).collect();
        Options::augment_args(command).mut_args(|one| {
            let is_own = own.contains(one.get_id());
            if is_own { one } else { one.hide_short_help(true) }
        })
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

impl FromArgMatches for Further {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, Error> {
        Options::from_arg_matches(matches).map(Self)
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), Error> {
        self.0.update_from_arg_matches(matches)
    }
}
