//! Writing one scalar after another into the elements of a buffer.

use crate::bits;
use crate::number::Number;
use crate::scalar::Scalar;

/// Where the scalars of one field are.
pub(super) struct Place {
    /// Offset of the field in an element.
    pub(super) base: usize,
    /// Size of an element.
    pub(super) stride: usize,
    /// Type of the scalars.
    pub(super) scalar: Scalar,
    /// How many a field has.
    pub(super) width: usize,
    /// Number of the first scalar.
    pub(super) first: u64,
}

impl Place {
    pub(super) fn floats(&self, out: &mut [u8], mut value: impl FnMut(u64) -> f64) {
        // The two wide types get loops of their own, without a choice of type for each number.
        match self.scalar {
            Scalar::F64 => self.each(out, |i, to| bits::store_f64(Scalar::F64, value(i), to)),
            Scalar::F32 => self.each(out, |i, to| bits::store_f64(Scalar::F32, value(i), to)),
            other => self.each(out, |i, to| bits::store_f64(other, value(i), to)),
        }
    }

    pub(super) fn integers(&self, out: &mut [u8], mut value: impl FnMut(u64) -> i128) {
        let scalar = self.scalar;
        self.each(out, |i, to| bits::store_int(scalar, value(i), to));
    }

    pub(super) fn numbers(&self, out: &mut [u8], mut value: impl FnMut(u64) -> Number) {
        let scalar = self.scalar;
        self.each(out, |i, to| bits::store(scalar, value(i), to));
    }

    /// Stops at the first error.
    pub(super) fn try_numbers<E>(
        &self,
        out: &mut [u8],
        mut value: impl FnMut(u64) -> Result<Number, E>,
    ) -> Result<(), E> {
        let mut index = self.first;
        for element in out.chunks_exact_mut(self.stride.max(1)) {
            for to in self.scalars(element) {
                bits::store(self.scalar, value(index)?, to);
                index += 1;
            }
        }
        Ok(())
    }

    fn scalars<'e>(&self, element: &'e mut [u8]) -> impl Iterator<Item = &'e mut [u8]> {
        let size = self.scalar.bytes();
        let field = element.get_mut(self.base..self.base + size * self.width);
        field.unwrap_or_default().chunks_exact_mut(size)
    }

    fn each(&self, out: &mut [u8], mut store: impl FnMut(u64, &mut [u8])) {
        let size = self.scalar.bytes();
        if self.stride == size * self.width {
            // No gaps: one flat loop, which is the common case and the fast one.
            for (i, to) in (self.first..).zip(out.chunks_exact_mut(size)) {
                store(i, to);
            }
            return;
        }
        let mut index = self.first;
        for element in out.chunks_exact_mut(self.stride.max(1)) {
            for to in self.scalars(element) {
                store(index, to);
                index += 1;
            }
        }
    }
}
