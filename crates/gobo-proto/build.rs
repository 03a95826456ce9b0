//! Compiles `proto/gobo/v1/gobo.proto` with protox, so that a build needs no protoc, and keeps the encoded descriptor
//! set for server reflection.

use std::error::Error;
use std::path::{Path, PathBuf};

use prost::Message as _;

fn main() -> Result<(), Box<dyn Error>> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../proto");
    println!("cargo::rerun-if-changed={}", root.display());
    let descriptors = protox::compile([root.join("gobo/v1/gobo.proto")], [&root])?;
    let out = PathBuf::from(std::env::var_os("OUT_DIR").ok_or("cargo sets OUT_DIR for build scripts")?);
    std::fs::write(out.join("gobo_descriptor.bin"), descriptors.encode_to_vec())?;
    // Chunks of files are cut from a mapped file without a copy: `Bytes` shares where `Vec` would own.
    let configured = tonic_prost_build::configure().bytes(".").codec_path("crate::codec::MessageCodec");
    configured.compile_fds(descriptors)?;
    Ok(())
}
