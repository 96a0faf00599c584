//! Kinds of events: who writes them, what they are called, what their payload holds.

use std::collections::HashMap;

use crate::cursor::{Cursor, Fault, Parsed};
use crate::field::{Field, Notation, read_fields};
use crate::limits::{MAX_METADATA_BYTES, MAX_METADATA_ROWS};
use crate::{EventId, EventVersion, Guid, Keywords, Level, MetadataId, Opcode};

/// Ids below this are looked up in an array. Runtimes count from 1.
const DENSE_IDS: usize = 1 << 14;

/// What the stream says of an event's payload.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Layout {
    /// Its fields; none also where the writer does not describe them, as the runtime's own providers do.
    Fields(Vec<Field>),
    /// A description that cannot be understood.
    Unreadable,
}

/// A kind of event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EventMetadata {
    /// Its number in this trace.
    pub id: MetadataId,
    /// Who writes it.
    pub provider: String,
    /// Its number at its provider.
    pub event: EventId,
    /// Its name; often empty for events of the runtime.
    pub name: String,
    /// Its groups.
    pub keywords: Keywords,
    /// The version of its layout.
    pub version: EventVersion,
    /// Its level.
    pub level: Level,
    /// What it marks; 0 if the stream does not say.
    pub opcode: Opcode,
    /// Its payload.
    pub layout: Layout,
    /// The id of the provider (version 6).
    pub provider_id: Option<Guid>,
    /// A sentence with places for the fields (version 6).
    pub message_template: Option<String>,
    /// What the event means (version 6).
    pub description: Option<String>,
    /// Whatever else the writer says (version 6).
    pub attributes: Vec<(String, String)>,
}

impl EventMetadata {
    fn new(id: u32, provider: String, event: u32, name: String) -> Self {
        EventMetadata {
            id: MetadataId(id),
            provider,
            event: EventId(event),
            name,
            keywords: Keywords(0),
            version: EventVersion(0),
            level: Level(0),
            opcode: Opcode(0),
            layout: Layout::Fields(Vec::new()),
            provider_id: None,
            message_template: None,
            description: None,
            attributes: Vec::new(),
        }
    }

    /// Its fields; none if they are not described.
    #[must_use]
    pub fn fields(&self) -> &[Field] {
        match &self.layout {
            Layout::Fields(fields) => fields,
            Layout::Unreadable => &[],
        }
    }

    /// Reads a row of versions 4 and 5. What follows its fixed part may be anything: events can do without it.
    pub(crate) fn read_v5(row: &mut Cursor<'_>) -> Parsed<EventMetadata> {
        let id = row.u32("metadata id")?;
        let provider = row.utf16("provider name")?;
        let event = row.u32("event id")?;
        let mut metadata = EventMetadata::new(id, provider, event, row.utf16("event name")?);
        metadata.keywords = Keywords(row.u64("keywords")?);
        metadata.version = EventVersion(row.u32("event version")?);
        metadata.level = Level(u8::try_from(row.u32("level")?).unwrap_or(u8::MAX));
        if row.is_empty() {
            return Ok(metadata);
        }
        match read_fields(row, Notation::V5, 0) {
            Ok(fields) => metadata.layout = Layout::Fields(fields),
            Err(_) => metadata.layout = Layout::Unreadable,
        }
        while metadata.layout != Layout::Unreadable && !row.is_empty() {
            if metadata.read_tag(row).is_err() {
                metadata.layout = Layout::Unreadable;
            }
        }
        Ok(metadata)
    }

    fn read_tag(&mut self, row: &mut Cursor<'_>) -> Parsed<()> {
        let size = row.u32("size of a tag")?;
        let kind = row.u8("kind of a tag")?;
        let mut tag = row.part(size as usize, "tag")?;
        match kind {
            1 => self.opcode = Opcode(tag.u8("opcode")?),
            2 => self.layout = Layout::Fields(read_fields(&mut tag, Notation::V5Tag, 0)?),
            _ => {}
        }
        Ok(())
    }

    /// Reads a row of version 6.
    pub(crate) fn read_v6(row: &mut Cursor<'_>) -> Parsed<EventMetadata> {
        let id = row.var_u32("metadata id")?;
        let provider = row.utf8("provider name")?.into_owned();
        let event = row.var_u32("event id")?;
        let mut metadata = EventMetadata::new(id, provider, event, row.utf8("event name")?.into_owned());
        let Ok(fields) = read_fields(row, Notation::V6, 0) else {
            metadata.layout = Layout::Unreadable;
            return Ok(metadata);
        };
        metadata.layout = Layout::Fields(fields);
        let size = row.u16("size of the optional metadata")?;
        let mut optional = row.part(usize::from(size), "optional metadata")?;
        while !optional.is_empty() {
            match optional.u8("kind of optional metadata")? {
                1 => metadata.opcode = Opcode(optional.u8("opcode")?),
                3 => metadata.keywords = Keywords(optional.u64("keywords")?),
                4 => metadata.message_template = Some(optional.utf8("message template")?.into_owned()),
                5 => metadata.description = Some(optional.utf8("description")?.into_owned()),
                6 => {
                    let key = optional.utf8("key of an attribute")?.into_owned();
                    let value = optional.utf8("value of an attribute")?.into_owned();
                    metadata.attributes.push((key, value));
                }
                7 => metadata.provider_id = Some(optional.guid("provider id")?),
                8 => metadata.level = Level(optional.u8("level")?),
                9 => metadata.version = EventVersion(u32::from(optional.u8("event version")?)),
                // Its size is not known, but that of the row is.
                _ => break,
            }
        }
        Ok(metadata)
    }
}

/// Where a kind of event is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Slot(u32);

/// All kinds of events that are known.
#[derive(Debug, Default)]
pub(crate) struct MetadataTable {
    /// Each with what it takes in the stream.
    rows: Vec<(EventMetadata, usize)>,
    dense: Vec<Option<Slot>>,
    sparse: HashMap<MetadataId, Slot>,
    bytes: usize,
}

impl MetadataTable {
    #[inline]
    pub fn slot(&self, id: MetadataId) -> Option<Slot> {
        let index = id.0 as usize;
        if index < DENSE_IDS {
            self.dense.get(index).copied().flatten()
        } else {
            self.sparse.get(&id).copied()
        }
    }

    #[inline]
    pub fn get(&self, slot: Slot) -> Option<&EventMetadata> {
        self.rows.get(slot.0 as usize).map(|(metadata, _)| metadata)
    }

    /// Keeps a kind of event, in the place of one with the same id; none if there is no room.
    pub fn insert(&mut self, metadata: EventMetadata, size: usize) -> Option<Slot> {
        let id = metadata.id;
        let known = self.slot(id);
        let replaced = known.and_then(|slot| self.rows.get(slot.0 as usize)).map_or(0, |(_, size)| *size);
        let bytes = self.bytes - replaced + size;
        if bytes > MAX_METADATA_BYTES || (known.is_none() && self.rows.len() >= MAX_METADATA_ROWS) {
            return None;
        }
        let slot = known.or_else(|| u32::try_from(self.rows.len()).ok().map(Slot))?;
        match self.rows.get_mut(slot.0 as usize) {
            Some(row) => *row = (metadata, size),
            None => self.rows.push((metadata, size)),
        }
        self.bytes = bytes;
        let index = id.0 as usize;
        if index < DENSE_IDS {
            if self.dense.len() <= index {
                self.dense.resize(index + 1, None);
            }
            if let Some(place) = self.dense.get_mut(index) {
                *place = Some(slot);
            }
        } else {
            self.sparse.insert(id, slot);
        }
        Some(slot)
    }

    pub fn clear(&mut self) {
        *self = MetadataTable::default();
    }
}

/// Reads the next row of a block of metadata (version 6): the row, and what it takes.
pub(crate) fn read_row_v6(cursor: &mut Cursor<'_>) -> Parsed<(EventMetadata, usize)> {
    let size = usize::from(cursor.u16("size of the metadata")?);
    let mut row = cursor.part(size, "metadata")?;
    Ok((EventMetadata::read_v6(&mut row).map_err(Fault::within)?, size))
}
