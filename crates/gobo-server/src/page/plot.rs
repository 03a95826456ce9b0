//! Numbers off the page of metrics, and bars of them.

use maud::{Markup, html};

/// The value of a line of the page of metrics: `name{label="value"}`.
pub(super) fn number(page: &str, series: &str) -> f64 {
    let of = |line: &str| line.strip_prefix(series)?.strip_prefix(' ')?.trim().parse().ok();
    page.lines().find_map(of).unwrap_or(0.0)
}

/// How many samples of a histogram lie in each of its buckets, with the upper bound of each as it is written.
pub(super) fn buckets(page: &str, name: &str) -> Vec<(String, f64)> {
    let prefix = format!("{name}_bucket{{le=\"");
    let cumulative = page.lines().filter_map(|line| {
        let (bound, count) = line.strip_prefix(&prefix)?.split_once("\"} ")?;
        Some((bound.to_owned(), count.trim().parse::<f64>().ok()?))
    });
    let mut before = 0.0;
    cumulative
        .map(|(bound, count)| {
            let own = count - before;
            before = count;
            (bound, own)
        })
        .collect()
}

/// Bars with a name and a number each: a table, whose rows have a bar.
pub(super) fn bars(caption: &str, what: &str, rows: &[(String, f64)]) -> Markup {
    let most = rows.iter().map(|(_, value)| *value).fold(0.0, f64::max);
    html! {
        table.bars {
            caption { (caption) }
            thead { tr { th scope="col" { (what) } th scope="col" { "Number" } th scope="col" { span.hidden { "Bar" } } } }
            tbody {
                @for (name, value) in rows {
                    tr {
                        th scope="row" { (name) }
                        td { (whole(*value)) }
                        td {
                            svg width="200" height="12" viewBox="0 0 200 12" preserveAspectRatio="none" aria-hidden="true" {
                                rect x="0" y="1" height="10" width=(format!("{:.1}", if most > 0.0 { value / most * 200.0 } else { 0.0 })) {}
                            }
                        }
                    }
                }
            }
        }
    }
}

/// A histogram of times: the buckets between the first and the last that have any.
pub(super) fn times(page: &str, name: &str, caption: &str) -> Markup {
    let buckets = buckets(page, name);
    let has_any = |(_, count): &(String, f64)| *count > 0.0;
    let (Some(first), Some(last)) = (buckets.iter().position(has_any), buckets.iter().rposition(has_any))
    else {
        return html! { p { (caption) ": none yet." } };
    };
    let rows: Vec<(String, f64)> = buckets[first..=last]
        .iter()
        .map(|(bound, count)| (format!("≤ {}", seconds(bound)), *count))
        .collect();
    bars(caption, "Time", &rows)
}

/// A bound of a bucket for a person.
fn seconds(bound: &str) -> String {
    match bound.parse::<f64>() {
        Ok(bound) if bound < 1e-3 => format!("{:.0} µs", bound * 1e6),
        Ok(bound) if bound < 1.0 => format!("{:.0} ms", bound * 1e3),
        Ok(bound) if bound.is_finite() => format!("{bound:.0} s"),
        _ => "more".to_owned(),
    }
}

/// A count as a person reads it.
fn whole(value: f64) -> String {
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a count, which is no more than 2^53"
    )]
    gobo_types::grouped(value.max(0.0) as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAGE: &str = "# TYPE a counter\na{source=\"host\"} 12\na{source=\"host-b\"} 1\nt_seconds_bucket{le=\"0.001\"} 3\n\
        t_seconds_bucket{le=\"0.002\"} 3\nt_seconds_bucket{le=\"1\"} 10\nt_seconds_bucket{le=\"+Inf\"} 11\nt_seconds_sum 4\n";

    #[test]
    fn numbers_are_read_off_the_page() {
        assert!((number(PAGE, "a{source=\"host\"}") - 12.0).abs() < 0.1);
        assert!(number(PAGE, "b") < 0.1);
        let found: Vec<(String, f64)> = buckets(PAGE, "t_seconds");
        let shown: Vec<String> =
            found.iter().map(|(bound, count)| format!("{} {count}", seconds(bound))).collect();
        assert_eq!(shown, ["1 ms 3", "2 ms 0", "1 s 7", "more 1"]);
        assert!(times(PAGE, "t_seconds", "Times").into_string().contains("≤ 1 s"));
        assert!(times(PAGE, "none", "Times").into_string().contains("none yet"));
    }
}
