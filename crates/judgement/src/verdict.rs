//! What a rule says.

use facts::{Confidence, Culprit, Doubt, Fact, Observation, Severity, Sign};

/// What a rule says of a case.
#[derive(Clone, Debug, PartialEq)]
pub struct Verdict {
    /// What is ill, how bad, how sure, who is to blame, and all that was measured.
    pub finding: Observation,
    /// What it costs: the share of the process's work that is lost, in per cent, roughly. It only puts findings in an order.
    pub cost: f64,
    /// What it stands on.
    pub ground: Ground,
    /// What else it shows as.
    pub symptoms: Vec<Verdict>,
    /// What it follows from.
    pub causes: Vec<Verdict>,
}

/// What a verdict stands on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ground {
    /// A finding of a closer look, by their numbers.
    Look {
        /// Of the looks of the case.
        look: usize,
        /// Of the findings of the look.
        finding: usize,
    },
    /// What the rule put together: the first [`Sign`] of its facts.
    Signs,
}

impl Verdict {
    pub(crate) fn new(finding: Observation, cost: f64, ground: Ground) -> Verdict {
        Verdict { finding, cost, ground, symptoms: Vec::new(), causes: Vec::new() }
    }

    /// What a rule put together.
    #[must_use]
    pub(crate) fn of_sign(
        illness: &'static str,
        (severity, confidence): (Severity, Confidence),
        sign: Sign,
        cost: f64,
    ) -> Verdict {
        let finding = Observation::new(illness, severity, confidence).fact(Fact::Sign(sign));
        Verdict::new(finding, cost, Ground::Signs)
    }

    /// What a rule put together shows that what a look found is this.
    #[must_use]
    pub(crate) fn with_sign(mut self, sign: Sign) -> Verdict {
        self.finding.facts.insert(0, Fact::Sign(sign));
        self
    }

    /// Names the culprit.
    #[must_use]
    pub(crate) fn culprit(mut self, culprit: Culprit) -> Verdict {
        self.finding.culprit = Some(culprit);
        self
    }

    /// Adds something that was measured.
    #[must_use]
    pub(crate) fn fact(mut self, fact: Fact) -> Verdict {
        self.finding = self.finding.fact(fact);
        self
    }

    /// Something speaks against it: it is worth knowing, and no more.
    #[must_use]
    pub(crate) fn doubted(mut self, doubt: Doubt) -> Verdict {
        self.finding.severity = Severity::Info;
        self.finding.confidence = Confidence::Low;
        self.fact(Fact::Doubt(doubt))
    }

    /// What a rule put together, if one did.
    #[must_use]
    pub fn sign(&self) -> Option<&Sign> {
        self.finding.facts.iter().find_map(|fact| match fact {
            Fact::Sign(sign) => Some(sign),
            _ => None,
        })
    }

    /// The look that found it, if one did, by its number.
    #[must_use]
    pub fn look(&self) -> Option<usize> {
        match self.ground {
            Ground::Look { look, .. } => Some(look),
            Ground::Signs => None,
        }
    }
}
