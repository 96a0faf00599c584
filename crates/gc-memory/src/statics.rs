//! Static fields of types: where each stands, and what it is called.
//!
//! ```text
//! method table --> auxiliary data, before which stand:
//!                   -40 places of thread statics   -32 fields of a generic instance   -24 statics: references, others, the type
//!       |
//!       +--> class --> descriptions of fields: row in the metadata, static, thread static, offset
//! ```
//! Layouts: the runtime's `vm/methodtable.h`, `vm/class.h`, `vm/field.h`; .NET 10 describes most of them.

use runtime_memory::{DeclaredField, Memory, RuntimeMemory};

/// Where the auxiliary data stand in a method table, where .NET 9 does not say it.
const AUXILIARY: u64 = 32;
const STATICS: u64 = 24;
const GENERIC_FIELDS: u64 = 32;
const THREAD_PLACES: u64 = 40;
const THREAD_REFERENCES: u64 = 4;
/// Where a class has its list of fields, and how many thread statics it has.
const FIELDS: u64 = 24;
const THREAD_STATICS: u64 = 58;
/// Bytes of a field's description.
const FIELD: usize = 16;
/// Bits of a field's description.
const IS_STATIC: u32 = 1 << 24;
const IS_THREAD_STATIC: u32 = 1 << 25;
const IS_IN_IMAGE: u32 = 1 << 26;
const HAS_LONG_ROW: u32 = 1 << 30;
const SHORT_ROW: u32 = 0x1_ffff;
const LONG_ROW: u32 = 0xff_ffff;
const OFFSET: u32 = (1 << 27) - 1;
/// No field stands so far behind.
const LAST_OFFSET: u32 = OFFSET - 6;
/// Kinds of fields that are references: to an object, or to the box of a value.
const CLASS: u32 = 0x12;
const VALUE_TYPE: u32 = 0x11;
/// The upper bits of a thread static's place say in which array it stands; 0 is that of types that are never unloaded,
/// the only one that is read.
const PLACE_KIND: u32 = 24;
const PLACE: u32 = 0xff_ffff;

/// Where a static field stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    /// At an address.
    Shared(u64),
    /// In an array of each thread: which, and where in it.
    OfThread {
        /// The place of the array in the thread's own one, counted from its first element.
        array: usize,
        /// Bytes behind the beginning of that array's object.
        offset: u64,
    },
}

/// A static field that can hold an object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct StaticField {
    pub(crate) name: String,
    pub(crate) place: Place,
}

/// The static fields of a type that can hold objects, without the name of the type.
pub(crate) fn of_type<M: Memory>(
    runtime: &mut RuntimeMemory<M>,
    method_table: u64,
) -> Option<Vec<StaticField>> {
    let auxiliary = runtime.field("MethodTable", "AuxiliaryData").unwrap_or(AUXILIARY);
    let list = runtime.field("EEClass", "FieldDescList").unwrap_or(FIELDS);
    let counted = runtime.field("EEClass", "NumThreadStaticFields").unwrap_or(THREAD_STATICS);
    let memory = runtime.memory();
    let data = memory.pointer(method_table.checked_add(auxiliary)?)?;
    let statics = data.checked_sub(STATICS)?;
    // What stands before the data of a type without statics is something else.
    if memory.u64(statics.checked_add(16)?)? != method_table || !runtime.is_type(method_table) {
        return None;
    }
    let base = memory.u64(statics)? & !1;
    let class = runtime.class_of(method_table)?;
    let has_thread_statics = memory.u16(class.checked_add(counted)?)? != 0;
    let place = data.checked_sub(THREAD_PLACES)?.checked_add(THREAD_REFERENCES)?;
    let thread_array = memory.u32(place).filter(|place| has_thread_statics && place >> PLACE_KIND == 0);
    // The first two places of a thread's array are its head.
    let thread_array = thread_array.and_then(|place| usize::try_from(place & PLACE).ok()?.checked_sub(2));
    if base == 0 && thread_array.is_none() {
        return None;
    }
    let of_class = memory.u64(class.checked_add(list)?)?;
    let of_instance = memory.u64(data.checked_sub(GENERIC_FIELDS)?)?;
    let declared = runtime.declared_fields(method_table);
    let described = [of_class, of_instance].into_iter().find_map(|list| {
        let described = describe(runtime.memory(), list, method_table, &declared);
        (!described.is_empty()).then_some(described)
    })?;
    let mut found = Vec::new();
    for (field, flags, offset) in described {
        let place = match (flags & IS_THREAD_STATIC != 0, thread_array) {
            (false, _) if base != 0 => Place::Shared(base.checked_add(offset)?),
            (true, Some(array)) => Place::OfThread { array, offset },
            _ => continue,
        };
        found.push(StaticField { name: field.name.clone(), place });
    }
    Some(found)
}

/// The static fields that can hold objects in a list of descriptions, each with its flags and its offset.
fn describe<'f>(
    memory: &impl Memory,
    list: u64,
    method_table: u64,
    declared: &'f [DeclaredField],
) -> Vec<(&'f DeclaredField, u32, u64)> {
    let count = declared.iter().filter(|field| !field.is_constant).count();
    let bytes = memory.up_to(list, FIELD * count);
    let mut found = Vec::new();
    for description in bytes.as_chunks::<FIELD>().0 {
        let (words, _) = description.as_chunks::<4>();
        let &[low, high, flags, offset] = words else { break };
        let [low, high, flags, offset] = [low, high, flags, offset].map(u32::from_le_bytes);
        let owner = u64::from(high) << 32 | u64::from(low);
        if flags & IS_STATIC == 0 || flags & IS_IN_IMAGE != 0 {
            continue;
        }
        let row = flags & if flags & HAS_LONG_ROW == 0 { SHORT_ROW } else { LONG_ROW };
        let is_reference = matches!(offset >> 27, CLASS | VALUE_TYPE);
        if owner != method_table || !is_reference || offset & OFFSET > LAST_OFFSET {
            continue;
        }
        if let Some(field) = declared.iter().find(|field| field.row == row && field.is_static) {
            found.push((field, flags, u64::from(offset & OFFSET)));
        }
    }
    found
}
