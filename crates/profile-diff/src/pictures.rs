//! Pictures of a change.

use std::collections::BTreeMap;
use std::io::{self, Write};

use profile_formats::html::{Page, PageSide, Sides};
use profile_formats::{FormatError, Grouping};

use crate::difference::{By, Difference, number};

impl Difference<'_> {
    /// A page: widths of before or after, colours by change.
    pub fn write_page(&self, to: &mut dyn Write) -> io::Result<()> {
        let mut page = Page::new(&self.title(), self.weight, Sides::BeforeAndAfter);
        page.fact(match self.by {
            By::Time => "by time: equal widths are equal times each second".to_owned(),
            By::Total => "by total: equal widths are equal shares of all".to_owned(),
        });
        let sides = [PageSide { id: "before", title: "Before" }, PageSide { id: "after", title: "After" }];
        for (side, recording) in sides.into_iter().zip(self.recordings) {
            let factor = if side.id == "before" { self.factor() } else { 1.0 };
            let place = page.side(side);
            for profile in recording.of_side(self.side) {
                // Both under one process: a program that was restarted has another number.
                let profile = stacks::Profile { process: None, ..profile.clone() };
                page.add(place, &profile, None, factor);
            }
        }
        page.write(to)
    }

    /// An SVG picture: widths of after, colours by change.
    pub fn write_svg(&self, to: &mut dyn Write) -> io::Result<()> {
        let mut stacks = BTreeMap::<String, [u64; 2]>::new();
        let folded = profile_formats::by_id("folded").ok_or(io::ErrorKind::Unsupported)?;
        for (place, recording) in self.recordings.into_iter().enumerate() {
            let factor = if place == 0 { self.factor() } else { 1.0 };
            for profile in recording.of_side(self.side) {
                let mut bytes = Vec::new();
                folded.write(profile, Grouping::Merged, &mut bytes).map_err(|error| match error {
                    FormatError::Write(error) => error,
                    error => io::Error::other(error.to_string()),
                })?;
                for line in String::from_utf8_lossy(&bytes).lines() {
                    let Some((stack, weight)) = line.rsplit_once(' ') else { continue };
                    let weight = scaled(weight.parse().unwrap_or(0), factor);
                    let pair = stacks.entry(stack.to_owned()).or_default();
                    pair[place] = pair[place].saturating_add(weight);
                }
            }
        }
        let stacks: Vec<(String, u64, u64)> =
            stacks.into_iter().map(|(stack, [before, after])| (stack, before, after)).collect();
        profile_formats::write_difference(&self.title(), self.weight, &stacks, to)
    }

    fn title(&self) -> String {
        let [before, after] = self.recordings.map(|recording| recording.name.as_str());
        let side = self.side.title();
        if before == after {
            format!("{side}: {after}, before and after")
        } else {
            format!("{side}: {before} and then {after}")
        }
    }
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a weight, which saturates")]
fn scaled(weight: u64, factor: f64) -> u64 {
    (number(weight) * factor).round() as u64
}
