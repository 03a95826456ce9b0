//! A report and its message.

use gobo_types::{Report, ReportEntry};

use crate::v1;

impl From<Report> for v1::Report {
    fn from(report: Report) -> Self {
        let entries = |entries: Vec<ReportEntry>| entries.into_iter().map(Into::into).collect();
        Self {
            enforced: entries(report.enforced),
            narrowed: entries(report.narrowed),
            unspellable: entries(report.unspellable),
            annotations: entries(report.annotations),
            widened: entries(report.widened),
            notes: entries(report.notes),
        }
    }
}

impl From<v1::Report> for Report {
    fn from(report: v1::Report) -> Self {
        let entries = |entries: Vec<v1::ReportEntry>| entries.into_iter().map(Into::into).collect();
        Self {
            enforced: entries(report.enforced),
            narrowed: entries(report.narrowed),
            unspellable: entries(report.unspellable),
            annotations: entries(report.annotations),
            widened: entries(report.widened),
            notes: entries(report.notes),
        }
    }
}

impl From<ReportEntry> for v1::ReportEntry {
    fn from(entry: ReportEntry) -> Self {
        Self { pointer: entry.pointer, keyword: entry.keyword, why: entry.why }
    }
}

impl From<v1::ReportEntry> for ReportEntry {
    fn from(entry: v1::ReportEntry) -> Self {
        Self { pointer: entry.pointer, keyword: entry.keyword, why: entry.why }
    }
}
