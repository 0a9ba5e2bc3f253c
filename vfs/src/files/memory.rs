//! A project in memory: for tests, and for hosts whose projects are not on disk.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

use jp_confine_policy::Capability;
use jp_confine_policy::granted::{Going, Granted};

use super::{ProjectFiles, Standing};

/// Files in memory, below the root of a workspace that is imagined. There are no links.
#[derive(Debug)]
pub struct InMemory {
    nodes: RefCell<BTreeMap<PathBuf, Node>>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Node {
    File(Vec<u8>),
    Dir,
}

impl InMemory {
    /// An empty project at `root`, the canonical root of its workspace.
    #[must_use]
    pub fn new(root: &Path) -> Self {
        Self { nodes: RefCell::new(BTreeMap::from([(root.to_owned(), Node::Dir)])) }
    }

    /// Puts a file at `path`, absolute, and the directories it needs.
    #[must_use]
    pub fn with(self, path: &Path, contents: &[u8]) -> Self {
        let mut nodes = self.nodes.borrow_mut();
        for dir in path.ancestors().skip(1).take_while(|dir| dir.parent().is_some()) {
            nodes.entry(dir.to_owned()).or_insert(Node::Dir);
        }
        nodes.insert(path.to_owned(), Node::File(contents.to_owned()));
        drop(nodes);
        self
    }

    /// What stands at a path, or why a path like that has no meaning.
    fn node(&self, path: &Path) -> io::Result<Option<Node>> {
        let nodes = self.nodes.borrow();
        // What is above a node are directories.
        let nearest = path.ancestors().skip(1).find_map(|dir| nodes.get(dir));
        if matches!(nearest, Some(Node::File(_))) {
            return Err(ErrorKind::NotADirectory.into());
        }
        Ok(nodes.get(path).cloned())
    }

    /// Where something new can come to be.
    fn vacant(&self, path: &Path) -> io::Result<()> {
        if self.node(path)?.is_some() {
            return Err(ErrorKind::AlreadyExists.into());
        }
        match path.parent().map(|dir| self.node(dir)).transpose()?.flatten() {
            Some(_) => Ok(()),
            None => Err(ErrorKind::NotFound.into()),
        }
    }

    fn file(&self, path: &Path) -> io::Result<Vec<u8>> {
        match self.node(path)? {
            Some(Node::File(contents)) => Ok(contents),
            Some(Node::Dir) => Err(ErrorKind::IsADirectory.into()),
            None => Err(ErrorKind::NotFound.into()),
        }
    }

    /// Whether there is a file whose contents may be replaced.
    fn replaceable(&self, file: &Granted) -> io::Result<()> {
        demand(file, Capability::Update)?;
        self.file(file.path()).map(drop)
    }

    fn put(&self, path: &Path, node: Node) {
        self.nodes.borrow_mut().insert(path.to_owned(), node);
    }
}

fn demand(granted: &Granted, capability: Capability) -> io::Result<()> {
    if granted.capability() == capability {
        Ok(())
    } else {
        Err(ErrorKind::PermissionDenied.into())
    }
}

impl ProjectFiles for InMemory {
    fn look(&self, path: &Path) -> io::Result<Option<Standing>> {
        Ok(self.node(path)?.map(|node| match node {
            Node::File(contents) => Standing::File(contents.len() as u64),
            Node::Dir => Standing::Dir,
        }))
    }

    fn read(&self, file: &Granted, longest: u64) -> io::Result<Vec<u8>> {
        demand(file, Capability::Read)?;
        let mut contents = self.file(file.path())?;
        contents.truncate(usize::try_from(longest).unwrap_or(usize::MAX));
        Ok(contents)
    }

    fn names(&self, dir: &Granted) -> io::Result<Vec<String>> {
        demand(dir, Capability::Read)?;
        let nodes = self.nodes.borrow();
        let name = |path: &PathBuf| {
            let name = path.strip_prefix(dir.path()).ok()?.to_str()?;
            (!name.is_empty() && !name.contains('/')).then(|| name.to_owned())
        };
        Ok(nodes.keys().filter_map(name).collect())
    }

    fn create_dir(&self, dir: &Granted) -> io::Result<()> {
        demand(dir, Capability::Create)?;
        self.vacant(dir.path())?;
        self.put(dir.path(), Node::Dir);
        Ok(())
    }

    fn write(&self, file: &Granted, contents: &[u8]) -> io::Result<()> {
        match file.capability() {
            Capability::Create => self.vacant(file.path())?,
            _ => self.replaceable(file)?,
        }
        self.put(file.path(), Node::File(contents.to_owned()));
        Ok(())
    }

    fn remove(&self, file: &Granted) -> io::Result<()> {
        demand(file, Capability::Delete)?;
        self.file(file.path())?;
        self.nodes.borrow_mut().remove(file.path());
        Ok(())
    }

    /// No directory goes, since nobody else changes what is here.
    fn rename(&self, from: &Granted, to: &Granted, _: Going) -> io::Result<()> {
        demand(from, Capability::Delete)?;
        let contents = self.file(from.path())?;
        match to.capability() {
            Capability::Create => self.vacant(to.path())?,
            _ => self.replaceable(to)?,
        }
        self.nodes.borrow_mut().remove(from.path());
        self.put(to.path(), Node::File(contents));
        Ok(())
    }
}
