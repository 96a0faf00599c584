//! The metadata of a module: names.

use std::ffi::c_void;

use super::com::{Reference, call, text};
use super::slots::MetadataSlot;
use crate::{HResult, Token};

/// Longest name that is read.
const LONGEST_NAME: usize = 512;

/// The metadata of one module. For the thread that asked for it.
pub struct Metadata {
    pub(super) reference: Reference<MetadataSlot>,
}

/// A type as its module defines it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TypeDefinition {
    /// Its name with its namespace; cut to 511 characters.
    pub name: String,
    /// Its flags.
    pub flags: u32,
    /// What it extends.
    pub extends: Token,
}

impl Metadata {
    /// A method's type and name; the name is cut to 511 characters.
    pub fn method(&self, method: Token) -> Result<(Token, String), HResult> {
        let (mut class, mut name, mut written) = (Token(0), [0u16; LONGEST_NAME], 0u32);
        let room = u32::try_from(name.len()).unwrap_or(0);
        // SAFETY: the pointers are to live locals or null where nothing is asked for; the name has the room we say.
        unsafe {
            call!(self.reference, MetadataSlot::GetMethodProps(
                method => Token,
                &raw mut class => *mut Token,
                name.as_mut_ptr() => *mut u16,
                room => u32,
                &raw mut written => *mut u32,
                std::ptr::null_mut() => *mut u32,
                std::ptr::null_mut() => *mut *const u8,
                std::ptr::null_mut() => *mut u32,
                std::ptr::null_mut() => *mut u32,
                std::ptr::null_mut() => *mut u32,
            ))?;
        }
        Ok((class, text(&name, written)))
    }

    /// A type.
    pub fn type_definition(&self, class: Token) -> Result<TypeDefinition, HResult> {
        let mut found = TypeDefinition::default();
        let (mut name, mut written) = ([0u16; LONGEST_NAME], 0u32);
        let room = u32::try_from(name.len()).unwrap_or(0);
        // SAFETY: the pointers are to live locals, and the name has the room that we say.
        unsafe {
            call!(self.reference, MetadataSlot::GetTypeDefProps(
                class => Token,
                name.as_mut_ptr() => *mut u16,
                room => u32,
                &raw mut written => *mut u32,
                &raw mut found.flags => *mut u32,
                &raw mut found.extends => *mut Token,
            ))?;
        }
        found.name = text(&name, written);
        Ok(found)
    }

    /// The type in which a nested type lies.
    pub fn enclosing(&self, class: Token) -> Result<Token, HResult> {
        let mut found = Token(0);
        // SAFETY: the pointer is to a live local.
        unsafe {
            call!(self.reference, MetadataSlot::GetNestedClassProps(
                class => Token,
                &raw mut found => *mut Token,
            ))?;
        }
        Ok(found)
    }

    /// A field's name, cut to 511 characters, and its flags.
    pub fn field(&self, field: Token) -> Result<(String, u32), HResult> {
        let (mut name, mut written, mut flags) = ([0u16; LONGEST_NAME], 0u32, 0u32);
        let room = u32::try_from(name.len()).unwrap_or(0);
        // SAFETY: the pointers are to live locals or null where nothing is asked for; the name has the room we say.
        unsafe {
            call!(self.reference, MetadataSlot::GetFieldProps(
                field => Token,
                std::ptr::null_mut() => *mut Token,
                name.as_mut_ptr() => *mut u16,
                room => u32,
                &raw mut written => *mut u32,
                &raw mut flags => *mut u32,
                std::ptr::null_mut() => *mut *const u8,
                std::ptr::null_mut() => *mut u32,
                std::ptr::null_mut() => *mut u32,
                std::ptr::null_mut() => *mut *const u8,
                std::ptr::null_mut() => *mut u32,
            ))?;
        }
        Ok((text(&name, written), flags))
    }

    /// Fills `room` with fields of a type and returns how many there are in it; if it is full there may be more.
    pub fn fields(&self, class: Token, room: &mut [Token]) -> Result<usize, HResult> {
        let (mut list, mut written) = (std::ptr::null_mut::<c_void>(), 0u32);
        let size = u32::try_from(room.len()).unwrap_or(u32::MAX);
        // SAFETY: room for a handle and for as many tokens as we say; the handle is closed once, whatever came of it.
        let outcome = unsafe {
            let outcome = call!(self.reference, MetadataSlot::EnumFields(
                &raw mut list => *mut *mut c_void,
                class => Token,
                room.as_mut_ptr() => *mut Token,
                size => u32,
                &raw mut written => *mut u32,
            ));
            if !list.is_null() {
                // It returns nothing, so what stands where a result would be is not looked at.
                let _ = call!(self.reference, MetadataSlot::CloseEnum(list => *mut c_void));
            }
            outcome
        };
        outcome.map(|()| usize::try_from(written).unwrap_or(0).min(room.len()))
    }

    /// The method of a type that takes nothing, gives nothing back and has this name.
    pub fn action(&self, class: Token, name: &str) -> Result<Token, HResult> {
        /// An instance method without parameters (ECMA-335, II.23.2.1): `HASTHIS`, none, `void`.
        const SIGNATURE: [u8; 3] = [0x20, 0, 1];
        let name: Vec<u16> = name.encode_utf16().chain([0]).collect();
        let mut found = Token(0);
        // SAFETY: the name ends with a zero, the signature has the length that we say, the last is to a live local.
        unsafe {
            call!(self.reference, MetadataSlot::FindMethod(
                class => Token,
                name.as_ptr() => *const u16,
                SIGNATURE.as_ptr() => *const u8,
                3 => u32,
                &raw mut found => *mut Token,
            ))?;
        }
        Ok(found)
    }
}
