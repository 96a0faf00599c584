//! Where a pointer to code leads: the runtime puts stubs before methods, which jump to the newest code of them.

use std::collections::HashMap;

use agent_host::AgentError;

use super::Guest;

/// Bytes of a stub that are looked at.
const LOOKED_AT: u32 = 24;
/// Stubs before stubs.
const MOST_HOPS: usize = 6;

/// Where a stub goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Next {
    /// At this address.
    At(u64),
    /// At the address that stands here.
    Stored(u64),
}

/// The addresses that each of these pointers leads to, itself first.
pub(crate) fn follow(
    guest: &mut Guest<'_>,
    pointers: impl IntoIterator<Item = u64>,
) -> Result<HashMap<u64, Vec<u64>>, AgentError> {
    let mut ways: HashMap<u64, Vec<u64>> =
        pointers.into_iter().map(|pointer| (pointer, vec![pointer])).collect();
    let mut ends: Vec<(u64, u64)> = ways.keys().map(|pointer| (*pointer, *pointer)).collect();
    for _ in 0..MOST_HOPS {
        let places: Vec<(u64, u32)> = ends.iter().map(|(_, at)| (*at, LOOKED_AT)).collect();
        let read = guest.ask_running(|agent| agent.memory(&places))?;
        let nexts: Vec<(u64, Next)> = ends
            .iter()
            .zip(read)
            .filter_map(|(&(pointer, at), bytes)| Some((pointer, next(at, &bytes?)?)))
            .collect();
        let stored = nexts.iter().filter_map(|(_, next)| match next {
            Next::Stored(at) => Some((*at, 8)),
            Next::At(_) => None,
        });
        let stored: Vec<(u64, u32)> = stored.collect();
        let mut words =
            if stored.is_empty() { Vec::new() } else { guest.ask_running(|agent| agent.memory(&stored))? }
                .into_iter();
        ends.clear();
        for (pointer, next) in nexts {
            let target = match next {
                Next::At(target) => Some(target),
                Next::Stored(_) => {
                    words.next().flatten().and_then(|bytes| bytes.try_into().ok()).map(u64::from_le_bytes)
                }
            };
            if let Some(target) = target
                && let Some(way) = ways.get_mut(&pointer)
                && !way.contains(&target)
            {
                way.push(target);
                ends.push((pointer, target));
            }
        }
        if ends.is_empty() {
            break;
        }
    }
    Ok(ways)
}

/// What a stub does at its end, for x64: those before methods (from 7 on their data stands in the next page; before, in
/// the code), and those that count calls.
fn next(at: u64, code: &[u8]) -> Option<Next> {
    let relative = |from: usize| {
        let bytes = code.get(from..)?.first_chunk()?;
        let end = at.wrapping_add(u64::try_from(from).ok()? + 4);
        Some(end.wrapping_add_signed(i64::from(i32::from_le_bytes(*bytes))))
    };
    let jump = |from: usize| match code.get(from..)? {
        [0xFF, 0x25, ..] => relative(from + 2).map(Next::Stored),
        [0xE9, ..] => relative(from + 1).map(Next::At),
        [0x40, 0xE9, ..] => relative(from + 2).map(Next::At),
        _ => None,
    };
    match code {
        // mov r10, [method]; jmp
        [0x4C, 0x8B, 0x15, ..] => jump(7),
        // mov r10, method; jmp
        [0x49, 0xBA, ..] => jump(10),
        // mov rax, [count]; dec word [rax]; je; jmp
        [0x48, 0x8B, 0x05, _, _, _, _, 0x66, 0xFF, 0x08, 0x74, _, ..] => jump(12),
        _ => jump(0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stubs_lead_to_code() {
        let at = 0x1000;
        assert_eq!(next(at, &[0xE9, 0x0B, 0, 0, 0]), Some(Next::At(0x1010)));
        assert_eq!(next(at, &[0xE9, 0xFB, 0xFF, 0xFF, 0xFF]), Some(Next::At(0x1000)));
        assert_eq!(next(at, &[0xFF, 0x25, 0xFA, 0x0F, 0, 0]), Some(Next::Stored(0x2000)));
        let method = [0x4C, 0x8B, 0x15, 1, 0, 0, 0, 0xFF, 0x25, 0xF3, 0x0F, 0, 0];
        assert_eq!(next(at, &method), Some(Next::Stored(0x2000)));
        let old = [0x49, 0xBA, 1, 2, 3, 4, 5, 6, 7, 8, 0x40, 0xE9, 0, 0, 0, 0];
        assert_eq!(next(at, &old), Some(Next::At(0x1010)));
        let counting = [0x48, 0x8B, 0x05, 0, 0, 0, 0, 0x66, 0xFF, 0x08, 0x74, 6, 0xFF, 0x25, 0, 0, 0, 0];
        assert_eq!(next(at, &counting), Some(Next::Stored(0x1012)));
        for code in [&[][..], &[0x55, 0x48, 0x89, 0xE5], &[0xE9, 1], &[0xFF, 0x25], &[0x4C, 0x8B, 0x15]] {
            assert_eq!(next(at, code), None);
        }
    }
}
