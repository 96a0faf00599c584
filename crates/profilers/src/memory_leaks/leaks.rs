//! What a growing place is: its collection, its kind, who is to blame.

use std::collections::VecDeque;

use heap_graph::{Holder, RootKind};
use heap_reports::Look;

use super::metadata::Metadata;
use super::places::{Place, Places, What};
use super::sites::{Limits, Site, sites};
use super::types::{
    is_async_box, is_closure, is_handle, is_keyed, is_known_delegate, is_of_framework,
    method_of_state_machine,
};

/// What kind of leak it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// Handlers of an event that are never removed.
    EventHandlers { event: String, subscriber: String },
    /// Operations that never end.
    Async { method: Option<String> },
    /// Timers that are never disposed of.
    Timers,
    /// Objects that wait for a finalizer.
    FinalizerQueue,
    /// Values that hang on keys of a table which do not die.
    WeakTable { table: Option<String>, key: String },
    /// What each thread keeps for itself.
    ThreadStatic { fields: Vec<String> },
    /// Callbacks of a token source that are never given back.
    Registrations,
    /// Handles of the operating system that are not closed.
    Handles { of: String },
    /// `GCHandle`s that are never freed.
    GcHandles,
    /// What lambdas have captured.
    Closures,
    /// A cache without a bound.
    Cache,
    /// Any other collection.
    Collection,
    /// Something that hangs on local variables.
    Locals,
}

/// A step of the way to what grows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Step {
    /// The root or the type.
    pub(super) label: String,
    /// The fields and types that it is, by their full names.
    pub(super) names: Vec<String>,
    /// Objects there in the last look, and how many more than in the first.
    pub(super) objects: u64,
    pub(super) more: u64,
}

/// A leak.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Leak {
    pub(super) kind: Kind,
    /// What is added, by its type.
    pub(super) what: String,
    /// The field or type that is to blame.
    pub(super) blamed: Blamed,
    /// The collection's type, where there is one.
    pub(super) collection: Option<String>,
    /// By look: how many of it there were, and the bytes that hang on it.
    pub(super) objects: Vec<u64>,
    pub(super) bytes: Vec<u64>,
    /// Bytes that would go with all objects of the type.
    pub(super) retained: u64,
    /// From the root to what is added.
    pub(super) way: Vec<Step>,
    /// Whether every look saw more than the one before.
    pub(super) rises: bool,
    /// Whether it hangs on methods that run now.
    pub(super) hangs_on_locals: bool,
    /// Whether the root has a name.
    pub(super) is_named: bool,
    /// Whether objects became larger instead of more.
    pub(super) swells: bool,
}

/// Who is to blame.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Blamed {
    Field(String),
    Type(String),
    Method(String),
}

/// Says what places that grow are.
pub(super) struct Judge<'a> {
    pub(super) places: &'a Places,
    pub(super) last: &'a Look,
    pub(super) metadata: Metadata<'a>,
}

/// Handles count by their number: so many bytes of them are worth a word.
const LEAST_OF_HANDLES: u64 = 2_000;

impl Judge<'_> {
    /// What the places that grow are, the most bytes first.
    pub(super) fn all(&mut self, limits: &Limits) -> Vec<Leak> {
        let large = sites(self.places, limits);
        let mut leaks: Vec<Leak> = large.iter().map(|site| self.leak(site)).collect();
        let small = sites(self.places, &Limits { bytes: LEAST_OF_HANDLES, ..*limits });
        for site in small.iter().filter(|site| !large.contains(site)) {
            let leak = self.leak(site);
            // Connections come and go with those who ask; files are opened by the program itself.
            if matches!(&leak.kind, Kind::Handles { of } if !of.contains("Socket")) {
                leaks.push(leak);
            }
        }
        leaks
    }

    /// What a place that grows is.
    pub(super) fn leak(&mut self, site: &Site) -> Leak {
        let at = self.payload(site.unit);
        let way = self.places.way(at);
        let unit = &self.places.all[site.unit];
        let payload = &self.places.all[at];
        let what = self.named(payload);
        let kind = self.kind(site, &way, payload);
        let (field, collection) = self.holder(site, &way);
        let blamed = blamed(&kind, field.clone(), &what);
        let root = &self.places.all[way[0]];
        Leak {
            collection: collection.filter(|_| !matches!(kind, Kind::EventHandlers { .. })),
            blamed,
            what,
            objects: unit.seen.iter().map(|seen| seen.own.objects).collect(),
            bytes: unit.seen.iter().map(|seen| seen.with_below).collect(),
            retained: self.retained(payload.type_name()),
            way: self.steps(&way, &kind),
            rises: unit.rises(),
            is_named: matches!(&root.what, What::Root { name: Some(_), .. })
                || matches!(&kind, Kind::ThreadStatic { fields } if fields.len() == 1),
            hangs_on_locals: matches!(
                &root.what,
                What::Root { kind: RootKind::Local | RootKind::PinnedLocal, .. }
            ) && !matches!(kind, Kind::ThreadStatic { .. }),
            swells: site.swells,
            kind,
        }
    }

    /// The nearest place at or below a unit, as numerous as it, whose type is the program's own and no delegate.
    fn payload(&mut self, unit: usize) -> usize {
        let places = self.places;
        let least = (places.all[unit].more_objects() / 2).max(1);
        let mut open = VecDeque::from([unit]);
        while let Some(at) = open.pop_front() {
            let (name, module) = (places.all[at].type_name(), places.all[at].module.as_deref());
            if !is_of_framework(name, module) && !self.metadata.is_delegate(name, module) {
                return at;
            }
            open.extend(
                places.all[at]
                    .below
                    .iter()
                    .copied()
                    .filter(|&below| places.all[below].more_objects() >= least),
            );
        }
        unit
    }

    fn retained(&self, name: &str) -> u64 {
        self.last
            .types
            .iter()
            .filter(|row| *row.name == *name)
            .map(|row| row.retained)
            .fold(0, u64::saturating_add)
    }

    /// The type of a place by its full name.
    fn named(&mut self, place: &Place) -> String {
        let name = place.type_name();
        if is_of_framework(name, place.module.as_deref()) {
            return shortened(name);
        }
        match self.metadata.full_name(name, place.module.as_deref()) {
            // Type arguments are not in the metadata.
            Some(full) if !name.contains('<') || is_closure(name) => full,
            _ => shortened(name),
        }
    }

    fn kind(&mut self, site: &Site, way: &[usize], payload: &Place) -> Kind {
        let places = self.places;
        let What::Root { kind: root, .. } = &places.all[way[0]].what else { return Kind::Collection };
        let names: Vec<&str> = way[1..].iter().map(|&at| places.all[at].type_name()).collect();
        if *root == RootKind::Finalizer {
            return Kind::FinalizerQueue;
        }
        if let Some(kind) = self.event(way, payload) {
            return kind;
        }
        if let Some(name) = self.growing_below(site, |_, name, _| is_async_box(name)) {
            let modules = self.modules();
            let method = self.metadata.async_method(&name, &modules);
            return Kind::Async {
                method: method.or_else(|| method_of_state_machine(&name).map(str::to_owned)),
            };
        }
        if names.contains(&"System.Threading.TimerQueueTimer") {
            return Kind::Timers;
        }
        if let Some(kind) = self.weak_table(site, way) {
            return kind;
        }
        if names.contains(&"System.Threading.CancellationTokenSource")
            && names.iter().any(|name| name.ends_with("CallbackNode") || name.ends_with("CallbackPartition"))
        {
            return Kind::Registrations;
        }
        if let Some(of) = self.growing_below(site, |judge, name, module| {
            is_handle(name) || judge.metadata.is_handle(name, module)
        }) {
            return Kind::Handles { of };
        }
        if let Some(fields) = self.thread_static(way) {
            return Kind::ThreadStatic { fields };
        }
        match root {
            RootKind::StrongHandle | RootKind::PinnedHandle if way.len() == 2 => return Kind::GcHandles,
            _ => {}
        }
        if is_closure(payload.type_name()) {
            return Kind::Closures;
        }
        if matches!(root, RootKind::Local | RootKind::PinnedLocal) {
            return Kind::Locals;
        }
        // The collections between the last type of the program's own and what is added.
        let before = way.iter().position(|&at| at == site.unit).unwrap_or(way.len());
        let own = |&at: &usize| {
            let place = &places.all[at];
            !is_of_framework(place.type_name(), place.module.as_deref())
        };
        let from = way[1..before].iter().rposition(own).map_or(1, |at| at + 2);
        let keyed = way[from.min(before)..before].iter().any(|&at| is_keyed(places.all[at].type_name()));
        if keyed { Kind::Cache } else { Kind::Collection }
    }

    /// Handlers hang in a list of a delegate: the delegate leads to an array that leads to delegates of the same type,
    /// and the way passes it again.
    fn event(&mut self, way: &[usize], payload: &Place) -> Option<Kind> {
        let at = way.iter().rposition(|&at| {
            let place = &self.places.all[at];
            place.repeats
                && place.above.is_some()
                && (is_known_delegate(place.type_name())
                    || self.metadata.is_delegate(place.type_name(), place.module.as_deref()))
        })?;
        let delegate = &self.places.all[way[at]];
        let lists =
            delegate.below.iter().any(|&below| self.places.all[below].type_name() == "System.Object[]");
        if !lists || delegate.more_objects() == 0 {
            return None;
        }
        let above = &self.places.all[way[at - 1]];
        let event = match &above.what {
            What::Root { name: Some(name), .. } => name.to_string(),
            What::Root { kind, name: None } => kind.label().to_owned(),
            What::Type(_) => {
                let publisher = self.named(above);
                let fields =
                    self.metadata.fields(above.type_name(), above.module.as_deref(), delegate.type_name());
                match &fields[..] {
                    [] => publisher,
                    names => format!("{publisher}.{}", names.join(" or ")),
                }
            }
        };
        let subscriber = self.named(payload);
        Some(Kind::EventHandlers { event, subscriber })
    }

    /// The fields of threads that the way may begin with. The runtime's events do not name them: it keeps their objects in
    /// tables that hang on handles or, from .NET 9 on, on the threads themselves.
    fn thread_static(&mut self, way: &[usize]) -> Option<Vec<String>> {
        let What::Root { kind, name } = &self.places.all[way[0]].what else { return None };
        if *kind == RootKind::ThreadStaticField {
            return Some(name.iter().map(ToString::to_string).collect());
        }
        let in_table = self.places.all[*way.get(1)?].type_name() == "System.Object[]";
        if name.is_some() || !in_table {
            return None;
        }
        let held = way
            .iter()
            .skip(2)
            .map(|&at| self.places.all[at].type_name())
            .find(|name| *name != "System.Object[]")?;
        let modules = self.modules();
        Some(self.metadata.thread_statics(held, &modules)).filter(|fields| !fields.is_empty())
    }

    /// Whether a dependent handle is on the way to what is added.
    fn weak_table(&mut self, site: &Site, way: &[usize]) -> Option<Kind> {
        let last = way.iter().position(|&at| at == site.unit)?;
        let value = way[1..=last].iter().find(|&&at| {
            let Some(example) = self.places.all[at].example else { return false };
            match self.last.paths.holder(example) {
                Some(Holder::Node(key)) => self.last.graph.is_dependent(key, example),
                _ => false,
            }
        })?;
        let value = &self.places.all[*value];
        let key = value.above.map(|above| self.named(&self.places.all[above])).unwrap_or_default();
        Some(Kind::WeakTable { table: self.table_of(value.type_name()), key })
    }

    /// The field that holds the only table with values of this type.
    fn table_of(&self, value: &str) -> Option<String> {
        let fits = |name: &str| {
            name.starts_with("System.Runtime.CompilerServices.ConditionalWeakTable<")
                && name.trim_end_matches('>').ends_with(value.trim_end_matches('>'))
        };
        let mut tables = self.places.all.iter().filter(|place| fits(place.type_name())).filter_map(|place| {
            match &self.places.all[place.above?].what {
                What::Root { name, .. } => name.as_deref(),
                What::Type(_) => None,
            }
        });
        match (tables.next(), tables.next()) {
            (Some(only), None) => Some(only.to_owned()),
            _ => None,
        }
    }

    /// The type of a place at or below what is added, nearly as numerous, that is as wanted.
    fn growing_below(
        &mut self,
        site: &Site,
        mut wanted: impl FnMut(&mut Self, &str, Option<&str>) -> bool,
    ) -> Option<String> {
        /// Places that are looked at.
        const MOST: usize = 256;
        let places = self.places;
        let least = (places.all[site.unit].more_objects() / 2).max(1);
        let mut open = vec![site.unit];
        let mut at = 0;
        while at < open.len().min(MOST) {
            let place = &places.all[open[at]];
            if wanted(self, place.type_name(), place.module.as_deref()) {
                return Some(place.type_name().to_owned());
            }
            open.extend(
                place.below.iter().copied().filter(|&below| places.all[below].more_objects() >= least),
            );
            at += 1;
        }
        None
    }

    /// The modules of the program's own types.
    fn modules(&self) -> Vec<Box<str>> {
        let mut modules: Vec<Box<str>> =
            self.last.types.iter().filter_map(|row| row.module.clone()).collect();
        modules.sort();
        modules.dedup();
        modules
    }

    /// The field that holds the growing collection, and the collection's type.
    fn holder(&mut self, site: &Site, way: &[usize]) -> (Option<String>, Option<String>) {
        let end = way.iter().position(|&at| at == site.unit).unwrap_or(way.len());
        // What swells is a part of the collection itself.
        let end = if site.swells { end + 1 } else { end };
        let own = |&at: &usize| {
            let place = &self.places.all[at];
            place.above.is_some() && !is_of_framework(place.type_name(), place.module.as_deref())
        };
        let owner = way[..end].iter().rposition(own).unwrap_or(0);
        let collection = way.get(owner + 1).filter(|_| owner + 1 < end).map(|&at| &self.places.all[at]);
        let above = &self.places.all[way[owner]];
        let next = way.get(owner + 1).map_or("", |&at| self.places.all[at].type_name());
        let field = match &above.what {
            What::Root { kind: RootKind::Local | RootKind::PinnedLocal, .. } => None,
            What::Root { name, .. } => name.as_ref().map(ToString::to_string),
            What::Type(name) => {
                let fields = self.metadata.fields(name, above.module.as_deref(), next);
                let owner = self.named(above);
                (!fields.is_empty()).then(|| format!("{owner}.{}", fields.join(" or ")))
            }
        };
        (field, collection.map(|place| shortened(place.type_name())))
    }

    fn steps(&mut self, way: &[usize], kind: &Kind) -> Vec<Step> {
        let mut steps = Vec::with_capacity(way.len());
        for (number, &at) in way.iter().enumerate() {
            let place = &self.places.all[at];
            let label = match &place.what {
                What::Root { kind: root, name } => match kind {
                    Kind::ThreadStatic { fields } if name.is_none() => {
                        format!(
                            "{} (thread-static {})",
                            heap_reports::root_label(*root, None),
                            fields.join(" or ")
                        )
                    }
                    _ => heap_reports::root_label(*root, name.as_deref()),
                },
                What::Type(name) => {
                    let above = number.checked_sub(1).map(|above| &self.places.all[way[above]]);
                    let field = above.and_then(|above| self.field_between(above, place));
                    let name = shortened(name);
                    let again = if place.repeats { " *" } else { "" };
                    match field {
                        Some(field) => format!("{field}: {name}{again}"),
                        None => format!("{name}{again}"),
                    }
                }
            };
            let names = match &place.what {
                What::Root { name: Some(name), .. } => vec![name.to_string()],
                What::Root { name: None, .. } => match kind {
                    Kind::ThreadStatic { fields } => fields.clone(),
                    _ => Vec::new(),
                },
                What::Type(name) => vec![name.to_string()],
            };
            let objects = place.seen.last().map_or(0, |seen| seen.own.objects);
            steps.push(Step { label, names, objects, more: place.more_objects() });
        }
        steps
    }

    /// The field of one type that holds another, if it is certain.
    fn field_between(&mut self, above: &Place, place: &Place) -> Option<String> {
        let name = above.type_name();
        if name.is_empty() || is_of_framework(name, above.module.as_deref()) {
            return None;
        }
        let mut fields = self.metadata.fields(name, above.module.as_deref(), place.type_name());
        if fields.len() == 1 { fields.pop() } else { None }
    }
}

fn blamed(kind: &Kind, field: Option<String>, what: &str) -> Blamed {
    match kind {
        Kind::EventHandlers { event, .. } => Blamed::Field(event.clone()),
        Kind::Async { method: Some(method) } => Blamed::Method(method.clone()),
        Kind::WeakTable { table: Some(table), .. } => Blamed::Field(table.clone()),
        Kind::ThreadStatic { fields } if !fields.is_empty() => Blamed::Field(fields.join(" or ")),
        Kind::Timers | Kind::FinalizerQueue | Kind::GcHandles | Kind::Locals => Blamed::Type(what.to_owned()),
        _ => field.map_or_else(|| Blamed::Type(what.to_owned()), Blamed::Field),
    }
}

/// A name as a report can bear it: that of a generic type may be as long as a book.
fn shortened(name: &str) -> String {
    const LONGEST: usize = 300;
    match name.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("{}...", &name[..end]),
        None => name.to_owned(),
    }
}
