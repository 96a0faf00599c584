//! `/proc/PID/cgroup`: which container a process belongs to.

/// How many characters of a container id people use.
const SHORT_ID: usize = 12;
/// Length of the ids that container engines make: 64 hexadecimal digits.
const ID_LENGTH: usize = 64;

/// Finds the short container id in the text of a `cgroup` file, as Docker, containerd, CRI-O and Podman write
/// it: a run of 64 hexadecimal digits in the path, alone or between `docker-` and `.scope`.
#[must_use]
pub fn container_in_cgroup(text: &str) -> Option<String> {
    text.lines().find_map(|line| {
        let path = line.splitn(3, ':').nth(2)?;
        path.rsplit('/').find_map(container_id)
    })
}

fn container_id(part: &str) -> Option<String> {
    part.split(|c: char| !c.is_ascii_hexdigit())
        .find(|run| run.len() == ID_LENGTH)
        .and_then(|run| run.get(..SHORT_ID))
        .map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_engines_ids_are_found() {
        let id = "0123456789abcdef".repeat(4);
        for text in [
            format!("0::/system.slice/docker-{id}.scope\n"),
            format!("12:cpu:/docker/{id}\n0::/\n"),
            format!("0::/kubepods.slice/kubepods-pod1.slice/cri-containerd-{id}.scope/inner\n"),
            format!("0::/machine.slice/libpod-{id}.scope\n"),
        ] {
            assert_eq!(container_in_cgroup(&text).as_deref(), Some("0123456789ab"), "{text}");
        }
        assert_eq!(container_in_cgroup("0::/user.slice/session-1.scope\n"), None);
        assert_eq!(container_in_cgroup("nonsense"), None);
    }
}
