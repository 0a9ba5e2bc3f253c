//! Where names lead a caller that sees views: the place of a view gives way to its backing (spec §12.2). Used by
//! `resolve`.
//!
//! Names are put together as the caller sees them. So `..` at the top of a backing leads to the parent of the place.
//! Paths in the results are canonical, and no view shows them.

use jp_confine_engine::image::Image;
use jp_confine_engine::views;

/// The views of a run that has some.
#[derive(Clone, Copy)]
pub(crate) struct Views<'a>(&'a Image<'static>);

/// Where a name leads from a directory.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Way {
    /// Where the kernel finds it.
    Plain,
    /// To this path, which is followed as it stands.
    To(Vec<u8>),
    /// Along this path from the root, one name at a time, each through the views.
    Along(Vec<u8>),
}

impl<'a> Views<'a> {
    pub(crate) fn of(image: &'a Image<'static>) -> Option<Self> {
        views::exist(image).then_some(Self(image))
    }

    /// The name by which the caller knows a canonical path.
    fn seen(self, path: &[u8]) -> Vec<u8> {
        views::seen(self.0, path).into_owned()
    }

    /// Where an absolute path leads if no link is on the way.
    fn led(self, path: &[u8]) -> Vec<u8> {
        views::led(self.0, path).into_owned()
    }

    /// Where the path that `text` spells from the directory `start` leads, if no link is on the way.
    pub(crate) fn spelled(self, start: &[u8], text: &[u8]) -> Vec<u8> {
        self.led(&lexical(&self.seen(start), text))
    }

    /// Where a whole path leads from the directory `start`, if no link is on the way.
    pub(crate) fn way(self, start: &[u8], text: &[u8]) -> Way {
        if goes_back(text) {
            return Way::Along(lexical(&self.seen(start), text));
        }
        let mut led = self.spelled(start, text);
        if led == lexical(start, text) {
            return Way::Plain;
        }
        if matches!(text.rsplit(|&byte| byte == b'/').next(), Some(b"" | b"." | b"..")) {
            led.push(b'/');
        }
        Way::To(led)
    }

    /// Where one name leads from a directory.
    pub(crate) fn step(self, directory: &[u8], name: &[u8]) -> Way {
        let seen = self.seen(directory);
        match name {
            b"." => Way::Plain,
            b".." => {
                let up = lexical(&seen, name);
                let is_plain = self.led(&up) == lexical(directory, name);
                if is_plain { Way::Plain } else { Way::Along(up) }
            }
            _ if self.led(&seen) != directory => Way::Along(lexical(&seen, name)),
            _ => {
                let led = self.spelled(directory, name);
                if led == lexical(directory, name) { Way::Plain } else { Way::To(led) }
            }
        }
    }

    /// The path of the entry `name` of a directory. The place of a view is an entry of its real parent.
    pub(crate) fn entry(self, directory: &[u8], name: &[u8]) -> Way {
        let seen = lexical(&self.seen(directory), name);
        let backing = views::to_backing(self.0, &seen).filter(|backing| backing.end < seen.len());
        let led = backing.map_or_else(|| seen.clone(), |backing| backing.apply(&seen));
        if led == lexical(directory, name) { Way::Plain } else { Way::To(led) }
    }
}

/// The absolute path that `text` spells from the directory `start`.
pub(crate) fn lexical(start: &[u8], text: &[u8]) -> Vec<u8> {
    let mut path = if text.starts_with(b"/") { Vec::new() } else { start.to_vec() };
    for name in text.split(|&byte| byte == b'/') {
        match name {
            b"" | b"." => {}
            b".." => path.truncate(path.iter().rposition(|&byte| byte == b'/').unwrap_or(0)),
            name => {
                if !path.ends_with(b"/") {
                    path.push(b'/');
                }
                path.extend_from_slice(name);
            }
        }
    }
    if path.is_empty() { b"/".to_vec() } else { path }
}

/// Whether `..` follows a name. If that name is a link, the spelling does not tell where `..` leads.
fn goes_back(text: &[u8]) -> bool {
    let names = text.split(|&byte| byte == b'/').filter(|name| !matches!(*name, b"" | b"."));
    names.skip_while(|name| *name == b"..").any(|name| name == b"..")
}
