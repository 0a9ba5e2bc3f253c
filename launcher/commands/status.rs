//! Implements `status`: shows a confined program what its run grants, by asking the images of the runs around it.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use jp_confine_engine::build::View;
use jp_confine_engine::commands::Commands;
use jp_confine_engine::decide::{self, Request};
use jp_confine_engine::env::EnvRule;
use jp_confine_engine::image::{Image, Text};
use jp_confine_engine::net::NetRule;
use jp_confine_engine::{Capabilities, Capability, views};
use serde::de::DeserializeOwned;
use serde::{Deserialize as _, Serialize};
use serde_json::Value;

use crate::error::Failure;
use crate::host::context::Context;
use crate::launch::outer_run::Outer;
use crate::output;
use crate::text::{quote, wrap};

/// The exit status outside of a run.
const UNCONFINED: u8 = 1;

/// The answer that `--json` prints.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(untagged)]
pub(crate) enum Answer {
    /// No run is around this process.
    Unconfined {
        /// `false`.
        confined: bool,
    },
    /// What the runs around this process grant.
    Confined(Box<Status>),
}

/// What the runs around this process grant together, or what a run would grant.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct Status {
    /// `true`.
    confined: bool,
    /// The version of jp-confine.
    version: &'static str,
    workspace: String,
    /// How many runs are around this process.
    runs: usize,
    /// The layers behind the policy: `library`, `supervisor`, `landlock`.
    layers: Vec<&'static str>,
    grants: Vec<GrantedPath>,
    /// `all`, `none`, or `rules`, which are in `hosts`.
    network: &'static str,
    hosts: Vec<NetRule>,
    /// Rules about variables. Without any, all were passed on.
    variables: Vec<EnvRule>,
    /// The programs that may start. `null` stands for all.
    programs: Option<Commands>,
    /// The compiled rules of the innermost run, as a host sends them to its tools: `fs`, `net`, `env` and `commands`.
    access: Value,
}

/// A path, and what is granted there and below, but for deeper paths of the list.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct GrantedPath {
    path: String,
    /// A view shows another directory there, such as the run's own `/tmp` or a cache, or the directories that views
    /// show are in there.
    view: bool,
    capabilities: Vec<&'static str>,
    /// Those that take a prompt.
    prompts: Vec<&'static str>,
    #[serde(skip)]
    caps: Capabilities,
    /// Less is granted than at the path above it in the list.
    #[serde(skip)]
    is_narrower: bool,
}

/// Prints it.
pub(crate) fn status(context: &Context, json: bool) -> Result<u8, Failure> {
    let outer = Outer::find(context)?;
    let images: Vec<Image<'_>> = outer.iter().flat_map(Outer::images).collect();
    let Some(inner) = images.last() else {
        if json {
            output::json(&Answer::Unconfined { confined: false })?;
        } else {
            output::text("not confined: no run of jp-confine is around this program\n")?;
        }
        return Ok(UNCONFINED);
    };
    let status = Status::of(&images, inner);
    if json {
        output::json(&Answer::Confined(Box::new(status)))?;
    } else {
        output::text(&status.text("confined", context))?;
    }
    Ok(0)
}

impl Status {
    /// That of a run with this image, which the `layers` would hold.
    pub(crate) fn planned(image: &Image<'_>, layers: Vec<&'static str>) -> Self {
        Self { layers, ..Self::of(&[*image], image) }
    }

    /// That of the runs with these `images`, from the outside in.
    fn of(images: &[Image<'_>], inner: &Image<'_>) -> Self {
        let rules: Vec<Value> =
            images.iter().rev().filter_map(|it| serde_json::from_slice(it.json()).ok()).collect();
        // The innermost run that has rules: the others have none, or these are a part of theirs.
        let hosts: Vec<NetRule> = list(&rules, "net");
        let is_offline = images.iter().any(|image| image.behind().offline);
        Self {
            confined: true,
            version: env!("CARGO_PKG_VERSION"),
            workspace: lossy(inner.text(Text::Workspace)),
            runs: images.len(),
            layers: layers(images),
            grants: granted(images),
            network: match (is_offline, hosts.is_empty()) {
                (true, _) => "none",
                (_, true) => "all",
                _ => "rules",
            },
            hosts,
            variables: list(&rules, "env"),
            programs: rules
                .iter()
                .find_map(|rules| Commands::deserialize(rules.get("commands")?).ok()),
            access: serde_json::from_slice(inner.json()).unwrap_or_default(),
        }
    }

    /// The status in ten lines. The first begins with `begin`.
    pub(crate) fn text(&self, begin: &str, context: &Context) -> String {
        let paths = |name: &str| {
            let mut paths: Vec<&GrantedPath> =
                self.grants.iter().filter(|it| it.line() == name).collect();
            // Most views are caches, which matter least.
            paths.sort_by_key(|it| (it.path != self.workspace, it.view));
            paths.into_iter().map(|it| at_home(&it.path, context)).collect::<Vec<String>>()
        };
        let programs = self.programs.as_ref();
        let programs = programs
            .map(|listed| in_line(&listed.0.keys().cloned().collect::<Vec<String>>(), "none"));
        let hosts = self.hosts.iter().filter(|rule| rule.allow).map(|rule| rule.host.clone());
        let network = match self.network {
            "rules" => in_line(&hosts.collect::<Vec<String>>(), "none"),
            word => word.to_owned(),
        };
        let granted = self.variables.iter().filter(|rule| rule.read).map(|rule| rule.name.clone());
        let variables = match self.variables.as_slice() {
            [] => "all that were set".to_owned(),
            _ => in_line(&granted.collect::<Vec<String>>(), "none"),
        };
        let line = |name: &'static str| (name, in_line(&paths(name), "none"));
        let mut denied = vec!["all else".to_owned()];
        denied.extend(paths("denied"));
        let lines = [
            line("write"),
            line("update"),
            line("execute"),
            line("read"),
            ("denied", in_line(&denied, "all else")),
            ("network", network),
            ("variables", variables),
            ("programs", programs.unwrap_or_else(|| "all".to_owned())),
        ];
        let mut text = format!(
            "{begin} by jp-confine {}: {}; workspace {}\n",
            self.version,
            self.layers.join(", "),
            quote::printable(self.workspace.as_bytes())
        );
        text.extend(lines.iter().map(|(name, what)| format!("{name:<10} {what}\n")));
        text.push_str(MORE);
        text
    }
}

/// The first list of rules about `key` that is not empty.
fn list<T: DeserializeOwned>(rules: &[Value], key: &str) -> Vec<T> {
    let lists = rules.iter().filter_map(|rules| Vec::deserialize(rules.get(key)?).ok());
    lists.into_iter().find(|list: &Vec<T>| !list.is_empty()).unwrap_or_default()
}

fn layers(images: &[Image<'_>]) -> Vec<&'static str> {
    let behind = || images.iter().map(Image::behind);
    let supervisor = behind().any(|it| it.supervisor).then_some("supervisor");
    let landlock = behind().any(|it| it.bounds).then_some("landlock");
    ["library"].into_iter().chain(supervisor).chain(landlock).collect()
}

/// What all images grant on the anchors of each, without what only repeats the path above.
fn granted(images: &[Image<'_>]) -> Vec<GrantedPath> {
    let shown: Vec<View> = images.iter().flat_map(views::all).collect();
    let is_led = |path: &Path| {
        shown.iter().any(|view| path.starts_with(&view.place) || path.starts_with(&view.backing))
    };
    let anchors = images.iter().flat_map(Image::anchors).filter(|path| !is_led(path));
    // Programs name a view by its place, and get what is granted at its backing.
    let mut paths: BTreeMap<PathBuf, &Path> =
        shown.iter().map(|view| (view.place.clone(), view.backing.as_path())).collect();
    let anchors: Vec<PathBuf> = anchors.collect();
    paths.extend(anchors.iter().map(|path| (path.clone(), path.as_path())));
    let mut granted: Vec<(PathBuf, Capabilities, Capabilities, bool)> = Vec::new();
    for (path, judged) in &paths {
        let (caps, asks) = judge(images, judged);
        let above = granted.iter().rev().find(|(above, ..)| path.starts_with(above));
        let repeats = above.map_or((Capabilities::NONE, Capabilities::NONE), |it| (it.1, it.2));
        if (caps, asks) != repeats {
            granted.push((path.clone(), caps, asks, repeats.0.contains(caps)));
        }
    }
    let is_view =
        |path: &Path| shown.iter().any(|it| it.place == path || it.backing.starts_with(path));
    let one = |(path, caps, asks, is_narrower): (PathBuf, _, _, _)| GrantedPath {
        is_narrower,
        ..GrantedPath::of(&path, is_view(&path), caps, asks)
    };
    granted.into_iter().map(one).collect()
}

/// The capabilities at a path without and with a prompt.
fn judge(images: &[Image<'_>], path: &Path) -> (Capabilities, Capabilities) {
    let request = Request::canonical(path.as_os_str().as_bytes());
    let found = images.iter().map(|image| decide::lookup(image, &request));
    let both = |(caps, all): (Capabilities, Capabilities), it: decide::Lookup| {
        (caps.intersection(it.caps), all.intersection(it.caps.union(it.asks)))
    };
    let (caps, all) = found.fold((Capabilities::ALL, Capabilities::ALL), both);
    (caps, all.difference(caps))
}

impl GrantedPath {
    fn of(path: &Path, view: bool, caps: Capabilities, asks: Capabilities) -> Self {
        let words = |caps: Capabilities| caps.iter().map(Capability::as_str).collect();
        let path = lossy(path.as_os_str().as_bytes());
        let (capabilities, prompts) = (words(caps), words(asks));
        Self { path, view, capabilities, prompts, caps, is_narrower: false }
    }

    /// The line of the text that has it. What a rule protects in a directory can be executed as all in there can; that
    /// it is only read is worth telling.
    fn line(&self) -> &'static str {
        let has = |wanted: Capabilities| self.caps.contains(wanted);
        if self.caps.is_empty() {
            "denied"
        } else if has(Capabilities::CREATE) {
            "write"
        } else if has(Capabilities::UPDATE) {
            "update"
        } else if has(Capabilities::EXECUTE) && !self.is_narrower {
            "execute"
        } else {
            "read"
        }
    }
}

/// Columns before the names in a line, and for the comma after one.
const NAMES: usize = 13;

/// What the person can do.
const MORE: &str = "more       is for the person to allow: -r PATH, -w PATH, -x PATH, --net HOST\n";

/// As many of the names as fit in a line, and how many more there are.
fn in_line(names: &[String], none: &str) -> String {
    let mut text = String::new();
    for (index, name) in names.iter().enumerate() {
        let more = quote::and_more(names.len() - index);
        if index > 0
            && wrap::width(&text) + wrap::width(name) + wrap::width(&more) > wrap::WIDTH - NAMES
        {
            return format!("{text}{more}");
        }
        text.push_str(if index == 0 { "" } else { ", " });
        text.push_str(name);
    }
    if text.is_empty() { none.to_owned() } else { text }
}

/// The path with `~` for the home.
fn at_home(path: &str, context: &Context) -> String {
    let below = |home: &PathBuf| Path::new(path).strip_prefix(home).ok().map(Path::to_owned);
    let named =
        context.canonical_home.as_ref().and_then(below).map(|rest| Path::new("~").join(rest));
    quote::printable(named.as_deref().unwrap_or(Path::new(path)).as_os_str().as_bytes())
}

fn lossy(path: &[u8]) -> String {
    OsStr::from_bytes(path).to_string_lossy().into_owned()
}
