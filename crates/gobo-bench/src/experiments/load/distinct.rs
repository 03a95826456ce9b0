//! Many different schemas that share their types, none of them known yet.
use super::Bench;
use crate::generator::Bounds;
use crate::generator::closed_loop::closed_loop;

/// Most schemas.
const SCHEMAS: u64 = 1000;

pub(super) fn run(bench: &mut Bench<'_>) -> anyhow::Result<()> {
    let subject = bench.subject("distinct", &[])?;
    let connections = bench.connections(&subject)?;
    let workload = bench.workload;
    let bounds = Bounds { count: bench.args.count.min(SCHEMAS), ..bench.bounds() };
    let call = move |caller: usize, nth| {
        let connection = connections[caller % connections.len()].clone();
        async move { connection.index(&workload.schema("distinct", nth)).await.map(drop) }
    };
    let flow = bench.runtime.block_on(closed_loop("distinct", bench.callers(), bounds, call))?;
    if flow.n() < bounds.count {
        let (n, of) = (flow.n(), bounds.count);
        gobo_cli::output::note(format_args!(
            "distinct: {n} of {of} schemas in the time; --seconds N gives more"
        ));
    }
    bench.report.row(flow.into_row("distinct"));
    Ok(())
}
