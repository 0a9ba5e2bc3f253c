//! From what was used to rules: the tree of the workspace's paths that a run used, in which directories
//! stand for what is in them where their names will be others next time, or are many.

use std::collections::{BTreeMap, BTreeSet};

use jp_confine_policy::Capabilities;

use super::sensitive_names;
use crate::record::generated_names;
use crate::record::usage::{Part, name};

/// So many names in one directory make a rule on the directory.
const MANY: usize = 3;

/// Names a directory as what a program keeps there for itself, and can make again.
const TAG: &[u8] = b"CACHEDIR.TAG";

const ENTRIES: Capabilities = Capabilities::CREATE.union(Capabilities::DELETE);

/// A rule in the making.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Rule {
    /// Workspace-relative, components joined by slashes; the root is empty.
    pub(crate) path: Vec<u8>,
    pub(crate) caps: Capabilities,
    pub(crate) purpose: Purpose,
}

impl Rule {
    /// Whether it takes away all use of what was not used, but that it goes along with the directory it is in.
    pub(crate) fn is_kept_out(&self) -> bool {
        let reading = Capabilities::READ.union(Capabilities::EXECUTE);
        self.purpose == Purpose::Withholds && !self.caps.intersects(reading)
    }
}

/// What a rule is there for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Purpose {
    /// Exactly this path was used.
    Used,
    /// For whatever is in the directory.
    Gathered,
    /// For names in the directory that will be others next time. What was there before has rules of its own, but for
    /// that whose name is of one of these kinds ([`generated_names::kind`]).
    Passing(BTreeSet<Vec<u8>>),
    /// A directory that was opened, and not listed; what is in it has rules of its own.
    Opened,
    /// Was used for less than the rule above it grants.
    Narrows,
    /// Was not used, and is taken out of what the rule above it grants.
    Withholds,
    /// Was denied while it was learned, and stays so.
    Denies,
    /// What may hold a secret was used under a name that will be another next time, or what is in a directory that no
    /// rule opens: no rule is written for that, and it will be denied.
    Drawn,
}

impl Purpose {
    /// Whether such a rule is for what is in its directory, too.
    pub(crate) const fn is_for_others(&self) -> bool {
        matches!(self, Self::Gathered | Self::Passing(_))
    }

    /// Whether such a rule takes out of what the one above it grants what was not used.
    pub(crate) const fn takes_out(&self) -> bool {
        matches!(self, Self::Withholds | Self::Denies | Self::Drawn)
    }
}

/// A path that was used, or leads to one.
#[derive(Debug, Default)]
#[expect(clippy::struct_excessive_bools, reason = "independent facts")]
pub(crate) struct Node {
    children: BTreeMap<Vec<u8>, Node>,
    needs: Capabilities,
    /// It is a directory that was opened, and perhaps not listed.
    opened: bool,
    /// The run made it.
    made: bool,
    /// Under a name that is never twice the same.
    drawn: bool,
    /// It may hold a secret.
    secret: bool,
    /// It is to stand for what is in it.
    whole: bool,
    /// No rule opens it: what is in it is granted by its name, or not at all.
    shut: bool,
    /// What is granted to all that is in it, if it stands for that.
    gathered: Option<Capabilities>,
    /// It stands for names alone that will be others next time.
    passing: bool,
    /// It will have another name next time, or a link stands there: a rule on that would be about what it leads to.
    made_up: bool,
    /// It has the name of something beside it, and something fixed: a program works on that there.
    working: bool,
    /// Its name is of the same kind as made-up ones that the run made or removed beside it.
    of_kind: bool,
    /// The kinds of made-up names of which the run made some in it that stay, or removed some.
    kinds: BTreeSet<Vec<u8>>,
    /// A symbolic link stands there, or stood there before.
    link: bool,
}

impl Node {
    /// Adds what a use takes of `path`, workspace-relative; `is_secret` tells of such a path whether it may
    /// hold a secret.
    pub(crate) fn add(&mut self, path: &[u8], part: Part<'_>, is_secret: impl Fn(&[u8]) -> bool) {
        let node = self.at(path, is_secret);
        if part.opened {
            node.opened = true;
        } else {
            node.needs = node.needs.union(part.caps);
        }
        node.made |= part.made;
        node.drawn |= part.drawn;
    }

    /// Has the directory at `path` stand for what is in it, with `caps` at least.
    pub(crate) fn open(
        &mut self,
        path: &[u8],
        caps: Capabilities,
        is_secret: impl Fn(&[u8]) -> bool,
    ) {
        let node = self.at(path, is_secret);
        node.needs = node.needs.union(caps);
        node.whole = true;
    }

    /// Has no rule open the directory at `path`, if anything was used there.
    pub(crate) fn shut(&mut self, path: &[u8]) {
        let mut names = path.split(|&byte| byte == b'/').filter(|name| !name.is_empty());
        if let Some(node) = names.try_fold(self, |node, name| node.children.get_mut(name)) {
            node.shut = true;
        }
    }

    /// Has no rule stand at `path`, where the name is a symbolic link's.
    pub(crate) fn mark_link(&mut self, path: &[u8], is_secret: impl Fn(&[u8]) -> bool) {
        self.at(path, is_secret).link = true;
    }

    fn at(&mut self, path: &[u8], is_secret: impl Fn(&[u8]) -> bool) -> &mut Self {
        let mut node = self;
        let mut place = Vec::new();
        for name in path.split(|&byte| byte == b'/').filter(|name| !name.is_empty()) {
            place = join(&place, name);
            let secret = || Self { secret: is_secret(&place), ..Self::default() };
            node = node.children.entry(name.to_vec()).or_insert_with(secret);
        }
        node
    }

    /// The rules that grant all of it, the root's first; `is_there` tells of a path whether something is there
    /// now.
    pub(crate) fn rules(mut self, is_there: impl Fn(&[u8]) -> bool) -> Vec<Rule> {
        self.gather_below(&[], &is_there);
        // What else is in the workspace itself it never stands for.
        self.stand_for_passing(&[]);
        let held = self.granted();
        let purpose = match () {
            () if self.passing => Purpose::Passing(self.kinds.clone()),
            () if self.is_opened_alone() => Purpose::Opened,
            () => Purpose::Used,
        };
        let mut rules = Vec::new();
        if !held.is_empty() {
            grant(&mut rules, &[], held, purpose);
        }
        self.emit_lasting(&[], held, &mut rules);
        rules
    }

    /// Decides which directories below this one, at `path`, stand for what is in them.
    fn gather_below(&mut self, path: &[u8], is_there: &dyn Fn(&[u8]) -> bool) {
        self.mark_working(path, is_there);
        for (name, child) in &mut self.children {
            // What is there and was not made was there before, whatever its name looks like. A secret has a rule of
            // its own, or none at all.
            child.made_up = child.can_have_no_rule(name)
                || !child.secret
                    && child.is_made_up(name, path.is_empty())
                    && (child.made || !is_there(&join(path, name)));
        }
        self.mark_kinds(path, is_there);
        for (name, child) in &mut self.children {
            let path = join(path, name);
            child.gather_below(&path, is_there);
            child.gather(&path, is_there);
        }
    }

    /// Marks those that something beside them is worked on under.
    fn mark_working(&mut self, path: &[u8], is_there: &dyn Fn(&[u8]) -> bool) {
        let is_name = |it: &[u8]| {
            !it.is_empty() && (self.children.contains_key(it) || is_there(&join(path, it)))
        };
        let is_working = |name: &Vec<u8>| generated_names::worked_on(name).any(is_name);
        let working: Vec<bool> = self.children.keys().map(is_working).collect();
        for (child, working) in self.children.values_mut().zip(working) {
            child.working = working;
        }
    }

    /// Has what was there before be of those names that will be others next time where the run made another of its
    /// kind that stays, or removed one: sooner or later that goes, too.
    fn mark_kinds(&mut self, path: &[u8], is_there: &dyn Fn(&[u8]) -> bool) {
        let came_or_went = |(name, child): &(&Vec<u8>, &Self)| {
            let changes = child.made || child.needs.contains(Capabilities::DELETE);
            child.made_up && changes && child.made == is_there(&join(path, name))
        };
        let changed = self.children.iter().filter(came_or_went);
        self.kinds = changed.filter_map(|(name, _)| generated_names::kind(name)).collect();
        for (name, child) in self.children.iter_mut().filter(|(_, child)| !child.secret) {
            child.of_kind = !child.made_up
                && generated_names::kind(name).is_some_and(|it| self.kinds.contains(&it));
            child.made_up |= child.of_kind;
        }
    }

    fn gather(&mut self, path: &[u8], is_there: &dyn Fn(&[u8]) -> bool) {
        if self.children.is_empty() || self.shut {
            return;
        }
        let lasting = self.changed().filter(|(_, child)| !child.made_up && !child.working).count();
        let has_others = || is_there(&join(path, TAG)) || sensitive_names::is_store_of_git(path);
        let is_store = || has_others() && self.needs_of_all(path).intersects(ENTRIES);
        if self.made || self.whole || lasting >= MANY || is_store() {
            self.gathered = Some(self.needs_of_all(path));
            return;
        }
        self.stand_for_passing(path);
        if self.gathered.is_none() && self.reads(path) >= MANY {
            self.needs = self.needs.union(Capabilities::READ);
        }
    }

    /// Has it stand for names directly in it that will be others next time, if there are any.
    fn stand_for_passing(&mut self, path: &[u8]) {
        let passing = self.changed().filter(|(_, child)| child.made_up && !self.shut);
        let needs = passing.map(|(name, child)| child.needs_of_all(&join(path, name)));
        let Some(needs) = needs.reduce(Capabilities::union) else { return };
        let others = self.children.iter().filter(|(_, child)| child.of_kind);
        let of_others = others.map(|(name, child)| child.needs_of_all(&join(path, name)));
        self.gathered = Some(of_others.fold(needs.union(self.needs), Capabilities::union));
        self.passing = true;
    }

    /// What is granted where it is, be it for others, too.
    fn granted(&self) -> Capabilities {
        if self.shut {
            return Capabilities::NONE;
        }
        self.gathered.unwrap_or(self.needs).with_if(self.opened, Capabilities::READ)
    }

    /// Whether it is granted to be opened, and what is in it is not.
    fn is_opened_alone(&self) -> bool {
        let is_read = self.made || self.needs.contains(Capabilities::READ);
        self.opened && self.gathered.is_none() && !is_read
    }

    /// Whether what was in it before has rules of its own, or none.
    fn leaves_the_rest(&self) -> bool {
        self.passing || self.is_opened_alone()
    }

    /// Whether it was made and did not last.
    fn passes(&self) -> bool {
        self.made && self.needs.contains(Capabilities::DELETE)
    }

    /// Whether no policy can have its name, or a rule on that would be about something else.
    fn can_have_no_rule(&self, name: &[u8]) -> bool {
        !can_be_written(name) || self.link
    }

    /// Whether it seems that it will have another name than `name` next time. The workspace itself is not opened
    /// for a mere guess.
    fn is_made_up(&self, name: &[u8], in_root: bool) -> bool {
        let may_be = if in_root {
            generated_names::may_be_random
        } else {
            generated_names::may_have_been_drawn
        };
        let seems = generated_names::is_made_up(name) || self.passes() && may_be(name);
        self.drawn || seems && !self.working
    }

    /// Whether a rule on its name would be for nothing: it will have another one next time, and was not there before. A
    /// rule on a link's is about what that leads to.
    fn is_for_once(&self) -> bool {
        let was_there = self.of_kind || !self.made && self.needs.contains(Capabilities::DELETE);
        self.link || self.made_up && !was_there
    }

    /// Whether it may hold a secret, and was made under a name, `name`, that will be another next time for certain.
    fn is_drawn_secret(&self, name: &[u8]) -> bool {
        let is_drawn = || !sensitive_names::is_secret(name) && generated_names::is_drawn(name);
        self.secret && self.made && (self.drawn || is_drawn())
    }

    /// The children that came or went, or in which anything may; and those that no rule can name. Of a secret that
    /// is nothing but the entry of a link.
    fn changed(&self) -> impl Iterator<Item = (&[u8], &Self)> {
        let changed = |child: &Self| {
            // Of a link in whose place something is put nothing but the entry changes.
            let ways = if child.link { Capabilities::WRITE } else { ENTRIES };
            child.needs.union(child.gathered.unwrap_or_default()).intersects(ways)
        };
        let children = self.children.iter().map(|(name, child)| (name.as_slice(), child));
        children.filter(move |(name, child)| {
            (changed(child) || !can_be_written(name)) && (!child.secret || child.link)
        })
    }

    /// Whether it has a rule of its own at `path`, whatever is granted around it.
    fn is_kept_apart(&self, path: &[u8]) -> bool {
        self.secret || self.shut || sensitive_names::decides_what_runs(path)
    }

    /// In how many children something is read.
    fn reads(&self, path: &[u8]) -> usize {
        let read = |child: &Self, path: &[u8]| {
            !child.is_kept_apart(path) && child.needs_of_all(path).contains(Capabilities::READ)
        };
        self.children.iter().filter(|(name, child)| read(child, &join(path, name))).count()
    }

    /// What is needed at `path` and of all below but for what is kept apart. Programs have rules of
    /// their own.
    fn needs_of_all(&self, path: &[u8]) -> Capabilities {
        let own = self.needs.difference(Capabilities::EXECUTE);
        self.children.iter().fold(own, |caps, (name, child)| {
            let path = join(path, name);
            if child.is_kept_apart(&path) { caps } else { caps.union(child.needs_of_all(&path)) }
        })
    }

    /// Adds the rules for what is at `path` and below, where `held` is granted already; `narrow` says
    /// that there shall be no more than what is needed. A directory that only leads to what was used has no rule for
    /// that: what else was there before keeps to what [`keep_what_was_there`] says.
    ///
    /// [`keep_what_was_there`]: super::exclusions::keep_what_was_there
    fn emit(&self, path: &[u8], held: Capabilities, narrow: bool, rules: &mut Vec<Rule>) {
        if self.is_drawn_secret(name(path)) {
            rules.push(drawn(path.to_vec()));
            return;
        }
        let is_apart = self.is_kept_apart(path);
        let narrow = narrow || is_apart;
        let stands_for_all =
            is_apart && !self.shut && !self.children.is_empty() && !self.is_opened_alone();
        let wanted = match self.gathered {
            None if stands_for_all => self.needs_of_all(path),
            _ => self.granted(),
        };
        // Equal rules are left out in the end, when the one above cannot be widened any more.
        let narrows = narrow && !wanted.is_empty();
        let stands = narrows || !held.contains(wanted);
        let held = if stands || narrow { wanted } else { held };
        if stands {
            let purpose = match self.children.is_empty() {
                _ if self.passing => Purpose::Passing(self.kinds.clone()),
                _ if self.is_opened_alone() => Purpose::Opened,
                _ if narrow => Purpose::Narrows,
                true => Purpose::Used,
                false => Purpose::Gathered,
            };
            grant(rules, path, wanted, purpose);
        }
        if self.gathered.is_none() || self.passing {
            self.emit_lasting(path, held, rules);
            return;
        }
        self.emit_apart(path, held, rules);
        let mut programs = Vec::new();
        self.programs(path, path, &mut programs);
        for path in programs {
            grant(rules, &path, held.union(Capabilities::EXECUTE), Purpose::Gathered);
        }
    }

    /// Adds the rules for what is in it, at `path`, but for names that it stands for.
    fn emit_lasting(&self, path: &[u8], held: Capabilities, rules: &mut Vec<Rule>) {
        let lasts = |child: &Self| !self.passing || !child.made_up;
        for (name, child) in self.children.iter().filter(|(_, child)| lasts(child)) {
            let path = join(path, name);
            if self.shut && child.is_for_once() {
                rules.push(drawn(path));
                continue;
            }
            let narrow = self.leaves_the_rest() && !child.made;
            child.emit(&path, held, narrow, rules);
        }
    }

    /// Adds rules for what is not gathered with the directory it is in.
    fn emit_apart(&self, path: &[u8], held: Capabilities, rules: &mut Vec<Rule>) {
        for (name, child) in &self.children {
            let path = join(path, name);
            if child.is_kept_apart(&path) {
                child.emit(&path, held, true, rules);
            } else {
                child.emit_apart(&path, held, rules);
            }
        }
    }

    /// Collects where programs were run: their paths, or the closest directories above them whose names
    /// will be the same next time.
    fn programs(&self, path: &[u8], stable: &[u8], found: &mut Vec<Vec<u8>>) {
        let covered = found.iter().any(|known| is_below(stable, known));
        if self.needs.contains(Capabilities::EXECUTE) && !covered {
            found.push(stable.to_vec());
        }
        for (name, child) in &self.children {
            let below = join(path, name);
            let lasts = stable == path && !child.made_up;
            if !child.is_kept_apart(&below) {
                child.programs(&below, if lasts { &below } else { stable }, found);
            }
        }
    }
}

/// Has nothing be granted at `path`, as it will have another name next time.
fn drawn(path: Vec<u8>) -> Rule {
    Rule { path, caps: Capabilities::NONE, purpose: Purpose::Drawn }
}

/// Adds a rule, or more to the one that stands there.
fn grant(rules: &mut Vec<Rule>, path: &[u8], caps: Capabilities, purpose: Purpose) {
    match rules.iter_mut().find(|rule| rule.path == path) {
        Some(rule) => rule.caps = rule.caps.union(caps),
        None => rules.push(Rule { path: path.to_vec(), caps, purpose }),
    }
}

/// Whether a policy file can have the path: it is text.
pub(crate) fn can_be_written(path: &[u8]) -> bool {
    std::str::from_utf8(path).is_ok()
}

/// `path` with another component.
pub(crate) fn join(path: &[u8], name: &[u8]) -> Vec<u8> {
    if path.is_empty() { name.to_vec() } else { [path, b"/", name].concat() }
}

/// Whether `path` is `dir` or below it; both workspace-relative.
pub(crate) fn is_below(path: &[u8], dir: &[u8]) -> bool {
    let rest = path.strip_prefix(dir);
    dir.is_empty() || rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(b"/"))
}

/// The rule that decides about `path`: that on the longest path above it.
pub(crate) fn nearest(rules: &[Rule], path: &[u8]) -> Option<usize> {
    let covers = |(_, rule): &(usize, &Rule)| is_below(path, &rule.path);
    let all = rules.iter().enumerate().filter(covers);
    all.max_by_key(|(_, rule)| rule.path.len()).map(|(place, _)| place)
}

#[cfg(test)]
mod tests;
