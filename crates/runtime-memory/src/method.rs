//! What is known of a method.

use nettrace::CodeAddress;
use runtime_events::{MetadataToken, MethodId, ModuleId};
use symbols::{CodeMap, KnownMethod, MethodKind, human_name};

use crate::names::MethodNames;

/// A method with code, as the memory of the process has it. All names are as the runtime writes them in its events.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Method {
    /// Where its code begins.
    pub start: CodeAddress,
    /// How long its code is.
    pub code_bytes: u32,
    /// The runtime's id.
    pub id: MethodId,
    /// Its module.
    pub module: ModuleId,
    /// The path of its module as the process sees it; if there is no file, the name of its assembly.
    pub module_path: String,
    /// Its row in the module's metadata; 0 if it was made at run time.
    pub token: MetadataToken,
    /// Where its code comes from.
    pub kind: MethodKind,
    /// Its type, with namespace, outer types and type arguments.
    pub type_name: String,
    /// Its name.
    pub name: String,
    /// Its signature.
    pub signature: String,
}

impl Method {
    /// The name as a person would say it: see [`human_name`].
    #[must_use]
    pub fn human_name(&self) -> String {
        human_name(&self.type_name, &self.name, &self.signature)
    }

    /// The same for a [`CodeMap`].
    #[must_use]
    pub fn known(&self) -> KnownMethod<'_> {
        KnownMethod {
            start: self.start,
            code_bytes: self.code_bytes,
            id: self.id,
            module: self.module,
            module_path: &self.module_path,
            token: self.token,
            kind: self.kind,
            type_name: &self.type_name,
            name: &self.name,
            signature: &self.signature,
        }
    }

    /// Tells a map of code of it, as an event of the runtime would.
    pub fn teach(&self, map: &mut CodeMap) {
        map.learn_known(&self.known());
    }
}

/// The kind, by the rules that hold for the runtime's events.
pub(crate) fn kind_of(names: &MethodNames, is_precompiled: bool) -> MethodKind {
    match () {
        () if names.name.starts_with("IL_STUB") => MethodKind::Stub,
        () if names.is_dynamic => MethodKind::Dynamic,
        () if is_precompiled => MethodKind::ReadyToRun,
        () => MethodKind::Jitted,
    }
}
