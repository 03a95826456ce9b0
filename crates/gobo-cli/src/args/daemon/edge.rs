use std::path::PathBuf;

use clap::Args;
use gobo_server::{AccessFile, TlsFiles};

/// Who may connect to a daemon, and what they may do.
#[derive(Debug, Default, Args)]
pub(crate) struct EdgeArgs {
    /// The certificate of the daemon in PEM, with those of the authorities below the root: TCP is encrypted. Files that change are read anew
    #[arg(long, value_name = "FILE", requires = "tls_key", help_heading = "Access")]
    pub(crate) tls_cert: Option<PathBuf>,
    /// Its private key in PEM
    #[arg(long, value_name = "FILE", requires = "tls_cert", help_heading = "Access")]
    pub(crate) tls_key: Option<PathBuf>,
    /// The authorities whose certificates clients must have, in PEM
    #[arg(long, value_name = "FILE", requires = "tls_cert", help_heading = "Access")]
    pub(crate) tls_client_ca: Option<PathBuf>,
    /// Their revocation lists in PEM: of each authority one, else its clients are refused
    #[arg(long, value_name = "FILE", requires = "tls_client_ca", help_heading = "Access")]
    pub(crate) tls_revoked: Option<PathBuf>,
    /// Listen in the plain on addresses that other hosts reach
    #[arg(long, conflicts_with = "tls_cert", help_heading = "Access")]
    pub(crate) insecure: bool,
    /// Who may do what: tokens, certificates and processes with their roles, as `gobo access check` reads it [default: the user of the daemon
    /// and root everything over the socket, others resolve and read]
    #[arg(long, value_name = "FILE", help_heading = "Access")]
    pub(crate) access: Option<PathBuf>,
    /// Let anybody who reaches the operators' address read counts and times in the plain
    #[arg(long, requires = "admin", help_heading = "Access")]
    pub(crate) admin_open: bool,
    /// Show pages for people on the operators' address: the store, verdicts, and why a mask is as it is. They show constraints: with
    /// --access for the role inspect, and where others reach the address only with --tls-cert too
    #[arg(long, requires = "admin", help_heading = "Access")]
    pub(crate) page: bool,
    /// A name by which browsers may call this host for its pages, beside its addresses and localhost
    #[arg(long, value_name = "NAME", requires = "page", help_heading = "Access")]
    pub(crate) page_host: Vec<String>,
}

impl EdgeArgs {
    pub(crate) fn tls(&self) -> Option<TlsFiles> {
        let (certificate, key) = self.tls_cert.clone().zip(self.tls_key.clone())?;
        let (client_ca, revoked) = (self.tls_client_ca.clone(), self.tls_revoked.clone());
        Some(TlsFiles { certificate, key, client_ca, revoked })
    }

    pub(crate) fn access(&self) -> Option<AccessFile> {
        self.access.clone().map(AccessFile)
    }
}
