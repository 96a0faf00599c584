//! What the agent is given when it is loaded: the client data of `AttachProfiler`, and the class that is asked for.

use std::fmt;
use std::time::Duration;

use crate::VERSION;
use crate::bytes::{Damage, Reader, Writer};

/// First bytes of the client data.
const MAGIC: [u8; 4] = *b"DrAt";
/// The class of the agent, without a fault.
const CLASS: u128 = 0x6B0E_5C0F_3A1D_4E57_9C42_D0C7_0A9E_4700;

/// A secret for one attach, of two halves: the agent shows the first, the host answers with the second.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Token {
    /// What the agent shows.
    pub agent: [u8; 16],
    /// What the host shows.
    pub host: [u8; 16],
}

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Token(..)")
    }
}

/// Orders for the agent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Attach {
    /// The secret.
    pub token: Token,
    /// How long it may stay, at most.
    pub stay: Duration,
    /// The host's socket, as the target sees it.
    pub socket: String,
}

impl Attach {
    /// As client data.
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        let mut writer = Writer::default();
        let stay = u32::try_from(self.stay.as_millis()).unwrap_or(u32::MAX);
        writer
            .raw(&MAGIC)
            .u16(VERSION)
            .u32(stay)
            .raw(&self.token.agent)
            .raw(&self.token.host)
            .text(&self.socket);
        writer.bytes
    }

    /// From client data.
    pub fn decode(bytes: &[u8]) -> Result<Attach, Damage> {
        let mut reader = Reader::new(bytes);
        if reader.array("magic")? != MAGIC {
            return Err(reader.damage("magic"));
        }
        if reader.u16("version")? != VERSION {
            return Err(reader.damage("another version"));
        }
        let stay = Duration::from_millis(reader.u32("stay")?.into());
        let token = Token { agent: reader.array("token")?, host: reader.array("token")? };
        let socket = reader.text("socket")?;
        reader.end()?;
        Ok(Attach { token, stay, socket })
    }
}

/// A place in the agent that fails on demand, to prove that the target does not mind. It costs whoever attaches their
/// answer and nobody anything else.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Fault {
    /// When the library is asked for the class.
    GetClassObject = 1,
    /// When the profiler is made.
    Create,
    /// When the runtime asks whether notifications are enough.
    NotificationOnly,
    /// When it is initialised.
    Initialize,
    /// When it is attached.
    AttachComplete,
    /// In its thread, before a word is said.
    Thread,
    /// While an answer is made.
    Answer,
    /// While the runtime is suspended.
    Suspended,
    /// When it is detached.
    DetachSucceeded,
    /// When the process ends.
    Shutdown,
    /// When its last reference is given back.
    Release,
    /// While a frame of a stack is looked at.
    Frame,
    /// When the runtime tells that it stops all threads.
    Suspending,
    /// When it says farewell.
    Leaving,
    /// While an object of the heap is looked at.
    Object,
}

impl Fault {
    /// All of them.
    pub const ALL: [Fault; 15] = [
        Fault::GetClassObject,
        Fault::Create,
        Fault::NotificationOnly,
        Fault::Initialize,
        Fault::AttachComplete,
        Fault::Thread,
        Fault::Answer,
        Fault::Suspended,
        Fault::DetachSucceeded,
        Fault::Shutdown,
        Fault::Release,
        Fault::Frame,
        Fault::Suspending,
        Fault::Leaving,
        Fault::Object,
    ];

    /// The class that this number names: `None` is no class of ours, `Some(None)` the agent as it should be.
    #[must_use]
    pub fn of_class(number: u128) -> Option<Option<Fault>> {
        let code = number.checked_sub(CLASS)?;
        if code == 0 {
            return Some(None);
        }
        Fault::ALL.into_iter().find(|&fault| u128::from(fault as u8) == code).map(Some)
    }
}

/// The class to ask for, as the number that its id is written as.
#[must_use]
pub fn class_id(fault: Option<Fault>) -> u128 {
    CLASS + fault.map_or(0, |fault| u128::from(fault as u8))
}
