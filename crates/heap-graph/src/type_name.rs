//! Names of types as people write them.

/// The name of a type as the runtime prints it, made readable: ``List`1[Shop.Order]`` becomes `List<Shop.Order>`.
/// Brackets of arrays stay, and what is no generic type stays as it is.
#[must_use]
pub fn readable(name: &str) -> String {
    let mut text = String::with_capacity(name.len());
    let mut rest = name.chars().peekable();
    // For each open bracket: whether it holds type arguments.
    let mut open: Vec<bool> = Vec::new();
    while let Some(c) = rest.next() {
        match c {
            '`' if rest.peek().is_some_and(char::is_ascii_digit) => {
                while rest.next_if(char::is_ascii_digit).is_some() {}
            }
            '[' => {
                let array = matches!(rest.peek(), Some(']' | ',' | '*') | None);
                open.push(!array);
                text.push(if array { '[' } else { '<' });
            }
            ']' => text.push(if open.pop().unwrap_or(false) { '>' } else { ']' }),
            ',' => {
                text.push(',');
                if open.last() == Some(&true) {
                    text.push(' ');
                }
            }
            c => text.push(c),
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::readable;

    #[test]
    fn generic_types_and_arrays_are_told_apart() {
        assert_eq!(
            readable("System.Collections.Generic.List`1[Shop.Order]"),
            "System.Collections.Generic.List<Shop.Order>"
        );
        assert_eq!(readable("A`2[B`1[System.Int32[]],C[,]][]"), "A<B<System.Int32[]>, C[,]>[]");
        assert_eq!(readable("Outer`1+Inner[X]"), "Outer+Inner<X>");
        assert_eq!(readable("System.String[]"), "System.String[]");
        assert_eq!(readable("Odd`name]["), "Odd`name][");
        assert_eq!(readable(""), "");
    }
}
