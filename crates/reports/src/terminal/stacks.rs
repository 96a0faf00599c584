//! Call stacks, innermost frame first, as .NET prints them.

use model::{Frame, Stacks};

use super::page::{Ink, Page};
use super::table::NOTHING;
use super::text::{cut, cut_end, width};
use crate::hostile::printable;
use crate::phrases::{counted, frame_name, frame_place, threads};
use crate::value::format_whole;

/// Frames shown of one stack. The outer ones are the same in most stacks; the other formats show them.
const MOST_FRAMES: usize = 25;

pub(super) fn draw(page: &mut Page, stacks: &Stacks, indent: usize) {
    let margin = " ".repeat(indent);
    if stacks.stacks.is_empty() {
        page.line(&[(Ink::Plain, &margin), (Ink::Faint, NOTHING)]);
    }
    for (index, stack) in stacks.stacks.iter().enumerate() {
        if index > 0 {
            page.blank();
        }
        let weight = format!("{margin}{}", format_whole(stack.weight, stacks.unit));
        page.hanging(
            &[(Ink::Strong, &weight), (Ink::Plain, "  ")],
            width(&weight) + 2,
            Ink::Plain,
            &printable(&threads(stack)),
        );
        for frame in stack.frames.iter().take(MOST_FRAMES) {
            let text = frame_line(frame, page.room(indent + 2));
            page.line(&[(Ink::Plain, &margin), (Ink::Plain, "  "), (Ink::Plain, &text)]);
        }
        let more = stack.frames.len().saturating_sub(MOST_FRAMES);
        if more > 0 {
            let more = format!("… and {}", counted(more as u64, "more frame"));
            page.line(&[(Ink::Plain, &margin), (Ink::Plain, "  "), (Ink::Faint, &more)]);
        }
    }
}

/// `at Shop.Orders!OrderBook.Add (OrderBook.cs:42)`; a name too long for the line gives way to the place.
fn frame_line(frame: &Frame, room: usize) -> String {
    let place =
        frame_place(frame).map_or(String::new(), |place| format!(" ({})", cut(&printable(&place), room / 3)));
    let name = format!("at {}", cut(&printable(&frame_name(frame)), room.saturating_sub(3 + width(&place))));
    cut_end(&format!("{name}{place}"), room)
}
