//! Three planes of YCbCr 4:2:0.

use crate::picture::Size;

/// Luma of `size`, then the blue and the red difference of half the width and half the height, rounded up; each row by
/// row without padding.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Planes420<T> {
    size: Size,
    planes: [Vec<T>; 3],
}

/// Has one sample in every plane; callers resize it.
impl<T: Copy + Default> Default for Planes420<T> {
    fn default() -> Self {
        Self::new(Size::ONE)
    }
}

impl<T: Copy + Default> Planes420<T> {
    /// All samples are 0.
    pub(crate) fn new(size: Size) -> Self {
        let mut planes = Self { size, planes: Default::default() };
        planes.resize(size);
        planes
    }

    /// Resizes the planes for another picture in the same memory; the samples are arbitrary.
    pub(crate) fn resize(&mut self, size: Size) {
        self.size = size;
        for (number, plane) in self.planes.iter_mut().enumerate() {
            plane.resize(plane_size(size, number).pixels(), T::default());
        }
    }
}

impl<T> Planes420<T> {
    /// Width and height of luma.
    pub(crate) const fn size(&self) -> Size {
        self.size
    }

    /// Luma, blue difference, red difference.
    pub(crate) const fn planes(&self) -> &[Vec<T>; 3] {
        &self.planes
    }

    /// The samples of each plane.
    pub(crate) fn slices(&self) -> [&[T]; 3] {
        self.planes.each_ref().map(Vec::as_slice)
    }

    /// The samples of each plane, for writing.
    pub(crate) fn planes_mut(&mut self) -> [&mut [T]; 3] {
        self.planes.each_mut().map(Vec::as_mut_slice)
    }
}

/// The size of a plane of a picture of `size`.
pub(crate) const fn plane_size(size: Size, plane: usize) -> Size {
    if plane == 0 { size } else { size.halved() }
}
