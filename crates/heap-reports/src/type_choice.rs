//! From what a person types to the types that are meant.

use heap_graph::TypeId;

use crate::look::Look;

/// No type is meant clearly.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NoType {
    /// None is called anything like it; these come nearest.
    Unknown(Vec<String>),
    /// Several are; these, those with the most objects first, and how many there are in all.
    Several(Vec<String>, usize),
}

/// Most names that are suggested.
const MOST: usize = 8;

/// The types that are meant: by the full name, else by the end of it (`Order` for `Shop.Order`), else by a part of it
/// that only one has. Several ids are one type in several modules.
pub fn choose_types(look: &Look, typed: &str) -> Result<Vec<TypeId>, NoType> {
    let lower = typed.to_lowercase();
    let matches: [&dyn Fn(&str) -> bool; 4] = [
        &|name| name == typed,
        &|name| is_end(name, typed),
        &|name| is_end(&name.to_lowercase(), &lower),
        &|name| name.to_lowercase().contains(&lower),
    ];
    for fits in matches {
        let found: Vec<(TypeId, &str, u64)> = look
            .types
            .iter()
            .filter(|row| fits(&row.name))
            .map(|row| (row.id, &*row.name, row.live.objects + row.garbage.objects))
            .collect();
        let Some((_, first, _)) = found.first() else { continue };
        if found.iter().all(|(_, name, _)| name == first) {
            return Ok(found.into_iter().map(|(id, _, _)| id).collect());
        }
        let mut names = found;
        names.sort_by_key(|&(_, name, objects)| (std::cmp::Reverse(objects), name.to_owned()));
        let count = names.len();
        return Err(NoType::Several(
            names.into_iter().take(MOST).map(|(_, name, _)| name.to_owned()).collect(),
            count,
        ));
    }
    Err(NoType::Unknown(nearest(look, &lower)))
}

/// Whether a name ends with a word, from the beginning of a word.
fn is_end(name: &str, end: &str) -> bool {
    name.strip_suffix(end).is_some_and(|before| before.is_empty() || before.ends_with(['.', '+', '/']))
}

pub(crate) fn nearest(look: &Look, typed: &str) -> Vec<String> {
    /// Below this likeness a suggestion would be a guess.
    const LIKE_ENOUGH: f64 = 0.6;
    let likeness = |name: &str| {
        let last = name.rsplit('.').next().unwrap_or(name);
        let like = |word: &str| strsim::normalized_damerau_levenshtein(typed, &word.to_lowercase());
        like(name).max(like(last))
    };
    let mut near: Vec<(f64, &str)> = look
        .types
        .iter()
        .map(|row| (likeness(&row.name), &*row.name))
        .filter(|(likeness, _)| *likeness >= LIKE_ENOUGH)
        .collect();
    near.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(b.1)));
    near.dedup();
    near.into_iter().take(3).map(|(_, name)| name.to_owned()).collect()
}
