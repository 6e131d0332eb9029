//! A short list in the order of numbers. Every browser loads this code, and a tree has ten times as much.

/// Values by their numbers, which rise.
#[derive(Debug)]
pub(crate) struct ByNumber<T>(Vec<(u64, T)>);

impl<T> Default for ByNumber<T> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<T> ByNumber<T> {
    pub(crate) const fn len(&self) -> usize {
        self.0.len()
    }

    pub(crate) fn contains(&self, number: u64) -> bool {
        self.0.iter().any(|(known, _)| *known == number)
    }

    pub(crate) fn first(&self) -> Option<u64> {
        self.0.first().map(|(number, _)| *number)
    }

    pub(crate) fn get(&self, number: u64) -> Option<&T> {
        self.iter().find(|(known, _)| *known == number).map(|(_, value)| value)
    }

    pub(crate) fn get_mut(&mut self, number: u64) -> Option<&mut T> {
        self.iter_mut().find(|(known, _)| *known == number).map(|(_, value)| value)
    }

    /// Returns the value of a number; if there is none, a new one.
    pub(crate) fn get_or_insert(&mut self, number: u64, new: impl FnOnce() -> T) -> &mut T {
        let at = self.0.partition_point(|(known, _)| *known < number);
        if self.0.get(at).is_none_or(|(known, _)| *known != number) {
            self.0.insert(at, (number, new()));
        }
        &mut self.0[at].1
    }

    pub(crate) fn remove(&mut self, number: u64) -> Option<T> {
        let at = self.0.iter().position(|(known, _)| *known == number)?;
        Some(self.0.remove(at).1)
    }

    /// Drops all before this number.
    pub(crate) fn drop_before(&mut self, number: u64) {
        self.0.retain(|(known, _)| *known >= number);
    }

    pub(crate) fn clear(&mut self) {
        self.0.clear();
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (u64, &T)> {
        self.0.iter().map(|(number, value)| (*number, value))
    }

    pub(crate) fn iter_mut(&mut self) -> impl Iterator<Item = (u64, &mut T)> {
        self.0.iter_mut().map(|(number, value)| (*number, value))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_stay_in_the_order_of_their_numbers() {
        let mut list = ByNumber::default();
        for number in [5, 2, 9, 5, 7] {
            *list.get_or_insert(number, || 0) += number;
        }
        assert_eq!(list.iter().collect::<Vec<_>>(), [(2, &2), (5, &10), (7, &7), (9, &9)]);
        assert_eq!((list.first(), list.len(), list.contains(7), list.contains(3)), (Some(2), 4, true, false));
        assert_eq!((list.remove(7), list.remove(7), list.get_mut(9)), (Some(7), None, Some(&mut 9)));
        list.drop_before(5);
        assert_eq!(list.iter().map(|(number, _)| number).collect::<Vec<_>>(), [5, 9]);
        list.clear();
        assert_eq!(list.len(), 0);
    }
}
