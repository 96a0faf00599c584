//! Servers, and where on them a file lies.

use std::fmt;

use native_symbols::BuildId;

use crate::FetchError;

/// Microsoft's public server, which has the debug files of every .NET that Microsoft builds.
pub const PUBLIC_SERVER: &str = "https://msdl.microsoft.com/download/symbols";

/// Longest address that is taken.
const LONGEST_ADDRESS: usize = 2048;
/// Bytes of a build id in the keys of symbol servers; shorter ones are filled up with zeros.
const KEY_BYTES: usize = 20;

/// Bytes of a build id, from a checksum to the longest hash.
const BUILD_ID_BYTES: std::ops::RangeInclusive<usize> = 4..=64;

/// A library whose debug file is wanted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wanted {
    /// The name of its file, without folders.
    pub name: String,
    /// Which build it is.
    pub build_id: BuildId,
}

impl Wanted {
    /// The library with this file name and build id; none if no linker writes such an id, which names a file here.
    #[must_use]
    pub fn new(name: &str, build_id: &BuildId) -> Option<Wanted> {
        let is_sound = BUILD_ID_BYTES.contains(&build_id.0.len());
        is_sound.then(|| Wanted { name: name.to_owned(), build_id: build_id.clone() })
    }
}

/// How files are laid out on a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Layout {
    /// A symbol server that holds debug files apart from libraries.
    DebugFiles,
    /// debuginfod.
    Debuginfod,
    /// Not known. Symbol servers also hold libraries that were never stripped, under a key with their name.
    Any,
}

/// A server.
#[derive(Clone, PartialEq, Eq)]
pub struct Server {
    base: String,
    layout: Layout,
}

impl Server {
    /// A server of either kind, as a user names it.
    pub fn parse(text: &str) -> Result<Server, FetchError> {
        Server::with(text, Layout::Any)
    }

    fn with(text: &str, layout: Layout) -> Result<Server, FetchError> {
        let text = text.trim();
        let wrong = |problem| FetchError::Address { text: hidden(text), problem };
        let rest = ["https://", "http://"].iter().find_map(|scheme| text.strip_prefix(scheme));
        let rest = rest.ok_or_else(|| wrong("it must begin with https:// or http://"))?;
        let host = rest.split('/').next().unwrap_or_default();
        if host.rsplit('@').next().is_none_or(str::is_empty) {
            return Err(wrong("it has no host"));
        }
        if text.contains(['?', '#']) {
            return Err(wrong("'?' and '#' have no place in it: files are looked for below it"));
        }
        if text.len() > LONGEST_ADDRESS || !text.bytes().all(|byte| byte.is_ascii_graphic()) {
            return Err(wrong("it is too long, or has characters that no address has"));
        }
        Ok(Server { base: text.trim_end_matches('/').to_owned(), layout })
    }

    /// Where the debug file of a library may be, likeliest first.
    pub(crate) fn addresses(&self, wanted: &Wanted) -> Vec<String> {
        let id = &wanted.build_id;
        let key = key(id);
        let debug_file = format!("{}/_.debug/elf-buildid-sym-{key}/_.debug", self.base);
        let debuginfod = format!("{}/buildid/{id}/debuginfo", self.base);
        match self.layout {
            Layout::DebugFiles => vec![debug_file],
            Layout::Debuginfod => vec![debuginfod],
            Layout::Any => {
                let name = encoded(&wanted.name.to_lowercase());
                let library = format!("{}/{name}/elf-buildid-{key}/{name}", self.base);
                vec![debug_file, debuginfod, library]
            }
        }
    }

    /// The addresses to try by hand.
    #[must_use]
    pub fn shown_addresses(&self, wanted: &Wanted) -> Vec<String> {
        self.addresses(wanted).iter().map(|address| hidden(address)).collect()
    }

    /// Whether what it says is encrypted.
    pub(crate) fn is_encrypted(&self) -> bool {
        self.base.starts_with("https://")
    }
}

impl fmt::Display for Server {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&hidden(&self.base))
    }
}

// Not derived: an address may hold a password.
impl fmt::Debug for Server {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Server({self}, {:?})", self.layout)
    }
}

/// The servers to ask: those that are named; or those of `DRDOTNET_SYMBOL_SERVERS`, else the public one, and those of
/// `DEBUGINFOD_URLS`. In variables, addresses stand apart by spaces.
pub fn chosen_servers(
    named: &[Server],
    variable: impl Fn(&str) -> Option<String>,
) -> Result<Vec<Server>, FetchError> {
    if !named.is_empty() {
        return Ok(named.to_vec());
    }
    let mut servers = match variable("DRDOTNET_SYMBOL_SERVERS") {
        Some(list) => list.split_whitespace().map(Server::parse).collect::<Result<Vec<_>, _>>()?,
        None => vec![Server::with(PUBLIC_SERVER, Layout::DebugFiles)?],
    };
    // This one is made for other tools, and may hold what only they understand (file://, ima:enforcing).
    let list = variable("DEBUGINFOD_URLS").unwrap_or_default();
    servers.extend(list.split_whitespace().filter_map(|text| Server::with(text, Layout::Debuginfod).ok()));
    Ok(servers)
}

/// A build id as symbol servers write it.
fn key(id: &BuildId) -> String {
    let mut bytes = id.0.clone();
    bytes.resize(bytes.len().max(KEY_BYTES), 0);
    BuildId(bytes).to_string()
}

/// A name as a part of an address.
fn encoded(name: &str) -> String {
    let mut text = String::new();
    for byte in name.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'.' | b'_' | b'-' | b'~' => {
                text.push(char::from(byte))
            }
            other => text += &format!("%{other:02X}"),
        }
    }
    text
}

/// An address without the user and password in it.
fn hidden(address: &str) -> String {
    let Some((scheme, rest)) = address.split_once("://") else { return address.to_owned() };
    let host_ends = rest.find('/').unwrap_or(rest.len());
    match rest[..host_ends].rfind('@') {
        Some(at) => format!("{scheme}://***{}", &rest[at..]),
        None => address.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wanted(id: &[u8]) -> Wanted {
        Wanted { name: "libA B.so".to_owned(), build_id: BuildId(id.to_owned()) }
    }

    #[test]
    fn keys_are_those_that_servers_use() {
        let id = [
            0x18, 0x0a, 0x37, 0x3d, 0x6a, 0xfb, 0xab, 0xf0, 0xeb, 0x1f, 0x09, 0xbe, 0x1b, 0xc4, 0x5b, 0xd7,
            0x96, 0xa7, 0x10, 0x85,
        ];
        let full = "180a373d6afbabf0eb1f09be1bc45bd796a71085";
        let public = chosen_servers(&[], |_| None).unwrap();
        assert_eq!(
            public[0].addresses(&wanted(&id)),
            [format!("{PUBLIC_SERVER}/_.debug/elf-buildid-sym-{full}/_.debug")]
        );
        // A shorter id is filled up, but not for debuginfod.
        let short = "180a373d6afbabf0eb1f09be1bc45bd700000000";
        assert_eq!(
            Server::parse("http://a:8080/s/").unwrap().addresses(&wanted(&id[..16])),
            [
                format!("http://a:8080/s/_.debug/elf-buildid-sym-{short}/_.debug"),
                format!("http://a:8080/s/buildid/{}/debuginfo", &short[..32]),
                format!("http://a:8080/s/liba%20b.so/elf-buildid-{short}/liba%20b.so"),
            ]
        );
    }

    #[test]
    fn an_id_that_cannot_be_a_name_is_not_wanted() {
        for (bytes, sound) in [(0, false), (3, false), (8, true), (20, true), (64, true), (5000, false)] {
            assert_eq!(Wanted::new("a.so", &BuildId(vec![1; bytes])).is_some(), sound, "{bytes}");
        }
    }

    #[test]
    fn addresses_that_are_none_are_refused() {
        for (text, part) in [
            ("msdl.microsoft.com", "https://"),
            ("ftp://a/b", "https://"),
            ("https://", "no host"),
            ("https://u:p@/x", "no host"),
            ("https://a/b?sig=1", "'?'"),
            ("https://a/b c", "characters"),
            ("https://a/\u{1b}", "characters"),
        ] {
            let error = Server::parse(text).unwrap_err().to_string();
            assert!(error.contains(part), "{error}");
        }
    }

    #[test]
    fn a_password_is_not_shown() {
        let server = Server::parse("https://me:secret@host/a@b").unwrap();
        assert_eq!(server.to_string(), "https://***@host/a@b");
        assert!(!format!("{server:?}").contains("secret"));
        assert!(server.addresses(&wanted(&[1; 20]))[0].contains("secret"), "it is needed for asking");
        assert!(!server.shown_addresses(&wanted(&[1; 20])).concat().contains("secret"));
        assert!(!Server::parse("https://me:secret@host/?x").unwrap_err().to_string().contains("secret"));
    }

    #[test]
    fn servers_come_from_options_then_variables_then_the_public_one() {
        let variables = |name: &str| match name {
            "DRDOTNET_SYMBOL_SERVERS" => Some("http://one http://two/x".to_owned()),
            "DEBUGINFOD_URLS" => Some("https://debuginfod.example/ ima:enforcing file:///x".to_owned()),
            _ => None,
        };
        let shown = |servers: &[Server]| servers.iter().map(Server::to_string).collect::<Vec<_>>();
        let all = chosen_servers(&[], variables).unwrap();
        assert_eq!(shown(&all), ["http://one", "http://two/x", "https://debuginfod.example"]);
        let debuginfod = all[2].addresses(&wanted(&[7; 20]));
        assert_eq!(debuginfod, [format!("https://debuginfod.example/buildid/{}/debuginfo", "07".repeat(20))]);
        let named = [Server::parse("http://named").unwrap()];
        assert_eq!(shown(&chosen_servers(&named, variables).unwrap()), ["http://named"]);
        assert_eq!(shown(&chosen_servers(&[], |_| None).unwrap()), [PUBLIC_SERVER]);
        let none = |name: &str| (name == "DRDOTNET_SYMBOL_SERVERS").then(String::new);
        assert!(chosen_servers(&[], none).unwrap().is_empty(), "set to nothing, nobody is asked");
        let bad = |name: &str| (name == "DRDOTNET_SYMBOL_SERVERS").then(|| "nonsense".to_owned());
        assert!(chosen_servers(&[], bad).is_err());
    }
}
