//! Modules, assemblies and application domains.

use nettrace::{Guid, Utf16};

use crate::{AppDomainId, AssemblyId, BindingId, ClrInstance, ModuleId};

flags! {
    /// What kind of module.
    ModuleFlags: u32 {
        /// All application domains share it.
        0x1 => is_domain_neutral,
        /// It has native code.
        0x2 => is_native,
        /// It was made at run time.
        0x4 => is_dynamic,
        /// It holds the manifest of its assembly.
        0x8 => has_manifest,
        /// Its layout was optimized.
        0x10 => is_optimized,
        /// It has code that was compiled before.
        0x20 => is_ready_to_run,
        /// Some of its code was compiled before.
        0x40 => is_partially_ready_to_run,
    }

    /// What kind of assembly.
    AssemblyFlags: u32 {
        /// All application domains share it.
        0x1 => is_domain_neutral,
        /// It was made at run time.
        0x2 => is_dynamic,
        /// It has native code.
        0x4 => is_native,
        /// It can be unloaded.
        0x8 => is_collectible,
        /// It has code that was compiled before.
        0x10 => is_ready_to_run,
    }

    /// What kind of application domain.
    AppDomainFlags: u32 {
        /// The first one.
        0x1 => is_default,
        /// It runs code.
        0x2 => is_executable,
        /// The one that others share.
        0x4 => is_shared,
    }
}

events! {
    /// Events 152 and 153, and 153 and 154 of the rundown: a module is loaded, or unloaded.
    Module<'a> {
        /// The module.
        id: ModuleId,
        /// Its assembly.
        assembly: AssemblyId,
        /// What kind of module.
        flags: ModuleFlags,
        /// The path of its file; of a module that has none, its name.
        path: Utf16<'a> [after 4],
        /// The path of the file with its native code; usually empty.
        native_path: Utf16<'a>,
        /// Which runtime.
        clr: ClrInstance [since 1],
        /// The id of its symbol file.
        pdb_signature: Guid [since 2],
        /// The age of its symbol file.
        pdb_age: u32 [since 2],
        /// Where its symbol file lay when it was built.
        pdb_path: Utf16<'a> [since 2],
        /// The id of the symbol file of its native code.
        native_pdb_signature: Guid [since 2],
        /// The age of that file.
        native_pdb_age: u32 [since 2],
        /// Where that file lay.
        native_pdb_path: Utf16<'a> [since 2],
    }

    /// Event 151, and 151 and 152 of the rundown: a module is loaded into an application domain.
    DomainModule<'a> {
        /// The module.
        id: ModuleId,
        /// Its assembly.
        assembly: AssemblyId,
        /// The application domain.
        domain: AppDomainId,
        /// What kind of module.
        flags: ModuleFlags,
        /// The path of its file; of a module that has none, its name.
        path: Utf16<'a> [after 4],
        /// The path of the file with its native code; usually empty.
        native_path: Utf16<'a>,
        /// Which runtime.
        clr: ClrInstance [since 1],
    }

    /// Events 154 and 155, and 155 and 156 of the rundown: an assembly is loaded, or unloaded.
    Assembly<'a> {
        /// The assembly.
        id: AssemblyId,
        /// Its application domain.
        domain: AppDomainId,
        /// What it was bound by.
        binding: BindingId,
        /// What kind of assembly.
        flags: AssemblyFlags,
        /// Its full name: name, version, culture, key.
        name: Utf16<'a>,
        /// Which runtime.
        clr: ClrInstance,
    }

    /// Events 156 and 157, and 157 and 158 of the rundown: an application domain is there, or gone.
    AppDomain<'a> {
        /// The application domain.
        id: AppDomainId,
        /// What kind.
        flags: AppDomainFlags,
        /// Its name.
        name: Utf16<'a>,
        /// Its number.
        index: u32 [since 1],
        /// Which runtime.
        clr: ClrInstance [since 1],
    }
}
