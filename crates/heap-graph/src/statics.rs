//! Static fields against the runtime's own tables of them.
//!
//! ```text
//!  static Shop.all ------------------------> List<Order>        what the program says
//!  pinned handle --> System.Object[] ------> List<Order>        how the runtime stores it
//! ```
//! With both in the graph no static field holds anything alone, and its retained size is 0.

use crate::graph::HeapGraph;
use crate::ids::as_index;
use crate::references::{NULL, without_nothing};
use crate::roots::RootKind;

/// The type of the tables.
const TABLE: &str = "System.Object[]";

impl HeapGraph {
    /// Takes out the references from an object array that a handle holds to what a static field holds too, so
    /// that the field is the holder. Gives the number of references taken out; what is reachable stays so.
    ///
    /// An array of the program itself that it pinned or put in a `GCHandle`, and that refers to the very object
    /// of a static field, cannot be told from a table and loses that reference.
    pub fn cut_statics_tables(&mut self) -> u64 {
        let mut is_static = vec![false; self.node_count()];
        let mut tables: Vec<u32> = Vec::new();
        for (_, root) in self.roots.iter() {
            match root.kind {
                RootKind::StaticField | RootKind::ThreadStaticField => {
                    root.targets.iter().for_each(|&target| is_static[as_index(target)] = true);
                    // A thread has an array of such arrays, one for each type.
                    if root.kind == RootKind::ThreadStaticField {
                        let arrays = root.targets.iter().filter(|&&array| self.is_table(array));
                        let inner = arrays.flat_map(|&array| &self.targets[self.edges_of(as_index(array))]);
                        tables.extend(inner.filter(|&&array| array != NULL && self.is_table(array)));
                    }
                }
                RootKind::StrongHandle | RootKind::PinnedHandle => tables.extend(root.targets),
                _ => {}
            }
        }
        let mut cut = 0;
        for table in tables {
            if !self.is_table(table) {
                continue;
            }
            for edge in self.edges_of(as_index(table)) {
                let target = &mut self.targets[edge];
                if *target != NULL && is_static[as_index(*target)] {
                    *target = NULL;
                    cut += 1;
                }
            }
        }
        without_nothing(&mut self.starts, &mut self.targets, &mut self.fields.of_edge);
        cut
    }

    /// Whether an object is of the type of tables.
    fn is_table(&self, object: u32) -> bool {
        *self.types[as_index(self.node_types[as_index(object)])].name == *TABLE
    }
}
