//! Where in the runtime's structures the fields stand that are read here.

use crate::code_length::Notes;
use crate::descriptor::Descriptor;
use crate::error::Error;

/// How a nibble map is looked up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NibbleMaps {
    /// .NET 9: back until a method begins.
    Linear,
    /// .NET 10: units that lie within a method say where it begins.
    Constant,
}

macro_rules! offsets {
    ($($(#[$doc:meta])* $name:ident: $structure:literal $field:literal $net9:expr;)*) => {
        /// Where fields stand.
        #[derive(Clone, Debug)]
        pub(crate) struct Offsets {
            $($(#[$doc])* pub(crate) $name: u64,)*
            pub(crate) nibble_maps: NibbleMaps,
            /// How code that is compiled in the process is described to the garbage collector.
            pub(crate) notes: Notes,
            /// Code headers up to this value mark stubs.
            pub(crate) last_stub: u64,
            /// So many bits of a method's token stand in the method itself; the upper ones are those of its chunk.
            pub(crate) token_bits: u32,
            pub(crate) method_alignment: u64,
        }

        impl Offsets {
            fn fields(
                descriptor: &Descriptor,
                nibble_maps: NibbleMaps,
            ) -> Result<Offsets, Error> {
                let find = |structure: &str, field: &str, net9: Option<u64>| {
                    descriptor
                        .field(structure, field)
                        .or(net9.filter(|_| nibble_maps == NibbleMaps::Linear))
                        // No structure of the runtime is larger; sums with addresses are checked all the same.
                        .filter(|offset| *offset < 1 << 20)
                        .ok_or_else(|| Error::Unknown { what: format!("no {structure}.{field}") })
                };
                Ok(Offsets {
                    $($name: find($structure, $field, $net9)?,)*
                    nibble_maps,
                    notes: Notes::WithReturnKind,
                    last_stub: descriptor.global("StubCodeBlockLast").unwrap_or(15),
                    token_bits: 12,
                    method_alignment: 8,
                })
            }
        }
    };
}

// The last column is for .NET 9, whose description lacks the structures of code: measured on 9.0.7.
offsets! {
    fragment_next: "RangeSectionFragment" "Next" Some(0);
    fragment_begin: "RangeSectionFragment" "RangeBegin" Some(8);
    fragment_end: "RangeSectionFragment" "RangeEndOpen" Some(16);
    fragment_section: "RangeSectionFragment" "RangeSection" Some(24);
    section_begin: "RangeSection" "RangeBegin" Some(0);
    section_flags: "RangeSection" "Flags" Some(16);
    section_module: "RangeSection" "R2RModule" Some(32);
    section_heap: "RangeSection" "HeapList" Some(40);
    heap_end: "CodeHeapListNode" "EndAddress" Some(24);
    heap_map_base: "CodeHeapListNode" "MapBase" Some(32);
    heap_map: "CodeHeapListNode" "HeaderMap" Some(40);
    header_gc_info: "RealCodeHeader" "GCInfo" Some(16);
    header_method: "RealCodeHeader" "MethodDesc" Some(24);
    module_base: "Module" "Base" None;
    module_path: "Module" "Path" None;
    module_flags: "Module" "Flags" None;
    module_dynamic_metadata: "Module" "DynamicMetadata" None;
    module_ready_to_run: "Module" "ReadyToRunInfo" Some(984);
    dynamic_metadata_data: "DynamicMetadata" "Data" None;
    r2r_header: "ReadyToRunInfo" "ReadyToRunHeader" Some(16);
    r2r_composite: "ReadyToRunInfo" "CompositeInfo" Some(40);
    r2r_functions: "ReadyToRunInfo" "RuntimeFunctions" Some(80);
    r2r_function_count: "ReadyToRunInfo" "NumRuntimeFunctions" Some(88);
    r2r_entry_points: "ReadyToRunInfo" "EntryPointToMethodDescMap" Some(432);
    hash_map_buckets: "HashMap" "Buckets" Some(16);
    type_flags: "MethodTable" "MTFlags" None;
    type_flags2: "MethodTable" "MTFlags2" None;
    type_class: "MethodTable" "EEClassOrCanonMT" None;
    type_module: "MethodTable" "Module" None;
    type_instantiation: "MethodTable" "PerInstInfo" None;
    class_type: "EEClass" "MethodTable" None;
    array_rank: "ArrayClass" "Rank" None;
    dictionary_count: "GenericsDictInfo" "NumDicts" Some(4);
    dictionary_arguments: "GenericsDictInfo" "NumTypeArgs" None;
    type_desc_kind: "TypeDesc" "TypeAndFlags" None;
    param_type_argument: "ParamTypeDesc" "TypeArg" None;
    type_variable_module: "TypeVarTypeDesc" "Module" None;
    type_variable_token: "TypeVarTypeDesc" "Token" None;
    function_pointer_count: "FnPtrTypeDesc" "NumArgs" None;
    function_pointer_types: "FnPtrTypeDesc" "RetAndArgTypes" None;
    method_token: "MethodDesc" "Flags3AndTokenRemainder" None;
    method_chunk_index: "MethodDesc" "ChunkIndex" None;
    method_flags: "MethodDesc" "Flags" None;
    chunk_size: "MethodDescChunk" "!" None;
    chunk_type: "MethodDescChunk" "MethodTable" None;
    chunk_token: "MethodDescChunk" "FlagsAndTokenRange" None;
    stored_signature: "StoredSigMethodDesc" "Sig" None;
    stored_signature_size: "StoredSigMethodDesc" "cSig" None;
    dynamic_method_name: "DynamicMethodDesc" "MethodName" None;
}

impl Offsets {
    /// From what a runtime says of itself. It has to keep contracts of the versions that are known here.
    pub(crate) fn of(descriptor: &Descriptor) -> Result<Offsets, Error> {
        for name in ["Loader", "RuntimeTypeSystem", "EcmaMetadata"] {
            match descriptor.contract(name) {
                Some("1") => {}
                version => return Err(unknown(name, version)),
            }
        }
        let nibble_maps = match descriptor.contract("ExecutionManager") {
            // .NET 9 does not promise this one yet.
            None | Some("1") => NibbleMaps::Linear,
            Some("2") => NibbleMaps::Constant,
            version => return Err(unknown("ExecutionManager", version)),
        };
        let mut offsets = Offsets::fields(descriptor, nibble_maps)?;
        match descriptor.global("GCInfoVersion") {
            None | Some(3) => {}
            Some(4) => offsets.notes = Notes::WithoutReturnKind,
            Some(version) => {
                return Err(Error::Unknown { what: format!("GC information of version {version}") });
            }
        }
        if let Some(bits) = descriptor.global("MethodDescTokenRemainderBitCount") {
            let bits = u32::try_from(bits).ok().filter(|bits| (1..=16).contains(bits));
            offsets.token_bits = bits.ok_or(Error::Damaged { what: "the size of tokens" })?;
        }
        if let Some(alignment) = descriptor.global("MethodDescAlignment") {
            offsets.method_alignment = alignment;
        }
        Ok(offsets)
    }
}

fn unknown(contract: &str, version: Option<&str>) -> Error {
    Error::Unknown { what: format!("contract {contract} of version {}", version.unwrap_or("none")) }
}
