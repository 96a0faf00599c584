//! Command lines for people.

/// A command line without the folders of its program and without the host: `Shop.Api.dll --urls http://*:80`
/// tells two services apart where `/usr/share/dotnet/dotnet exec --runtimeconfig /srv/...` does not.
pub fn short_command(command_line: &str) -> String {
    let mut words: Vec<&str> = command_line.split(' ').collect();
    if words.first().is_some_and(|program| file_name(program) == "dotnet")
        && let Some(entry) = words.iter().position(|word| word.to_ascii_lowercase().ends_with(".dll"))
    {
        words.drain(..entry);
    }
    if let Some(program) = words.first_mut() {
        *program = file_name(program);
    }
    words.join(" ")
}

/// What comes after the program, when the program is known by its name already.
pub fn arguments(command_line: &str, name: &str) -> String {
    let short = short_command(command_line);
    let (program, rest) = short.split_once(' ').unwrap_or((&short, ""));
    let program = program.strip_suffix(".dll").unwrap_or(program);
    if program.eq_ignore_ascii_case(name) { rest.to_owned() } else { short }
}

fn file_name(path: &str) -> &str {
    path.rsplit('/').next().filter(|name| !name.is_empty()).unwrap_or(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_words_that_tell_programs_apart_are_kept() {
        for (full, short) in [
            ("/usr/bin/dotnet exec --depsfile /srv/a.json /srv/Shop.Api.dll /urls x", "Shop.Api.dll /urls x"),
            ("dotnet run --project Shop", "dotnet run --project Shop"),
            ("/opt/azmcp/azmcp server start", "azmcp server start"),
            ("/", "/"),
            ("", ""),
        ] {
            assert_eq!(short_command(full), short);
        }
    }

    #[test]
    fn a_name_is_not_said_twice() {
        assert_eq!(arguments("/usr/bin/dotnet /srv/Shop.Api.dll --urls x", "Shop.Api"), "--urls x");
        assert_eq!(arguments("/opt/azmcp", "azmcp"), "");
        assert_eq!(arguments("/opt/other --x", "Shop.Api"), "other --x");
    }
}
