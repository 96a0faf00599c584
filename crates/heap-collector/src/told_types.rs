//! Names of types from what the agent told of them, in the words in which the runtime's events name them.

use std::collections::HashMap;

use agent_host::HeapType;
use heap_graph::GraphBuilder;

use crate::type_name::readable;

/// How deep type arguments are nested, at most.
const DEEPEST: usize = 24;
/// Longest name; what is behind it is cut off.
const LONGEST: usize = 64 * 1024;

/// Names the types of a builder.
pub(crate) fn name_types(types: &[HeapType], builder: &mut GraphBuilder) {
    let by_id: HashMap<u64, &HeapType> = types.iter().map(|told| (told.id, told)).collect();
    let wanted: Vec<u64> = builder.handles().map(|(handle, _)| handle).collect();
    for handle in wanted {
        let mut name = String::new();
        if written(handle, &by_id, DEEPEST, &mut name) {
            builder.name_type(handle, &readable(&name), module(handle, &by_id));
        }
    }
}

/// Writes the name of a type; false if it has none.
fn written(id: u64, types: &HashMap<u64, &HeapType>, deep: usize, name: &mut String) -> bool {
    let Some(told) = types.get(&id).filter(|_| deep > 0 && name.len() < LONGEST) else { return false };
    if told.rank > 0 {
        let element = told.arguments.first().copied().unwrap_or(0);
        if !written(element, types, deep - 1, name) {
            return false;
        }
        name.push('[');
        (1..told.rank).for_each(|_| name.push(','));
        name.push(']');
        return true;
    }
    if told.name.is_empty() {
        return false;
    }
    name.push_str(&told.name);
    for (at, argument) in told.arguments.iter().enumerate() {
        name.push(if at == 0 { '[' } else { ',' });
        if !written(*argument, types, deep - 1, name) {
            name.push('?');
        }
    }
    if !told.arguments.is_empty() {
        name.push(']');
    }
    true
}

/// The file of a type's module; of an array, of its elements'.
fn module<'t>(id: u64, types: &HashMap<u64, &'t HeapType>) -> Option<&'t str> {
    let mut told = types.get(&id)?;
    for _ in 0..DEEPEST {
        if told.rank == 0 {
            break;
        }
        told = types.get(told.arguments.first()?)?;
    }
    (!told.module.is_empty()).then_some(told.module.as_str())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(id: u64, name: &str, arguments: &[u64], rank: u8) -> HeapType {
        HeapType {
            id,
            name: name.to_owned(),
            arguments: arguments.to_vec(),
            rank,
            module: "/a.dll".to_owned(),
            ..HeapType::default()
        }
    }

    #[test]
    fn names_are_those_of_the_events() {
        let types = [
            told(8, "System.String", &[], 0),
            told(16, "System.Collections.Generic.Dictionary`2", &[8, 24], 0),
            told(24, "", &[8], 2),
            told(32, "System.Collections.Generic.Dictionary`2+Entry", &[8, 8], 0),
            told(40, "", &[32], 1),
            told(48, "", &[], 0),
            told(56, "Own`1", &[56], 0),
        ];
        let mut builder = GraphBuilder::new();
        for handle in [8, 16, 24, 32, 40, 48, 56, 64] {
            builder.type_of_handle(handle);
        }
        name_types(&types, &mut builder);
        let handles: HashMap<u64, _> = builder.handles().collect();
        let graph = builder.finish().expect("no objects");
        let name = |handle: u64| graph.type_info(handles[&handle]).name.to_string();
        assert_eq!(name(16), "System.Collections.Generic.Dictionary<System.String, System.String[,]>");
        assert_eq!(name(40), "System.Collections.Generic.Dictionary+Entry<System.String, System.String>[]");
        assert_eq!(name(48), "Type(0x30)");
        assert_eq!(name(64), "Type(0x40)");
        // It names itself, which ends all the same.
        assert!(name(56).starts_with("Own<Own<"), "{}", name(56));
        assert_eq!(graph.type_info(handles[&40]).module.as_deref(), Some("/a.dll"));
    }
}
