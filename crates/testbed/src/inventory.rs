//! What the testbed has, for people who want to know where 500 MB went.

use std::fmt;
use std::path::PathBuf;

use crate::cache::bytes_below;
use crate::parts::Part;
use crate::patient::Assembly;
use crate::progress::megabytes;
use crate::runtime::Runtime;
use crate::testbed::Testbed;

/// Where one thing comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Origin {
    /// It was on this machine already.
    Installed(PathBuf),
    /// It lies in the cache, with its size in bytes.
    Prepared(PathBuf, u64),
    /// It will be fetched or compiled when it is needed.
    NotYet,
}

/// One line of the inventory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Item {
    /// What it is.
    pub what: String,
    /// Where it comes from.
    pub origin: Origin,
}

/// Everything that the testbed has or could have. `Display` gives a table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Inventory {
    /// The cache folder.
    pub cache: PathBuf,
    /// The parts, in the order in which they are prepared.
    pub items: Vec<Item>,
}

pub(crate) fn take(testbed: &Testbed) -> Inventory {
    let prepared = |folder: Option<PathBuf>| match folder {
        Some(folder) => {
            let bytes = bytes_below(&folder);
            Origin::Prepared(folder, bytes)
        }
        None => Origin::NotYet,
    };
    let mut items = Vec::new();
    for part in Part::ALL {
        let runtime = match part {
            Part::Net9Root => Some(Runtime::Net9),
            Part::Net31Root => Some(Runtime::Net31),
            Part::Net8Host => Some(Runtime::Net8),
            Part::Net10Root => Some(Runtime::Net10),
            Part::Compiler | Part::Compiler12 | Part::Stranger => None,
        };
        items.push(match runtime.and_then(|runtime| testbed.installed(runtime)) {
            Some(found) => Item {
                what: format!(".NET {}", found.version),
                origin: Origin::Installed(found.root.clone()),
            },
            None => Item {
                what: part.package().what.to_owned(),
                origin: prepared(testbed.cache().find(&part.folder_name())),
            },
        });
    }
    for assembly in Assembly::ALL {
        items.push(Item {
            what: assembly.file_name().to_owned(),
            origin: prepared(assembly.find(testbed.cache(), &testbed.net9_version())),
        });
    }
    Inventory { cache: testbed.cache_dir().to_owned(), items }
}

impl fmt::Display for Inventory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "cache: {}", self.cache.display())?;
        let width = self.items.iter().map(|item| item.what.chars().count()).max().unwrap_or(0);
        for item in &self.items {
            write!(f, "{:width$}  ", item.what)?;
            match &item.origin {
                Origin::Installed(root) => writeln!(f, "installed              {}", root.display())?,
                Origin::Prepared(folder, bytes) => {
                    writeln!(f, "prepared   {:>10}  {}", megabytes(*bytes), folder.display())?;
                }
                Origin::NotYet => writeln!(f, "not yet prepared")?,
            }
        }
        Ok(())
    }
}
