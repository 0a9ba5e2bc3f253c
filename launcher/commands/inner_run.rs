//! The command by which the file service starts this program again, to confine a program by the service's policy.

use std::ffi::OsString;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use jp_confine_engine::canonical::Root;

use crate::cli::Options;
use crate::cli::host::{self, HostOptions};
use crate::compile::views;
use crate::config::host_context::STDIN;
use crate::config::tiers::from_here;
use crate::error::Failure;
use crate::external::mounts;
use crate::external::mounts::ends::LookupBase;
use crate::host::context::Context;
use crate::output::event_target::EventTarget;
use crate::text::quote;

/// The command for programs of a tool. The service has judged them.
pub(super) fn for_tool(
    context: &Context,
    options: &Options,
    root: &Root,
) -> Result<Vec<OsString>, Failure> {
    let own = ["--service", "--no-net"].map(OsString::from);
    command(context, options, root, own.into())
}

/// The command for runs like any other with these options.
pub(super) fn for_agent(
    context: &Context,
    options: &Options,
    root: &Root,
) -> Result<Vec<OsString>, Failure> {
    let HostOptions { net, resolve, net_proxy, presets: _ } = &options.hosts;
    let hosts = net.iter().map(|rule| ("--net", host::word(rule)));
    let addresses = resolve.iter().map(|it| ("--resolve", format!("{}={}", it.name, it.address)));
    // The variables that are set have their values already.
    let variables = options.env.iter().map(|variable| ("--env", variable.name.clone()));
    let caches = options.caches.map(|mode| ("--cache", mode.name().to_owned()));
    let valued = hosts.chain(addresses).chain(variables).chain(caches);
    let mut own: Vec<OsString> =
        valued.flat_map(|(option, value)| [option.into(), value.into()]).collect();
    own.extend(switches([
        ("--net-proxy", *net_proxy),
        ("--no-net", options.no_net),
        ("--isolated", options.isolated),
        ("-q", options.quiet),
        ("-v", options.verbose),
    ]));
    command(context, options, root, own)
}

/// The target of events as the runs inside name it. They get no descriptors but the standard streams.
fn inherited(context: &Context, events: &EventTarget) -> Result<OsString, Failure> {
    match events {
        EventTarget::Descriptor(3..) => Err(Failure::advised(
            format!(
                "--events {events}: the programs that are started here have no such descriptor"
            ),
            "name a file or a socket: --events FILE, --events unix:SOCKET",
        )),
        _ => Ok(events.word(|path| context.absolute(path))),
    }
}

/// The command with its `own` options and those that all such runs have.
fn command(
    context: &Context,
    options: &Options,
    root: &Root,
    own: Vec<OsString>,
) -> Result<Vec<OsString>, Failure> {
    let mut words: Vec<OsString> = vec![launcher()?.into()];
    words.extend(own);
    words.extend(["--non-interactive", "--kill-leftovers"].map(OsString::from));
    words.extend(["--host".into(), std::process::id().to_string().into()]);
    // The service starts it in the workspace.
    words.extend(["-C", "."].map(OsString::from));
    words.extend(mounts::from_root(LookupBase { context, root }, &options.mounts)?);
    if let Some(events) = &options.events {
        words.extend(["--events".into(), inherited(context, events)?]);
    }
    let stdin = options.received.iter().map(|_| Path::new(STDIN));
    let files = options.policies.iter().map(PathBuf::as_path).chain(stdin);
    files.into_iter().try_for_each(|file| refuse_pipe(context, file))?;
    let lists = [
        ("--policy", &options.policies),
        ("-r", &options.read),
        ("-w", &options.write),
        ("-x", &options.exec),
        ("--deny", &options.deny),
    ];
    for (option, paths) in lists {
        let path = |path: &PathBuf| [option.into(), context.absolute(path).into()];
        words.extend(paths.iter().flat_map(path));
    }
    for view in &options.views {
        let view = views::from_anywhere(context, view)?;
        if view.from.as_os_str().as_bytes().contains(&b'=') {
            let message = format!("--view {view}: FROM contains `=`, where it would end");
            return Err(Failure::advised(message, "move the directory to a path without `=`"));
        }
        words.extend(["--view".into(), view.word()]);
    }
    for glob in &options.allow_autorun {
        words.extend(["--allow-autorun".into(), from_here(glob, &context.cwd)?.into()]);
    }
    let tool = options.tool.iter().map(|name| ("--tool", name));
    let profiles = options.profiles.iter().map(|name| ("--profile", name));
    words.extend(tool.chain(profiles).flat_map(|(option, name)| [option.into(), name.into()]));
    words.extend(switches([
        ("--no-baseline", options.no_baseline),
        ("--share-tmp", options.share_tmp),
        ("--show-denied", options.show_denied),
    ]));
    let layers = options.enforce.unwrap_or_default().name();
    words.extend(["--enforce", layers, "--"].map(OsString::from));
    Ok(words)
}

/// Those of these options that are on.
fn switches<const N: usize>(options: [(&str, bool); N]) -> impl Iterator<Item = OsString> {
    options.into_iter().filter(|(_, on)| *on).map(|(option, _)| option.into())
}

/// Rejects a policy file that can be read only once: it is read again for each program.
///
/// # Errors
/// `file` is a pipe, or has no name of its own.
fn refuse_pipe(context: &Context, file: &Path) -> Result<(), Failure> {
    let place = context.absolute(file).canonicalize();
    if place.is_ok_and(|place| place.is_file()) {
        return Ok(());
    }
    Err(Failure::advised(
        format!("the policy file {} can be read only once", quote::path(&file.to_string_lossy())),
        "the service reads it again for each program that it starts: name a file",
    ))
}

/// The file of this program.
pub(super) fn launcher() -> Result<PathBuf, Failure> {
    std::env::current_exe()
        .map_err(|error| Failure::own(format!("this program cannot be found again: {error}")))
}
