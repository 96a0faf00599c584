//! What holds the heap: kinds of roots, and single ones.

use heap_graph::{Root, RootKind};
use model::{Body, Cell, Column, Section, Table, Unit};

use crate::look::Look;

/// A root in words: `static Shop.OrderHistory.s_orders`, `local variables`.
pub(crate) fn label(root: &Root<'_>) -> String {
    root_label(root.kind, root.name)
}

/// The same by kind and name.
#[must_use]
pub fn root_label(kind: RootKind, name: Option<&str>) -> String {
    match (kind, name) {
        (RootKind::StaticField, Some(name)) => format!("static {name}"),
        (RootKind::ThreadStaticField, Some(name)) => format!("thread-static {name}"),
        (kind, Some(name)) => format!("{} {name}", kind.label()),
        (kind, None) => plural(kind).to_owned(),
    }
}

/// All roots of a kind, in words.
#[must_use]
pub fn plural(kind: RootKind) -> &'static str {
    match kind {
        RootKind::StaticField => "static fields",
        RootKind::ThreadStaticField => "thread-static fields",
        RootKind::Local => "local variables",
        RootKind::PinnedLocal => "pinned local variables",
        RootKind::Finalizer => "finalizer queue",
        RootKind::StrongHandle => "strong handles",
        RootKind::PinnedHandle => "pinned handles",
        RootKind::RefCounted => "COM references",
        RootKind::DependentHandle => "dependent handles",
        RootKind::SizedRefHandle => "sized-reference handles",
        RootKind::OlderGeneration => "older generation",
        RootKind::Other => "other roots",
        _ => "roots",
    }
}

/// The kinds of roots with what only they hold.
pub(crate) fn kinds(look: &Look) -> Section {
    let mut table = Table::new([
        Column::new("retained", "Held by it alone", Unit::Bytes),
        Column::new("share", "Share", Unit::Percent),
        Column::new("references", "Objects held", Unit::Count),
        Column::new("kind", "Kind of root", Unit::Text),
    ]);
    let total = look.live_bytes();
    let mut rest = total;
    let mut rows: Vec<(u64, usize, &'static str)> = Vec::new();
    for kind in RootKind::ALL {
        let held: usize = look
            .graph
            .roots()
            .filter(|(_, root)| root.kind == kind)
            .map(|(_, root)| root.targets().len())
            .sum();
        if held > 0 {
            let retained = look.dominators.retained_by_kind(kind);
            rest = rest.saturating_sub(retained);
            rows.push((retained, held, plural(kind)));
        }
    }
    rows.sort_by_key(|row| std::cmp::Reverse(row.0));
    for (retained, held, kind) in rows {
        table.push([retained.into(), share(retained, total).into(), (held as u64).into(), kind.into()]);
    }
    if rest > 0 {
        table.push([rest.into(), share(rest, total).into(), Cell::Missing, "several kinds together".into()]);
    }
    Section::new("root-kinds", "By kind of root", Body::Table(table))
}

/// The single roots that hold most.
pub(crate) fn named(look: &Look, top: usize) -> Section {
    let mut table = Table::new([
        Column::new("retained", "Held by it alone", Unit::Bytes),
        Column::new("share", "Share", Unit::Percent),
        Column::new("root", "Root", Unit::Text),
    ]);
    let mut rows: Vec<(u64, String)> = look
        .graph
        .roots()
        .filter(|(_, root)| root.name.is_some())
        .map(|(id, root)| (look.dominators.retained_by_root(id), label(&root)))
        .filter(|(retained, _)| *retained > 0)
        .collect();
    rows.sort_by(|a, b| b.0.cmp(&a.0).then_with(|| a.1.cmp(&b.1)));
    table.omitted_rows = rows.len().saturating_sub(top) as u64;
    for (retained, name) in rows.into_iter().take(top) {
        table.push([retained.into(), share(retained, look.live_bytes()).into(), name.into()]);
    }
    Section::new("roots", "By static field", Body::Table(table))
}

/// Per cent.
#[expect(clippy::cast_precision_loss, reason = "a share")]
pub(crate) fn share(part: u64, whole: u64) -> f64 {
    100.0 * part as f64 / whole.max(1) as f64
}
