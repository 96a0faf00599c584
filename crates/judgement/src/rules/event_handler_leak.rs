//! `event-handler-leak`: objects live on because they never unsubscribed from an event.
//!
//! For: a growing list of delegates that a long-lived event holds. Against: handlers that were added once, at the start.

use crate::{Case, Verdict};

/// Like any leak, and each event runs all dead handlers too.
const COST: f64 = 26.0;

pub(super) fn judge(case: &Case) -> Vec<Verdict> {
    case.adopt("event-handler-leak", COST)
}
