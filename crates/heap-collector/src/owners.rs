//! The types that declare static fields. The runtime tells a field's name and its object, not the type it stands in:
//! that comes from the metadata of the loaded assemblies.
//!
//! ```text
//!  events, in order:   s_lock   s_orders   s_instance   s_total
//!  metadata:             ?      Shop.A        ?          Shop.C      names that only one type has
//!                      ...               Shop.B                      the field between them, in the same order
//! ```
//! The runtime goes through its modules one by one, and through the fields of each in the order of the metadata, so
//! neighbours tell apart fields of one name.

use std::collections::{HashMap, HashSet};

use static_fields::{StaticField, static_fields};

/// Where the bytes of assemblies come from.
pub trait Assemblies {
    /// The bytes of the file at a path of the target; nothing when it cannot be read.
    fn bytes(&self, path: &str) -> Option<Vec<u8>>;
}

/// A static field as the events tell it.
pub(crate) struct Told<'a> {
    pub(crate) field: &'a str,
    /// The type of its object, as the runtime prints it.
    pub(crate) object_type: &'a str,
}

/// A field of the metadata that it may be.
struct Candidate {
    module: usize,
    field: StaticField,
}

/// By field: the name of the type that declares it, where it is certain.
pub(crate) fn owners<'p>(
    told: &[Told<'_>],
    modules: impl Iterator<Item = &'p str>,
    assemblies: &dyn Assemblies,
) -> Vec<Option<String>> {
    let wanted: HashSet<&str> = told.iter().map(|told| told.field).collect();
    let mut by_name: HashMap<String, Vec<Candidate>> = HashMap::new();
    for (module, path) in modules.enumerate() {
        let Some(bytes) = assemblies.bytes(path) else { continue };
        // A native library among the modules is no mistake, and a damaged file only costs names.
        let Ok(fields) = static_fields(&bytes, |name| wanted.contains(name)) else { continue };
        for field in fields {
            by_name.entry(field.name.clone()).or_default().push(Candidate { module, field });
        }
    }
    let candidates: Vec<Vec<&Candidate>> = told.iter().map(|told| fitting(told, &by_name)).collect();
    let sure: Vec<Option<(usize, usize)>> = candidates
        .iter()
        .map(|candidates| match candidates[..] {
            [only] => Some((only.module, only.field.position)),
            _ => None,
        })
        .collect();
    let before = nearest_before(sure.iter());
    let mut after = nearest_before(sure.iter().rev());
    after.reverse();
    let mut names = Vec::with_capacity(told.len());
    for (candidates, (before, after)) in candidates.iter().zip(before.into_iter().zip(after)) {
        let mut between = candidates.iter().filter(|candidate| {
            let place = (candidate.module, candidate.field.position);
            let fits_before =
                before.is_some_and(|(module, position)| module == place.0 && position < place.1);
            let fits_after = after.is_some_and(|(module, position)| module == place.0 && position > place.1);
            let one_module = before.map(|place| place.0) == after.map(|place| place.0);
            if one_module { fits_before && fits_after } else { fits_before || fits_after }
        });
        names.push(match (&candidates[..], between.next(), between.next()) {
            ([only], _, _) => Some(only.field.owner.clone()),
            (_, Some(one), None) => Some(one.field.owner.clone()),
            _ => None,
        });
    }
    names
}

/// For each: the nearest sure place before it.
fn nearest_before<'s>(sure: impl Iterator<Item = &'s Option<(usize, usize)>>) -> Vec<Option<(usize, usize)>> {
    let mut last = None;
    sure.map(|place| {
        let before = last;
        last = place.or(last);
        before
    })
    .collect()
}

/// The fields of the name; only those of the object's own type if there are any, for a field may also be of a base type.
fn fitting<'c>(told: &Told<'_>, by_name: &'c HashMap<String, Vec<Candidate>>) -> Vec<&'c Candidate> {
    let Some(all) = by_name.get(told.field) else { return Vec::new() };
    let object_type = without_arguments(told.object_type);
    let same: Vec<&Candidate> =
        all.iter().filter(|candidate| candidate.field.type_name.as_deref() == Some(&*object_type)).collect();
    if same.is_empty() { all.iter().collect() } else { same }
}

/// ``List`1[Shop.Order]`` is ``List`1``; the brackets of an array stay.
fn without_arguments(name: &str) -> String {
    let base = name.trim_end_matches("[]");
    let arrays = &name[base.len()..];
    let base = base.split('[').next().unwrap_or(base);
    format!("{base}{arrays}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_are_left_out_and_arrays_are_not() {
        assert_eq!(without_arguments("A`1[B`1[C]][]"), "A`1[]");
        assert_eq!(without_arguments("System.Byte[]"), "System.Byte[]");
        assert_eq!(without_arguments(""), "");
    }
}
