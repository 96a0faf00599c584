//! What looks like a secret in an environment or on a command line. A guess by name and shape: it hides too much
//! rather than too little, because what is shown ends in tickets and chats.

use model::Redaction;

/// Shown in place of a secret.
pub const HIDDEN: &str = "(hidden)";

/// Parts of names whose values are likely secret, without separators.
const WORDS: [&str; 10] = [
    "SECRET",
    "PASSWORD",
    "PASSWD",
    "PASSPHRASE",
    "TOKEN",
    "KEY",
    "CREDENTIAL",
    "CONNECTIONSTRING",
    "CONNSTR",
    "SAS",
];
/// The same, at the end of a name only.
const ENDINGS: [&str; 3] = ["PWD", "AUTH", "AUTHORIZATION"];
/// Names that look secret and are not.
const HARMLESS: [&str; 2] = ["PWD", "OLDPWD"];
/// Parts of values that give a password away.
const ASSIGNMENTS: [&str; 4] = ["password=", "pwd=", "accountkey=", "sharedaccesskey="];

/// Whether the value under this name is likely secret.
#[must_use]
pub fn is_secret_name(name: &str) -> bool {
    let name: String =
        name.chars().filter(char::is_ascii_alphanumeric).collect::<String>().to_ascii_uppercase();
    !HARMLESS.contains(&name.as_str())
        && (WORDS.iter().any(|word| name.contains(word)) || ENDINGS.iter().any(|end| name.ends_with(end)))
}

/// Whether a value gives a password away, whatever its name: connection strings, addresses, bearer tokens.
#[must_use]
pub fn is_secret_value(value: &str) -> bool {
    let lower = value.to_ascii_lowercase();
    let in_address = lower
        .split_once("://")
        .and_then(|(_, rest)| rest.split('/').next()?.rsplit_once('@'))
        .is_some_and(|(user, _)| user.contains(':'));
    ASSIGNMENTS.iter().any(|word| lower.contains(word)) || in_address || lower.starts_with("bearer ")
}

/// A command line with the secrets hidden: `--password=x`, `--token x`, connection strings, addresses.
#[must_use]
pub fn conceal_command_line(line: &str) -> String {
    let mut hide_next = false;
    let words: Vec<String> = line
        .split(' ')
        .map(|word| {
            let option = word.starts_with('-') || word.starts_with('/');
            if std::mem::take(&mut hide_next) && !option && !word.is_empty() {
                return HIDDEN.to_owned();
            }
            match word.split_once(['=', ':']) {
                Some((name, value)) if is_secret_name(name) && !value.is_empty() => {
                    let separator = &word[name.len()..=name.len()];
                    return format!("{name}{separator}{HIDDEN}");
                }
                _ if is_secret_value(word) => return HIDDEN.to_owned(),
                _ => {}
            }
            hide_next = word.starts_with('-') && is_secret_name(word);
            word.to_owned()
        })
        .collect();
    words.join(" ")
}

/// Arguments with their values hidden, whatever they look like. What is left says what runs: the program, the
/// assembly after it, and the names of options.
#[must_use]
pub fn redact_arguments(arguments: &[String], redaction: Redaction) -> Vec<String> {
    let mut assembly_seen = false;
    let hide = |argument: &String| {
        if !argument.starts_with('-') && !assembly_seen && is_assembly(argument) {
            assembly_seen = true;
            return argument.clone();
        }
        match argument.split_once('=') {
            Some((name, value)) if is_option(name) => format!("{name}={}", redaction.text(value)),
            _ if is_option(argument) => argument.clone(),
            _ => redaction.text(argument),
        }
    };
    arguments.first().cloned().into_iter().chain(arguments.iter().skip(1).map(hide)).collect()
}

fn is_assembly(argument: &str) -> bool {
    let path = std::path::Path::new(argument);
    path.extension().is_some_and(|end| end.eq_ignore_ascii_case("dll") || end.eq_ignore_ascii_case("exe"))
}

/// `--listen-on`, `-v`; not `-psecret`, where the value follows at once.
fn is_option(word: &str) -> bool {
    let is_letter = |letter: char| letter.is_ascii_alphabetic();
    match (word.strip_prefix("--"), word.strip_prefix('-')) {
        (Some(name), _) => {
            name.starts_with(is_letter) && name.chars().all(|c| is_letter(c) || "-_.:".contains(c))
        }
        (None, Some(name)) => name.len() == 1 && name.starts_with(is_letter),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_are_recognised_by_their_names() {
        for name in [
            "DB_PASSWORD",
            "ApiKey",
            "ConnectionStrings__Main",
            "GITHUB_TOKEN",
            "MYSQL_PWD",
            "PASSPHRASE",
            "AUTH",
        ] {
            assert!(is_secret_name(name), "{name}");
        }
        for name in ["PATH", "TMPDIR", "DOTNET_gcServer", "LANG", "PWD", "OLDPWD"] {
            assert!(!is_secret_name(name), "{name}");
        }
    }

    #[test]
    fn secrets_are_recognised_by_their_values() {
        for value in ["Server=db;Password=x", "amqp://me:pass@queue/vhost", "Bearer abc"] {
            assert!(is_secret_value(value), "{value}");
        }
        for value in ["http://localhost:5000", "me@example.com", "a=b", "/usr/bin:/bin"] {
            assert!(!is_secret_value(value), "{value}");
        }
    }

    #[test]
    fn command_lines_lose_their_secrets_and_nothing_else() {
        for (line, shown) in [
            ("dotnet App.dll --password=hunter2 -v", "dotnet App.dll --password=(hidden) -v"),
            (
                "app --token abc --urls http://localhost:5000",
                "app --token (hidden) --urls http://localhost:5000",
            ),
            ("app Server=db;Password=s3cret x", "app (hidden) x"),
            ("app amqp://me:pw@q/v", "app (hidden)"),
            ("dotnet exec /srv/App.dll --token --verbose", "dotnet exec /srv/App.dll --token --verbose"),
        ] {
            assert_eq!(conceal_command_line(line), shown);
        }
    }

    #[test]
    fn a_redacted_command_line_says_what_runs_and_nothing_of_its_values() {
        let arguments =
            ["dotnet", "/app/Shop.dll", "--tenant", "acme", "--user=bob", "-psecret", "-v", "other.dll"];
        let arguments: Vec<String> = arguments.map(str::to_owned).into();
        let shown = redact_arguments(&arguments, Redaction::On);
        let hide = |text| Redaction::On.text(text);
        let user = format!("--user={}", hide("bob"));
        let expected = ["dotnet", "/app/Shop.dll", "--tenant", &hide("acme"), &user, &hide("-psecret"), "-v"];
        assert_eq!(shown[..7], expected);
        assert_eq!(shown[7], hide("other.dll"), "only the first is what runs");
        assert_eq!(redact_arguments(&arguments, Redaction::Off), arguments);
        assert!(redact_arguments(&[], Redaction::On).is_empty());
    }
}
