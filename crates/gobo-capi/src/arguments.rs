//! Arguments of calls: what must not be NULL, what a list of C can be, and places for results.

use std::mem::MaybeUninit;
use std::ptr;

use crate::matcher::gobo_matcher;
use crate::status::{Failure, answer, gobo_status};

use gobo_status::{GOBO_INVALID, GOBO_NULL_ARGUMENT};

/// What a call cannot do without.
pub(crate) fn given<T>(pointer: Option<T>, name: &str) -> Result<T, Failure> {
    pointer.ok_or_else(|| Failure::new(GOBO_NULL_ARGUMENT, format!("{name} is NULL")))
}

/// Makes a handle and puts it into its place, or NULL if there is none to make.
pub(crate) fn give<T>(
    place: Option<&mut MaybeUninit<*mut T>>,
    name: &str,
    make: impl FnOnce() -> Result<T, Failure>,
) -> Result<(), Failure> {
    let place = given(place, name)?;
    place.write(ptr::null_mut());
    place.write(Box::into_raw(Box::new(make()?)));
    Ok(())
}

/// Refuses a pointer that cannot lead to so many `T`s. None at all may be anywhere.
pub(crate) fn check<T>(pointer: *const T, length: usize, name: &str) -> Result<(), Failure> {
    if length == 0 {
        return Ok(());
    }
    given((!pointer.is_null()).then_some(()), name)?;
    let fault = if !pointer.is_aligned() {
        format!("{name} is at {pointer:p}, which is no multiple of {}", align_of::<T>())
    } else if length > isize::MAX as usize / size_of::<T>() {
        // No memory is larger.
        format!("{name} has {length} elements, more than fit into memory")
    } else {
        return Ok(());
    };
    Err(Failure::new(GOBO_INVALID, fault))
}

/// The end of a handle; within `answer`, because what it holds might panic.
pub(crate) fn free<T>(handle: Option<Box<T>>) {
    answer(|| {
        drop(handle);
        Ok(())
    });
}

/// Writes one fact of a matcher to its place.
pub(crate) fn tell<T>(
    matcher: Option<&gobo_matcher>,
    place: Option<&mut MaybeUninit<T>>,
    name: &str,
    fact: impl FnOnce(&gobo_matcher) -> T,
) -> gobo_status {
    answer(|| {
        given(place, name)?.write(fact(given(matcher, "matcher")?));
        Ok(())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pointers_that_lead_to_no_list_are_refused() {
        let refused = |pointer: *const u32, length| {
            check(pointer, length, "list").map_err(|failure| failure.to_string())
        };
        let words = [1_u32; 4];
        assert_eq!(refused(words.as_ptr(), 4), Ok(()));
        assert_eq!(refused(ptr::null(), 0), Ok(()));
        assert_eq!(refused(ptr::without_provenance(1), 0), Ok(()));
        assert_eq!(refused(ptr::null(), 1), Err("null argument: list is NULL".into()));
        let askew = refused(ptr::without_provenance(6), 1);
        assert_eq!(askew, Err("invalid: list is at 0x6, which is no multiple of 4".into()));
        for length in [usize::MAX, usize::MAX / 4 + 1, isize::MAX as usize / 4 + 1] {
            let long = refused(words.as_ptr(), length).unwrap_err();
            assert_eq!(long, format!("invalid: list has {length} elements, more than fit into memory"));
        }
    }

    #[test]
    fn a_place_without_a_handle_holds_null() {
        let mut place = MaybeUninit::new(ptr::without_provenance_mut::<u8>(1));
        let failed = give(Some(&mut place), "handle", || Err(Failure::new(GOBO_INVALID, "no")));
        assert!(failed.is_err());
        let made = give(None, "handle", || Ok(1)).unwrap_err();
        assert_eq!(made.to_string(), "null argument: handle is NULL");
    }
}
