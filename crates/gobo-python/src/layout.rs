//! The layout of a matrix, and the type of its elements, as the buffer protocol and DLPack state them.

use std::ffi::CStr;

use crate::dlpack::{self, DataType};

/// What the elements of a matrix are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Element {
    Int32,
    Int64,
    Float16,
    BFloat16,
    Float32,
    Float64,
}

impl Element {
    pub(crate) fn bytes(self) -> usize {
        match self {
            Self::Float16 | Self::BFloat16 => 2,
            Self::Int32 | Self::Float32 => 4,
            Self::Int64 | Self::Float64 => 8,
        }
    }

    /// By a format of the buffer protocol. Only the machine's own order of bytes: it is little-endian.
    pub(crate) fn of_format(format: &CStr, item_bytes: usize) -> Option<Self> {
        let code = match format.to_bytes() {
            [code] | [b'@' | b'=' | b'<', code] => *code,
            _ => return None,
        };
        match (code, item_bytes) {
            (b'i' | b'I' | b'l' | b'L', 4) => Some(Self::Int32),
            (b'l' | b'L' | b'q' | b'Q', 8) => Some(Self::Int64),
            (b'e', 2) => Some(Self::Float16),
            (b'f', 4) => Some(Self::Float32),
            (b'd', 8) => Some(Self::Float64),
            _ => None,
        }
    }

    pub(crate) fn of_data_type(of: DataType) -> Option<Self> {
        match (of.code, of.bits, of.lanes) {
            (dlpack::INT | dlpack::UINT, 32, 1) => Some(Self::Int32),
            (dlpack::INT | dlpack::UINT, 64, 1) => Some(Self::Int64),
            (dlpack::FLOAT, 16, 1) => Some(Self::Float16),
            (dlpack::BFLOAT, 16, 1) => Some(Self::BFloat16),
            (dlpack::FLOAT, 32, 1) => Some(Self::Float32),
            (dlpack::FLOAT, 64, 1) => Some(Self::Float64),
            _ => None,
        }
    }
}

/// The bits of an element: unsigned integers alone, because every pattern of their bits is a value.
pub(crate) trait Bits: Copy {}

impl Bits for u16 {}
impl Bits for u32 {}
impl Bits for u64 {}

/// The layout of a matrix: rows of elements that lie side by side.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Layout {
    pub(crate) rows: usize,
    /// Elements of a row.
    pub(crate) columns: usize,
    /// Elements from one row to the next: at least the columns, where there are several rows.
    pub(crate) stride: usize,
}

impl Layout {
    /// Of one or two dimensions, by their lengths and strides in elements.
    pub(crate) fn of(shape: &[usize], strides: &[isize]) -> Result<Self, String> {
        let (rows, columns, stride, step) = match (shape, strides) {
            ([columns], [step]) => (1, *columns, *columns, *step),
            ([rows, columns], [stride, step]) => {
                let stride = usize::try_from(*stride);
                let stride = if *rows > 1 { stride } else { Ok(*columns) };
                let stride = stride.map_err(|_| "its rows lie in reverse order".to_owned())?;
                (*rows, *columns, stride, *step)
            }
            _ => return Err(format!("it has {} dimensions, and a matrix has 2 (a row 1)", shape.len())),
        };
        if columns > 1 && step != 1 {
            return Err(format!("the elements of a row lie {step} apart, and not side by side"));
        }
        if rows > 1 && stride < columns {
            return Err(format!("its rows overlap: they have {columns} elements and lie {stride} apart"));
        }
        Ok(Self { rows, columns, stride })
    }

    /// Of a tensor of DLPack: without strides its rows lie one after another.
    pub(crate) fn of_tensor(shape: &[i64], strides: Option<&[i64]>) -> Result<Self, String> {
        let lengths: Result<Vec<usize>, _> = shape.iter().map(|length| usize::try_from(*length)).collect();
        let lengths = lengths.map_err(|_| "it has a negative length".to_owned())?;
        let after =
            |at: usize| lengths[at + 1..].iter().fold(1, |all: usize, length| all.wrapping_mul(*length));
        let strides: Vec<isize> = match strides {
            Some(strides) => strides.iter().map(|stride| isize::try_from(*stride).unwrap_or(0)).collect(),
            None => (0..lengths.len()).map(|at| after(at).cast_signed()).collect(),
        };
        Self::of(&lengths, &strides)
    }

    /// Elements from the first of the first row to the last of the last.
    pub(crate) fn span(self) -> Option<usize> {
        let Some(before) = self.rows.checked_sub(1) else { return Some(0) };
        before.checked_mul(self.stride)?.checked_add(self.columns)
    }
}
