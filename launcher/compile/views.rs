//! Turns `--view` and the views of profiles into views of the image, with the grants they need (spec §12.2).

use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use jp_confine_engine::Capabilities;
use jp_confine_engine::build::{Grant, GrantKind, Origin, View};
use jp_confine_engine::canonical::{self, Op, ResolveError};

use crate::cli::Options;
use crate::compile::led_path::Led;
use crate::compile::profiles::{OwnCache, Resolved};
use crate::compile::purpose::Stage;
use crate::config::written_view::WrittenView;
use crate::error::Failure;
use crate::host::context::Context;
use crate::host::data_dirs;
use crate::text::quote;

/// Directories of the kernel, which nothing else can stand for.
const KERNEL: [&str; 3] = ["/proc", "/sys", "/dev"];

/// The one of them that contains ordinary files.
const SHARED_MEMORY: &str = "/dev/shm";

/// The common directories for temporary files and shared memory. A run sees its own in their place.
const COMMON: [&str; 3] = ["/tmp", "/var/tmp", SHARED_MEMORY];

/// Why the real files there are denied.
const OWN: &str = "a run has a directory of its own here, without --share-tmp";

/// The views of a run, on canonical paths. No two have the same place.
#[derive(Debug, Default)]
pub(crate) struct Views {
    /// Those that somebody wrote.
    written: Vec<ResolvedView>,
    /// The places in which a run sees its private directory.
    private: Vec<PathBuf>,
    /// That directory, which the run is granted anyway. `None` if there is no run.
    temp: Option<PathBuf>,
}

/// A view on canonical paths.
#[derive(Clone, Debug)]
struct ResolvedView {
    view: View,
    /// What is at the place in reality, which a view of an outer run may show elsewhere.
    real: PathBuf,
    origin: Origin,
    /// The grant at the backing. `None` for a cache: there is one grant for all of them.
    grant: Option<Grant>,
    /// The same with the path as written, if a symlink leads from there.
    led: Option<Led>,
    /// A person wrote it, on the command line or in a profile.
    is_persons: bool,
    /// Directories below the place, relative to it, that stay readable, although the view also shows others there.
    sources: Vec<PathBuf>,
}

impl Views {
    /// Resolves the views of `tables` and then those of the command line, for the workspace at `root`. A later view of a
    /// place replaces an earlier one. So does an option that grants the place, which `is_granted` knows by its real path.
    ///
    /// # Errors
    /// Fails if a view cannot work, and names another way.
    pub(crate) fn resolve(
        context: &Context,
        root: &Path,
        options: &Options,
        tables: &[Resolved],
        is_granted: impl Fn(&Path) -> bool,
    ) -> Result<Self, Failure> {
        let mut views = Self::default();
        for cache in tables.iter().flat_map(|table| &table.caches) {
            let view = ResolvedView::of_cache(context, cache);
            // A cache in the workspace is the workspace's own, and so is everything if the workspace contains the home.
            let shows = |view: &ResolvedView| {
                let is_inside = canonical::below(root, &view.view.place).is_some();
                !is_inside && !is_granted(&view.real) && view.check(root).is_ok()
            };
            view.ok().filter(shows).into_iter().for_each(|view| views.add(view));
        }
        for table in tables {
            for (written, origin) in &table.views {
                let view = ResolvedView::of(context, written, origin.clone(), table.own)?;
                if !is_granted(&view.real) {
                    views.add(view);
                }
            }
        }
        for typed in &options.views {
            let origin = Origin::Flag { text: format!("--view {typed}") };
            let view = ResolvedView::of(context, &from_anywhere(context, typed)?, origin, true)?;
            if is_granted(&view.real) {
                let problem = "another option grants FROM itself, which the view replaces";
                return Err(view.refuse(problem, "leave out one of them, or grant TO instead"));
            }
            views.add(view);
        }
        views.written.iter().try_for_each(|view| {
            // Those of caches were checked above.
            if view.grant.is_some() { view.check(root) } else { Ok(()) }?;
            views.check(view)
        })?;
        Ok(views)
    }

    /// Adds the views that show the private directory `temp` of a run in the place of the common ones. Leaves out a place
    /// that another view shows, and one that `is_kept` as it is. Without a run, there are only the denials.
    pub(crate) fn with_private(
        mut self,
        temp: Option<&Path>,
        is_kept: impl Fn(&Path) -> bool,
    ) -> Self {
        for place in COMMON.iter().filter_map(|place| canonical::existing(Path::new(place))) {
            let is_shown = self.written.iter().any(|view| view.place() == place);
            if !is_shown && !is_kept(&place) && !self.private.contains(&place) {
                self.private.push(place);
            }
        }
        self.temp = temp.map(Path::to_owned);
        self
    }

    fn add(&mut self, view: ResolvedView) {
        self.written.retain(|known| known.view.place != view.view.place);
        self.written.push(view);
    }

    /// Refuses a view whose backing is the place of another, because a name is led only once.
    fn check(&self, view: &ResolvedView) -> Result<(), Failure> {
        let is_shown = |other: &ResolvedView| other.real == view.view.backing && other.is_new();
        match self.written.iter().find(|other| is_shown(other)) {
            Some(other) => Err(view.refuse(
                &format!("{} shows another directory in place of TO", other.text()),
                &format!("name that one: {}", quote::place(&other.view.backing)),
            )),
            None => Ok(()),
        }
    }

    /// Takes the built-in grants at and below the places of a person's views out of `tables`: they are about the real
    /// files. Adds the grants of the views that profiles have.
    pub(crate) fn apply(&self, tables: &mut Vec<Resolved>) {
        let persons: Vec<&Path> =
            self.written.iter().filter(|view| view.is_persons).map(ResolvedView::place).collect();
        let is_left =
            |path: &Path| persons.iter().all(|place| canonical::below(place, path).is_none());
        for table in tables.iter_mut().filter(|table| !table.own) {
            table.grants.retain(|grant| is_left(&grant.anchor));
            table.led.retain(|led| is_left(&led.grant.anchor));
            table.links.retain(|(spelled, target)| is_left(spelled) && is_left(target));
        }
        let of_profiles =
            self.written.iter().filter(|view| !matches!(view.origin, Origin::Flag { .. }));
        tables.extend(of_profiles.map(|view| Resolved {
            grants: view.grant.clone().into_iter().collect(),
            own: view.is_persons,
            led: view.led.clone().into_iter().collect(),
            ..Resolved::default()
        }));
    }

    /// The grants at the backings of typed views, each with the symlinks that lead there, and their texts.
    pub(crate) fn typed(&self) -> impl Iterator<Item = (&Grant, Option<&Led>, &str)> {
        self.written.iter().filter_map(|view| match (&view.origin, &view.grant) {
            (Origin::Flag { text }, Some(grant)) => Some((grant, view.led.as_ref(), text.as_str())),
            _ => None,
        })
    }

    /// The denials at the places: nothing that a run writes lands there. A place that is a source stays readable.
    pub(crate) fn denials(&self) -> impl Iterator<Item = Grant> {
        let is_source =
            |view: &ResolvedView| view.sources.iter().any(|source| *source == Path::new(""));
        let written =
            self.written.iter().filter(move |view| view.is_new() && !is_source(view)).map(|view| {
                (view.real.as_path(), format!("{} shows another directory here", view.origin))
            });
        let private = self.private.iter().map(|place| (place.as_path(), OWN.to_owned()));
        written.chain(private).map(|(place, why)| {
            let origin = Origin::Product { why };
            Grant::new(place.to_owned(), Capabilities::NONE, GrantKind::Plain, origin)
        })
    }

    /// Creates the backings that do not exist, for the user alone, if a program is about to run. Does the same with the
    /// directories above the places in the `home`: tools create each of them before they create the place.
    pub(crate) fn make_backings(
        &self,
        stage: Stage<'_>,
        home: Option<&Path>,
    ) -> Result<(), Failure> {
        if !matches!(stage, Stage::Run(_)) {
            return Ok(());
        }
        let persons = self.written.iter().filter(|view| view.is_persons);
        let above = persons.filter_map(|view| view.real.parent());
        for above in above.filter(|above| home.is_some_and(|home| above.starts_with(home))) {
            // Without it, programs that create it are denied.
            let _ = data_dirs::make(above);
        }
        // `caches` has created those of caches.
        self.written.iter().filter(|view| view.grant.is_some()).try_for_each(|view| {
            let backing = &view.view.backing;
            let made = data_dirs::make(backing);
            made.map_err(|error| {
                let path = quote::place(backing);
                Failure::own(format!("{}: {path} cannot be created: {error}", view.text()))
            })
        })
    }

    /// The views, for people.
    pub(crate) fn shown(&self) -> Vec<View> {
        let of_run = |temp: &PathBuf| {
            let view = |place: &PathBuf| View { place: place.clone(), backing: temp.clone() };
            self.private.iter().map(view).collect::<Vec<_>>()
        };
        let private = self.temp.as_ref().map(of_run).unwrap_or_default();
        self.written.iter().map(|view| view.view.clone()).chain(private).collect()
    }

    /// The views as the image has them. A rule below a view makes the way to it real. So each directory on the way to a
    /// source has a view of its own, which shows the same.
    pub(crate) fn of_image(&self) -> Vec<View> {
        let mut views = self.shown();
        for view in &self.written {
            let ways = view.sources.iter().flat_map(|source| source.ancestors());
            for below in ways.filter(|below| !below.as_os_str().is_empty()) {
                let View { place, backing } = &view.view;
                let inner = View { place: place.join(below), backing: backing.join(below) };
                if !views.iter().any(|known| known.place == inner.place) {
                    views.push(inner);
                }
            }
        }
        views
    }
}

impl ResolvedView {
    /// Resolves a view with absolute paths. Looks at the disk.
    fn of(
        context: &Context,
        written: &WrittenView,
        origin: Origin,
        is_persons: bool,
    ) -> Result<Self, Failure> {
        let resolve = |path: &Path| {
            let found = canonical::resolve(Path::new("/"), path, Op::Content);
            found.map_err(|error| Failure::own(format!("{}: {error}", text(&origin))))
        };
        let (place, backing) = (resolve(&written.from)?, resolve(&written.to)?);
        let read = Capabilities::READ.union(Capabilities::EXECUTE);
        let caps = if written.writable { Capabilities::ALL } else { read };
        let mut view = Self::between(context, place.path, backing.path, origin.clone());
        let View { place: from, backing: to } = view.view.clone();
        let grant = Grant::new(to.clone(), caps, GrantKind::Plain, origin);
        view.led = (!backing.steps.is_empty()).then(|| Led {
            grant: grant.clone(),
            spelled: written.to.clone(),
            view: Some(WrittenView { from, to, writable: written.writable }),
        });
        Ok(Self { grant: Some(grant), is_persons, ..view })
    }

    /// Resolves the place of a cache. The backing is taken as it stands: a run may have left a symlink there.
    fn of_cache(context: &Context, cache: &OwnCache) -> Result<Self, ResolveError> {
        let place = canonical::resolve(Path::new("/"), &cache.view.from, Op::Content)?.path;
        let view = Self::between(context, place, cache.view.to.clone(), cache.origin.clone());
        Ok(Self { sources: cache.sources.clone(), ..view })
    }

    fn between(context: &Context, place: PathBuf, backing: PathBuf, origin: Origin) -> Self {
        let real = context.outer_views.real(place.clone());
        let view = View { place, backing: context.outer_views.real(backing) };
        Self { view, real, origin, grant: None, led: None, is_persons: false, sources: Vec::new() }
    }

    fn place(&self) -> &Path {
        &self.view.place
    }

    /// Whether no view of an outer run already shows the same.
    fn is_new(&self) -> bool {
        self.real == self.view.place || self.real != self.view.backing
    }

    /// Refuses a view that cannot work by itself.
    fn check(&self, root: &Path) -> Result<(), Failure> {
        let Self { real, view: View { place, backing }, .. } = self;
        let is_file = |path: &Path| {
            let found = canonical::existing(path).and_then(|path| canonical::look(&path).ok());
            found.is_some_and(|found| !found.is_dir())
        };
        for (name, path) in [("FROM", place), ("TO", backing)] {
            if is_systems(path) {
                let problem = format!("{name} is the system's own {}", quote::place(path));
                return Err(self.refuse(&problem, "name a directory of files, such as /srv/data"));
            }
            if is_file(path) {
                let problem = format!("{name} is not a directory");
                return Err(self.refuse(&problem, "a view shows a directory: name the one around"));
            }
        }
        if real == root {
            let advice = format!("to run there: -C {}", quote::quoted(bytes(backing)));
            return Err(self.refuse("FROM is the workspace", &advice));
        }
        if self.is_new() && canonical::below(backing, real).is_some() {
            let problem = "FROM lies in TO, so TO would show itself";
            return Err(self.refuse(problem, "choose a TO that does not contain FROM"));
        }
        if canonical::below(backing, root).is_some() {
            let problem = "TO contains the workspace, which would have two names";
            return Err(self.refuse(problem, "choose a TO that does not contain it"));
        }
        if canonical::below(root, backing).is_some() {
            let problem = "TO lies in the workspace, where its own rules count";
            return Err(self.refuse(problem, "choose a TO outside"));
        }
        Ok(())
    }

    fn text(&self) -> String {
        text(&self.origin)
    }

    fn refuse(&self, problem: &str, advice: &str) -> Failure {
        Failure::advised(format!("{}: {problem}", self.text()), advice)
    }
}

/// The view with absolute paths: `~` and relative ones count from the home and the working directory.
pub(crate) fn from_anywhere(
    context: &Context,
    typed: &WrittenView,
) -> Result<WrittenView, Failure> {
    let absolute = |path: &Path| Ok(context.absolute(&context.with_home(path)?));
    let failed = |error: String| Failure::own(format!("--view {typed}: {error}"));
    typed.with(absolute).map_err(failed)
}

/// The source of a view, for people.
fn text(origin: &Origin) -> String {
    match origin {
        Origin::Flag { text } => quote::path(text),
        origin => quote::path(&origin.to_string()),
    }
}

/// Whether a view can neither show something there nor show this elsewhere: the kernel itself looks up programs and
/// their loaders below `/` and `/usr`.
fn is_systems(path: &Path) -> bool {
    let is_kernels = || KERNEL.iter().any(|dir| path.starts_with(dir));
    ["/", "/usr"].map(Path::new).contains(&path) || is_kernels() && !path.starts_with(SHARED_MEMORY)
}

fn bytes(path: &Path) -> &[u8] {
    path.as_os_str().as_bytes()
}
