//! Replies, from bytes to types. None of these panics on any bytes.

use crate::wire::{Damage, Reader};
use crate::{Guid, HResult, SessionId};

/// First bytes of a runtime that calls a diagnostic port.
const ADVERTISE_MAGIC: &[u8; 8] = b"ADVR_V1\0";
/// Size of an advertise message.
pub(crate) const ADVERTISE_SIZE: usize = 34;

/// Which form of the process information a runtime has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ProcessInfoVersion {
    /// .NET 5: no assembly, no version.
    V1,
    /// .NET 6: with assembly and version.
    V2,
    /// .NET 8: with runtime identifier.
    V3,
}

/// What the runtime says about its process. The texts are the target's own words: hostile input.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProcessInfo {
    /// Pid as the process knows it, in its own namespace.
    pub pid: u64,
    /// Unique for this run of the runtime.
    pub cookie: Guid,
    /// Command line, arguments joined by spaces.
    pub command_line: String,
    /// Operating system, such as `Linux`.
    pub operating_system: String,
    /// Architecture, such as `x64`.
    pub architecture: String,
    /// Entry assembly without extension; may be missing while the runtime is suspended at its start.
    pub entry_assembly: Option<String>,
    /// Version of the runtime, with the commit on some, such as `9.0.7` or `8.0.30+abc`.
    pub runtime_version: Option<String>,
    /// Portable runtime identifier, such as `linux-x64`.
    pub runtime_identifier: Option<String>,
}

/// Reads a process information.
pub fn process_info(version: ProcessInfoVersion, payload: &[u8]) -> Result<ProcessInfo, Damage> {
    let mut reader = Reader::new(payload);
    let mut revision = 0;
    if version == ProcessInfoVersion::V3 {
        revision = reader.u32("version")?;
    }
    let mut info = ProcessInfo {
        pid: reader.u64("pid")?,
        cookie: reader.guid("cookie")?,
        command_line: reader.string("command line")?,
        operating_system: reader.string("operating system")?,
        architecture: reader.string("architecture")?,
        entry_assembly: None,
        runtime_version: None,
        runtime_identifier: None,
    };
    let not_empty = |text: String| (!text.is_empty()).then_some(text);
    if version >= ProcessInfoVersion::V2 {
        info.entry_assembly = not_empty(reader.string("entry assembly")?);
        info.runtime_version = not_empty(reader.string("runtime version")?);
    }
    if version == ProcessInfoVersion::V3 && revision >= 1 {
        info.runtime_identifier = not_empty(reader.string("runtime identifier")?);
    }
    Ok(info)
}

/// Reads the size of the environment that follows.
pub(crate) fn environment_size(payload: &[u8]) -> Result<u32, Damage> {
    let mut reader = Reader::new(payload);
    let size = reader.u32("size of the environment")?;
    reader.u16("reserved")?;
    Ok(size)
}

/// Reads the environment, `NAME=value` each. An entry without `=` is kept with an empty value.
pub fn environment(bytes: &[u8]) -> Result<Vec<(String, String)>, Damage> {
    let mut reader = Reader::new(bytes);
    let count = reader.u32("number of variables")?;
    let mut variables = Vec::new();
    for _ in 0..count {
        let entry = reader.string("variable")?;
        if entry.is_empty() {
            // Four bytes on the wire, dozens in memory: no environment has empty entries.
            continue;
        }
        variables.push(match entry.split_once('=') {
            Some((name, value)) => (name.to_owned(), value.to_owned()),
            None => (entry, String::new()),
        });
    }
    Ok(variables)
}

/// Reads the id of a tracing session.
pub fn session_id(payload: &[u8]) -> Result<SessionId, Damage> {
    Reader::new(payload).u64("session id").map(SessionId)
}

/// Reads a result code. An empty payload is success: some commands answer without one.
pub fn status(payload: &[u8]) -> Result<HResult, Damage> {
    if payload.is_empty() {
        return Ok(HResult::S_OK);
    }
    Reader::new(payload).u32("result code").map(|code| HResult(code.cast_signed()))
}

/// Reads an error: a code and, for some commands, a text.
pub fn error_reply(payload: &[u8]) -> Result<(HResult, Option<String>), Damage> {
    let mut reader = Reader::new(payload);
    let code = HResult(reader.u32("error code")?.cast_signed());
    let detail = reader.string("error text").ok().filter(|text| !text.is_empty());
    Ok((code, detail))
}

/// What a runtime says first when it calls a diagnostic port.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Advertise {
    /// Unique for this run of the runtime; pids repeat over namespaces.
    pub cookie: Guid,
    /// Pid as the process knows it.
    pub pid: u64,
}

/// Reads the first message of a runtime that calls a diagnostic port.
pub fn advertise(bytes: &[u8]) -> Result<Advertise, Damage> {
    let mut reader = Reader::new(bytes);
    if reader.array::<8>("magic")? != *ADVERTISE_MAGIC {
        return Err(Damage { problem: "not a runtime's advertise message", offset: 0 });
    }
    let advertise = Advertise { cookie: reader.guid("cookie")?, pid: reader.u64("pid")? };
    reader.u16("reserved")?;
    Ok(advertise)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::Writer;
    use proptest::prelude::*;

    fn process_info_bytes(revision: u32) -> Vec<u8> {
        let mut writer = Writer::default();
        writer.u32(revision).u64(42).guid(Guid(7)).string("dotnet App.dll").string("Linux").string("x64");
        writer.string("App").string("9.0.7");
        if revision >= 1 {
            writer.string("linux-x64");
        }
        writer.bytes
    }

    #[test]
    fn the_third_form_is_read_with_and_without_identifier() {
        let info = process_info(ProcessInfoVersion::V3, &process_info_bytes(1)).unwrap();
        assert_eq!((info.pid, info.cookie), (42, Guid(7)));
        assert_eq!(info.entry_assembly.as_deref(), Some("App"));
        assert_eq!(info.runtime_identifier.as_deref(), Some("linux-x64"));
        let older = process_info(ProcessInfoVersion::V3, &process_info_bytes(0)).unwrap();
        assert_eq!(older.runtime_identifier, None);
    }

    #[test]
    fn a_cut_reply_names_the_field() {
        let bytes = process_info_bytes(1);
        let damage = process_info(ProcessInfoVersion::V3, &bytes[..30]).unwrap_err();
        assert_eq!(damage, Damage { problem: "command line", offset: 28 });
    }

    #[test]
    fn an_error_may_carry_a_text() {
        let mut writer = Writer::default();
        writer.u32(0x8000_4005).string("no space");
        assert_eq!(error_reply(&writer.bytes), Ok((HResult::E_FAIL, Some("no space".into()))));
        assert_eq!(error_reply(&writer.bytes[..4]), Ok((HResult::E_FAIL, None)));
    }

    #[test]
    fn an_advertise_is_read() {
        let mut bytes = b"ADVR_V1\0".to_vec();
        bytes.extend_from_slice(&Guid(9).to_wire());
        bytes.extend_from_slice(&77u64.to_le_bytes());
        bytes.extend_from_slice(&[0, 0]);
        assert_eq!(bytes.len(), ADVERTISE_SIZE);
        assert_eq!(advertise(&bytes), Ok(Advertise { cookie: Guid(9), pid: 77 }));
        assert!(advertise(&bytes[..33]).is_err());
    }

    proptest! {
        #[test]
        fn any_bytes_are_read_or_refused(bytes: Vec<u8>) {
            for version in [ProcessInfoVersion::V1, ProcessInfoVersion::V2, ProcessInfoVersion::V3] {
                let _ = process_info(version, &bytes);
            }
            let _ = (environment(&bytes), session_id(&bytes), status(&bytes), error_reply(&bytes), advertise(&bytes));
        }

        #[test]
        fn a_cut_reply_is_refused(cut in 0usize..100) {
            let bytes = process_info_bytes(1);
            prop_assume!(cut < bytes.len());
            prop_assert!(process_info(ProcessInfoVersion::V3, &bytes[..cut]).is_err());
        }
    }
}
