//! Signatures, written as the runtime writes them in its events, so that both ways to a name give the same text.

use static_fields::table;

use crate::memory::Memory;
use crate::metadata::Reader;

/// Deepest nesting of types that is followed.
const DEEPEST: usize = 64;
/// Longest text that is made.
const LONGEST: usize = 16 << 10;

/// A compressed number (ECMA-335 II.23.2) and how many bytes it takes.
pub(crate) fn compressed(bytes: &[u8]) -> Option<(u32, usize)> {
    match *bytes {
        [one @ 0..=0x7f, ..] => Some((one.into(), 1)),
        [one @ 0x80..=0xbf, two, ..] => Some((u32::from_be_bytes([0, 0, one & 0x3f, two]), 2)),
        [one @ 0xc0..=0xdf, two, three, four, ..] => {
            Some((u32::from_be_bytes([one & 0x1f, two, three, four]), 4))
        }
        _ => None,
    }
}

/// The text of a method's signature; what was understood of it, if it is damaged.
pub(crate) fn text<M: Memory>(reader: &mut Reader<'_, M>, signature: &[u8]) -> String {
    let mut printer = Printer { reader, out: String::new() };
    let _ = printer.method(&mut Cursor(signature), " ", 0);
    printer.out
}

/// What is left of a signature.
struct Cursor<'a>(&'a [u8]);

impl Cursor<'_> {
    fn byte(&mut self) -> Option<u8> {
        let (first, rest) = self.0.split_first()?;
        self.0 = rest;
        Some(*first)
    }

    fn number(&mut self) -> Option<u32> {
        let (number, used) = compressed(self.0)?;
        self.0 = self.0.get(used..)?;
        Some(number)
    }

    fn address(&mut self) -> Option<u64> {
        let (eight, rest) = self.0.split_first_chunk()?;
        self.0 = rest;
        Some(u64::from_le_bytes(*eight))
    }
}

struct Printer<'r, 'm, M> {
    reader: &'r mut Reader<'m, M>,
    out: String,
}

impl<M: Memory> Printer<'_, '_, M> {
    fn push(&mut self, text: &str) -> Option<()> {
        if self.out.len() + text.len() > LONGEST {
            return None;
        }
        self.out.push_str(text);
        Some(())
    }

    fn method(&mut self, from: &mut Cursor<'_>, name: &str, depth: usize) -> Option<()> {
        let convention = from.number()?;
        if convention & 0x20 != 0 {
            self.push("instance ")?;
        }
        if convention & 0x10 != 0 {
            self.push("generic ")?;
            from.number()?;
        }
        self.push(match convention & 0xf {
            1 => "unmanaged cdecl ",
            2 => "unmanaged stdcall ",
            3 => "unmanaged thiscall ",
            4 => "unmanaged fastcall ",
            5 => "vararg ",
            6 | 7 => "<error> ",
            11 => "native vararg ",
            _ => "",
        })?;
        let mut left = from.number()?;
        self.one(from, depth)?;
        if !name.is_empty() {
            self.push(" ")?;
            self.push(name)?;
        }
        self.push("(")?;
        let mut is_first = true;
        while left > 0 && !from.0.is_empty() {
            if !std::mem::take(&mut is_first) {
                self.push(",")?;
            }
            if from.0.first() == Some(&0x41) {
                from.byte()?;
                self.push("...")?;
            } else {
                self.one(from, depth)?;
                left -= 1;
            }
        }
        self.push(")")
    }

    /// A type.
    fn one(&mut self, from: &mut Cursor<'_>, depth: usize) -> Option<()> {
        if depth > DEEPEST {
            return None;
        }
        let element = from.byte()?;
        if let Some(simple) = simple(element) {
            return self.push(simple);
        }
        match element {
            0x0f => self.marked(from, "*", depth),
            0x10 => self.marked(from, "&", depth),
            0x1d => self.marked(from, "[]", depth),
            0x45 => self.marked(from, " pinned", depth),
            0x11 => {
                self.push("value class ")?;
                self.class(from, depth)
            }
            0x12 => {
                self.push("class ")?;
                self.class(from, depth)
            }
            0x13 => {
                let number = from.number()?;
                self.push(&format!("!{number}"))
            }
            0x1e => {
                let number = from.number()?;
                self.push(&format!("!!{number}"))
            }
            0x14 => self.array(from, depth),
            0x15 => self.with_arguments(from, depth),
            0x1b => {
                self.push("fnptr ")?;
                self.method(from, "", depth + 1)
            }
            0x1f | 0x20 => {
                self.push(if element == 0x1f { "required_modifier " } else { "optional_modifier " })?;
                self.class(from, depth)?;
                self.push(" ")?;
                self.one(from, depth + 1)
            }
            0x21 => {
                let address = from.address()?;
                self.push(&format!("pMT: {address:#x}"))
            }
            _ => None,
        }
    }

    fn marked(&mut self, from: &mut Cursor<'_>, mark: &str, depth: usize) -> Option<()> {
        self.one(from, depth + 1)?;
        self.push(mark)
    }

    fn with_arguments(&mut self, from: &mut Cursor<'_>, depth: usize) -> Option<()> {
        self.one(from, depth + 1)?;
        let count = from.number()?;
        self.push("<")?;
        for index in 0..count {
            if index > 0 {
                self.push(",")?;
            }
            self.one(from, depth + 1)?;
        }
        self.push(">")
    }

    fn array(&mut self, from: &mut Cursor<'_>, depth: usize) -> Option<()> {
        self.one(from, depth + 1)?;
        let rank = from.number()?;
        if rank == 0 {
            return self.push("[??]");
        }
        let mut numbers = || -> Option<Vec<u32>> {
            let count = from.number().filter(|count| *count <= rank && *count <= 64)?;
            (0..count).map(|_| from.number()).collect()
        };
        let (sizes, lowest) = (numbers()?, numbers()?);
        self.push("[")?;
        for index in 0..rank as usize {
            let size = sizes.get(index).copied().unwrap_or(0);
            let low = lowest.get(index).copied().unwrap_or(0);
            if size != 0 && low != 0 {
                self.push(&format!("{low}...{}", low.wrapping_add(size).wrapping_add(1)))?;
            }
            if index + 1 < rank as usize {
                self.push(",")?;
            }
        }
        self.push("]")
    }

    /// A type by its token.
    fn class(&mut self, from: &mut Cursor<'_>, depth: usize) -> Option<()> {
        let coded = from.number()?;
        let row = usize::try_from(coded >> 2).ok()?;
        let kind = match coded & 3 {
            0 => table::TYPE_DEF,
            1 => table::TYPE_REF,
            2 => {
                let signature = self.reader.type_signature(row)?;
                return self.one(&mut Cursor(&signature), depth + 1);
            }
            _ => return None,
        };
        let name = self.reader.type_name(kind, row)?;
        if !name.namespace.is_empty() {
            self.push(&name.namespace)?;
            self.push(".")?;
        }
        self.push(&name.name)
    }
}

/// Types that are one byte.
fn simple(element: u8) -> Option<&'static str> {
    Some(match element {
        0x01 => "void",
        0x02 => "bool",
        0x03 => "wchar",
        0x04 => "int8",
        0x05 => "unsigned int8",
        0x06 => "int16",
        0x07 => "unsigned int16",
        0x08 => "int32",
        0x09 => "unsigned int32",
        0x0a => "int64",
        0x0b => "unsigned int64",
        0x0c => "float32",
        0x0d => "float64",
        0x0e => "class System.String",
        0x16 => "refany",
        0x18 => "int",
        0x19 => "unsigned int",
        0x1c => "class System.Object",
        0x3e => "class System.__Canon",
        _ => return None,
    })
}
