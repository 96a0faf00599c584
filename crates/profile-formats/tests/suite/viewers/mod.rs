//! Formats as those see them who read them: a browser, and a reader of perf's own text.

mod html;
mod perf_script;
