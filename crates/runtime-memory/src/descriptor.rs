//! The runtime's description of its own memory: which field of which structure stands where.
//!
//! ```text
//! DotNetRuntimeContractDescriptor: magic, flags, size --> text in JSON: {"version", "types", "globals", "contracts"}
//!                                                     --> addresses that globals are given by
//! ```
//!
//! The layout is in the runtime's `docs/design/datacontracts/contract-descriptor.md` and `data_descriptor.md`.

use std::collections::HashMap;

use serde_json::Value;

use crate::error::Error;
use crate::memory::Memory;

/// `DNCCDAC\0` as a number.
const MAGIC: u64 = 0x0043_4144_4343_4e44;
/// Bit 0 is always set; bit 1 tells 32 bits from 64.
const SIXTY_FOUR_BITS: u32 = 1;
/// The text of .NET 10 has 10 KB, and there are 24 addresses.
const LONGEST_TEXT: u32 = 1 << 20;
const MOST_ADDRESSES: u32 = 4096;

/// What a runtime says of its memory.
#[derive(Debug, Default)]
pub(crate) struct Descriptor {
    types: HashMap<String, HashMap<String, u64>>,
    globals: HashMap<String, Global>,
    contracts: HashMap<String, String>,
    addresses: Vec<u64>,
}

/// A global: a number, or one of the addresses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Global {
    Number(u64),
    Address(usize),
}

impl Descriptor {
    /// Reads the descriptor at an address.
    pub(crate) fn at(memory: &impl Memory, address: u64) -> Result<Descriptor, Error> {
        let damaged = |what| Error::Damaged { what };
        let head: [u8; 40] = memory.array(address).ok_or(damaged("it cannot be read"))?;
        let (numbers, _) = head.as_chunks::<8>();
        let &[magic, flags_and_size, text, count, table] = numbers else {
            return Err(damaged("it cannot be read"));
        };
        let magic = u64::from_le_bytes(magic);
        // The runtime stores the bytes in the order of the number.
        if magic != MAGIC && magic != MAGIC.swap_bytes() {
            return Err(damaged("it does not begin as one"));
        }
        let half = |eight: [u8; 8], upper: bool| {
            let [a, b, c, d, e, f, g, h] = eight;
            u32::from_le_bytes(if upper { [e, f, g, h] } else { [a, b, c, d] })
        };
        if half(flags_and_size, false) & 3 != SIXTY_FOUR_BITS {
            return Err(Error::Unknown { what: format!("flags {:#x}", half(flags_and_size, false)) });
        }
        let (size, count) = (half(flags_and_size, true), half(count, false));
        if size > LONGEST_TEXT || count > MOST_ADDRESSES {
            return Err(damaged("it is too large"));
        }
        let mut bytes = vec![0; size as usize];
        if !memory.read(u64::from_le_bytes(text), &mut bytes) {
            return Err(damaged("its text cannot be read"));
        }
        let mut descriptor = Descriptor::parse(&bytes)?;
        let mut bytes = vec![0; count as usize * 8];
        if !memory.read(u64::from_le_bytes(table), &mut bytes) {
            return Err(damaged("its addresses cannot be read"));
        }
        descriptor.addresses =
            bytes.as_chunks::<8>().0.iter().map(|eight| u64::from_le_bytes(*eight)).collect();
        Ok(descriptor)
    }

    /// From its text.
    pub(crate) fn parse(text: &[u8]) -> Result<Descriptor, Error> {
        let damaged = Error::Damaged { what: "its text is no JSON of the right shape" };
        let Ok(Value::Object(root)) = serde_json::from_slice(text) else {
            return Err(damaged);
        };
        match root.get("version") {
            Some(Value::Number(version)) if version.as_u64() == Some(0) => {}
            Some(version) => return Err(Error::Unknown { what: format!("version {}", short(version)) }),
            None => return Err(damaged),
        }
        // A baseline would be a list of values that the text leaves out.
        if let Some(baseline) = root.get("baseline")
            && baseline.as_str() != Some("empty")
        {
            return Err(Error::Unknown { what: format!("baseline {}", short(baseline)) });
        }
        let part = |name| root.get(name).and_then(Value::as_object).into_iter().flatten();
        let fields = |fields: &Value| {
            let fields = fields.as_object().into_iter().flatten();
            fields.filter_map(|(name, value)| Some((name.clone(), number(first(value))?))).collect()
        };
        let types = part("types").map(|(name, value)| (name.clone(), fields(value))).collect();
        let globals =
            part("globals").filter_map(|(name, value)| Some((name.clone(), global(value)?))).collect();
        let contracts = part("contracts").map(|(name, version)| (name.clone(), short(version))).collect();
        Ok(Descriptor { types, globals, contracts, addresses: Vec::new() })
    }

    /// Where a field stands in its structure.
    pub(crate) fn field(&self, structure: &str, field: &str) -> Option<u64> {
        self.types.get(structure)?.get(field).copied()
    }

    /// The value of a global.
    pub(crate) fn global(&self, name: &str) -> Option<u64> {
        match *self.globals.get(name)? {
            Global::Number(number) => Some(number),
            Global::Address(index) => self.addresses.get(index).copied(),
        }
    }

    /// The version of a contract, as it stands there.
    pub(crate) fn contract(&self, name: &str) -> Option<&str> {
        self.contracts.get(name).map(String::as_str)
    }
}

/// A value is given alone or together with its type.
fn first(value: &Value) -> &Value {
    value.as_array().and_then(|pair| pair.first()).unwrap_or(value)
}

/// `12`, `"12"` or `"0xc"`.
fn number(value: &Value) -> Option<u64> {
    match value {
        Value::Number(number) => number.as_u64(),
        Value::String(text) => match text.strip_prefix("0x") {
            Some(digits) => u64::from_str_radix(digits, 16).ok(),
            None => text.parse().ok(),
        },
        _ => None,
    }
}

/// `[value, type]` or a value; an address is a list of its index.
fn global(value: &Value) -> Option<Global> {
    match value {
        Value::Array(list) => match &list[..] {
            [Value::Array(index), ..] => {
                Some(Global::Address(usize::try_from(number(index.first()?)?).ok()?))
            }
            // Without a type, a list of one number is an index too.
            [only @ Value::Number(_)] => Some(Global::Address(usize::try_from(number(only)?).ok()?)),
            [value, ..] => number(value).map(Global::Number),
            [] => None,
        },
        value => number(value).map(Global::Number),
    }
}

/// A version, cut to what an error needs.
fn short(value: &Value) -> String {
    match value {
        Value::String(text) => text.chars().take(32).collect(),
        Value::Number(number) => number.to_string(),
        _ => "?".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory::{Bytes, Noise};
    use proptest::prelude::*;

    const TEXT: &str = r#"{"version":0,"baseline":"empty","types":{"Module":{"!":8,"Path":272,"Link":[112,"pointer"]}},
        "globals":{"Last":["0xf","uint8"],"Plain":7,"Map":[[1],"pointer"],"Name":["x64","string"]},"contracts":{"Loader":1,"New":"c2"}}"#;

    #[test]
    fn fields_globals_and_contracts_are_found() {
        let mut descriptor = Descriptor::parse(TEXT.as_bytes()).unwrap();
        descriptor.addresses = vec![0, 0x7f00];
        assert_eq!(descriptor.field("Module", "Path"), Some(272));
        assert_eq!(descriptor.field("Module", "Link"), Some(112));
        assert_eq!(descriptor.field("Module", "Base"), None);
        assert_eq!(descriptor.global("Last"), Some(15));
        assert_eq!(descriptor.global("Plain"), Some(7));
        assert_eq!(descriptor.global("Map"), Some(0x7f00));
        assert_eq!(descriptor.global("Name"), None);
        assert_eq!(descriptor.contract("Loader"), Some("1"));
        assert_eq!(descriptor.contract("New"), Some("c2"));
    }

    #[test]
    fn what_is_new_is_refused_and_what_is_cut_is_damaged() {
        for (text, is_new) in [
            (r#"{"version":1}"#, true),
            (r#"{"version":0,"baseline":"net10"}"#, true),
            ("{}", false),
            ("[", false),
            ("", false),
            (&TEXT[..200], false),
        ] {
            let error = Descriptor::parse(text.as_bytes()).unwrap_err();
            assert_eq!(matches!(error, Error::Unknown { .. }), is_new, "{text}: {error}");
        }
        assert!(Descriptor::parse("[".repeat(100_000).as_bytes()).is_err());
    }

    proptest! {
        #[test]
        fn no_text_and_no_memory_does_harm(text in ".{0,400}", cut in 0..TEXT.len(), seed in any::<u64>()) {
            let _ = Descriptor::parse(text.as_bytes());
            let _ = Descriptor::parse(format!("{}{text}", &TEXT[..cut]).as_bytes());
            let mut bytes = MAGIC.to_le_bytes().to_vec();
            bytes.extend(seed.to_le_bytes());
            bytes.extend([0; 24]);
            let _ = Descriptor::at(&Bytes { at: 0x1000, bytes }, 0x1000);
            let _ = Descriptor::at(&Noise(seed), seed);
        }
    }
}
