//! One self-contained HTML page.
//!
//! No script, no external resource, and a content security policy that forbids both, so that a page found in
//! an old incident is as harmless as on its first day. Strings of the report go through `Markup::text`;
//! markup is `'static` text, so a string of the target cannot get in unescaped without a type error.

mod bodies;
mod chart;
mod markup;

use model::{Finding, Report, Severity, Target};

use crate::phrases;
use crate::value::format_time;
use markup::Markup;

/// Blocks everything but the style sheet in the page itself.
const HEAD: &str = "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
    <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'; \
    base-uri 'none'; form-action 'none'\">\n\
    <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
    <meta name=\"referrer\" content=\"no-referrer\">\n<meta name=\"color-scheme\" content=\"light dark\">\n<title>";

/// A whole report.
#[must_use]
pub fn render(report: &Report) -> String {
    let mut page = Markup::default();
    page.raw(HEAD)
        .text(&report.target.name)
        .raw(" – ")
        .text(&report.profiler.name)
        .raw(" – drdotnet</title>\n");
    page.raw("<style>\n").raw(include_str!("html/page.css")).raw("</style>\n</head>\n<body>\n<main>\n");
    draw_header(&mut page, report);
    if !report.findings.is_empty() {
        page.raw("<section class=\"findings\">\n<h2>Findings</h2>\n");
        for finding in &report.findings {
            draw_finding(&mut page, finding);
        }
        page.raw("</section>\n");
    }
    for section in &report.sections {
        page.raw("<section class=\"panel\">\n").element("h2", "", &section.title).raw("\n");
        bodies::draw(&mut page, &section.body);
        page.raw("</section>\n");
    }
    if !report.notes.is_empty() {
        page.raw("<section class=\"panel notes\">\n<h2>Notes</h2>\n<ul>\n");
        for note in &report.notes {
            page.element("li", "", note).raw("\n");
        }
        page.raw("</ul>\n</section>\n");
    }
    draw_about(&mut page, report);
    page.raw("</main>\n</body>\n</html>\n");
    page.finish()
}

fn draw_header(page: &mut Markup, report: &Report) {
    page.raw("<header>\n").element("p", "brand", "drdotnet").raw("\n<h1>");
    page.element("span", "profiler", &report.profiler.name).raw(" ").element(
        "span",
        "target",
        &report.target.name,
    );
    page.raw("</h1>\n<p class=\"facts\">");
    for part in phrases::target_parts(&report.target).iter().skip(1) {
        page.element("span", "", part);
    }
    page.element("span", "", &phrases::window(&report.window)).raw("</p>\n");
    page.raw("<div class=\"verdict ")
        .raw(report.findings.iter().map(|f| f.severity).max().map_or("neutral", Severity::word));
    page.raw("\">\n");
    if !report.summary.is_empty() {
        page.element("p", "summary", &report.summary).raw("\n");
    }
    page.raw("<p class=\"counts\">");
    for (severity, count) in phrases::severity_counts(&report.findings) {
        page.raw("<span class=\"badge ").raw(severity.word()).raw("\">");
        page.text(&count).raw("</span>");
    }
    if report.findings.is_empty() {
        page.element("span", "badge neutral", "no findings");
    }
    page.raw("</p>\n</div>\n</header>\n");
}

fn draw_finding(page: &mut Markup, finding: &Finding) {
    page.raw("<article class=\"finding ").raw(finding.severity.word()).raw("\">\n<h3><span class=\"badge ");
    page.raw(finding.severity.word()).raw("\">").raw(finding.severity.word()).raw("</span> ");
    page.text(&finding.title).raw("</h3>\n");
    if let Some(culprit) = &finding.culprit {
        page.raw("<p class=\"culprit\">").element("span", "kind", phrases::culprit_kind(culprit.kind));
        page.raw(" ").element("code", "", &culprit.name);
        if let Some(place) = phrases::culprit_place(culprit) {
            page.raw(" ").element("span", "place", &place);
        }
        page.raw("</p>\n");
    }
    if !finding.evidence.is_empty() {
        page.raw("<dl>\n");
        for evidence in &finding.evidence {
            page.element("dt", "", &evidence.what).element("dd", "", &evidence.seen).raw("\n");
        }
        page.raw("</dl>\n");
    }
    if !finding.advice.is_empty() {
        page.raw("<ul class=\"advice\">\n");
        for advice in &finding.advice {
            page.element("li", "", advice).raw("\n");
        }
        page.raw("</ul>\n");
    }
    if let Some(command) = &finding.command {
        page.raw("<p class=\"deeper\">Dig deeper: ").element("code", "", command).raw("</p>\n");
    }
    page.raw("<p class=\"mark\">").text(&finding.id).raw(" · ").raw(finding.confidence.word());
    page.raw(" confidence</p>\n</article>\n");
}

/// What a later reader needs to repeat the measurement, or to doubt it.
fn draw_about(page: &mut Markup, report: &Report) {
    page.raw("<footer>\n<div>\n<h2>Cost</h2>\n<dl>\n");
    for (label, value) in phrases::cost(&report.cost) {
        page.element("dt", "", label).element("dd", "", &value).raw("\n");
    }
    page.raw("</dl>\n</div>\n<div>\n<h2>About</h2>\n<dl>\n");
    page.raw("<dt>question</dt>").element("dd", "", &report.profiler.question).raw("\n<dt>profiler</dt><dd>");
    page.element("code", "", &report.profiler.id).raw("</dd>\n");
    let parameters = phrases::parameters(report);
    if !parameters.is_empty() {
        page.raw("<dt>parameters</dt><dd>").element("code", "", &parameters).raw("</dd>\n");
    }
    draw_process(page, &report.target);
    page.raw("<dt>version</dt><dd>").text(&report.tool_version).raw(", ").text(&report.schema);
    page.raw("</dd>\n</dl>\n</div>\n</footer>\n");
}

fn draw_process(page: &mut Markup, target: &Target) {
    if let Some(started_at) = target.started_at {
        page.raw("<dt>process start</dt>").element("dd", "", &format_time(started_at)).raw("\n");
    }
    if let Some(command_line) = &target.command_line {
        page.raw("<dt>command line</dt><dd>").element("code", "", command_line).raw("</dd>\n");
    }
}
