//! Symbols that did not come.

use std::path::Path;

use discovery::DotnetProcess;
use native_symbols::SymbolError;
use symbol_server::{FetchError, Problem, Server, Try};

use super::Failure;
use crate::commands::SymbolState;
use crate::exit_code::Code;
use crate::output::not_written;

/// Why the libraries of a process cannot be listed.
pub fn no_libraries(error: SymbolError, process: &DotnetProcess) -> Failure {
    let who = format!("{} ({})", process.pid, process.name);
    match error {
        SymbolError::Io { source, .. } if source.kind() == std::io::ErrorKind::PermissionDenied => {
            Failure::new(Code::Forbidden, format!("the libraries of process {who} cannot be seen"))
                .why("only its user, and root with the right CAP_SYS_PTRACE, may read its /proc/PID/maps")
                .next("run this as that user or as root; in a container: --cap-add SYS_PTRACE")
        }
        SymbolError::Io { source, .. } if source.kind() == std::io::ErrorKind::NotFound => {
            Failure::new(Code::TargetEnded, format!("process {who} ended in the middle"))
                .next("drdotnet ps   lists the processes that are there now")
        }
        other => Failure::new(Code::Unexpected, format!("the libraries of process {who}: {other}")),
    }
}

/// Why nothing can be fetched.
pub fn no_fetch(error: FetchError) -> Failure {
    let what = error.to_string();
    match error {
        FetchError::Address { .. } => Failure::new(Code::BadParameter, what)
            .why("it stands in DRDOTNET_SYMBOL_SERVERS, where addresses have spaces between them")
            .next("correct or unset the variable, or name a server with --server URL"),
        FetchError::Certificates { .. } => Failure::new(Code::BadParameter, what).next(
            "let it name a file of certificates in PEM form, or unset it to trust the usual authorities",
        ),
        FetchError::Cache { path, source } => not_written(&path, &source).instead(
            "choose another place with --cache DIR, or set DRDOTNET_SYMBOL_CACHE=DIR for all commands",
        ),
        FetchError::Interrupted => {
            Failure::new(Code::Cancelled, what).why("files that had come whole are kept")
        }
        other => Failure::new(Code::Unexpected, other.to_string()),
    }
}

/// The failure that a search amounts to: none if anything of it came, now or before. Part of the libraries is success:
/// no server has them all.
pub fn nothing_came(states: &[&SymbolState], servers: &[Server], folder: &Path) -> Result<(), Failure> {
    let has = |wanted: fn(&SymbolState) -> bool| states.iter().any(|state| wanted(state));
    let any_came = has(|state| matches!(state, SymbolState::Fetched(_) | SymbolState::Cached(_)));
    if any_came || !has(|state| matches!(state, SymbolState::Missing { .. })) {
        return Ok(());
    }
    let tries: Vec<&Try> = states
        .iter()
        .filter_map(|state| match state {
            SymbolState::Missing { tries } => Some(tries),
            _ => None,
        })
        .flatten()
        .collect();
    let first = |is: fn(&Problem) -> bool| tries.iter().find(|one| is(&one.problem));
    let go_on = "profiles work all the same, with library+offset instead of names";
    if tries.iter().all(|one| one.problem.is_unreachable()) {
        let failure = Failure::new(Code::NoSymbolServer, "no symbols came: no server could be reached");
        let failure = match first(|_| true) {
            Some(one) => failure
                .why(format!("{}: {}", one.server, one.problem))
                .next("behind a proxy: HTTPS_PROXY=http://HOST:PORT; with a certificate authority of your own: SSL_CERT_FILE=FILE"),
            None => failure.why("DRDOTNET_SYMBOL_SERVERS is set, and names none").next("--server URL   asks one"),
        };
        let by_hand = "download the files above on a machine with a network and put them into";
        return Err(failure.next(format!("{by_hand} {}", folder.display())).next(go_on));
    }
    if let Some(one) = first(|problem| !problem.is_unreachable() && *problem != Problem::NotThere) {
        return Err(Failure::new(
            Code::BadSymbols,
            "no symbols came: what servers answered could not be used",
        )
        .why(format!("{}: {}", one.address, one.problem))
        .next("try again later, or ask another one with --server URL")
        .next(go_on));
    }
    let asked: Vec<String> = servers.iter().map(Server::to_string).collect();
    Err(Failure::new(Code::NoSymbols, "no symbols came: no server has them")
        .why(format!("asked: {}", asked.join(", ")))
        .next("a runtime that your distribution built: install its debug package, or --server URL of its debuginfod")
        .next("a runtime of your own: put libcoreclr.so.dbg and the like beside its libraries")
        .next(go_on))
}
