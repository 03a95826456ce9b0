//! A bucket in memory that fails as it is told. The tests of the engine include this file.

use std::fmt;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use bytes::Bytes;
use futures_util::stream::{self, BoxStream, StreamExt as _};
use object_store::memory::InMemory;
use object_store::path::Path;
use object_store::{
    CopyOptions, Error, GetOptions, GetResult, GetResultPayload, ListResult, MultipartUpload, ObjectMeta,
    ObjectStore, PutMultipartOptions, PutOptions, PutPayload, PutResult, Result,
};

/// What goes wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fault {
    None,
    /// No answer at all.
    Hang,
    /// An answer of the server's: 429, 500, 503, a broken connection.
    Error,
    Denied,
    /// The answer comes so many milliseconds late.
    Late(u64),
    /// The head comes, and then nothing.
    HangsInBody,
    /// One byte each millisecond.
    Slow,
    /// The connection breaks in the middle of the body.
    Breaks,
    /// The body ends too soon, without an error.
    Cut,
    /// One bit is another.
    Flip,
}

#[derive(Debug)]
pub(crate) struct Faulty {
    pub(crate) inner: Arc<dyn ObjectStore>,
    reads: Mutex<Fault>,
    writes: Mutex<Fault>,
    pub(crate) gets: AtomicUsize,
    pub(crate) puts: AtomicUsize,
}

impl Faulty {
    /// One in memory.
    pub(crate) fn new() -> Arc<Self> {
        Self::over(Arc::new(InMemory::new()))
    }

    /// What fails of another one.
    pub(crate) fn over(inner: Arc<dyn ObjectStore>) -> Arc<Self> {
        Arc::new(Self {
            inner,
            reads: Mutex::new(Fault::None),
            writes: Mutex::new(Fault::None),
            gets: AtomicUsize::new(0),
            puts: AtomicUsize::new(0),
        })
    }

    pub(crate) fn reading(&self, fault: Fault) {
        *self.reads.lock().unwrap() = fault;
    }

    pub(crate) fn writing(&self, fault: Fault) {
        *self.writes.lock().unwrap() = fault;
    }
}

impl fmt::Display for Faulty {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a faulty bucket")
    }
}

fn failed() -> Error {
    Error::Generic { store: "faulty", source: "503 Slow Down".into() }
}

async fn fail(fault: Fault, path: &Path) -> Result<()> {
    match fault {
        Fault::Hang => std::future::pending().await,
        Fault::Late(ms) => {
            tokio::time::sleep(Duration::from_millis(ms)).await;
            Ok(())
        }
        Fault::Error => Err(failed()),
        Fault::Denied => {
            Err(Error::PermissionDenied { path: path.to_string(), source: "403 Forbidden".into() })
        }
        _ => Ok(()),
    }
}

fn body(fault: Fault, bytes: &Bytes) -> BoxStream<'static, Result<Bytes>> {
    let half = bytes.len() / 2;
    let first = stream::once(std::future::ready(Ok(bytes.slice(..half))));
    match fault {
        Fault::HangsInBody => first.chain(stream::pending()).boxed(),
        Fault::Breaks => first.chain(stream::once(async { Err(failed()) })).boxed(),
        Fault::Cut => first.boxed(),
        Fault::Flip => {
            let mut changed = bytes.to_vec();
            let last = changed.len() - 1;
            changed[last] ^= 1;
            stream::once(std::future::ready(Ok(changed.into()))).boxed()
        }
        Fault::Slow => {
            let bytes = bytes.clone();
            stream::iter(0..bytes.len())
                .then(move |at| {
                    let byte = bytes.slice(at..=at);
                    async move {
                        tokio::time::sleep(Duration::from_millis(1)).await;
                        Ok(byte)
                    }
                })
                .boxed()
        }
        _ => stream::once(std::future::ready(Ok(bytes.clone()))).boxed(),
    }
}

#[async_trait::async_trait]
impl ObjectStore for Faulty {
    async fn put_opts(&self, path: &Path, payload: PutPayload, options: PutOptions) -> Result<PutResult> {
        self.puts.fetch_add(1, Ordering::SeqCst);
        let fault = *self.writes.lock().unwrap();
        fail(fault, path).await?;
        self.inner.put_opts(path, payload, options).await
    }

    async fn put_multipart_opts(
        &self,
        path: &Path,
        options: PutMultipartOptions,
    ) -> Result<Box<dyn MultipartUpload>> {
        self.inner.put_multipart_opts(path, options).await
    }

    async fn get_opts(&self, path: &Path, options: GetOptions) -> Result<GetResult> {
        self.gets.fetch_add(1, Ordering::SeqCst);
        let fault = *self.reads.lock().unwrap();
        fail(fault, path).await?;
        let got = self.inner.get_opts(path, options).await?;
        let (meta, range, attributes, extensions) =
            (got.meta.clone(), got.range.clone(), got.attributes.clone(), got.extensions.clone());
        let bytes = got.bytes().await?;
        let payload = GetResultPayload::Stream(body(fault, &bytes));
        Ok(GetResult { payload, meta, range, attributes, extensions })
    }

    fn delete_stream(&self, paths: BoxStream<'static, Result<Path>>) -> BoxStream<'static, Result<Path>> {
        self.inner.delete_stream(paths)
    }

    fn list(&self, prefix: Option<&Path>) -> BoxStream<'static, Result<ObjectMeta>> {
        self.inner.list(prefix)
    }

    async fn list_with_delimiter(&self, prefix: Option<&Path>) -> Result<ListResult> {
        self.inner.list_with_delimiter(prefix).await
    }

    async fn copy_opts(&self, from: &Path, to: &Path, options: CopyOptions) -> Result<()> {
        self.inner.copy_opts(from, to, options).await
    }
}
