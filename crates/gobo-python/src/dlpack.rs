//! The structures of DLPack 1.x, as `dlpack.h` lays them out: how tensor libraries lend each other memory.

use std::ffi::{CStr, c_void};
use std::ptr::null_mut;

use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::errors::{invalid, invalid_from};

/// A managed tensor before version 1.
pub(crate) const UNVERSIONED: &CStr = c"dltensor";
/// The name of its capsule once somebody has taken it.
pub(crate) const UNVERSIONED_USED: &CStr = c"used_dltensor";
/// A managed tensor of version 1.
pub(crate) const VERSIONED: &CStr = c"dltensor_versioned";
/// The name of its capsule once somebody has taken it.
pub(crate) const VERSIONED_USED: &CStr = c"used_dltensor_versioned";

/// The memory may not be written.
pub(crate) const READ_ONLY: u64 = 1;
/// The memory is a copy of the tensor's.
pub(crate) const IS_COPIED: u64 = 2;

/// Memory of the CPU.
pub(crate) const CPU: i32 = 1;
/// Devices whose memory the CPU reads and writes as its own: its own, and pinned memory for CUDA and `ROCm`.
pub(crate) const ON_HOST: [i32; 3] = [CPU, 3, 11];

/// Codes of element types.
pub(crate) const INT: u8 = 0;
pub(crate) const UINT: u8 = 1;
pub(crate) const FLOAT: u8 = 2;
pub(crate) const BFLOAT: u8 = 4;

#[repr(C)]
#[derive(Clone, Copy)]
pub(crate) struct Device {
    pub(crate) kind: i32,
    pub(crate) id: i32,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub(crate) struct DataType {
    pub(crate) code: u8,
    pub(crate) bits: u8,
    pub(crate) lanes: u16,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub(crate) struct Tensor {
    pub(crate) data: *mut c_void,
    pub(crate) device: Device,
    pub(crate) dimensions: i32,
    pub(crate) data_type: DataType,
    pub(crate) shape: *mut i64,
    /// In elements; null for a tensor whose rows lie one after another.
    pub(crate) strides: *mut i64,
    pub(crate) byte_offset: u64,
}

/// Lets a managed tensor go, to which its argument points.
pub(crate) type Deleter = Option<unsafe extern "C" fn(*mut c_void)>;

/// A tensor with its owner, before version 1.
#[repr(C)]
pub(crate) struct Managed {
    pub(crate) tensor: Tensor,
    pub(crate) context: *mut c_void,
    pub(crate) deleter: Deleter,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub(crate) struct Version {
    pub(crate) major: u32,
    pub(crate) minor: u32,
}

/// A tensor with its owner, of version 1.
#[repr(C)]
pub(crate) struct ManagedVersioned {
    pub(crate) version: Version,
    pub(crate) context: *mut c_void,
    pub(crate) deleter: Deleter,
    pub(crate) flags: u64,
    pub(crate) tensor: Tensor,
}

/// What a capsule can lend: a tensor, and the function that lets it go.
pub(crate) trait Lendable {
    /// The name of its capsule.
    const NAME: &'static CStr;

    /// A tensor whose memory is written as much as read.
    fn new(tensor: Tensor, deleter: Deleter) -> Self;

    fn tensor(&mut self) -> &mut Tensor;
}

impl Lendable for Managed {
    const NAME: &'static CStr = UNVERSIONED;

    fn new(tensor: Tensor, deleter: Deleter) -> Self {
        Self { tensor, context: null_mut(), deleter }
    }

    fn tensor(&mut self) -> &mut Tensor {
        &mut self.tensor
    }
}

impl Lendable for ManagedVersioned {
    const NAME: &'static CStr = VERSIONED;

    fn new(tensor: Tensor, deleter: Deleter) -> Self {
        Self { version: Version { major: 1, minor: 0 }, context: null_mut(), deleter, flags: 0, tensor }
    }

    fn tensor(&mut self) -> &mut Tensor {
        &mut self.tensor
    }
}

/// The capsule that an object lends, of a tensor in the CPU's memory.
pub(crate) fn capsule_of<'py>(object: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
    let py = object.py();
    let refused = |error| invalid_from(py, "the tensor cannot be borrowed", error);
    let device = object.call_method0("__dlpack_device__").map_err(refused)?;
    let (kind, _) = device.extract::<(i32, i32)>().map_err(refused)?;
    if !ON_HOST.contains(&kind) {
        return Err(invalid(
            py,
            format!("the tensor lies on a device of type {kind}, not in the CPU's memory"),
        ));
    }
    let newest = PyDict::new(py);
    newest.set_item("max_version", (1, 0))?;
    let capsule = object.call_method("__dlpack__", (), Some(&newest)).or_else(|error| {
        // Libraries before version 1 do not know the argument.
        let is_older = error.is_instance_of::<PyTypeError>(py);
        if is_older { object.call_method0("__dlpack__") } else { Err(error) }
    });
    capsule.map_err(refused)
}
