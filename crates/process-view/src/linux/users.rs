//! Names of users, from /etc/passwd. A name is a courtesy: without it the number is shown.

/// The name of a user id, when the machine's own list has it.
#[must_use]
pub fn user_name(user: u32) -> Option<String> {
    let list = std::fs::read_to_string("/etc/passwd").ok()?;
    name_in_list(&list, user)
}

fn name_in_list(list: &str, user: u32) -> Option<String> {
    list.lines().find_map(|line| {
        let mut fields = line.split(':');
        let name = fields.next()?;
        (fields.nth(1)?.parse() == Ok(user)).then(|| name.to_owned())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_user_is_found_by_number() {
        let list = "root:x:0:0::/:/bin/sh\nbroken\napp:x:1654:1654::/home/app:/bin/sh\n";
        assert_eq!(name_in_list(list, 1654).as_deref(), Some("app"));
        assert_eq!(name_in_list(list, 5), None);
    }
}
