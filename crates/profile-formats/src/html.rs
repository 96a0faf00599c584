//! A flame graph as one HTML page: search, zoom, threads, sides, callers.
//!
//! The page needs nothing else and may fetch nothing: its content security policy allows its own script, by its hash, and
//! its own style. Names are hostile; they are in the page as the texts of one JSON value, in which `<` is escaped, and
//! the script shows them as text only.
//!
//! Data are packed, so that 50,000 stacks are a page of a few megabytes, and the script draws on a canvas only what can
//! be seen.

mod graph;
mod packing;

use std::io::{self, Write};

use sha2::{Digest, Sha256};
use stacks::{Profile, Weight};
use stored_profiles::Recording;

use crate::label;
use crate::registry::Grouping;
use crate::sink::{Sink, json_string};
use graph::Graph;
use packing::base64;

const SCRIPT: &str = concat!(
    include_str!("html/data.js"),
    include_str!("html/view.js"),
    include_str!("html/draw.js"),
    include_str!("html/page.js")
);
const STYLE: &str = include_str!("html/page.css");

/// Most frames under their callers in a page: more of them take a browser too long to lay out.
const MOST_NODES: usize = 1_000_000;

/// One side of a page: what it is called in the address, and by people.
#[derive(Clone, Copy, Debug)]
pub struct PageSide {
    /// In the address.
    pub id: &'static str,
    /// By people.
    pub title: &'static str,
}

/// Whether sides are parts of a whole, or a state before and one after.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sides {
    /// Parts: widths can be added, colours say what kind of code it is.
    Parts,
    /// Before and after: colours say what changed.
    BeforeAndAfter,
}

/// A page on its way.
pub struct Page {
    title: String,
    facts: Vec<String>,
    weight: Weight,
    meaning: Sides,
    group: &'static str,
    sides: Vec<PageSide>,
    graph: Graph,
}

impl Page {
    /// A page without samples.
    #[must_use]
    pub fn new(title: &str, weight: Weight, meaning: Sides) -> Page {
        let graph = Graph::default();
        Page {
            title: title.to_owned(),
            facts: Vec::new(),
            weight,
            meaning,
            group: "all",
            sides: Vec::new(),
            graph,
        }
    }

    /// Adds a few words to the line below the title.
    pub fn fact(&mut self, words: String) {
        self.facts.push(words);
    }

    /// Adds a side; its place is what samples of it are added with.
    pub fn side(&mut self, side: PageSide) -> usize {
        self.sides.push(side);
        self.sides.len() - 1
    }

    /// Adds the samples of a profile to a side, their weights times `factor`, which makes them what the page counts.
    pub fn add(&mut self, side: usize, profile: &Profile, process: Option<&str>, factor: f64) {
        self.graph.add(side, profile, process, factor);
    }

    /// Writes the page.
    pub fn write(mut self, to: &mut dyn Write) -> io::Result<()> {
        if self.graph.narrow(MOST_NODES) {
            self.fact("the narrowest frames are shown as a part of their callers".to_owned());
        }
        let mut sink = Sink::new(to);
        sink.raw(
            "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
             <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'; \
             script-src 'sha256-",
        );
        sink.raw(&base64(&Sha256::digest(SCRIPT)));
        sink.raw(
            "'; base-uri 'none'; form-action 'none'\">\n\
             <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
             <meta name=\"referrer\" content=\"no-referrer\">\n<title>",
        );
        sink.raw(&escaped(&self.title)).raw(" – drdotnet</title>\n<style>\n").raw(STYLE);
        sink.raw("</style>\n</head>\n<body>\n<header><h1>").raw(&escaped(&self.title)).raw("</h1>");
        for fact in &self.facts {
            sink.raw("<p class=\"facts\">").raw(&escaped(fact)).raw("</p>");
        }
        sink.raw("</header>\n").raw(BODY).raw("<script type=\"application/json\" id=\"data\">");
        self.data(&mut sink)?;
        sink.raw("</script>\n<script>").raw(SCRIPT).raw("</script>\n</body>\n</html>\n");
        sink.finish()
    }

    fn data(&self, sink: &mut Sink<'_>) -> io::Result<()> {
        let graph = &self.graph;
        sink.raw("{\"unit\":\"").raw(label::unit(self.weight)).raw("\",\"isDifference\":");
        sink.raw(if self.meaning == Sides::BeforeAndAfter { "true" } else { "false" });
        sink.raw(",\"group\":\"").raw(self.group).raw("\",\"sides\":[");
        let mut is_first = true;
        for side in &self.sides {
            sink.comma(&mut is_first).raw("{\"id\":").raw(&embedded(side.id));
            sink.raw(",\"title\":").raw(&embedded(side.title)).raw("}");
        }
        sink.raw("],\n\"processes\":[");
        is_first = true;
        for (id, name) in &graph.processes {
            sink.comma(&mut is_first).raw("[").number(*id).raw(",").raw(&maybe(name.as_deref())).raw("]");
        }
        sink.raw("],\n\"threads\":[");
        is_first = true;
        for (process, id, name) in &graph.threads {
            sink.comma(&mut is_first).raw("[").number(*process as u64).raw(",").number(*id);
            sink.raw(",").raw(&maybe(name.as_deref())).raw("]");
            sink.spill()?;
        }
        sink.raw("],\n\"texts\":[");
        is_first = true;
        for text in graph.texts() {
            sink.comma(&mut is_first).raw(&embedded(text));
            sink.spill()?;
        }
        sink.raw("],\n\"deepest\":").number(graph.deepest().into());
        sink.raw(",\"nodeCount\":").number(graph.node_count() as u64);
        for (name, packed) in [
            ("methods", graph.packed_methods()),
            ("nodes", graph.packed_nodes()),
            ("rows", graph.packed_rows()),
        ] {
            sink.raw(",\n\"").raw(name).raw("\":\"").raw(&packed).raw("\"");
            sink.spill()?;
        }
        sink.raw("}");
        Ok(())
    }
}

const BODY: &str = "<div id=\"controls\">\
<span class=\"choice\" id=\"side\"></span>\
<span class=\"choice\" id=\"group\"></span>\
<button id=\"reverse\" title=\"from the innermost frame to its callers (r)\">Callers</button>\
<button id=\"fold\" title=\"fold what is not your code into its first frame (f)\">Fold framework</button>\
<input id=\"search\" type=\"search\" placeholder=\"search (/)\" aria-label=\"search for methods or modules\" spellcheck=\"false\" autocomplete=\"off\">\
<output id=\"matches\"></output>\
<button id=\"reset\" title=\"everything, no search (Esc)\">Reset</button>\
</div>\n\
<nav id=\"path\" aria-label=\"where you are\"></nav>\n\
<div id=\"pane\"><div id=\"spacer\"></div><canvas id=\"picture\" tabindex=\"0\" role=\"img\" \
aria-label=\"flame graph; arrow keys move, Enter zooms\"></canvas></div>\n\
<div id=\"details\" aria-live=\"polite\"></div>\n\
<div id=\"legend\"></div>\n\
<details id=\"top\"><summary>Heaviest methods</summary>\
<table><thead><tr><th colspan=\"2\">Self</th><th colspan=\"2\">Total</th><th>Method</th></tr></thead><tbody id=\"rows\"></tbody></table></details>\n\
<div id=\"tip\" hidden></div>\n\
<noscript>This page draws a flame graph with its own script, which is switched off.</noscript>\n";

/// A text for the part of the page between tags.
fn escaped(text: &str) -> String {
    let mut escaped = String::new();
    for c in reports::printable_within(text, 500).chars() {
        match c {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\'' => escaped.push_str("&#39;"),
            c => escaped.push(c),
        }
    }
    escaped
}

/// A string of JSON inside a script element, which nothing in it can end.
fn embedded(text: &str) -> String {
    json_string(text).replace('<', "\\u003c").replace('>', "\\u003e").replace('&', "\\u0026")
}

fn maybe(text: Option<&str>) -> String {
    text.map_or("null".to_owned(), embedded)
}

/// The page of one profile.
pub(crate) fn write(profile: &Profile, grouping: Grouping, to: &mut dyn Write) -> io::Result<()> {
    let title = match profile.process {
        Some(process) => format!("{} of process {process}", profile.title),
        None => profile.title.clone(),
    };
    let mut page = Page::new(&title, profile.weight, Sides::Parts);
    if grouping == Grouping::PerThread {
        page.group = "thread";
    }
    let side = page.side(PageSide { id: "all", title: "All" });
    page.add(side, profile, None, 1.0);
    page.write(to)
}

/// The page of a recording, with all its sides and processes.
pub fn write_recording(recording: &Recording, to: &mut dyn Write) -> io::Result<()> {
    let weight = recording.profiles.first().map_or(Weight::Nanoseconds, |(_, profile)| profile.weight);
    let mut page = Page::new(&recording.name, weight, Sides::Parts);
    if recording.duration_ns > 0 {
        let length = model::format_duration(std::time::Duration::from_nanos(recording.duration_ns));
        let rate = recording.rate_hz.map_or(String::new(), |rate| format!(" at {rate} samples a second"));
        page.fact(format!("{length}{rate}"));
    }
    if let Some(started) = recording.started.and_then(|started| model::Timestamp::try_from(started).ok()) {
        page.fact(reports::value::format_time(started));
    }
    let mut sides = recording.sides();
    if sides.is_empty() {
        sides.push(stored_profiles::Side::OnCpu);
    }
    for side in sides {
        let place = page.side(PageSide { id: side.id(), title: side.title() });
        for profile in recording.of_side(side).filter(|profile| profile.weight == weight) {
            let name = profile.process.and_then(|pid| recording.process_name(pid));
            page.add(place, profile, name, 1.0);
        }
    }
    page.write(to)
}
