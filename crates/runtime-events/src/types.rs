//! Names of types.

use nettrace::Utf16;

use crate::error::FieldError;
use crate::layout::{Fields, Layout};
use crate::{ClrInstance, MetadataToken, ModuleId, TypeId};

flags! {
    /// What kind of type.
    TypeFlags: u32 {
        /// A delegate.
        0x1 => is_delegate,
        /// It has a finalizer.
        0x2 => is_finalizable,
        /// It stands for a COM object.
        0x4 => is_com_object,
        /// An array.
        0x8 => is_array,
        /// Its module is given by its address in memory.
        0x10 => has_module_base,
    }
}

impl TypeFlags {
    /// The number of dimensions; 0 for a type that is no array.
    #[must_use]
    pub fn array_rank(self) -> u32 {
        if self.is_array() { ((self.0 >> 8) & 0x3F).max(1) } else { 0 }
    }
}

/// A type.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TypeInfo<'a> {
    /// The type.
    pub id: TypeId,
    /// Its module.
    pub module: ModuleId,
    /// Its row in the module's metadata; 0 for an array.
    pub token: MetadataToken,
    /// What kind of type.
    pub flags: TypeFlags,
    /// `CorElementType`: 0x11 a value type, 0x12 a class, 0x14 and 0x1D arrays, others.
    pub element_type: u8,
    /// Its name, as the runtime prints it; empty where the session did not ask for names.
    pub name: Utf16<'a>,
    parameters: &'a [u8],
}

impl<'a> TypeInfo<'a> {
    /// Its type arguments; of an array, the type of its elements.
    pub fn parameters(&self) -> impl ExactSizeIterator<Item = TypeId> + use<'a> {
        self.parameters.as_chunks::<8>().0.iter().map(|bytes| TypeId(u64::from_le_bytes(*bytes)))
    }
}

/// Event 15: types.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Types<'a> {
    /// Which runtime.
    pub clr: ClrInstance,
    /// How many there are.
    pub count: u32,
    records: Fields<'a>,
}

impl<'a> Types<'a> {
    /// The types, in their order.
    pub fn iter(&self) -> impl Iterator<Item = TypeInfo<'a>> + use<'a> {
        let mut fields = self.records.clone();
        (0..self.count).map_while(move |_| type_info(&mut fields).ok())
    }
}

fn type_info<'a>(fields: &mut Fields<'a>) -> Result<TypeInfo<'a>, FieldError> {
    let id = TypeId(fields.take("id")?);
    let module = fields.take("module")?;
    let token = fields.take("token")?;
    let flags = fields.take("flags")?;
    let element_type = fields.take("element_type")?;
    let name = fields.take("name")?;
    let count = usize::try_from(fields.take::<u32>("parameter_count")?).unwrap_or(usize::MAX);
    let parameters = fields.bytes(count.saturating_mul(8), "parameters")?;
    Ok(TypeInfo { id, module, token, flags, element_type, name, parameters })
}

impl<'a> Layout<'a> for Types<'a> {
    fn decode(fields: &mut Fields<'a>) -> Result<Self, FieldError> {
        let count = fields.take("count")?;
        let clr = fields.take("clr")?;
        let records = fields.clone();
        for _ in 0..count {
            type_info(fields)?;
        }
        Ok(Types { clr, count, records })
    }
}
