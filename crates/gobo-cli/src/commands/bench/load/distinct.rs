//! Many different schemas that share their types, none of them known yet.
use super::super::closed_loop::closed_loop;
use super::super::measure::Bounds;
use super::Bench;

/// Most schemas.
const SCHEMAS: u64 = 1000;

pub(super) fn run(bench: &mut Bench<'_>) -> anyhow::Result<()> {
    let target = bench.target("distinct", &[])?;
    let connections = bench.connections(&target)?;
    let workload = bench.workload;
    let bounds = Bounds { count: bench.args.count.min(SCHEMAS), ..bench.bounds() };
    let call = move |caller: usize, nth| {
        let connection = connections[caller % connections.len()].clone();
        async move { connection.index(&workload.schema("distinct", nth)).await.map(drop) }
    };
    let flow = bench.runtime.block_on(closed_loop("distinct", bench.callers(), bounds, call))?;
    if flow.n() < bounds.count {
        let (n, of) = (flow.n(), bounds.count);
        crate::output::note(format_args!(
            "distinct: {n} of {of} schemas in the time; --seconds N gives more"
        ));
    }
    bench.report.row(flow.into_row("distinct"));
    Ok(())
}
