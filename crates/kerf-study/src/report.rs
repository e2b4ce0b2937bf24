//! The result of a study: tables, plots, findings, and a paragraph made of them.
use crate::finding::{Finding, FindingVerdict};
use crate::plot::Plot;
use crate::table::Table;
use crate::{Scale, Setup};
use kerf_exec::DeviceInfo;

/// What a study gave.
#[derive(Debug, Clone)]
pub struct StudyReport {
    /// Its name.
    pub study: &'static str,
    /// The publication.
    pub publication: &'static str,
    /// Device, or profile.
    pub device: DeviceInfo,
    /// Seed of the inputs.
    pub seed: u64,
    /// How large it was.
    pub scale: Scale,
    /// Tables.
    pub tables: Vec<Table>,
    /// Plots.
    pub plots: Vec<Plot>,
    /// Findings.
    pub findings: Vec<Finding>,
    /// What a reader must know.
    pub notes: Vec<String>,
}

/// Surineni 2017.
pub const SURINENI: &str = "Surineni 2017";
/// Li et al. 2016.
pub const LI: &str = "Li et al. 2016";

/// The place of findings that are Kerf's own.
pub const OWN: &str = "Kerf";

impl StudyReport {
    /// An empty one.
    pub fn new(
        study: &'static str,
        publication: &'static str,
        device: DeviceInfo,
        setup: &Setup,
    ) -> StudyReport {
        StudyReport {
            study,
            publication,
            device,
            seed: setup.seed,
            scale: setup.scale,
            tables: Vec::new(),
            plots: Vec::new(),
            findings: Vec::new(),
            notes: Vec::new(),
        }
    }

    /// Notes that hold for every study that runs kernels.
    pub fn note_device(&mut self, setup: &Setup, modelled: &[String]) {
        if !setup.timed() {
            self.notes.push(
                "No time was measured: the CPU executor's says nothing about a GPU. Findings about \
                 time, registers and shared memory need --device cuda."
                    .into(),
            );
        }
        if !modelled.is_empty() {
            self.notes.push(format!(
                "Modelled on the CPU executor, not a GPU's own bits: {}.",
                modelled.join(", ")
            ));
        }
    }

    fn count(&self, v: FindingVerdict) -> usize {
        self.findings.iter().filter(|f| f.verdict == v).count()
    }

    /// Are claims of Kerf's own among the findings (mostly: the same with the proven algorithms)?
    pub fn has_own(&self) -> bool {
        self.findings.iter().any(|f| f.place == OWN)
    }

    /// The study in one paragraph.
    pub fn summary(&self) -> String {
        let judged = self.findings.len() - self.count(FindingVerdict::NotJudged);
        let own = match self.has_own() {
            true => " and of Kerf's counterparts to them",
            false => "",
        };
        let mut s = format!(
            "{} on {} ({}), seed {}: of {} findings of {}{own}, {judged} could be judged; {} hold, {} hold \
             in part and {} do not.",
            self.study,
            self.device.name,
            self.device.detail,
            self.seed,
            self.findings.len(),
            self.publication,
            self.count(FindingVerdict::Holds),
            self.count(FindingVerdict::InPart),
            self.count(FindingVerdict::Fails),
        );
        for (verdict, lead) in [
            (FindingVerdict::Holds, "What holds:"),
            (FindingVerdict::InPart, "What holds in part:"),
            (FindingVerdict::Fails, "What does not hold:"),
            (FindingVerdict::NotJudged, "What could not be judged:"),
        ] {
            let all: Vec<String> = self
                .findings
                .iter()
                .filter(|f| f.verdict == verdict)
                .map(|f| format!("{} [{}; {}]", f.claim, f.place, f.evidence))
                .collect();
            if !all.is_empty() {
                s += &format!(" {lead} {}.", all.join("; "));
            }
        }
        for n in &self.notes {
            s += &format!(" {n}");
        }
        s
    }

    /// One JSON document.
    pub fn json(&self) -> serde_json::Value {
        serde_json::json!({
            "schema": "kerf.study/1",
            "study": self.study,
            "publication": self.publication,
            "device": self.device,
            "seed": self.seed,
            "scale": format!("{:?}", self.scale).to_lowercase(),
            "tables": self.tables,
            "findings": self.findings,
            "notes": self.notes,
            "summary": self.summary(),
        })
    }

    /// Files of a result: name and content.
    pub fn files(&self) -> Vec<(String, String)> {
        let mut all = Vec::new();
        for t in &self.tables {
            all.push((format!("{}-{}.csv", self.study, t.name), t.csv()));
        }
        for p in &self.plots {
            all.push((format!("{}-{}.svg", self.study, p.name), p.svg()));
        }
        all.push((format!("{}.txt", self.study), self.summary() + "\n"));
        all
    }
}
