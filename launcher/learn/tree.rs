//! Turns uses into rules. Builds the tree of the workspace's paths that a run used. A directory in it stands for its
//! entries if their names are generated or there are many of them.

use std::collections::{BTreeMap, BTreeSet};

use jp_confine_engine::Capabilities;

use super::sensitive_names;
use crate::record::generated_names;
use crate::record::usage::{UsePart, name};

/// This many names in one directory make a rule on the directory.
const MANY: usize = 3;

/// The file that marks a directory as a program's cache, which the program can create again.
const TAG: &[u8] = b"CACHEDIR.TAG";

const ENTRIES: Capabilities = Capabilities::CREATE.union(Capabilities::DELETE);

/// A rule under construction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct LearnedRule {
    /// Relative to the workspace, components joined by slashes. The root is empty.
    pub(crate) path: Vec<u8>,
    pub(crate) caps: Capabilities,
    pub(crate) purpose: RulePurpose,
}

impl LearnedRule {
    /// Whether it excludes an unused path from everything but moving along with its directory.
    pub(crate) fn is_kept_out(&self) -> bool {
        let reading = Capabilities::READ.union(Capabilities::EXECUTE);
        self.purpose == RulePurpose::Withholds && !self.caps.intersects(reading)
    }
}

/// The purpose of a rule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum RulePurpose {
    /// Exactly this path was used.
    Used,
    /// For all entries of the directory.
    Gathered,
    /// For generated names in the directory. Older entries have their own rules, unless their names are of one of these
    /// kinds ([`generated_names::kind`]).
    Passing(BTreeSet<Vec<u8>>),
    /// For a directory that was opened and not listed. Its entries have their own rules.
    Opened,
    /// For a path that was used for less than the rule above grants.
    Narrows,
    /// For an unused path, excluded from the rule above.
    Withholds,
    /// For a path that was denied during learning, and stays so.
    Denies,
    /// A path that may hold a secret was used under a generated name, or a path with a generated name is in a directory
    /// that no rule opens. No rule is written for it, so it will be denied.
    Drawn,
}

impl RulePurpose {
    /// Whether such a rule is also for the directory's entries.
    pub(crate) const fn is_for_others(&self) -> bool {
        matches!(self, Self::Gathered | Self::Passing(_))
    }

    /// Whether such a rule excludes an unused path from the rule above.
    pub(crate) const fn takes_out(&self) -> bool {
        matches!(self, Self::Withholds | Self::Denies | Self::Drawn)
    }
}

/// A path that was used, or that leads to a used one.
#[derive(Debug, Default)]
#[expect(clippy::struct_excessive_bools, reason = "independent facts")]
pub(crate) struct UsedPath {
    children: BTreeMap<Vec<u8>, UsedPath>,
    needs: Capabilities,
    /// It is a directory that was opened, and maybe not listed.
    opened: bool,
    /// The run created it.
    made: bool,
    /// It has a name that is never the same twice.
    drawn: bool,
    /// It may hold a secret.
    secret: bool,
    /// It has to stand for its entries.
    whole: bool,
    /// No rule opens it: its entries are granted by their names, or not at all.
    shut: bool,
    /// The rights for all its entries, if it stands for them.
    gathered: Option<Capabilities>,
    /// It stands only for generated names.
    passing: bool,
    /// Its name is generated, or it is a symlink, on which a rule would count for the target.
    made_up: bool,
    /// Its name is that of an entry beside it plus a fixed part: a program works on that entry there.
    working: bool,
    /// Its name is of the same kind as generated ones that the run created or deleted beside it.
    of_kind: bool,
    /// The kinds of generated names in it of which the run created entries that stay, or deleted some.
    kinds: BTreeSet<Vec<u8>>,
    /// A symlink is there, or was there before.
    link: bool,
}

impl UsedPath {
    /// Adds the rights that a use takes on `path`, relative to the workspace. `is_secret` tells whether such a path may
    /// hold a secret.
    pub(crate) fn add(
        &mut self,
        path: &[u8],
        part: UsePart<'_>,
        is_secret: impl Fn(&[u8]) -> bool,
    ) {
        let node = self.at(path, is_secret);
        if part.opened {
            node.opened = true;
        } else {
            node.needs = node.needs.union(part.caps);
        }
        node.made |= part.made;
        node.drawn |= part.drawn;
    }

    /// Makes the directory at `path` stand for its entries, with at least `caps`.
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

    /// Keeps rules from opening the directory at `path`, if anything was used there.
    pub(crate) fn shut(&mut self, path: &[u8]) {
        let mut names = path.split(|&byte| byte == b'/').filter(|name| !name.is_empty());
        if let Some(node) = names.try_fold(self, |node, name| node.children.get_mut(name)) {
            node.shut = true;
        }
    }

    /// Keeps rules off `path`, which is a symlink.
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

    /// The rules that grant all uses, the root's first. `is_there` tells whether a path exists now.
    pub(crate) fn rules(mut self, is_there: impl Fn(&[u8]) -> bool) -> Vec<LearnedRule> {
        self.gather_below(&[], &is_there);
        // The root never stands for other entries.
        self.stand_for_passing(&[]);
        let held = self.granted();
        let purpose = match () {
            () if self.passing => RulePurpose::Passing(self.kinds.clone()),
            () if self.is_opened_alone() => RulePurpose::Opened,
            () => RulePurpose::Used,
        };
        let mut rules = Vec::new();
        if !held.is_empty() {
            grant(&mut rules, &[], held, purpose);
        }
        self.emit_lasting(&[], held, &mut rules);
        rules
    }

    /// Decides which directories below this one, at `path`, stand for their entries.
    fn gather_below(&mut self, path: &[u8], is_there: &dyn Fn(&[u8]) -> bool) {
        self.mark_working(path, is_there);
        for (name, child) in &mut self.children {
            // An existing entry that the run did not create is older than the run, whatever its name looks like. A
            // secret has its own rule, or none.
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

    /// Marks the names under which programs work on an entry beside them.
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

    /// Marks older entries as having generated names, if the run created an entry of the same kind that stays, or
    /// deleted one: sooner or later they go, too.
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

    /// Makes it stand for generated names directly in it, if there are any.
    fn stand_for_passing(&mut self, path: &[u8]) {
        let passing = self.changed().filter(|(_, child)| child.made_up && !self.shut);
        let needs = passing.map(|(name, child)| child.needs_of_all(&join(path, name)));
        let Some(needs) = needs.reduce(Capabilities::union) else { return };
        let others = self.children.iter().filter(|(_, child)| child.of_kind);
        let of_others = others.map(|(name, child)| child.needs_of_all(&join(path, name)));
        self.gathered = Some(of_others.fold(needs.union(self.needs), Capabilities::union));
        self.passing = true;
    }

    /// The rights granted at this path, maybe on behalf of entries.
    fn granted(&self) -> Capabilities {
        if self.shut {
            return Capabilities::NONE;
        }
        self.gathered.unwrap_or(self.needs).with_if(self.opened, Capabilities::READ)
    }

    /// Whether opening it is granted, but its entries are not.
    fn is_opened_alone(&self) -> bool {
        let is_read = self.made || self.needs.contains(Capabilities::READ);
        self.opened && self.gathered.is_none() && !is_read
    }

    /// Whether its older entries have their own rules, or none.
    fn leaves_the_rest(&self) -> bool {
        self.passing || self.is_opened_alone()
    }

    /// Whether it was created and did not last.
    fn passes(&self) -> bool {
        self.made && self.needs.contains(Capabilities::DELETE)
    }

    /// Whether no policy can contain its name, or a rule on the name would count elsewhere.
    fn can_have_no_rule(&self, name: &[u8]) -> bool {
        !can_be_written(name) || self.link
    }

    /// Whether `name` seems to be generated. A mere guess is not enough to open the workspace itself.
    fn is_made_up(&self, name: &[u8], in_root: bool) -> bool {
        let may_be = if in_root {
            generated_names::may_be_random
        } else {
            generated_names::may_have_been_drawn
        };
        let seems = generated_names::is_made_up(name) || self.passes() && may_be(name);
        self.drawn || seems && !self.working
    }

    /// Whether a rule on its name would be useless: the name is generated, and the entry is not older than the run. A
    /// rule on a symlink counts for the target.
    fn is_for_once(&self) -> bool {
        let was_there = self.of_kind || !self.made && self.needs.contains(Capabilities::DELETE);
        self.link || self.made_up && !was_there
    }

    /// Whether it may hold a secret, and was created under a `name` that is certainly generated.
    fn is_drawn_secret(&self, name: &[u8]) -> bool {
        let is_drawn = || !sensitive_names::is_secret(name) && generated_names::is_drawn(name);
        self.secret && self.made && (self.drawn || is_drawn())
    }

    /// The children that came or went, or in which entries may, and those that no rule can name. Of secrets only
    /// symlinks are included, for the entry itself.
    fn changed(&self) -> impl Iterator<Item = (&[u8], &Self)> {
        let changed = |child: &Self| {
            // Replacing a symlink changes only the entry.
            let ways = if child.link { Capabilities::WRITE } else { ENTRIES };
            child.needs.union(child.gathered.unwrap_or_default()).intersects(ways)
        };
        let children = self.children.iter().map(|(name, child)| (name.as_slice(), child));
        children.filter(move |(name, child)| {
            (changed(child) || !can_be_written(name)) && (!child.secret || child.link)
        })
    }

    /// Whether it has its own rule at `path`, whatever is granted around it.
    fn is_kept_apart(&self, path: &[u8]) -> bool {
        self.secret || self.shut || sensitive_names::decides_what_runs(path)
    }

    /// The number of children in which something is read.
    fn reads(&self, path: &[u8]) -> usize {
        let read = |child: &Self, path: &[u8]| {
            !child.is_kept_apart(path) && child.needs_of_all(path).contains(Capabilities::READ)
        };
        self.children.iter().filter(|(name, child)| read(child, &join(path, name))).count()
    }

    /// The rights needed at `path` and below, except on paths that are kept apart. Programs have their own rules.
    fn needs_of_all(&self, path: &[u8]) -> Capabilities {
        let own = self.needs.difference(Capabilities::EXECUTE);
        self.children.iter().fold(own, |caps, (name, child)| {
            let path = join(path, name);
            if child.is_kept_apart(&path) { caps } else { caps.union(child.needs_of_all(&path)) }
        })
    }

    /// Adds the rules for `path` and below, where `held` is granted already. With `narrow`, the rules grant no more
    /// than needed. A directory that only leads to used paths needs no rule for that: [`keep_what_was_there`] handles
    /// its older entries.
    ///
    /// [`keep_what_was_there`]: super::exclusions::keep_what_was_there
    fn emit(&self, path: &[u8], held: Capabilities, narrow: bool, rules: &mut Vec<LearnedRule>) {
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
        // Equal rules are removed at the end, once the one above is final.
        let narrows = narrow && !wanted.is_empty();
        let stands = narrows || !held.contains(wanted);
        let held = if stands || narrow { wanted } else { held };
        if stands {
            let purpose = match self.children.is_empty() {
                _ if self.passing => RulePurpose::Passing(self.kinds.clone()),
                _ if self.is_opened_alone() => RulePurpose::Opened,
                _ if narrow => RulePurpose::Narrows,
                true => RulePurpose::Used,
                false => RulePurpose::Gathered,
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
            grant(rules, &path, held.union(Capabilities::EXECUTE), RulePurpose::Gathered);
        }
    }

    /// Adds the rules for its entries, except for names that it stands for. `path` is its own path.
    fn emit_lasting(&self, path: &[u8], held: Capabilities, rules: &mut Vec<LearnedRule>) {
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

    /// Adds rules for paths that are kept apart from their directory.
    fn emit_apart(&self, path: &[u8], held: Capabilities, rules: &mut Vec<LearnedRule>) {
        for (name, child) in &self.children {
            let path = join(path, name);
            if child.is_kept_apart(&path) {
                child.emit(&path, held, true, rules);
            } else {
                child.emit_apart(&path, held, rules);
            }
        }
    }

    /// Collects the paths of executed programs, or the closest directories above them whose names last.
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

/// A rule that grants nothing at `path`, whose name is generated.
fn drawn(path: Vec<u8>) -> LearnedRule {
    LearnedRule { path, caps: Capabilities::NONE, purpose: RulePurpose::Drawn }
}

/// Adds a rule, or adds rights to the rule on the same path.
fn grant(rules: &mut Vec<LearnedRule>, path: &[u8], caps: Capabilities, purpose: RulePurpose) {
    match rules.iter_mut().find(|rule| rule.path == path) {
        Some(rule) => rule.caps = rule.caps.union(caps),
        None => rules.push(LearnedRule { path: path.to_vec(), caps, purpose }),
    }
}

/// Whether a policy file can contain the path: it has to be text.
pub(crate) fn can_be_written(path: &[u8]) -> bool {
    std::str::from_utf8(path).is_ok()
}

/// `path` with another component.
pub(crate) fn join(path: &[u8], name: &[u8]) -> Vec<u8> {
    if path.is_empty() { name.to_vec() } else { [path, b"/", name].concat() }
}

/// Whether `path` is `dir` or below it. Both are relative to the workspace.
pub(crate) fn is_below(path: &[u8], dir: &[u8]) -> bool {
    let rest = path.strip_prefix(dir);
    dir.is_empty() || rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(b"/"))
}

/// The rule that decides about `path`: the one on the longest path above it.
pub(crate) fn nearest(rules: &[LearnedRule], path: &[u8]) -> Option<usize> {
    let covers = |(_, rule): &(usize, &LearnedRule)| is_below(path, &rule.path);
    let all = rules.iter().enumerate().filter(covers);
    all.max_by_key(|(_, rule)| rule.path.len()).map(|(place, _)| place)
}

#[cfg(test)]
mod tests;
