//! The type that a field's signature gives, as far as it is needed to tell fields of one name apart.

use crate::bytes::Bytes;
use crate::fields::Names;

/// The name of a field's type without type arguments; none where a name says nothing (`object`, type parameters) or
/// the type has none.
pub(crate) fn type_name(names: &Names<'_>, blob: usize) -> Option<String> {
    let mut reader = Reader { bytes: names.blobs(), at: blob };
    let _length = reader.number()?;
    if reader.byte()? != 0x06 {
        return None;
    }
    // `volatile` and the like.
    while matches!(reader.peek()?, 0x1f | 0x20) {
        reader.byte()?;
        reader.number()?;
    }
    let mut arrays = 0;
    while reader.peek()? == 0x1d {
        reader.byte()?;
        arrays += 1;
    }
    let name = match reader.byte()? {
        0x02 => "System.Boolean".to_owned(),
        0x03 => "System.Char".to_owned(),
        0x04 => "System.SByte".to_owned(),
        0x05 => "System.Byte".to_owned(),
        0x06 => "System.Int16".to_owned(),
        0x07 => "System.UInt16".to_owned(),
        0x08 => "System.Int32".to_owned(),
        0x09 => "System.UInt32".to_owned(),
        0x0a => "System.Int64".to_owned(),
        0x0b => "System.UInt64".to_owned(),
        0x0c => "System.Single".to_owned(),
        0x0d => "System.Double".to_owned(),
        0x0e => "System.String".to_owned(),
        0x1c if arrays > 0 => "System.Object".to_owned(),
        0x11 | 0x12 => names.coded(reader.number()?)?,
        0x15 => {
            reader.byte()?;
            names.coded(reader.number()?)?
        }
        _ => return None,
    };
    Some(name + &"[]".repeat(arrays))
}

struct Reader<'a> {
    bytes: Bytes<'a>,
    at: usize,
}

impl Reader<'_> {
    fn peek(&self) -> Option<u8> {
        self.bytes.u8(self.at)
    }

    fn byte(&mut self) -> Option<u8> {
        let byte = self.peek()?;
        self.at += 1;
        Some(byte)
    }

    /// A compressed number, II.23.2.
    fn number(&mut self) -> Option<usize> {
        let first = usize::from(self.byte()?);
        Some(match first {
            0..=0x7f => first,
            0x80..=0xbf => (first & 0x3f) << 8 | usize::from(self.byte()?),
            _ => {
                let mut number = first & 0x1f;
                for _ in 0..3 {
                    number = number << 8 | usize::from(self.byte()?);
                }
                number
            }
        })
    }
}
