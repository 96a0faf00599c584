//! What is known of a method.

use facts::module_name;
use model::{Frame, FrameKind};
use nettrace::{CodeAddress, Guid};
use runtime_events::jit::Tier;
use runtime_events::{MetadataToken, MethodId, ModuleId};

use crate::code_map::CodeMap;
use crate::il_maps::IlMap;
use crate::names::{Signature, human_name, readable_type};
use crate::text::TextId;

/// A piece of code in a [`CodeMap`]: the same number for as long as the map lives.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct MethodIndex(pub u32);

/// Where the code of a method comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum MethodKind {
    /// Compiled in the process.
    Jitted,
    /// Compiled before, in a file.
    ReadyToRun,
    /// Made and compiled in the process: it has no source.
    Dynamic,
    /// Glue that the runtime made.
    Stub,
    /// Compiled before, known by its first call alone: where its code ends is a guess.
    EntryPoint,
}

/// What an address in a stack is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Position {
    /// The instruction that was about to run: the innermost frame of a sample that interrupted managed code.
    Interrupted,
    /// The instruction behind a call: every other frame. The call itself is what ran, so the look-up is for the byte
    /// before.
    Caller,
}

/// A method with code that is known from elsewhere than the runtime's events, in the runtime's words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KnownMethod<'a> {
    /// Where its code begins.
    pub start: CodeAddress,
    /// How long its code is.
    pub code_bytes: u32,
    /// The runtime's id.
    pub id: MethodId,
    /// Its module.
    pub module: ModuleId,
    /// The path of its module; empty if there is none.
    pub module_path: &'a str,
    /// Its row in the module's metadata.
    pub token: MetadataToken,
    /// Where its code comes from.
    pub kind: MethodKind,
    /// Its type.
    pub type_name: &'a str,
    /// Its name.
    pub name: &'a str,
    /// Its signature.
    pub signature: &'a str,
}

/// A piece of code.
#[derive(Clone)]
pub(crate) struct Code {
    pub(crate) start: u64,
    pub(crate) bytes: u32,
    pub(crate) id: MethodId,
    pub(crate) version: u64,
    pub(crate) module: ModuleId,
    pub(crate) token: MetadataToken,
    pub(crate) tier: Tier,
    pub(crate) kind: MethodKind,
    pub(crate) type_name: TextId,
    pub(crate) name: TextId,
    pub(crate) signature: TextId,
    pub(crate) map: Option<IlMap>,
    /// From when to when it was there, in nanoseconds of the trace.
    pub(crate) from_ns: u64,
    pub(crate) until_ns: u64,
}

impl Code {
    pub(crate) fn end(&self) -> u64 {
        self.start.saturating_add(self.bytes.into())
    }
}

/// A module.
#[derive(Clone, Debug, Default)]
pub(crate) struct Module {
    pub(crate) path: String,
    pub(crate) pdb: Option<Guid>,
    pub(crate) pdb_path: String,
}

/// A method in a [`CodeMap`]. Cheap to copy; names are put together when they are asked for.
#[derive(Clone, Copy)]
pub struct MethodRef<'a> {
    pub(crate) map: &'a CodeMap,
    pub(crate) code: &'a Code,
    pub(crate) index: MethodIndex,
}

impl std::fmt::Debug for MethodRef<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("MethodRef").field(&self.index).field(&self.raw_name()).finish()
    }
}

impl<'a> MethodRef<'a> {
    /// Which one it is: names need to be made only once for each.
    #[must_use]
    pub fn index(&self) -> MethodIndex {
        self.index
    }

    /// The runtime's id.
    #[must_use]
    pub fn id(&self) -> MethodId {
        self.code.id
    }

    /// Its row in the module's metadata.
    #[must_use]
    pub fn token(&self) -> MetadataToken {
        self.code.token
    }

    /// Its type, as the runtime writes it.
    #[must_use]
    pub fn raw_type(&self) -> &'a str {
        self.map.text(self.code.type_name)
    }

    /// Its name without the type, as the runtime writes it.
    #[must_use]
    pub fn raw_method(&self) -> &'a str {
        self.map.text(self.code.name)
    }

    /// Type and name as the runtime writes them.
    #[must_use]
    pub fn raw_name(&self) -> String {
        joined(self.raw_type(), self.raw_method())
    }

    /// Type and name with readable generics; a compiler's names are left as they are.
    #[must_use]
    pub fn full_name(&self) -> String {
        joined(&readable_type(self.raw_type()), self.raw_method())
    }

    /// The name as a person would say it: see [`human_name`].
    #[must_use]
    pub fn human_name(&self) -> String {
        human_name(self.raw_type(), self.raw_method(), self.raw_signature())
    }

    /// Its signature, as the runtime writes it.
    #[must_use]
    pub fn raw_signature(&self) -> &'a str {
        self.map.text(self.code.signature)
    }

    /// Its signature, as C# writes it.
    #[must_use]
    pub fn signature(&self) -> Option<Signature> {
        Signature::parse(self.raw_signature(), self.raw_type())
    }

    /// The module.
    #[must_use]
    pub fn module(&self) -> ModuleId {
        self.code.module
    }

    /// The path of its module, as the target sees it; of a module without a file, its name.
    #[must_use]
    pub fn module_path(&self) -> Option<&'a str> {
        self.map.module(self.code.module).map(|module| module.path.as_str())
    }

    /// The name of its module: see [`module_name`].
    #[must_use]
    pub fn module_name(&self) -> Option<&'a str> {
        self.module_path().map(module_name)
    }

    /// How it was compiled.
    #[must_use]
    pub fn tier(&self) -> Tier {
        self.code.tier
    }

    /// Where its code comes from.
    #[must_use]
    pub fn kind(&self) -> MethodKind {
        self.code.kind
    }

    /// Where its code begins.
    #[must_use]
    pub fn start(&self) -> CodeAddress {
        CodeAddress(self.code.start)
    }

    /// How long its code is; 0 if that is not known.
    #[must_use]
    pub fn code_bytes(&self) -> u32 {
        self.code.bytes
    }

    /// The offset in its IL that an address stands for; none without an IL map.
    #[must_use]
    pub fn il_offset(&self, address: CodeAddress, position: Position) -> Option<u32> {
        let distance = u32::try_from(address.0.checked_sub(self.code.start)?).ok()?;
        let distance = match position {
            Position::Interrupted => distance,
            Position::Caller => distance.saturating_sub(1),
        };
        self.map.il_at(self.code.map?, distance)
    }

    /// A frame of this method, without file and line.
    #[must_use]
    pub fn frame(&self) -> Frame {
        let kind = if self.kind() == MethodKind::Stub { FrameKind::Stub } else { FrameKind::Managed };
        Frame {
            kind,
            name: self.human_name(),
            module: self.module_name().map(Into::into),
            file: None,
            line: None,
        }
    }
}

fn joined(type_name: &str, method: &str) -> String {
    if type_name.is_empty() { method.to_owned() } else { format!("{type_name}.{method}") }
}
