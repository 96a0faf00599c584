//! The header before every payload.
//!
//! ```text
//! 0              14     16    17    18       20
//! | DOTNET_IPC_V1\0 | size | set | id | reserved | payload (size - 20 bytes)
//! ```

use crate::wire::Damage;
use crate::{Command, IpcError};

/// Size of the header.
pub const HEADER_SIZE: usize = 20;
/// Largest payload: the size field has 16 bits and counts the header.
pub const MAX_PAYLOAD: usize = u16::MAX as usize - HEADER_SIZE;

const MAGIC: &[u8; 14] = b"DOTNET_IPC_V1\0";
/// The command set of replies.
const REPLY_SET: u8 = 0xFF;

/// Whether a reply says yes or no.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReplyKind {
    /// The payload is the answer.
    Ok,
    /// The payload is an error code.
    Error,
}

/// The header of a reply.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    /// Yes or no.
    pub kind: ReplyKind,
    /// Bytes that follow.
    pub payload: usize,
}

impl Header {
    /// Reads the header of a reply.
    pub fn parse(bytes: &[u8; HEADER_SIZE]) -> Result<Header, Damage> {
        if !bytes.starts_with(MAGIC) {
            return Err(Damage { problem: "not the diagnostics protocol", offset: 0 });
        }
        let size = usize::from(u16::from_le_bytes([bytes[14], bytes[15]]));
        let payload = size.checked_sub(HEADER_SIZE).ok_or(Damage { problem: "size", offset: 14 })?;
        let kind = match (bytes[16], bytes[17]) {
            (REPLY_SET, 0x00) => ReplyKind::Ok,
            (REPLY_SET, 0xFF) => ReplyKind::Error,
            _ => return Err(Damage { problem: "neither an answer nor an error", offset: 16 }),
        };
        Ok(Header { kind, payload })
    }
}

/// A whole request.
pub(crate) fn request(command: Command, payload: &[u8]) -> Result<Vec<u8>, IpcError> {
    let too_large = IpcError::TooLarge { command, size: payload.len() };
    let size = u16::try_from(HEADER_SIZE + payload.len()).map_err(|_| too_large)?;
    let (set, id) = command.code();
    let mut bytes = Vec::with_capacity(usize::from(size));
    bytes.extend_from_slice(MAGIC);
    bytes.extend_from_slice(&size.to_le_bytes());
    bytes.extend_from_slice(&[set, id, 0, 0]);
    bytes.extend_from_slice(payload);
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_request_has_the_documented_bytes() {
        let bytes = request(Command::ProcessInfo2, &[]).unwrap();
        assert_eq!(bytes, b"DOTNET_IPC_V1\0\x14\x00\x04\x04\x00\x00");
    }

    #[test]
    fn a_payload_beyond_the_limit_is_refused() {
        assert!(request(Command::AttachProfiler, &vec![0; MAX_PAYLOAD]).is_ok());
        let error = request(Command::AttachProfiler, &vec![0; MAX_PAYLOAD + 1]).unwrap_err();
        assert!(matches!(error, IpcError::TooLarge { size: 65516, .. }));
    }

    proptest! {
        #[test]
        fn any_header_is_read_or_refused(bytes: [u8; HEADER_SIZE]) {
            if let Ok(header) = Header::parse(&bytes) {
                prop_assert!(header.payload <= MAX_PAYLOAD);
            }
        }
    }
}
