//! Labels: correlation ids and other words that hold for many events (version 6).

use std::borrow::Cow;

use crate::cursor::{Cursor, Parsed};
use crate::span_table::SpanTable;
use crate::{EventVersion, Guid, Keywords, Level, Opcode};

/// The bit of a label's kind that ends its list.
const LAST: u8 = 0x80;

/// Something that is said of an event beside its payload.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Label<'a> {
    /// The activity the event belongs to.
    Activity(Guid),
    /// The activity that caused that one.
    RelatedActivity(Guid),
    /// The distributed trace the event belongs to (W3C trace context).
    TraceId([u8; 16]),
    /// The span of that trace, as its eight bytes stand in the stream.
    SpanId([u8; 8]),
    /// A word.
    Text {
        /// What it is.
        key: Cow<'a, str>,
        /// The word.
        value: Cow<'a, str>,
    },
    /// A number.
    Number {
        /// What it is.
        key: Cow<'a, str>,
        /// The number.
        value: i64,
    },
    /// Replaces the opcode of the event's kind.
    Opcode(Opcode),
    /// Replaces the keywords of the event's kind.
    Keywords(Keywords),
    /// Replaces the level of the event's kind.
    Level(Level),
    /// Replaces the version of the event's kind.
    Version(EventVersion),
}

/// The labels of one event.
#[derive(Clone, Copy, Debug, Default)]
pub struct Labels<'a> {
    pub(crate) bytes: &'a [u8],
}

impl<'a> Labels<'a> {
    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    /// Each of them.
    pub fn iter(&self) -> impl Iterator<Item = Label<'a>> + use<'a> {
        let mut cursor = Cursor::new(self.bytes);
        // They were read once before they were kept.
        std::iter::from_fn(move || {
            if cursor.is_empty() { None } else { read_label(&mut cursor).ok().map(|(label, _)| label) }
        })
    }

    pub(crate) fn find<T>(&self, wanted: impl FnMut(&Label<'a>) -> Option<T>) -> Option<T> {
        if self.is_empty() {
            return None;
        }
        let mut wanted = wanted;
        self.iter().find_map(|label| wanted(&label))
    }
}

/// Takes all lists of a block into the table.
pub(crate) fn read_label_block(cursor: &mut Cursor<'_>, table: &mut SpanTable) -> Parsed<()> {
    let before = *cursor;
    let first = cursor.u32("first label list id")?;
    if first == 0 {
        return Err(before.invalid("first label list id", "0 is the empty list"));
    }
    let count = cursor.u32("number of label lists")?;
    for place in 0..count {
        let start = *cursor;
        while !read_label(cursor)?.1 {}
        let size = cursor.at() - start.at();
        let Some(number) = first.checked_add(place) else {
            return Err(cursor.invalid("number of label lists", "ids beyond 32 bits"));
        };
        table.push(number, start.rest().get(..size).unwrap_or_default());
    }
    Ok(())
}

/// Reads one label and whether it is the last of its list.
fn read_label<'a>(cursor: &mut Cursor<'a>) -> Parsed<(Label<'a>, bool)> {
    let before = *cursor;
    let kind = cursor.u8("kind of a label")?;
    let label = match kind & !LAST {
        1 => Label::Activity(cursor.guid("activity id")?),
        2 => Label::RelatedActivity(cursor.guid("related activity id")?),
        3 => Label::TraceId(cursor.array("trace id")?),
        4 => Label::SpanId(cursor.array("span id")?),
        5 => Label::Text { key: cursor.utf8("key of a label")?, value: cursor.utf8("value of a label")? },
        6 => {
            Label::Number { key: cursor.utf8("key of a label")?, value: cursor.var_i64("value of a label")? }
        }
        7 => Label::Opcode(Opcode(cursor.u8("opcode of a label")?)),
        8 => Label::Keywords(Keywords(cursor.u64("keywords of a label")?)),
        9 => Label::Level(Level(cursor.u8("level of a label")?)),
        10 => Label::Version(EventVersion(u32::from(cursor.u8("version of a label")?))),
        _ => {
            return Err(
                before.invalid("kind of a label", "none that is known, so its size is not known either")
            );
        }
    };
    Ok((label, kind & LAST != 0))
}
