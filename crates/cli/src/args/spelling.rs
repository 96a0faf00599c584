//! Other spellings of options: scripts written for the .NET tools say `--duration:00:00:30` and `-p:4242`.

use std::ffi::OsString;

/// The same arguments with `--option:value` as `--option=value`, up to `--`, behind which they are another program's.
pub fn with_equals_signs(typed: impl IntoIterator<Item = OsString>) -> Vec<OsString> {
    let mut ours = true;
    typed
        .into_iter()
        .map(|word| {
            ours &= word != "--";
            match word.to_str().filter(|_| ours).and_then(respelled) {
                Some(word) => word.into(),
                None => word,
            }
        })
        .collect()
}

fn respelled(word: &str) -> Option<String> {
    let (option, value) = word.split_once(':')?;
    let name = option.strip_prefix("--").filter(|name| name.len() > 1).or_else(|| {
        // A single letter, or it may be several options in one word.
        option.strip_prefix('-').filter(|name| name.len() == 1)
    })?;
    let is_name = name.starts_with(|letter: char| letter.is_ascii_lowercase())
        && name.chars().all(|letter| letter.is_ascii_alphanumeric() || letter == '-');
    is_name.then(|| format!("{option}={value}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_colon_behind_an_option_is_an_equals_sign() {
        let typed = [
            "drdotnet",
            "--duration:00:00:30",
            "-p:4242",
            "--providers=A:1:2",
            "--providers",
            "A:1",
            "C:x",
            "-pn:1",
            "--",
            "--duration:1",
        ];
        let read = with_equals_signs(typed.map(OsString::from));
        assert_eq!(
            read,
            [
                "drdotnet",
                "--duration=00:00:30",
                "-p=4242",
                "--providers=A:1:2",
                "--providers",
                "A:1",
                "C:x",
                "-pn:1",
                "--",
                "--duration:1",
            ]
        );
    }
}
