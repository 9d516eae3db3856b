//! Keys that know their hash: it is worked out once, for the worker's map and for the shared one.

use std::hash::{BuildHasher, Hash, Hasher};

use foldhash::fast::FixedState;

/// A key and its hash.
#[derive(Debug, Clone, Copy)]
pub(super) struct Hashed<K> {
    hash: u64,
    pub(super) key: K,
}

impl<K: Hash> Hashed<K> {
    pub(super) fn new(key: K) -> Hashed<K> {
        Hashed { hash: FixedState::default().hash_one(&key), key }
    }

    pub(super) fn hash(&self) -> u64 {
        self.hash
    }
}

impl<K: PartialEq> PartialEq for Hashed<K> {
    fn eq(&self, other: &Self) -> bool {
        self.hash == other.hash && self.key == other.key
    }
}

impl<K: Eq> Eq for Hashed<K> {}

impl<K> Hash for Hashed<K> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        state.write_u64(self.hash);
    }
}

/// Takes a key's own hash as it is.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct AsIs(u64);

impl Hasher for AsIs {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write_u64(&mut self, hash: u64) {
        self.0 = hash;
    }

    /// Nothing but hashes comes here.
    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|&byte| self.0 = self.0.rotate_left(8) ^ u64::from(byte));
    }
}

impl BuildHasher for AsIs {
    type Hasher = AsIs;

    fn build_hasher(&self) -> AsIs {
        AsIs(0)
    }
}
