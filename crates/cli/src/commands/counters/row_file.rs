//! A file of rows, CSV or JSON, that is complete after every interval: also when this tool is killed.

use std::fs::File;
use std::io::{ErrorKind, Seek, SeekFrom, Stdout, Write};
use std::path::PathBuf;
use std::time::{Duration, SystemTime};

use counters::Update;
use counters::export::{Zone, csv, json};

use super::WriteError;
use crate::explain::Failure;

/// Rows wait for the end of the interval, but no more bytes than this.
const MOST_WAITING: usize = 64 << 10;

/// Which rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RowFormat {
    /// CSV.
    Csv,
    /// JSON.
    Json,
}

enum Place {
    /// A regular file, where a closing can be written over. `end` is behind the last whole row.
    File { file: File, end: u64 },
    /// A pipe or a device.
    Stream(File),
    /// Standard output.
    Stdout(Stdout),
}

/// A file of rows.
pub struct RowFile {
    path: PathBuf,
    place: Place,
    format: RowFormat,
    interval: Duration,
    zone: Zone,
    waiting: String,
    waiting_rows: u64,
    /// Rows that are in the file.
    pub rows: u64,
}

impl RowFile {
    /// Begins a file; none is standard output. An older one is replaced.
    pub fn begin(
        path: Option<PathBuf>,
        format: RowFormat,
        process: &str,
        interval: Duration,
    ) -> Result<RowFile, WriteError> {
        let place = match &path {
            None => Place::Stdout(std::io::stdout()),
            Some(path) => {
                let failed =
                    |error: std::io::Error| WriteError::Failed(Failure::counters_disk(path, &error, ""));
                let file = File::create(path).map_err(failed)?;
                match file.metadata().map_err(failed)?.is_file() {
                    true => Place::File { file, end: 0 },
                    false => Place::Stream(file),
                }
            }
        };
        let zone = Zone::local();
        let waiting = match format {
            RowFormat::Csv => csv::HEADER.to_owned(),
            RowFormat::Json => json::header(process, SystemTime::now(), &zone),
        };
        let path = path.unwrap_or_else(|| PathBuf::from("standard output"));
        let mut file = RowFile { path, place, format, interval, zone, waiting, waiting_rows: 0, rows: 0 };
        // Before anything is asked of the target: a disk that is full is noticed now.
        file.flush()?;
        Ok(file)
    }

    /// Takes a value.
    pub fn take(&mut self, update: &Update) -> Result<(), WriteError> {
        let first = self.rows + self.waiting_rows == 0;
        let rows = match self.format {
            RowFormat::Csv => csv::append(&mut self.waiting, update, self.interval, &self.zone),
            RowFormat::Json => json::append(&mut self.waiting, update, self.interval, &self.zone, first),
        };
        self.waiting_rows += rows as u64;
        if self.waiting.len() > MOST_WAITING { self.flush() } else { Ok(()) }
    }

    /// Writes what waits.
    pub fn flush(&mut self) -> Result<(), WriteError> {
        if self.waiting.is_empty() {
            return Ok(());
        }
        let closing = if self.format == RowFormat::Json { json::FOOTER } else { "" };
        let written = match &mut self.place {
            Place::File { file, end } => write_over(file, end, &self.waiting, closing),
            Place::Stream(file) => file.write_all(self.waiting.as_bytes()),
            Place::Stdout(out) => out.write_all(self.waiting.as_bytes()).and_then(|()| out.flush()),
        };
        self.waiting.clear();
        let waiting_rows = std::mem::take(&mut self.waiting_rows);
        match written {
            Ok(()) => self.rows += waiting_rows,
            Err(error) => return Err(self.failure(&error)),
        }
        Ok(())
    }

    /// Writes what waits and closes the file.
    pub fn finish(&mut self) -> Result<(), WriteError> {
        self.flush()?;
        let closing = if self.format == RowFormat::Json { "]}\n" } else { "" };
        let written = match &mut self.place {
            // Closed after every write.
            Place::File { file, .. } => file.sync_all(),
            Place::Stream(file) => file.write_all(closing.as_bytes()),
            Place::Stdout(out) => out.write_all(closing.as_bytes()).and_then(|()| out.flush()),
        };
        match written {
            // A file system that cannot sync has done what it can.
            Err(error) if error.kind() != ErrorKind::InvalidInput => Err(self.failure(&error)),
            _ => Ok(()),
        }
    }

    fn failure(&self, error: &std::io::Error) -> WriteError {
        if error.kind() == ErrorKind::BrokenPipe {
            return WriteError::ReaderGone;
        }
        let kept = match &self.place {
            Place::File { .. } => format!("the {} rows before are kept, and the file is complete", self.rows),
            _ => String::new(),
        };
        WriteError::Failed(Failure::counters_disk(&self.path, error, &kept))
    }
}

/// Writes rows over the last closing, and a closing behind them. If that fails, the file is as before.
fn write_over(file: &mut File, end: &mut u64, rows: &str, closing: &str) -> std::io::Result<()> {
    let text = format!("{rows}{closing}");
    file.seek(SeekFrom::Start(*end))?;
    let Err(error) = file.write_all(text.as_bytes()) else {
        *end += rows.len() as u64;
        return Ok(());
    };
    // What was there before needs no more room than it had.
    file.set_len(*end)?;
    file.seek(SeekFrom::Start(*end))?;
    file.write_all(closing.as_bytes())?;
    Err(error)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_of_rows_is_complete_after_every_write() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("counter.json");
        let mut file =
            RowFile::begin(Some(path.clone()), RowFormat::Json, "Shop\"", Duration::from_secs(1)).unwrap();
        let read = || -> serde_json::Value {
            serde_json::from_str(&std::fs::read_to_string(&path).unwrap()).unwrap()
        };
        assert_eq!(read()["TargetProcess"], "Shop\"");
        for expected in 1..=3 {
            file.take(&update()).unwrap();
            file.flush().unwrap();
            assert_eq!(read()["Events"].as_array().map(Vec::len), Some(expected));
        }
        file.finish().unwrap();
        assert_eq!(read()["Events"][2]["value"], 1.5);
    }

    fn update() -> Update {
        let counter = counters::Counter {
            source: counters::CounterSource::EventCounter,
            provider: "P".to_owned(),
            name: "n".to_owned(),
            display_name: None,
            unit: None,
            description: None,
            meter_tags: String::new(),
            instrument_tags: String::new(),
        };
        Update {
            counter: counter.into(),
            tags: String::new(),
            reading: counters::Reading::Gauge(1.5),
            at: SystemTime::now(),
        }
    }
}
