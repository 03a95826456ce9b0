//! The table from an attack to its code.
use super::attacker::{Attacker, DESCRIPTORS};
use super::{connections, frames, requests, schemas};
use crate::args::Attack;

/// Attacks until everything is sent. Idle connections stay open until the future is dropped.
///
/// # Errors
/// If the attack cannot begin. Failed calls are counted and are no error.
pub(super) async fn run(attack: Attack, attacker: Attacker) -> anyhow::Result<()> {
    if let Some(parts) = schemas::parts(attack) {
        let parts = attacker.scaled(parts);
        return requests::schemas(&attacker, move |number| schemas::text(attack, parts, number)).await;
    }
    match attack {
        Attack::FullQueue => requests::full_queue(&attacker).await,
        Attack::LiftedLimits => requests::lifted_limits(&attacker).await,
        Attack::LongRefusals => requests::long_refusals(&attacker).await,
        Attack::EmptyConstraints => frames::empty_constraints(&attacker).await,
        Attack::EmptyDocuments => frames::empty_documents(&attacker).await,
        Attack::UnfinishedBodies => frames::unfinished_bodies(&attacker).await,
        Attack::HeaderStreams => frames::header_streams(&attacker).await,
        Attack::IdleConnections => connections::hold(&attacker, connections::PREFACE).await,
        // Attacks by schemas are handled above.
        _ => connections::hold(&attacker, b"").await,
    }
}

/// Most descriptors of the daemon, for attacks on its descriptors.
pub(super) fn descriptors(attack: Attack) -> Option<u32> {
    matches!(attack, Attack::IdleConnections | Attack::MuteConnections).then_some(DESCRIPTORS)
}
