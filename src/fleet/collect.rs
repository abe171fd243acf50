//! Which files of a directory are shipped.
use super::error::FleetError;
use super::ignore::IgnoreTree;
use super::tree::{self, Entry, LinkTarget, Tree};

/// A file that is shipped: its name relative to the bundle and its bytes.
pub type Shipped<'a> = (String, &'a [u8]);

/// Walks `root` and returns the shipped files in walking order.
///
/// `skip` holds names relative to `root` (options files, values files). Left out as well: names that
/// start with a dot, whole directories of that kind, and what `.fleetignore` files match. A root whose
/// own name starts with a dot ships nothing, as in the original.
///
/// # Errors
/// Symbolic links that leave `root`, lead nowhere or to a directory; malformed ignore patterns.
pub fn collect<'a>(tree: &'a Tree, root: &str, skip: &[String]) -> Result<Vec<Shipped<'a>>, FleetError> {
    let mut walk = Walk {
        tree,
        root,
        skip,
        ignore: IgnoreTree::new(root),
        out: Vec::new(),
    };
    walk.directory(root)?;
    Ok(walk.out)
}

struct Walk<'a, 'b> {
    tree: &'a Tree,
    root: &'b str,
    skip: &'b [String],
    ignore: IgnoreTree,
    out: Vec<Shipped<'a>>,
}

impl Walk<'_, '_> {
    fn directory(&mut self, dir: &str) -> Result<(), FleetError> {
        let ignored = self.ignore.is_ignored(dir, true)?;
        // A directory named like a values file is entered, but its own ignore file is not read.
        if !self.skipped(dir) {
            if ignored || is_hidden(dir) {
                return Ok(());
            }
            if let Ok(Some(text)) = self.tree.read(&tree::join(&[dir, ".fleetignore"])) {
                self.ignore.add(dir, text);
            }
        }
        let names: Vec<&str> = self.tree.children(dir).collect();
        for name in names {
            let path = tree::join(&[dir, name]);
            match self.tree.get(&path) {
                Some(Entry::Dir) => self.directory(&path)?,
                Some(entry) => self.file(&path, entry)?,
                None => {}
            }
        }
        Ok(())
    }

    fn file(&mut self, path: &str, entry: &Entry) -> Result<(), FleetError> {
        let ignored = self.ignore.is_ignored(path, false)?;
        if self.skipped(path) || ignored || is_hidden(path) {
            return Ok(());
        }
        if let Entry::Link(target) = entry {
            match target {
                LinkTarget::Broken => return Err(FleetError::LinkBroken { path: path.to_owned() }),
                LinkTarget::Inside(target) if tree::under(target, self.root) => {}
                _ => return Err(FleetError::LinkEscapes { path: path.to_owned() }),
            }
        }
        let name = tree::relative(path, self.root).unwrap_or(path).to_owned();
        let bytes = self
            .tree
            .read(path)?
            .ok_or_else(|| FleetError::Missing { path: path.to_owned() })?;
        self.out.push((name, bytes));
        Ok(())
    }

    fn skipped(&self, path: &str) -> bool {
        tree::relative(path, self.root).is_some_and(|name| self.skip.iter().any(|skip| skip == name))
    }
}

fn is_hidden(path: &str) -> bool {
    let name = tree::base(path);
    name.starts_with('.') && name != "." && name != ".."
}
