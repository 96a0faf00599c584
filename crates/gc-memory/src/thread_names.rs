//! The names that a program gives its threads, out of the objects that stand for them.
//!
//! ```text
//! thread --> handle --> System.Threading.Thread --> _name --> its letters
//! ```

use runtime_memory::{Memory, RuntimeMemory};

use crate::statics;

/// The longest name, in letters.
const LONGEST: u32 = 256;
/// The field of the name.
const FIELD: &str = "_name";

/// The name of a thread, by the address of the runtime's structure.
pub(crate) fn name<M: Memory>(runtime: &mut RuntimeMemory<M>, thread: u64) -> Option<String> {
    let handle = runtime.field("Thread", "GCHandle").or_else(|| runtime.field("Thread", "ExposedObject"))?;
    let length_at = runtime.field("String", "m_StringLength")?;
    let letters_at = runtime.field("String", "m_FirstChar")?;
    let memory = runtime.memory();
    let object = memory.pointer(memory.pointer(thread.checked_add(handle)?)?)?;
    let method_table = memory.u64(object)? & !7;
    let offset = statics::instance_field(runtime, method_table, FIELD)?;
    let memory = runtime.memory();
    let text = memory.pointer(object.checked_add(8)?.checked_add(offset)?)?;
    let length = memory.u32(text.checked_add(length_at)?)?.min(LONGEST);
    let mut bytes = vec![0; 2 * usize::try_from(length).ok()?];
    if !memory.read(text.checked_add(letters_at)?, &mut bytes) {
        return None;
    }
    let units = bytes.as_chunks::<2>().0.iter().map(|two| u16::from_le_bytes(*two));
    let name: String =
        char::decode_utf16(units).map(|unit| unit.unwrap_or(char::REPLACEMENT_CHARACTER)).collect();
    (!name.is_empty()).then_some(name)
}
