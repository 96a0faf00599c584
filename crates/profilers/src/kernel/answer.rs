//! Analysing: from what was recorded to an answer.

use kernel_collector::Recorded;
use model::{Body, Cell, Column, Cost, Section, Table, Unit, WindowEnd};
use stacks::{CallTree, top_methods};

use super::Picture;
use crate::Settings;
use crate::profiler::Answer;

pub(super) fn answer(
    picture: Picture,
    recorded: &Recorded,
    index: usize,
    settings: &Settings,
    end: WindowEnd,
) -> Answer {
    let measured = recorded.summary.ended.since(recorded.summary.started);
    let mut answer = Answer {
        summary: "Nothing was seen of the process.".to_owned(),
        findings: Vec::new(),
        sections: Vec::new(),
        notes: Vec::new(),
        cost: Cost::default(),
        measured,
        end,
    };
    let Some(process) = recorded.processes.get(index) else { return answer };
    let profile = match picture {
        Picture::Cpu | Picture::Both => &process.profiles.on_cpu,
        Picture::OffCpu => &process.profiles.off_cpu,
    };
    let mut table = Table::new([
        Column::new("method", "Method", Unit::Text),
        Column::new("total", "Total time", Unit::Nanoseconds),
    ]);
    let top = usize::try_from(settings.integer("top")).unwrap_or(usize::MAX);
    for method in
        top_methods(profile, &CallTree::new(profile, &profile.samples), |_| false).into_iter().take(top)
    {
        table.push([
            Cell::from(profile.frames[method.frame.0 as usize].name.as_str()),
            Cell::from(method.total),
        ]);
    }
    answer.summary = format!("{} samples.", profile.samples.len());
    answer.sections.push(Section::new("methods", "Time by method", Body::Table(table)));
    answer
}
