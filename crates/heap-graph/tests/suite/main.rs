//! The tests of this crate from outside, all in one program.

mod against_naive;
mod gcdump_files;
mod small_graphs;
mod support;
mod type_trees;
