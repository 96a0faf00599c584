//! Layouts of payloads: how fields are written, and a notation for events that are a list of fields.

use nettrace::{CodeAddress, EventVersion, Guid, PayloadReader, ThreadId, Utf16};

use crate::error::FieldError;

/// Something that stands in a payload.
pub(crate) trait Field<'a>: Sized {
    fn read(reader: &mut PayloadReader<'a>) -> Result<Self, nettrace::Error>;
}

/// A whole event.
pub(crate) trait Layout<'a>: Sized {
    fn decode(fields: &mut Fields<'a>) -> Result<Self, FieldError>;
}

/// A payload that is taken apart, field by field.
#[derive(Clone, Debug)]
pub(crate) struct Fields<'a> {
    reader: PayloadReader<'a>,
    version: EventVersion,
    length: usize,
}

impl<'a> Fields<'a> {
    pub fn new(reader: PayloadReader<'a>, version: EventVersion) -> Self {
        let length = reader.rest().len();
        Fields { reader, version, length }
    }

    /// Where the next field begins.
    pub fn at(&self) -> usize {
        self.length - self.reader.rest().len()
    }

    pub fn rest(&self) -> &'a [u8] {
        self.reader.rest()
    }

    pub fn error(&self, field: &'static str, problem: &'static str) -> FieldError {
        FieldError { field, at: self.at(), problem }
    }

    /// The next field.
    pub fn take<T: Field<'a>>(&mut self, field: &'static str) -> Result<T, FieldError> {
        T::read(&mut self.reader).map_err(|error| match error {
            nettrace::Error::Payload { at, problem, .. } => FieldError { field, at, problem },
            _ => self.error(field, "it cannot be read"),
        })
    }

    /// The next field, which older versions do not have.
    pub fn since<T: Field<'a>>(
        &mut self,
        version: u32,
        field: &'static str,
    ) -> Result<Option<T>, FieldError> {
        if self.version.0 < version { Ok(None) } else { self.take(field).map(Some) }
    }

    /// A number of the size of a pointer.
    pub fn pointer(&mut self, field: &'static str) -> Result<u64, FieldError> {
        self.take::<Pointer>(field).map(|pointer| pointer.0)
    }

    pub fn bytes(&mut self, count: usize, field: &'static str) -> Result<&'a [u8], FieldError> {
        self.reader.bytes(count).map_err(|_| self.error(field, "the payload ends before it does"))
    }

    /// How many bytes a pointer takes; 8 where none can follow.
    pub fn pointer_bytes(&self) -> usize {
        let mut probe = self.reader.clone();
        match probe.pointer() {
            Ok(_) => self.reader.rest().len() - probe.rest().len(),
            Err(_) => 8,
        }
    }
}

/// A number of the size of a pointer.
pub(crate) struct Pointer(pub u64);

macro_rules! fields {
    ($($type:ty: |$reader:ident| $read:expr;)*) => {$(
        impl<'a> Field<'a> for $type {
            fn read($reader: &mut PayloadReader<'a>) -> Result<Self, nettrace::Error> {
                $read
            }
        }
    )*};
}

fields! {
    u8: |reader| reader.u8();
    u16: |reader| reader.u16();
    u32: |reader| reader.u32();
    u64: |reader| reader.u64();
    i32: |reader| reader.i32();
    i64: |reader| reader.i64();
    f32: |reader| reader.f32();
    f64: |reader| reader.f64();
    bool: |reader| reader.bool32();
    Guid: |reader| reader.guid();
    Utf16<'a>: |reader| reader.utf16();
    Pointer: |reader| reader.pointer().map(Pointer);
    CodeAddress: |reader| reader.u64().map(CodeAddress);
    ThreadId: |reader| reader.u64().map(ThreadId);
}

/// Defines events whose payload is their fields, in this order. `[since 2]` marks a field that older versions do not
/// have; `[after 4]` marks one that has as many unused bytes before it.
macro_rules! events {
    ($(
        $(#[$doc:meta])*
        $name:ident $(<$life:lifetime>)? {
            $(
                $(#[$field_doc:meta])*
                $field:ident: $type:ty $([since $version:literal])? $([after $bytes:literal])?,
            )*
        }
    )*) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq)]
        #[non_exhaustive]
        pub struct $name $(<$life>)? {
            $(
                $(#[$field_doc])*
                pub $field: events!(@type $type $(, $version)?),
            )*
        }

        impl<'a> crate::layout::Layout<'a> for $name $(<$life>)? {
            fn decode(fields: &mut crate::layout::Fields<'a>) -> Result<Self, crate::error::FieldError> {
                // Some events have no fields.
                let _ = &fields;
                Ok($name {
                    $(
                        $field: {
                            $(fields.bytes($bytes, stringify!($field))?;)?
                            events!(@read fields, $field, $type $(, $version)?)?
                        },
                    )*
                })
            }
        }
    )*};
    (@type $type:ty) => { $type };
    (@type $type:ty, $version:literal) => { Option<$type> };
    (@read $fields:ident, $field:ident, $type:ty) => { $fields.take::<$type>(stringify!($field)) };
    (@read $fields:ident, $field:ident, $type:ty, $version:literal) => {
        $fields.since::<$type>($version, stringify!($field))
    };
}

/// Defines enums of numbers a runtime writes; a number that is not known is kept.
macro_rules! codes {
    ($(
        $(#[$doc:meta])*
        $name:ident: $type:ident {
            $($(#[$code_doc:meta])* $code:literal => $variant:ident,)*
        }
    )*) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[non_exhaustive]
        pub enum $name {
            $($(#[$code_doc])* $variant,)*
            /// One this crate does not know.
            Other($type),
        }

        impl From<$type> for $name {
            fn from(code: $type) -> Self {
                match code {
                    $($code => $name::$variant,)*
                    other => $name::Other(other),
                }
            }
        }

        impl<'a> crate::layout::Field<'a> for $name {
            fn read(reader: &mut nettrace::PayloadReader<'a>) -> Result<Self, nettrace::Error> {
                reader.$type().map($name::from)
            }
        }
    )*};
}

/// Defines sets of bits a runtime writes.
macro_rules! flags {
    ($(
        $(#[$doc:meta])*
        $name:ident: $type:ident {
            $($(#[$bit_doc:meta])* $bit:literal => $method:ident,)*
        }
    )*) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
        pub struct $name(pub $type);

        impl $name {
            $(
                $(#[$bit_doc])*
                #[must_use]
                pub fn $method(self) -> bool {
                    self.0 & $bit != 0
                }
            )*
        }

        impl<'a> crate::layout::Field<'a> for $name {
            fn read(reader: &mut nettrace::PayloadReader<'a>) -> Result<Self, nettrace::Error> {
                reader.$type().map($name)
            }
        }
    )*};
}
