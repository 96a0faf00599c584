//! Names of types as the runtime writes them in its events: `` Ns.Outer`1+Inner[System.Int32] ``.

use crate::memory::Memory;
use crate::names::Names;

/// Deepest nesting of type arguments, longest name (longer ones are cut, as the runtime's events do), and most types in
/// one name.
const DEEPEST: usize = 32;
const LONGEST: usize = 32 << 10;
const MOST_TYPES: usize = 256;
const MOST_ARGUMENTS: u16 = 256;

/// A handle of a type with this bit is not that of a class or a structure.
const NO_METHOD_TABLE: u64 = 2;
/// Bits of a type's flags.
const HAS_COMPONENT_SIZE: u32 = 0x8000_0000;
const ARRAY_MASK: u32 = 0x000c_0000;
const ARRAY: u32 = 0x0008_0000;
const VECTOR: u32 = 0x0002_0000;
const GENERIC: u32 = 0x30;

/// A name in the making.
pub(crate) struct TypeWriter<'a, M> {
    names: &'a mut Names<M>,
    out: String,
    types: usize,
    is_cut: bool,
}

impl<'a, M: Memory> TypeWriter<'a, M> {
    /// The name of a type by its handle.
    pub(crate) fn name(names: &'a mut Names<M>, handle: u64) -> Option<String> {
        let mut writer = TypeWriter { names, out: String::new(), types: 0, is_cut: false };
        match writer.write(handle, 0) {
            None if !writer.is_cut => None,
            _ => Some(writer.out),
        }
    }

    fn push(&mut self, text: &str) -> Option<()> {
        if self.out.len() + text.len() > LONGEST {
            let room = (0..=LONGEST - self.out.len()).rev().find(|&at| text.is_char_boundary(at));
            self.out.push_str(&text[..room.unwrap_or(0)]);
            self.is_cut = true;
            return None;
        }
        self.out.push_str(text);
        Some(())
    }

    /// With a backslash before letters that have a meaning of their own in names.
    fn escaped(&mut self, text: &str) -> Option<()> {
        const SPECIAL: [char; 7] = [',', '[', ']', '&', '*', '+', '\\'];
        if !text.contains(SPECIAL) {
            return self.push(text);
        }
        text.chars().try_for_each(|letter| {
            if SPECIAL.contains(&letter) {
                self.push("\\")?;
            }
            self.push(letter.encode_utf8(&mut [0; 4]))
        })
    }

    fn write(&mut self, handle: u64, depth: usize) -> Option<()> {
        self.types += 1;
        if depth > DEEPEST || self.types > MOST_TYPES {
            return None;
        }
        if handle == 0 {
            return self.push("(null)");
        }
        if handle & NO_METHOD_TABLE != 0 {
            return self.described(handle & !NO_METHOD_TABLE, depth);
        }
        let flags = self.names.type_flags(handle)?;
        if flags & ARRAY_MASK == ARRAY {
            return self.array(handle, flags, depth);
        }
        for (index, part) in self.names.nest_of(handle)?.into_iter().enumerate() {
            if index > 0 {
                self.push("+")?;
            }
            if !part.namespace.is_empty() {
                self.escaped(&part.namespace)?;
                self.push(".")?;
            }
            self.escaped(&part.name)?;
        }
        if flags & HAS_COMPONENT_SIZE == 0 && flags & GENERIC != 0 {
            self.arguments(handle, depth)?;
        }
        Some(())
    }

    fn array(&mut self, handle: u64, flags: u32, depth: usize) -> Option<()> {
        let offsets = &self.names.offsets;
        let element = self.names.memory.pointer(handle.checked_add(offsets.type_instantiation)?)?;
        self.write(element, depth + 1)?;
        if flags & VECTOR != 0 {
            return self.push("[]");
        }
        match self.names.array_rank(handle)? {
            0 => None,
            1 => self.push("[*]"),
            rank => {
                self.push("[")?;
                self.push(&",".repeat(usize::from(rank) - 1))?;
                self.push("]")
            }
        }
    }

    fn arguments(&mut self, handle: u64, depth: usize) -> Option<()> {
        let (memory, offsets) = (&self.names.memory, &self.names.offsets);
        let dictionaries = memory.pointer(handle.checked_add(offsets.type_instantiation)?)?;
        let head = dictionaries.checked_sub(8)?;
        let number = |offset: u64| memory.u16(head.checked_add(offset)?);
        let count = number(offsets.dictionary_arguments).filter(|count| *count <= MOST_ARGUMENTS)?;
        // Those of the types it derives from come first.
        let last = u64::from(number(offsets.dictionary_count)?.checked_sub(1)?);
        let dictionary = memory.pointer(dictionaries.checked_add(8 * last)?)?;
        self.push("[")?;
        for index in 0..u64::from(count) {
            if index > 0 {
                self.push(",")?;
            }
            let argument = self.names.memory.u64(dictionary.checked_add(8 * index)?)?;
            self.write(argument, depth + 1)?;
        }
        self.push("]")
    }

    /// A pointer, a reference, a type parameter, a pointer to a function.
    fn described(&mut self, address: u64, depth: usize) -> Option<()> {
        let (memory, offsets) = (&self.names.memory, &self.names.offsets);
        let at = |offset: u64| address.checked_add(offset);
        let element = memory.u32(at(offsets.type_desc_kind)?)? & 0xff;
        match element {
            0x0f..=0x11 => {
                let inner = memory.pointer(at(offsets.param_type_argument)?)?;
                if element == 0x11 {
                    self.push("VALUETYPE")?;
                }
                self.write(inner, depth + 1)?;
                self.push(match element {
                    0x0f => "*",
                    0x10 => "&",
                    _ => "",
                })
            }
            0x13 | 0x1e => {
                let module = memory.pointer(at(offsets.type_variable_module)?)?;
                let token = memory.u32(at(offsets.type_variable_token)?)?;
                let name = self.names.type_parameter(module, token)?;
                self.escaped(&name)
            }
            0x1b => {
                let count = memory.u32(at(offsets.function_pointer_count)?)?;
                let types = at(offsets.function_pointer_types)?;
                self.function_pointer(types, count.min(MOST_ARGUMENTS.into()), depth)
            }
            _ => None,
        }
    }

    fn function_pointer(&mut self, types: u64, count: u32, depth: usize) -> Option<()> {
        for index in 0..=u64::from(count) {
            let handle = self.names.memory.u64(types.checked_add(8 * index)?)?;
            self.write(handle, depth + 1)?;
            match index {
                0 => self.push("(")?,
                _ if index < u64::from(count) => self.push(", ")?,
                _ => {}
            }
        }
        self.push(")")
    }
}
