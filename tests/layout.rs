//! Checks which way files import, in the launcher and in the policy engine. In the launcher a directory imports only
//! from those to its left in `ORDER`. The engine's modules import each other in no circle, so they have an order, too.
//! In both, at most three files are in a circle. Modules for tests are left out.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use syn::visit::{self, Visit};
use syn::{Attribute, File, ItemMod, ItemUse, Macro, UseTree};

/// The directories of `launcher/`, from the one that knows least to the one that knows most.
const ORDER: [&str; 20] = [
    "text",
    "sys",
    "record",
    "error",
    "files",
    "output",
    "host",
    "config",
    "cli",
    "prompt",
    "external",
    "plan",
    "network",
    "compile",
    "supervisor",
    "launch",
    "advice",
    "report",
    "learn",
    "commands",
];

/// The most files that may import each other in a circle.
const CIRCLE: usize = 3;

const LAUNCHER: &str = "launcher";
const ENGINE: &str = "policy/engine/src";

/// A module by the names that lead to it from the root.
type Module = Vec<String>;

#[test]
fn directories_import_to_the_left() {
    let place = |module: &Module| {
        let directory = module.first().expect("no file but main.rs is at the top");
        ORDER.iter().position(|known| known == directory).expect(directory)
    };
    let mut wrong = Vec::new();
    for (module, imported) in imports(LAUNCHER) {
        let to_the_right = imported.iter().filter(|other| place(other) > place(&module));
        wrong.extend(
            to_the_right.map(|other| format!("{} imports {}", module.join("::"), other.join("::"))),
        );
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn circles_are_small() {
    for root in [LAUNCHER, ENGINE] {
        for circle in circles(&imports(root)) {
            let names: Vec<String> = circle.iter().map(|module| module.join("::")).collect();
            assert!(names.len() <= CIRCLE, "a circle of {}: {}", names.len(), names.join(" "));
        }
    }
}

#[test]
fn modules_of_the_engine_are_in_an_order() {
    let mut whole: BTreeMap<Module, BTreeSet<Module>> = BTreeMap::new();
    for (module, imported) in imports(ENGINE) {
        let others = imported.iter().map(|other| other[..1].to_vec());
        whole.entry(module[..1].to_vec()).or_default().extend(others);
    }
    for (module, imported) in &mut whole {
        imported.remove(module);
    }
    let circles = circles(&whole);
    assert!(circles.is_empty(), "a circle: {:?}", circles.first());
}

/// The modules that import each other in a circle, for each module that is in one.
fn circles(imports: &BTreeMap<Module, BTreeSet<Module>>) -> Vec<Vec<&Module>> {
    let reached: BTreeMap<&Module, BTreeSet<&Module>> =
        imports.keys().map(|module| (module, reached_from(module, imports))).collect();
    let mut circles = Vec::new();
    for (module, others) in &reached {
        let is_back =
            |other: &&Module| reached.get(other).is_some_and(|back| back.contains(module));
        let circle: Vec<&Module> = others.iter().copied().filter(is_back).collect();
        if !circle.is_empty() {
            circles.push(circle);
        }
    }
    circles
}

/// All that a module imports, and what these import.
fn reached_from<'m>(
    module: &Module,
    imports: &'m BTreeMap<Module, BTreeSet<Module>>,
) -> BTreeSet<&'m Module> {
    let mut reached = BTreeSet::new();
    let mut next: Vec<&Module> = imports.get(module).into_iter().flatten().collect();
    while let Some(other) = next.pop() {
        if reached.insert(other) {
            next.extend(imports.get(other).into_iter().flatten());
        }
    }
    reached
}

/// What each module below the directory `root` imports, the top and modules for tests apart.
fn imports(root: &str) -> BTreeMap<Module, BTreeSet<Module>> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join(root);
    let mut files = BTreeMap::new();
    read(&root, &root, &mut files);
    let mut tests = BTreeSet::new();
    let mut all = BTreeMap::new();
    for (module, file) in &files {
        let mut reader =
            Reader { module, files: &files, imported: BTreeSet::new(), tests: &mut tests };
        reader.visit_file(file);
        let imported = reader.imported;
        all.insert(module.clone(), imported);
    }
    let is_test = |module: &Module| (1..=module.len()).any(|end| tests.contains(&module[..end]));
    all.retain(|module, _| !module.is_empty() && !is_test(module));
    for (module, imported) in &mut all {
        imported.retain(|other| !other.is_empty() && other != module && !is_test(other));
    }
    all
}

/// Reads the files below `directory`.
fn read(root: &Path, directory: &Path, files: &mut BTreeMap<Module, File>) {
    for entry in fs::read_dir(directory).expect("a directory").flatten() {
        let path = entry.path();
        if path.is_dir() {
            read(root, &path, files);
        } else if path.extension().is_some_and(|end| end == "rs") {
            let text = fs::read_to_string(&path).expect("a file");
            files.insert(module_of(root, &path), syn::parse_file(&text).expect("Rust"));
        }
    }
}

fn module_of(root: &Path, path: &Path) -> Module {
    let path: PathBuf = path.strip_prefix(root).expect("below the root").with_extension("");
    let mut names: Module =
        path.iter().map(|name| name.to_str().expect("UTF-8").to_owned()).collect();
    names.pop_if(|name| name == "mod" || name == "main" || name == "lib");
    names
}

/// Collects the modules that one file names.
struct Reader<'a> {
    module: &'a Module,
    files: &'a BTreeMap<Module, File>,
    imported: BTreeSet<Module>,
    /// Modules that are compiled for tests alone.
    tests: &'a mut BTreeSet<Module>,
}

impl Reader<'_> {
    /// Notes the module that a path leads to, if it is one of these.
    fn note(&mut self, path: &[String]) {
        let (first, rest) = path.split_first().expect("a path has a name");
        let supers = path.iter().take_while(|name| *name == "super").count();
        let child = [self.module.as_slice(), std::slice::from_ref(first)].concat();
        let whole = match first.as_str() {
            "crate" => rest.to_vec(),
            "self" => [self.module, rest].concat(),
            "super" => [&self.module[..self.module.len() - supers], &path[supers..]].concat(),
            _ if self.files.contains_key(&child) => [self.module, path].concat(),
            _ => return,
        };
        let ends = (0..=whole.len()).rev();
        let module = ends.map(|end| &whole[..end]).find(|module| self.files.contains_key(*module));
        self.imported.extend(module.map(<[_]>::to_vec));
    }

    fn note_tree(&mut self, before: &[String], tree: &UseTree) {
        let after = |name: &syn::Ident| [before, &[name.to_string()]].concat();
        match tree {
            UseTree::Path(path) => self.note_tree(&after(&path.ident), &path.tree),
            UseTree::Name(name) => self.note(&after(&name.ident)),
            UseTree::Rename(name) => self.note(&after(&name.ident)),
            UseTree::Glob(_) => self.note(before),
            UseTree::Group(group) => {
                group.items.iter().for_each(|tree| self.note_tree(before, tree));
            }
        }
    }
}

impl<'ast> Visit<'ast> for Reader<'_> {
    fn visit_item_mod(&mut self, item: &'ast ItemMod) {
        if is_for_tests(&item.attrs) {
            self.tests.insert([self.module.as_slice(), &[item.ident.to_string()]].concat());
        } else {
            visit::visit_item_mod(self, item);
        }
    }

    fn visit_item_use(&mut self, item: &'ast ItemUse) {
        if !is_for_tests(&item.attrs) {
            self.note_tree(&[], &item.tree);
        }
    }

    fn visit_path(&mut self, path: &'ast syn::Path) {
        let names: Vec<String> = path.segments.iter().map(|part| part.ident.to_string()).collect();
        if names.len() > 1 {
            self.note(&names);
        }
        visit::visit_path(self, path);
    }

    /// What a macro is given is no syntax tree: paths in it are found by their colons.
    fn visit_macro(&mut self, called: &'ast Macro) {
        let text = called.tokens.to_string().replace(" :: ", "::");
        let is_in_path = |one: char| one.is_alphanumeric() || one == '_' || one == ':';
        for path in text.split(|one| !is_in_path(one)).filter(|path| path.contains("::")) {
            let names: Vec<String> = path.split("::").map(str::to_owned).collect();
            self.note(&names);
        }
        visit::visit_macro(self, called);
    }
}

fn is_for_tests(attributes: &[Attribute]) -> bool {
    let is_cfg_test = |one: &Attribute| {
        one.path().is_ident("cfg")
            && one.parse_args::<syn::Path>().is_ok_and(|path| path.is_ident("test"))
    };
    attributes.iter().any(is_cfg_test)
}
