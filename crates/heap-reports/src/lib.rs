//! What a heap says, as a report.
//!
//! ```text
//!  HeapGraph --> Look: dominators, paths, table of types --+--> heap     types, roots, suspects
//!                                                          +--> overview the same, and what it is made of
//!                                                          +--> types    those whose names hold a text
//!                                                          +--> paths    who holds a type
//!  HeapGraph, HeapGraph ----------------------------------- +--> growth   what grew, and who holds it
//! ```
//!
//! **In:** one or two graphs and where they come from ([`Origin`]). **Out:** a [`model::Report`].
//!
//! It opens no file and no process. A *suspect* is what much of the heap hangs on, not a proven leak: that takes two
//! looks, and [`growth()`].
#![forbid(unsafe_code)]

mod composition;
mod growth;
mod heap;
mod look;
mod origin;
mod path_tree;
mod roots;
mod suspects;
mod type_choice;
mod type_list;

pub use growth::growth;
pub use heap::{heap, overview, paths};
pub use look::Look;
pub use origin::Origin;
pub use path_tree::line as path_line;
pub use roots::{plural as kind_label, root_label};
pub use suspects::{Suspect, suspects};
pub use type_choice::{NoType, choose_types};
pub use type_list::{NoMatch, types};
