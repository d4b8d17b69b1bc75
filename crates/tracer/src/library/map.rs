//! A hash map from addresses to small numbers, without removal: it is consulted at nearly every
//! call that is reported.

const N_AT_FIRST: usize = 1 << 10;

#[derive(Clone, Copy)]
struct Place {
    /// 0 if the place is empty.
    key: usize,
    value: usize,
}

const EMPTY: Place = Place { key: 0, value: 0 };

/// A map from addresses to indices of a vector.
pub(crate) struct Map {
    /// Their number is a power of two.
    places: Vec<Place>,
    n: usize,
}

impl Map {
    pub(crate) fn new() -> Self {
        Self { places: vec![EMPTY; N_AT_FIRST], n: 0 }
    }

    pub(crate) fn get(&self, key: usize) -> Option<usize> {
        let place = self.places[self.find(key)];
        (place.key == key && key != 0).then_some(place.value)
    }

    /// Adds a key, which must be new and not 0.
    pub(crate) fn insert(&mut self, key: usize, value: usize) {
        if 2 * self.n >= self.places.len() {
            self.grow();
        }
        let at = self.find(key);
        self.places[at] = Place { key, value };
        self.n += 1;
    }

    /// Changes the value of a key, which must be there.
    pub(crate) fn replace(&mut self, key: usize, value: usize) {
        let at = self.find(key);
        self.places[at].value = value;
    }

    /// The place of a key, or the empty place where it belongs. There always is an empty one.
    fn find(&self, key: usize) -> usize {
        let mask = self.places.len() - 1;
        let mut at = (key >> 4).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 20;
        loop {
            let found = self.places[at & mask].key;
            if found == key || found == 0 {
                return at & mask;
            }
            at += 1;
        }
    }

    fn grow(&mut self) {
        let n = 2 * self.places.len();
        let old = std::mem::replace(&mut self.places, vec![EMPTY; n]);
        for place in old.into_iter().filter(|place| place.key != 0) {
            let at = self.find(place.key);
            self.places[at] = place;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_inserted_is_found_also_after_the_map_has_grown() {
        let mut map = Map::new();
        // Addresses, some of which share their lower bits.
        let keys: Vec<usize> = (1..=3 * N_AT_FIRST).map(|n| n << 4 | (n % 3) << 40).collect();
        for (value, &key) in keys.iter().enumerate() {
            assert_eq!(map.get(key), None);
            map.insert(key, value);
        }
        for (value, &key) in keys.iter().enumerate() {
            assert_eq!(map.get(key), Some(value));
            map.replace(key, value + 1);
            assert_eq!(map.get(key), Some(value + 1));
        }
        assert_eq!(map.get(8), None);
    }

    #[test]
    fn nothing_is_at_address_0() {
        assert_eq!(Map::new().get(0), None);
    }
}
