//! Signed numbers in one to five bytes: seven bits each, the highest first.

/// The value and the bytes it took; `None` when the bytes end early or a fifth byte wants a sixth.
#[inline]
pub(super) fn decode(bytes: &[u8]) -> Option<(i32, usize)> {
    let first = *bytes.first()?;
    let mut value = i32::from(first & 0x7f);
    if first & 0x40 != 0 {
        value -= 0x80;
    }
    if first & 0x80 == 0 {
        return Some((value, 1));
    }
    for (index, &byte) in bytes.iter().enumerate().take(5).skip(1) {
        value = value.wrapping_shl(7) | i32::from(byte & 0x7f);
        if byte & 0x80 == 0 {
            return Some((value, index + 1));
        }
    }
    None
}

/// How many bytes a value takes.
#[inline]
pub(super) fn length(value: i32) -> usize {
    let fits = |bits: u32| value.wrapping_shl(32 - bits) >> (32 - bits) == value;
    (1..5).find(|&bytes| fits(bytes * 7)).unwrap_or(5) as usize
}

/// The bytes of a value, and how many of them count.
#[inline]
pub(super) fn encode(value: i32) -> ([u8; 5], usize) {
    let length = length(value);
    let mut bytes = [0; 5];
    for (index, byte) in bytes.iter_mut().enumerate().take(length) {
        let shift = 7 * (length - 1 - index);
        let more = if index + 1 < length { 0x80 } else { 0 };
        *byte = (value >> shift).to_le_bytes()[0] & 0x7f | more;
    }
    (bytes, length)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_take_the_bytes_that_other_tools_write() {
        for (value, expected) in [
            (0, &[0][..]),
            (63, &[63]),
            (-64, &[0x40]),
            (64, &[0x80, 0x40]),
            (-65, &[0xff, 0x3f]),
            (8191, &[0xbf, 0x7f]),
            (8192, &[0x80, 0xc0, 0x00]),
            (i32::MAX, &[0x87, 0xff, 0xff, 0xff, 0x7f]),
            (i32::MIN, &[0xf8, 0x80, 0x80, 0x80, 0x00]),
        ] {
            let (bytes, length) = encode(value);
            assert_eq!(&bytes[..length], expected, "{value}");
            assert_eq!(decode(expected), Some((value, expected.len())), "{value}");
        }
    }

    #[test]
    fn every_length_comes_back() {
        for shift in 0..32 {
            for value in [1_i32 << shift, (1_i32 << shift).wrapping_neg(), (1_i32 << shift).wrapping_sub(1)] {
                let (bytes, length) = encode(value);
                assert_eq!(decode(&bytes), Some((value, length)), "{value}");
                assert_eq!(decode(&bytes[..length - 1]), None, "{value} cut");
            }
        }
        assert_eq!(decode(&[0x80; 6]), None);
    }
}
