//! The types of a heap as a table, all of them or those that a person looks for.

use std::collections::BTreeMap;

use heap_graph::TypeRow;
use model::{Body, Column, Report, Section, Table, Unit};
use reports::value::format_bytes;

use crate::heap::count;
use crate::look::Look;
use crate::origin::{Answer, Origin};
use crate::type_choice;

/// No type's name holds the text; these come nearest.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NoMatch(pub Vec<String>);

/// The report on the types whose names hold a text, in whatever case; an empty one is held by all.
pub fn types(look: &Look, origin: &Origin, filter: &str, top: usize) -> Result<Report, NoMatch> {
    let wanted = filter.to_lowercase();
    let fits = |row: &&TypeRow| row.live.objects > 0 && row.name.to_lowercase().contains(&wanted);
    let rows: Vec<&TypeRow> = look.types.iter().filter(fits).collect();
    if rows.is_empty() && !wanted.is_empty() {
        return Err(NoMatch(type_choice::nearest(look, &wanted)));
    }
    let sum = |of: fn(&TypeRow) -> u64| rows.iter().map(|row| of(row)).fold(0, u64::saturating_add);
    let (objects, bytes) = (sum(|row| row.live.objects), sum(|row| row.live.bytes));
    let whose = if wanted.is_empty() { String::new() } else { format!(" with '{filter}' in their names") };
    let summary = format!(
        "{} types{whose} have {} live objects with {}, {:.0} % of what is alive.",
        count(rows.len() as u64),
        count(objects),
        format_bytes(bytes),
        crate::roots::share(bytes, look.live_bytes())
    );
    Ok(origin.report(Answer {
        id: "heap-types",
        name: "Types",
        question: "Which types are on the heap, and how much is held by them?",
        parameters: BTreeMap::from([
            ("filter".to_owned(), filter.to_owned()),
            ("top".to_owned(), top.to_string()),
        ]),
        summary,
        findings: Vec::new(),
        sections: vec![section(rows.into_iter(), top)],
        notes: Vec::new(),
    }))
}

/// The table of types, in the order in which they come.
pub(crate) fn section<'r>(rows: impl Iterator<Item = &'r TypeRow>, top: usize) -> Section {
    let mut table = Table::new([
        Column::new("objects", "Objects", Unit::Count),
        Column::new("bytes", "Bytes", Unit::Bytes),
        Column::new("retained", "Retained", Unit::Bytes),
        Column::new("type", "Type", Unit::Text),
    ]);
    for row in rows {
        if table.rows.len() == top {
            table.omitted_rows += 1;
            continue;
        }
        table.push([
            row.live.objects.into(),
            row.live.bytes.into(),
            row.retained.into(),
            (&*row.name).into(),
        ]);
    }
    Section::new("types", "By type (retained: what would go with its objects)", Body::Table(table))
}
