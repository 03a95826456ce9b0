//! Memory that others own, as matrices: the one file of this crate with unsafe code.
//!
//! A [`View`] is a matrix in memory that it keeps alive: an export of the buffer protocol, a tensor taken by DLPack, memory of its
//! own, or an address that the caller vouches for. Everything about the memory is checked when a view is bound: the type of its
//! elements, their alignment, the device, that the elements of a row lie side by side and that no two rows overlap, and whether it may be
//! written. After that a row is an offset and a length. [`PyBitmask`] is a view that Python's callers hold.
//!
//! # Who else writes
//!
//! Within this crate a view is written through `&mut View`, and a bound one lies in a mutex: two fills never write the same memory at
//! once, whether or not they hold the GIL. Code outside of this crate may write it meanwhile only by breaking the rule of
//! every borrower of a buffer: not to touch it from another thread during the call; a matrix that is bound twice has two borrowers.
//! What comes of that is a torn mask. The code here and below branches on no word that it reads from a matrix, but for one: whether a
//! mask is empty once an EOS bit was cleared, which decides between two results.
#![expect(unsafe_code, reason = "memory of other libraries is borrowed by protocols of C")]

use std::ffi::{CStr, c_int, c_void};
use std::ptr::{NonNull, null_mut};
use std::slice;
use std::sync::{Mutex, MutexGuard, PoisonError};

use pyo3::buffer::PyUntypedBuffer;
use pyo3::exceptions::PyBufferError;
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::PyCapsule;

use crate::arguments::Count;
use crate::dlpack::{self, DataType, Deleter, Device, Lendable, Managed, ManagedVersioned, Tensor, Version};
use crate::errors::{invalid, invalid_from};
use crate::layout::{Bits, Element, Layout};

/// What keeps the memory of a view.
enum Owner {
    /// An export: the exporter neither frees nor moves its memory until it is released, which dropping does.
    Export(#[expect(dead_code, reason = "held, and dropped")] PyUntypedBuffer),
    /// A tensor that was taken: its storage lives until its deleter is called, which dropping does.
    Taken(#[expect(dead_code, reason = "held, and dropped")] Taken),
    /// Memory from `Box::into_raw`.
    Own(NonNull<[u32]>),
    /// The caller vouches for the memory, as long as this object lives.
    Vouched(#[expect(dead_code, reason = "held, and dropped")] Option<Py<PyAny>>),
}

/// A managed tensor that nobody else will delete.
struct Taken {
    tensor: Tensor,
    flags: u64,
    managed: NonNull<c_void>,
    deleter: Deleter,
}

impl Drop for Taken {
    fn drop(&mut self) {
        if let Some(deleter) = self.deleter {
            // SAFETY: the consumer of a tensor calls its deleter once, when it needs the memory no more.
            unsafe { deleter(self.managed.as_ptr()) };
        }
    }
}

impl Drop for Owner {
    fn drop(&mut self) {
        if let Self::Own(words) = self {
            // SAFETY: the pointer came from `Box::into_raw`, and is given back once.
            drop(unsafe { Box::from_raw(words.as_ptr()) });
        }
    }
}

/// A matrix in memory that the view keeps alive.
pub(crate) struct View {
    address: NonNull<c_void>,
    element: Element,
    layout: Layout,
    is_writable: bool,
    #[expect(dead_code, reason = "held, and dropped")]
    owner: Owner,
}

// SAFETY: the memory belongs to no thread: exports, tensors and boxes may be read, written and let go by any. Writing takes
// `&mut View`.
unsafe impl Send for View {}
// SAFETY: as above; `&View` only reads.
unsafe impl Sync for View {}

impl View {
    /// Borrows a matrix by the buffer protocol, else by DLPack.
    pub(crate) fn bind(object: &Bound<'_, PyAny>) -> PyResult<Self> {
        let py = object.py();
        // SAFETY: the pointer is that of a living object.
        if unsafe { ffi::PyObject_CheckBuffer(object.as_ptr()) } == 1 {
            return Self::of_export(object);
        }
        if object.hasattr("__dlpack__")? {
            return Self::of_tensor(object);
        }
        let name = object.get_type().name()?;
        Err(invalid(py, format!("{name} has neither the buffer protocol nor DLPack")))
    }

    fn of_export(object: &Bound<'_, PyAny>) -> PyResult<Self> {
        let py = object.py();
        let export = PyUntypedBuffer::get(object)
            .map_err(|error| invalid_from(py, "the buffer cannot be borrowed", error))?;
        let bytes = export.item_size();
        let element = Element::of_format(export.format(), bytes).ok_or_else(|| {
            invalid(py, format!("its elements are of format {:?}, {bytes} bytes each", export.format()))
        })?;
        if export.suboffsets().is_some_and(|offsets| offsets.iter().any(|offset| *offset >= 0)) {
            return Err(invalid(py, "its rows are pointers"));
        }
        let step = element.bytes().cast_signed();
        if export.strides().iter().any(|stride| stride % step != 0) {
            return Err(invalid(py, "its strides are no multiples of its elements"));
        }
        let strides: Vec<isize> = export.strides().iter().map(|stride| stride / step).collect();
        let layout = Layout::of(export.shape(), &strides).map_err(|why| invalid(py, why))?;
        let (address, is_writable) = (export.buf_ptr(), !export.readonly());
        Self::checked(py, address, element, layout, is_writable, Owner::Export(export))
    }

    fn of_tensor(object: &Bound<'_, PyAny>) -> PyResult<Self> {
        let py = object.py();
        let taken = take(&dlpack::capsule_of(object)?)?;
        let Taken { tensor, flags, .. } = taken;
        if flags & dlpack::IS_COPIED != 0 {
            return Err(invalid(py, "the tensor lends a copy of itself"));
        }
        if !dlpack::ON_HOST.contains(&tensor.device.kind) {
            return Err(invalid(py, "the tensor does not lie in the CPU's memory"));
        }
        let data_type = tensor.data_type;
        let element = Element::of_data_type(data_type).ok_or_else(|| {
            let DataType { code, bits, lanes } = data_type;
            invalid(py, format!("its elements are of type {code} with {bits} bits and {lanes} lanes"))
        })?;
        let dimensions = usize::try_from(tensor.dimensions).unwrap_or(0);
        let array = |data: *mut i64| {
            // SAFETY: a tensor has as many lengths and strides as dimensions, valid as long as it is.
            (dimensions > 0 && !data.is_null()).then(|| unsafe { slice::from_raw_parts(data, dimensions) })
        };
        let shape = array(tensor.shape).ok_or_else(|| invalid(py, "the tensor has no shape"))?;
        let layout = Layout::of_tensor(shape, array(tensor.strides)).map_err(|why| invalid(py, why))?;
        let offset = usize::try_from(tensor.byte_offset).unwrap_or(usize::MAX);
        let (address, is_writable) = (tensor.data.wrapping_byte_add(offset), flags & dlpack::READ_ONLY == 0);
        Self::checked(py, address, element, layout, is_writable, Owner::Taken(taken))
    }

    /// Memory of its own, each bit set.
    pub(crate) fn own(py: Python<'_>, rows: usize, words: usize) -> PyResult<Self> {
        let layout = Layout { rows, columns: words, stride: words };
        let mut memory = Vec::new();
        let span = layout.span().filter(|span| memory.try_reserve_exact(*span).is_ok());
        let span =
            span.ok_or_else(|| invalid(py, format!("{rows} rows of {words} words do not fit in memory")))?;
        memory.resize(span, u32::MAX);
        // SAFETY: a box is not null.
        let words = unsafe { NonNull::new_unchecked(Box::into_raw(memory.into_boxed_slice())) };
        Self::checked(py, words.as_ptr().cast(), Element::Int32, layout, true, Owner::Own(words))
    }

    /// A matrix at an address for which the caller vouches: nothing can be found out about it but that it is aligned.
    fn at_address(
        py: Python<'_>,
        address: usize,
        layout: Layout,
        owner: Option<Py<PyAny>>,
    ) -> PyResult<Self> {
        if layout.rows > 1 && layout.stride < layout.columns {
            return Err(invalid(py, "its rows overlap"));
        }
        let address = std::ptr::with_exposed_provenance_mut(address);
        Self::checked(py, address, Element::Int32, layout, true, Owner::Vouched(owner))
    }

    fn checked(
        py: Python<'_>,
        address: *mut c_void,
        element: Element,
        layout: Layout,
        is_writable: bool,
        owner: Owner,
    ) -> PyResult<Self> {
        let bytes = layout.span().and_then(|span| span.checked_mul(element.bytes()));
        let fits = bytes.is_some_and(|bytes| isize::try_from(bytes).is_ok());
        if !fits {
            return Err(invalid(py, "the matrix is larger than memory"));
        }
        if !address.addr().is_multiple_of(element.bytes()) {
            return Err(invalid(py, "its elements are not aligned"));
        }
        let address = match (NonNull::new(address), layout.rows * layout.columns) {
            (Some(address), _) => address,
            (None, 0) => NonNull::<u64>::dangling().cast(),
            (None, _) => return Err(invalid(py, "its address is null")),
        };
        Ok(Self { address, element, layout, is_writable, owner })
    }

    pub(crate) fn element(&self) -> Element {
        self.element
    }

    pub(crate) fn layout(&self) -> Layout {
        self.layout
    }

    pub(crate) fn is_writable(&self) -> bool {
        self.is_writable
    }

    /// The first element of the rows, and elements to the end of the last; `None` for rows that are not there, and for elements of
    /// another size.
    #[inline]
    fn place<T: Bits>(&self, from: usize, rows: usize) -> Option<(NonNull<T>, usize)> {
        let Layout { rows: there, columns, stride } = self.layout;
        if rows == 0 || rows > there || from > there - rows || size_of::<T>() != self.element.bytes() {
            return None;
        }
        // SAFETY: the offset is below the span of the layout, and the span in bytes is no more than `isize::MAX` (`checked`); the
        // memory of the whole span belongs to one export, tensor or box.
        let first = unsafe { self.address.cast::<T>().add(from * stride) };
        Some((first, (rows - 1) * stride + columns))
    }

    /// A row, to be read.
    pub(crate) fn row<T: Bits>(&self, row: usize) -> Option<&[T]> {
        let (first, length) = self.place::<T>(row, 1)?;
        // SAFETY: `place` gives elements of the view's memory, which lives as long as the view; they are aligned (`checked`), all
        // their bits are values, and writing them takes `&mut self`, which nobody has now.
        Some(unsafe { slice::from_raw_parts(first.as_ptr(), length) })
    }

    /// Rows from `from` on, to be written: each begins [`Self::stride`] elements after the one before, and what lies between two rows
    /// belongs to others. `None` for rows that are not there, for elements of another size, and for memory that may not be
    /// written.
    #[inline]
    pub(crate) fn rows_mut<T: Bits>(&mut self, from: usize, rows: usize) -> Option<&mut [T]> {
        let (first, length) = self.place::<T>(from, rows).filter(|_| self.is_writable)?;
        // SAFETY: as in `row`; the memory may be written, and `&mut self` excludes every other borrow by this crate.
        Some(unsafe { slice::from_raw_parts_mut(first.as_ptr(), length) })
    }
}

/// Takes the tensor out of a capsule, so that nobody else deletes it.
fn take(capsule: &Bound<'_, PyAny>) -> PyResult<Taken> {
    let (py, capsule) = (capsule.py(), capsule.cast::<PyCapsule>()?);
    let held =
        |name: &CStr| capsule.is_valid_checked(Some(name)).then(|| capsule.pointer_checked(Some(name)));
    let (used, taken) = if let Some(managed) = held(dlpack::VERSIONED).transpose()? {
        // SAFETY: a capsule of that name holds a tensor that begins with its version, whatever that is.
        let Version { major, .. } = unsafe { managed.cast().read() };
        if major != 1 {
            return Err(invalid(py, format!("the tensor speaks DLPack {major}, not 1")));
        }
        // SAFETY: a capsule of that name holds such a tensor, of version 1.
        let of = unsafe { managed.cast::<ManagedVersioned>().as_ref() };
        (dlpack::VERSIONED_USED, (of.tensor, of.flags, managed, of.deleter))
    } else {
        let managed = held(dlpack::UNVERSIONED).transpose()?;
        let managed =
            managed.ok_or_else(|| invalid(py, "the capsule of DLPack was taken already, or is none"))?;
        // SAFETY: a capsule of that name holds such a tensor.
        let of = unsafe { managed.cast::<Managed>().as_ref() };
        (dlpack::UNVERSIONED_USED, (of.tensor, 0, managed, of.deleter))
    };
    // SAFETY: the capsule is a living one, and the name is static, as a capsule's name has to outlive it.
    if unsafe { ffi::PyCapsule_SetName(capsule.as_ptr(), used.as_ptr()) } != 0 {
        return Err(PyErr::fetch(py));
    }
    let (tensor, flags, managed, deleter) = taken;
    Ok(Taken { tensor, flags, managed, deleter })
}

/// A matrix of masks, bound once: `[rows, words]` of int32 in the CPU's memory, bit `id & 31` of word `id >> 5`. Fills through it
/// do no protocol. It keeps the owner of the memory alive.
///
/// `matrix` has one or two dimensions and lends its memory by the buffer protocol or by DLPack. Elements of a row lie side by
/// side, and rows may lie any number of elements apart. A tensor must not be resized while it is bound. A Bitmask lends its
/// memory in turn: `numpy.asarray(bitmask)`, `torch.from_dlpack(bitmask)`.
#[pyclass(frozen, module = "gobo_masks", name = "Bitmask")]
pub(crate) struct PyBitmask {
    view: Mutex<View>,
    exported: Exported,
}

/// What exports of a bitmask point to: it lives as long as they do, because they hold the bitmask.
struct Exported {
    address: NonNull<c_void>,
    /// Rows and words.
    shape: [isize; 2],
    /// In bytes.
    strides: [isize; 2],
}

// SAFETY: the address is handed out, and used here for nothing; the memory belongs to no thread.
unsafe impl Send for Exported {}
// SAFETY: as above.
unsafe impl Sync for Exported {}

impl PyBitmask {
    /// A view as a matrix of masks: words of 32 bits that may be written.
    pub(crate) fn of(py: Python<'_>, view: View) -> PyResult<Self> {
        if view.element() != Element::Int32 {
            return Err(invalid(py, format!("a mask has elements of int32, not {:?}", view.element())));
        }
        if !view.is_writable() {
            return Err(invalid(py, "the matrix may only be read"));
        }
        let Layout { rows, columns: words, stride } = view.layout;
        let (stride, word) = ((stride * size_of::<u32>()).cast_signed(), size_of::<u32>().cast_signed());
        let shape = [rows.cast_signed(), words.cast_signed()];
        let exported = Exported { address: view.address, shape, strides: [stride, word] };
        Ok(Self { view: Mutex::new(view), exported })
    }

    /// Binds whatever lends a matrix of masks.
    pub(crate) fn bind(matrix: &Bound<'_, PyAny>) -> PyResult<Self> {
        Self::of(matrix.py(), View::bind(matrix)?)
    }

    /// The memory, for this caller alone. No lock of a matcher is held by one who waits here, nor is the GIL needed by one whom it
    /// waits for.
    #[inline]
    pub(crate) fn view(&self) -> MutexGuard<'_, View> {
        self.view.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A tensor that was lent by DLPack, and what it points to. It stands first, so that one address is that of both.
#[repr(C)]
struct Lent<M> {
    managed: M,
    shape: [i64; 2],
    strides: [i64; 2],
    owner: Py<PyBitmask>,
}

/// Deletes what was lent: the deleter of a managed tensor, and what a capsule does that nobody took.
unsafe extern "C" fn delete<M>(managed: *mut c_void) {
    // SAFETY: the pointer is that of a `Lent<M>` from `Box::into_raw`, of which the managed tensor is the first field; a deleter is
    // called once. `Py` may be dropped by a thread without the GIL.
    drop(unsafe { Box::from_raw(managed.cast::<Lent<M>>()) });
}

/// The destructor of a capsule: whoever took the tensor has renamed the capsule, and deletes the tensor itself.
unsafe extern "C" fn drop_capsule<M: Lendable>(capsule: *mut ffi::PyObject) {
    // SAFETY: called by Python with the capsule that is going; the name is a string of C, and a capsule that still has it holds what
    // `lend` put there.
    unsafe {
        if ffi::PyCapsule_IsValid(capsule, M::NAME.as_ptr()) == 1 {
            delete::<M>(ffi::PyCapsule_GetPointer(capsule, M::NAME.as_ptr()));
        }
    }
}

/// A capsule that lends the memory of a bitmask.
fn lend<'py, M: Lendable>(bitmask: &Bound<'py, PyBitmask>) -> PyResult<Bound<'py, PyAny>> {
    let Exported { address, shape: [rows, words], strides: [stride, word] } = bitmask.get().exported;
    let tensor = Tensor {
        data: address.as_ptr(),
        device: Device { kind: dlpack::CPU, id: 0 },
        dimensions: 2,
        data_type: DataType { code: dlpack::INT, bits: 32, lanes: 1 },
        shape: null_mut(),
        strides: null_mut(),
        byte_offset: 0,
    };
    let (shape, strides) = ([rows as i64, words as i64], [(stride / word) as i64, 1]);
    let (managed, owner) = (M::new(tensor, Some(delete::<M>)), bitmask.clone().unbind());
    let mut lent = Box::new(Lent { managed, shape, strides, owner });
    let (shape, strides) = (lent.shape.as_mut_ptr(), lent.strides.as_mut_ptr());
    let tensor = lent.managed.tensor();
    (tensor.shape, tensor.strides) = (shape, strides);
    let (py, pointer) = (bitmask.py(), Box::into_raw(lent));
    // SAFETY: a box is not null; the name is static, and the destructor deletes what nobody took.
    let capsule = unsafe {
        let pointer = NonNull::new_unchecked(pointer).cast();
        PyCapsule::new_with_pointer_and_destructor(py, pointer, M::NAME, Some(drop_capsule::<M>))
    };
    Ok(capsule?.into_any())
}

#[pymethods]
impl PyBitmask {
    #[new]
    fn new(matrix: &Bound<'_, PyAny>) -> PyResult<Self> {
        Self::bind(matrix)
    }

    /// A matrix at an address. The caller vouches that there are `rows` of `words` int32 in the CPU's memory, `stride` words apart (as
    /// many as a row has unless given), which may be written as long as `owner` lives; nothing of that can be checked.
    #[staticmethod]
    #[pyo3(signature = (address, rows, words, *, stride = None, owner = None))]
    fn from_pointer(
        py: Python<'_>,
        address: Count,
        rows: Count,
        words: Count,
        stride: Option<Count>,
        owner: Option<Py<PyAny>>,
    ) -> PyResult<Self> {
        let stride = stride.map_or(words.0, |stride| stride.0);
        let layout = Layout { rows: rows.0, columns: words.0, stride };
        Self::of(py, View::at_address(py, address.0, layout, owner)?)
    }

    /// Number of rows.
    #[getter]
    fn rows(&self) -> isize {
        self.exported.shape[0]
    }

    /// Words of a row, of 32 bits each.
    #[getter]
    fn words(&self) -> isize {
        self.exported.shape[1]
    }

    fn __repr__(&self) -> String {
        format!("<gobo_masks.Bitmask {} rows of {} words>", self.rows(), self.words())
    }

    unsafe fn __getbuffer__(slf: Bound<'_, Self>, view: *mut ffi::Py_buffer, flags: c_int) -> PyResult<()> {
        let exported = &slf.get().exported;
        let [stride, word] = exported.strides;
        let is_contiguous = exported.shape[0] <= 1 || stride == exported.shape[1] * word;
        let wants = |flag: c_int| flags & flag == flag;
        let is_fortran = wants(ffi::PyBUF_F_CONTIGUOUS) && exported.shape[0] > 1 && exported.shape[1] > 1;
        let needs_contiguous =
            !wants(ffi::PyBUF_STRIDES) || wants(ffi::PyBUF_C_CONTIGUOUS) || wants(ffi::PyBUF_ANY_CONTIGUOUS);
        if view.is_null() {
            return Err(PyBufferError::new_err("there is no view to fill"));
        }
        if is_fortran || (needs_contiguous && !is_contiguous) {
            // SAFETY: Python gives a view to be filled, and asks that a failed one has no object.
            unsafe { (*view).obj = null_mut() };
            return Err(PyBufferError::new_err("the rows of the bitmask do not lie as asked for"));
        }
        // SAFETY: Python gives a view to be filled. What it points to belongs to the bitmask, which `obj` holds until the view is
        // released; lengths and strides are read alone, though the protocol's pointers do not say so.
        unsafe {
            (*view).buf = exported.address.as_ptr();
            (*view).len = exported.shape[0] * exported.shape[1] * word;
            (*view).readonly = 0;
            (*view).itemsize = word;
            (*view).ndim = 2;
            (*view).format = if wants(ffi::PyBUF_FORMAT) { c"i".as_ptr().cast_mut() } else { null_mut() };
            (*view).shape =
                if wants(ffi::PyBUF_ND) { exported.shape.as_ptr().cast_mut() } else { null_mut() };
            (*view).strides =
                if wants(ffi::PyBUF_STRIDES) { exported.strides.as_ptr().cast_mut() } else { null_mut() };
            (*view).suboffsets = null_mut();
            (*view).internal = null_mut();
            (*view).obj = slf.into_any().into_ptr();
        }
        Ok(())
    }

    /// Lends the memory by DLPack: as a tensor of version 1 to whoever takes that (`max_version`), else as one from before it, of which
    /// some consumers make an array that may only be read.
    #[pyo3(signature = (*, stream = None, max_version = None, dl_device = None, copy = None))]
    fn __dlpack__<'py>(
        slf: &Bound<'py, Self>,
        stream: Option<&Bound<'py, PyAny>>,
        max_version: Option<(u32, u32)>,
        dl_device: Option<(i32, i32)>,
        copy: Option<bool>,
    ) -> PyResult<Bound<'py, PyAny>> {
        if stream.is_some()
            || dl_device.is_some_and(|device| device != (dlpack::CPU, 0))
            || copy == Some(true)
        {
            return Err(PyBufferError::new_err(
                "a bitmask lends the CPU's memory, without a stream or a copy",
            ));
        }
        if max_version.is_some_and(|(major, _)| major >= 1) {
            lend::<ManagedVersioned>(slf)
        } else {
            lend::<Managed>(slf)
        }
    }

    /// The CPU's memory.
    #[expect(clippy::unused_self, reason = "a method of Python")]
    fn __dlpack_device__(&self) -> (i32, i32) {
        (dlpack::CPU, 0)
    }
}
