//! What one event of the bridge says.

use event_session::Seen;
use facts::CallsKind;
use model::TargetText;

use super::libraries::{ACTIVITY_SOURCES, BRIDGE, LIBRARIES};

/// Source, name, pairs. The numbers of the bridge's events change with the order in which they first come.
const EVENT: &str = "Event";
/// The same of an activity that begins.
const ACTIVITY_START: &str = "ActivityStart";
/// The same of one that ends.
const ACTIVITY_STOP: &str = "ActivityStop";
/// Pairs that an event may have; ours have five.
const MAX_PAIRS: u16 = 64;
/// The id of a call that began before anybody listened.
const NO_ID: &str = "00000000-0000-0000-0000-000000000000";

/// Statuses of HTTP that are the other side's fault, or its way to say that it has too much to do. They come by name.
const FAILURES: &[&str] = &[
    "TooManyRequests",
    "InternalServerError",
    "NotImplemented",
    "BadGateway",
    "ServiceUnavailable",
    "GatewayTimeout",
    "HttpVersionNotSupported",
    "VariantAlsoNegotiates",
    "InsufficientStorage",
    "LoopDetected",
    "NotExtended",
    "NetworkAuthenticationRequired",
];

/// Whether a call begins or ends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Edge {
    /// It begins.
    Begin,
    /// It ended, and how, if it failed.
    End(Option<String>),
    /// An exception of some call, which has its end, too.
    Complaint,
}

/// To whom a call goes and what it asks for.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Whom {
    /// Host and port, or the database and its server.
    pub(crate) place: TargetText,
    /// The path without its query, or the statement.
    pub(crate) what: TargetText,
}

/// What one event says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct CallEvent {
    pub(crate) kind: CallsKind,
    /// Which library says so, by its place in the tables.
    pub(crate) library: usize,
    /// Which call.
    pub(crate) id: String,
    pub(crate) edge: Edge,
    pub(crate) whom: Whom,
    /// What an exception says.
    pub(crate) message: TargetText,
}

/// Reads an event, if it is one of the bridge's about a call.
pub(crate) fn read(seen: &Seen<'_>) -> Option<CallEvent> {
    let metadata = seen.event.metadata;
    if metadata.provider != BRIDGE {
        return None;
    }
    let mut fields = seen.event.reader();
    let source = fields.utf16().ok()?;
    let name = fields.utf16().ok()?;
    let mut pairs = Vec::new();
    for _ in 0..fields.u16().ok()?.min(MAX_PAIRS) {
        pairs.push((fields.utf16().ok()?.to_string(), fields.utf16().ok()?.to_string()));
    }
    let (source, name) = (source.to_string(), name.to_string());
    let pairs = Pairs(&pairs);
    match metadata.name.as_str() {
        EVENT => of_library(&source, &name, &pairs),
        ACTIVITY_START => of_activity(&source, Edge::Begin, &pairs),
        ACTIVITY_STOP => {
            let failed = (pairs.of("Outcome") == "Error").then(|| "error".to_owned());
            of_activity(&source, Edge::End(failed), &pairs)
        }
        _ => None,
    }
}

struct Pairs<'a>(&'a [(String, String)]);

impl<'a> Pairs<'a> {
    fn of(&self, name: &str) -> &'a str {
        self.0.iter().find(|(known, _)| known == name).map_or("", |(_, value)| value)
    }
}

fn of_library(source: &str, name: &str, pairs: &Pairs<'_>) -> Option<CallEvent> {
    let id = pairs.of("Id");
    let is_of = |known: &str, events: &[&str]| known == source && events.contains(&name);
    let library = LIBRARIES.iter().position(|library| {
        is_of(library.source, &[library.begin, library.end])
            || is_of(library.source, library.errors)
            || is_of(library.source, library.complaint.as_slice())
    })?;
    let known = LIBRARIES.get(library)?;
    if id.is_empty() || id == NO_ID {
        return None;
    }
    let edge = match name {
        name if name == known.begin => Edge::Begin,
        name if name == known.end => Edge::End(failure(pairs)),
        name if Some(name) == known.complaint => Edge::Complaint,
        // `...CommandError`, `...CommandCanceled`.
        _ => Edge::End(Some(if name.ends_with("Canceled") { "cancelled" } else { "error" }.to_owned())),
    };
    let whom = match known.kind {
        CallsKind::Http => address(pairs.of("Place")),
        CallsKind::Database => database(pairs.of("Database"), pairs.of("Place"), pairs.of("Text")),
    };
    let message = TargetText::new(pairs.of("Message"));
    Some(CallEvent { kind: known.kind, library, id: id.to_owned(), edge, whom, message })
}

/// How an HTTP call failed, if it did.
fn failure(pairs: &Pairs<'_>) -> Option<String> {
    let (status, outcome) = (pairs.of("Status"), pairs.of("Outcome"));
    match outcome {
        "Faulted" => return Some("no answer".to_owned()),
        "Canceled" => return Some("timed out or cancelled".to_owned()),
        _ => {}
    }
    // A status without a name comes as its number.
    let is_failure = FAILURES.contains(&status) || status.parse().is_ok_and(|code: u32| code >= 500);
    is_failure.then(|| status.to_owned())
}

fn of_activity(source: &str, edge: Edge, pairs: &Pairs<'_>) -> Option<CallEvent> {
    let number = ACTIVITY_SOURCES.iter().position(|known| *known == source)?;
    let tags = pairs.of("Tags");
    let tag = |names: &[&str]| names.iter().find_map(|name| tag(tags, name)).unwrap_or_default();
    // Names of the older and of the newer convention.
    let whom = database(
        tag(&["db.namespace", "db.name"]),
        tag(&["server.address", "net.peer.name", "net.peer.ip"]),
        tag(&["db.query.text", "db.statement"]),
    );
    let id = Some(pairs.of("Id")).filter(|id| !id.is_empty())?.to_owned();
    let library = LIBRARIES.len() + number;
    Some(CallEvent { kind: CallsKind::Database, library, id, edge, whom, message: TargetText::default() })
}

/// The value of a tag in `[name, value],[name, value]`. A value with the mark of the next tag in it is cut there.
fn tag<'a>(tags: &'a str, name: &str) -> Option<&'a str> {
    let rest = tags.split_once(&format!("[{name}, "))?.1;
    Some(rest.split_once("],[").map_or_else(|| rest.trim_end_matches(']'), |(value, _)| value))
}

/// Host and path of an address, without name and password before and the query behind.
fn address(text: &str) -> Whom {
    let rest = text.split_once("://").map_or(text, |(_, rest)| rest);
    let rest = rest.split(['?', '#']).next().unwrap_or_default();
    let (authority, path) = rest.find('/').map_or((rest, "/"), |at| rest.split_at(at));
    let host = authority.rsplit('@').next().unwrap_or_default();
    Whom { place: TargetText::new(host), what: TargetText::new(path) }
}

fn database(name: &str, server: &str, text: &str) -> Whom {
    let place = match (name, server) {
        ("", server) => server.to_owned(),
        (name, "") => name.to_owned(),
        (name, server) => format!("{name} on {server}"),
    };
    // A statement over many lines is one line in a report.
    let text: Vec<&str> = text.split_ascii_whitespace().collect();
    Whom { place: TargetText::new(&place), what: TargetText::new(&text.join(" ")) }
}

#[cfg(test)]
mod tests {
    use model::Redaction;

    use super::*;

    fn shown(whom: &Whom) -> (String, String) {
        (whom.place.shown(Redaction::Off), whom.what.shown(Redaction::Off))
    }

    #[test]
    fn addresses_lose_what_may_be_secret() {
        let words = |one: &str, two: &str| (one.to_owned(), two.to_owned());
        let of = |text: &str| shown(&address(text));
        assert_eq!(of("http://me:pw@shop:81/a/b?key=1#x"), words("shop:81", "/a/b"));
        assert_eq!(of("https://shop"), words("shop", "/"));
        assert_eq!(of("https://shop?x=/y"), words("shop", "/"));
        assert_eq!(of("quote"), words("quote", "/"));
    }

    #[test]
    fn tags_are_taken_apart() {
        let tags = "[db.system, postgresql],[db.name, shop],[db.statement, select a, b from [c]]";
        assert_eq!(tag(tags, "db.name"), Some("shop"));
        assert_eq!(tag(tags, "db.statement"), Some("select a, b from [c"));
        assert_eq!(tag(tags, "server.address"), None);
    }

    #[test]
    fn both_ends_of_a_call_are_known() {
        let pairs = |pairs: &[(&str, &str)]| -> Vec<(String, String)> {
            pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
        };
        let begin = pairs(&[("Id", "1"), ("Place", "db1"), ("Database", "shop"), ("Text", "select\n  1")]);
        let source = "SqlClientDiagnosticListener";
        let begun =
            of_library(source, "Microsoft.Data.SqlClient.WriteCommandBefore", &Pairs(&begin)).unwrap();
        assert_eq!(begun.edge, Edge::Begin);
        assert_eq!(shown(&begun.whom), ("shop on db1".to_owned(), "select 1".to_owned()));
        let failed = of_library(source, "System.Data.SqlClient.WriteCommandError", &Pairs(&begin)).unwrap();
        assert_eq!(failed.edge, Edge::End(Some("error".to_owned())));
        let end = pairs(&[("Id", "1"), ("Status", "ServiceUnavailable"), ("Outcome", "RanToCompletion")]);
        let http = "HttpHandlerDiagnosticListener";
        let ended = of_library(http, "System.Net.Http.Response", &Pairs(&end)).unwrap();
        assert_eq!(ended.edge, Edge::End(Some("ServiceUnavailable".to_owned())));
        let before = pairs(&[("Id", NO_ID)]);
        assert_eq!(of_library(http, "System.Net.Http.Response", &Pairs(&before)), None);
        assert_eq!(of_library("Other", "System.Net.Http.Response", &Pairs(&end)), None);
    }
}
