//! The report as users see it, from fixed observations.
