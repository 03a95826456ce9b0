//! Cold throughput: distinct schemas that share types, each a miss, in a closed loop.
use super::harness::Load;
use crate::generator::Bounds;
use crate::generator::closed_loop::closed_loop;

/// Most schemas.
const SCHEMAS: u64 = 1000;

pub(super) fn run(load: &mut Load<'_>) -> anyhow::Result<()> {
    load.report.panel("misses");
    let subject = load.subject("distinct", &[])?;
    let connections = load.connections(&subject)?;
    let workload = load.workload;
    let bounds = load.bounds();
    let bounds = Bounds { count: bounds.count.min(SCHEMAS), ..bounds };
    let call = move |caller: usize, nth| {
        let connection = connections[caller % connections.len()].clone();
        async move { connection.index(&workload.schema("distinct", nth)).await.map(drop) }
    };
    let flow = load.runtime.block_on(closed_loop("distinct", load.callers(), bounds, call))?;
    if flow.n() < bounds.count {
        let (n, of) = (flow.n(), bounds.count);
        gobo_cli::output::note(format_args!(
            "distinct: {n} of {of} schemas in the time; --seconds N gives more"
        ));
    }
    load.report.row(flow.into_row("distinct"));
    Ok(())
}
