//! From an address to the store behind it.

use std::sync::Arc;
use std::time::Duration;

use object_store::aws::{AmazonS3Builder, AmazonS3ConfigKey};
use object_store::azure::{AzureConfigKey, MicrosoftAzureBuilder};
use object_store::gcp::{GoogleCloudStorageBuilder, GoogleConfigKey};
use object_store::local::LocalFileSystem;
use object_store::path::Path;
use object_store::{BackoffConfig, ClientConfigKey, ObjectStore, ObjectStoreScheme, RetryConfig};
use url::Url;

use crate::RemoteError;

/// An object store, and where in it the objects are.
#[derive(Debug, Clone)]
pub struct Bucket {
    /// Its address, for a person.
    pub address: String,
    /// The store.
    pub store: Arc<dyn ObjectStore>,
    /// What the names of all objects begin with.
    pub prefix: Path,
}

/// How long a connection may take to open.
const CONNECT: Duration = Duration::from_millis(250);

/// One more try, soon, of what may be a passing trouble: whoever waits has a compile to begin.
fn retry() -> RetryConfig {
    let backoff = BackoffConfig {
        init_backoff: Duration::from_millis(50),
        max_backoff: Duration::from_millis(250),
        base: 2.0,
    };
    RetryConfig { backoff, max_retries: 1, retry_timeout: Duration::from_secs(10) }
}

/// Connects to nothing yet: makes the client of a bucket, and the prefix in it, of an address: `s3://bucket/prefix`,
/// `gs://bucket/prefix`, `az://container/prefix`, or `file:///folder`. Credentials and endpoints come from the environment, as
/// the crate `object_store` reads it (`AWS_…`, `GOOGLE_…`, `AZURE_…`), or from the instance; an address that has any is refused. The folder
/// of `file://` is made where it is missing.
///
/// # Errors
/// [`RemoteError::Address`].
pub fn connect(address: &str) -> Result<Bucket, RemoteError> {
    let trouble = |why: String| RemoteError::Address { url: without_secrets(address), why };
    let url = Url::parse(address).map_err(|error| trouble(format!("it is no URL: {error}")))?;
    if !url.username().is_empty() || url.password().is_some() || url.query().is_some() {
        return Err(trouble("credentials come from the environment, never from the address".into()));
    }
    // https:// is to work with whatever provider a program has chosen, and else with ours.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let other = || trouble("its scheme is none of s3, gs, az, file".into());
    let (scheme, path) = ObjectStoreScheme::parse(&url).map_err(|_| other())?;
    let path = Path::from_url_path(path.as_ref()).map_err(|error| trouble(error.to_string()))?;
    let failed = |error: object_store::Error| trouble(error.to_string());
    let connect = format!("{}ms", CONNECT.as_millis());
    let timeout = ClientConfigKey::ConnectTimeout;
    let store: Arc<dyn ObjectStore> = match scheme {
        ObjectStoreScheme::AmazonS3 => {
            let builder = AmazonS3Builder::from_env().with_url(url.as_str()).with_retry(retry());
            let builder = builder.with_config(AmazonS3ConfigKey::Client(timeout), connect);
            Arc::new(builder.build().map_err(failed)?)
        }
        ObjectStoreScheme::GoogleCloudStorage => {
            let builder = GoogleCloudStorageBuilder::from_env().with_url(url.as_str()).with_retry(retry());
            let builder = builder.with_config(GoogleConfigKey::Client(timeout), connect);
            Arc::new(builder.build().map_err(failed)?)
        }
        ObjectStoreScheme::MicrosoftAzure => {
            let builder = MicrosoftAzureBuilder::from_env().with_url(url.as_str()).with_retry(retry());
            let builder = builder.with_config(AzureConfigKey::Client(timeout), connect);
            Arc::new(builder.build().map_err(failed)?)
        }
        ObjectStoreScheme::Local => {
            let folder = url.to_file_path().map_err(|()| trouble("it names no folder".into()))?;
            std::fs::create_dir_all(&folder).map_err(|error| trouble(error.to_string()))?;
            let folder = LocalFileSystem::new_with_prefix(folder).map_err(failed)?;
            return Ok(Bucket { address: address.into(), store: Arc::new(folder), prefix: Path::default() });
        }
        _ => return Err(other()),
    };
    Ok(Bucket { address: address.into(), store, prefix: path })
}

/// An address for a person.
fn without_secrets(address: &str) -> String {
    match Url::parse(address) {
        Ok(mut url) => {
            // A URL that cannot have them has none.
            let _ = url.set_username("");
            let _ = url.set_password(None);
            url.set_query(None);
            url.into()
        }
        Err(_) => address.chars().take(40).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_has_a_scheme_a_place_and_no_secrets() {
        for (address, why) in [
            ("bucket", "no URL"),
            ("ftp://bucket/x", "none of s3, gs, az, file"),
            ("https://example.com/x", "none of s3, gs, az, file"),
            ("s3://me:secret@bucket/x", "from the environment"),
            ("s3://bucket/x?secret=secret", "from the environment"),
        ] {
            let error = connect(address).map(drop).unwrap_err().to_string();
            assert!(error.contains(why) && !error.contains("secret"), "{error}");
        }
        let folder = tempfile::tempdir().unwrap();
        let bucket = connect(&format!("file://{}/new folder", folder.path().display())).unwrap();
        assert_eq!(bucket.prefix, Path::default());
        assert!(folder.path().join("new folder").is_dir());
    }
}
