//! Types within types. The runtime's events name them without the type around them; that comes from the metadata.

use std::collections::HashMap;

use static_fields::outer_types;

use crate::owners::Assemblies;

/// Arrays of arrays that are followed.
const DEEPEST: usize = 16;
/// What tokens of types begin with.
const TYPE_DEFINITION: u32 = 0x0200_0000;

/// A type, as the events tell it.
#[derive(Clone, Debug, Default)]
pub(crate) struct ToldType {
    pub(crate) module: u64,
    pub(crate) token: u32,
    pub(crate) name: String,
    /// Of an array, its elements.
    pub(crate) element: Option<u64>,
}

/// Gives nested types their whole names, as far as the files of their modules can be read.
pub(crate) fn complete(
    types: &mut HashMap<u64, ToldType>,
    modules: &HashMap<u64, String>,
    assemblies: &dyn Assemblies,
) {
    let mut by_module: HashMap<u64, Vec<(u64, usize)>> = HashMap::new();
    for (handle, told) in types.iter() {
        let row = usize::try_from(told.token & 0x00FF_FFFF).unwrap_or(0);
        // With a namespace it stands alone.
        let stands_alone = told.name.split(['[', '`']).next().is_some_and(|name| name.contains('.'));
        if told.token & 0xFF00_0000 == TYPE_DEFINITION && row > 0 && !stands_alone {
            by_module.entry(told.module).or_default().push((*handle, row));
        }
    }
    let mut outer: HashMap<u64, String> = HashMap::new();
    for (module, wanted) in by_module {
        let Some(file) = modules.get(&module).and_then(|path| assemblies.bytes(path)) else { continue };
        let rows: Vec<usize> = wanted.iter().map(|(_, row)| *row).collect();
        // A damaged file only costs names.
        let Ok(found) = outer_types(&file, &rows) else { continue };
        outer.extend(wanted.iter().zip(found).filter_map(|((handle, _), found)| Some((*handle, found?))));
    }
    let prefix = |mut handle: u64| {
        for _ in 0..DEEPEST {
            match types.get(&handle)?.element {
                Some(element) => handle = element,
                None => break,
            }
        }
        outer.get(&handle)
    };
    let whole: Vec<(u64, String)> = types
        .iter()
        .filter_map(|(handle, told)| Some((*handle, format!("{}+{}", prefix(*handle)?, told.name))))
        .collect();
    for (handle, name) in whole {
        if let Some(told) = types.get_mut(&handle) {
            told.name = name;
        }
    }
}
