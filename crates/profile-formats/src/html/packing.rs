//! Numbers in a page: LEB128 in base64, which is short and needs no escaping.

/// Numbers on their way into a page.
#[derive(Default)]
pub(super) struct Packed(Vec<u8>);

impl Packed {
    pub(super) fn number(&mut self, mut number: u64) -> &mut Self {
        while number >= 0x80 {
            self.0.push(number.to_le_bytes()[0] | 0x80);
            number >>= 7;
        }
        self.0.push(number.to_le_bytes()[0]);
        self
    }

    pub(super) fn text(&self) -> String {
        base64(&self.0)
    }
}

/// Bytes in base64 with padding.
pub(super) fn base64(bytes: &[u8]) -> String {
    const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for chunk in bytes.chunks(3) {
        let at = |place: usize| u32::from(chunk.get(place).copied().unwrap_or(0));
        let bits = at(0) << 16 | at(1) << 8 | at(2);
        for place in 0..4 {
            if place > chunk.len() {
                text.push('=');
            } else {
                let letter = bits >> (18 - 6 * place) & 63;
                text.push(char::from(LETTERS[letter as usize]));
            }
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_become_letters() {
        for (bytes, text) in
            [("", ""), ("f", "Zg=="), ("fo", "Zm8="), ("foo", "Zm9v"), ("foobar", "Zm9vYmFy")]
        {
            assert_eq!(base64(bytes.as_bytes()), text);
        }
        let mut packed = Packed::default();
        packed.number(1).number(300);
        assert_eq!(packed.text(), base64(&[1, 0xac, 2]));
    }
}
