//! The objects of a .NET heap as a graph that fits in memory, and what can be asked of it.
//!
//! ```text
//!  heap events, agent --> GraphBuilder --+                 +--> Dominators: retained sizes, garbage
//!                                        +--> HeapGraph ---+--> ShortestPaths --> shapes_to_type
//!  .gcdump ---------> gcdump::read ------+        |        +--> by_type --> growth
//!                                                 |        +--> TypeTree: dominators merged by type
//!                                                 +--> gcdump::write --> .gcdump
//! ```
//!
//! In: types, objects, references and roots, in the order in which the runtime tells them; or a [`gcdump`] file.
//! Out: what each object, type, root and kind of root keeps alive, who holds an object, what grew.
//!
//! Memory per object: the graph takes 20 bytes, dominators with retained sizes 12, shortest paths 4: 36 with
//! all of them at hand. Per reference: 4, and 4 more when fields are known. While dominators are computed, up
//! to 28 bytes per object and 4 per reference come on top; while a graph is built, 4 per reference. No step
//! recurses, so a list of a million links is a heap like any other. Up to 4 billion objects and as many
//! references; sizes have 64 bits.
//!
//! It opens no file and no process, and it does not collect: bytes come from a [`std::io::Read`].
//!
//! ```
//! use heap_graph::{Address, Dominators, GraphBuilder, RootKind, ShortestPaths, shapes_to_type};
//!
//! let mut builder = GraphBuilder::new();
//! let cache = builder.add_type("Shop.Cache", Some("Shop.dll"));
//! let order = builder.add_type("Shop.Order", Some("Shop.dll"));
//! builder.object(Address(0x1000), cache, 32, 2)?;
//! builder.object(Address(0x1020), order, 100, 0)?;
//! builder.object(Address(0x1088), order, 100, 0)?;
//! builder.reference(Address(0x1020))?;
//! builder.reference(Address(0x1088))?;
//! builder.root(RootKind::StaticField, Some("Shop.Cache.instance"), Address(0x1000))?;
//! let graph = builder.finish()?;
//!
//! let dominators = Dominators::of(&graph);
//! assert_eq!(dominators.retained_by_type(cache), 232);
//! let paths = ShortestPaths::of(&graph);
//! let to_orders = shapes_to_type(&graph, &paths, order, 10);
//! assert_eq!(to_orders.shapes[0].objects, 2);
//! assert_eq!(graph.root(to_orders.shapes[0].root).name, Some("Shop.Cache.instance"));
//! # Ok::<(), heap_graph::Error>(())
//! ```
#![forbid(unsafe_code)]

mod address_index;
mod builder;
mod depth_first;
mod dominators;
mod error;
pub mod gcdump;
mod generations;
mod graph;
mod ids;
mod path_shapes;
mod path_tree;
mod paths;
mod references;
mod retained;
mod roots;
mod sizes;
mod statics;
mod type_name;
mod type_table;
mod type_tree;
mod vertices;

pub use address_index::AddressIndex;
pub use builder::GraphBuilder;
pub use dominators::{Dominators, Totals};
pub use error::Error;
pub use generations::{Generation, GenerationRange, Generations};
pub use graph::{HeapGraph, Losses, TypeInfo};
pub use ids::{Address, FieldId, NodeId, RootId, TypeId};
pub use path_shapes::{PathShape, PathShapes, ShapeStep, shapes_to, shapes_to_type};
pub use path_tree::{At, PathTree, TreePlace};
pub use paths::{PathStep, ShortestPaths};
pub use retained::retained_by_all_of_type;
pub use roots::{Root, RootKind};
pub use type_name::readable;
pub use type_table::{TypeGrowth, TypeRow, by_type, growth, shallow_totals};
pub use type_tree::{Line, LineId, Place, TypeTree};
pub use vertices::Holder;
