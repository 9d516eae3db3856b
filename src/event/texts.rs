//! Byte strings that events refer to, each kept once.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, PoisonError, RwLock};

use foldhash::{HashMap, HashMapExt};

/// A text of a [`Texts`]; means nothing in another one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TextId(u32);

/// What a text costs beside its bytes: its places in two maps.
const COST_BYTES: usize = 96;

/// A bounded set of byte strings, shared by all that read and write events.
///
/// An id is never given twice, so one whose text was dropped finds nothing and nothing else.
#[derive(Debug)]
pub struct Texts {
    bound_bytes: usize,
    held: RwLock<Held>,
    refused: AtomicU64,
}

#[derive(Debug)]
struct Held {
    ids: HashMap<Arc<[u8]>, TextId>,
    texts: HashMap<TextId, Arc<[u8]>>,
    bytes: usize,
    next: u32,
    /// Texts from here on came since the last sweep: events on their way may refer to them.
    recent: u32,
}

impl Texts {
    /// An empty set for texts of `bound_bytes` together, upkeep included.
    pub fn new(bound_bytes: usize) -> Texts {
        let (ids, texts) = (HashMap::new(), HashMap::new());
        let held = Held { ids, texts, bytes: 0, next: 0, recent: 0 };
        Texts { bound_bytes, held: RwLock::new(held), refused: AtomicU64::new(0) }
    }

    /// The id of a text; none, counted, for a new one without room.
    pub fn intern(&self, text: &[u8]) -> Option<TextId> {
        if let Some(&id) = self.held.read().unwrap_or_else(PoisonError::into_inner).ids.get(text) {
            return Some(id);
        }
        let mut held = self.held.write().unwrap_or_else(PoisonError::into_inner);
        if let Some(&id) = held.ids.get(text) {
            return Some(id);
        }
        let bytes = held.bytes + text.len() + COST_BYTES;
        let next = held.next.checked_add(1);
        let (Some(next), true) = (next, bytes <= self.bound_bytes) else {
            self.refused.fetch_add(1, Ordering::Relaxed);
            return None;
        };
        let (id, text) = (TextId(held.next), Arc::<[u8]>::from(text));
        held.ids.insert(Arc::clone(&text), id);
        held.texts.insert(id, text);
        (held.bytes, held.next) = (bytes, next);
        Some(id)
    }

    /// A text; none for an id of another set, or of a text that was dropped.
    pub fn get(&self, id: TextId) -> Option<Arc<[u8]>> {
        let held = self.held.read().unwrap_or_else(PoisonError::into_inner);
        held.texts.get(&id).cloned()
    }

    /// How often a text was refused for want of room.
    pub fn refused(&self) -> u64 {
        self.refused.load(Ordering::Relaxed)
    }

    /// Whether it is time to drop what is not needed any more.
    pub fn is_filling(&self) -> bool {
        let held = self.held.read().unwrap_or_else(PoisonError::into_inner);
        held.bytes > self.bound_bytes / 2
    }

    /// Drops the texts that came before the last call of this and are not needed.
    pub fn retain(&self, is_needed: impl Fn(TextId) -> bool) {
        let mut held = self.held.write().unwrap_or_else(PoisonError::into_inner);
        let Held { ids, texts, bytes, next, recent } = &mut *held;
        ids.retain(|text, id| {
            let kept = id.0 >= *recent || is_needed(*id);
            if !kept {
                texts.remove(id);
                *bytes -= text.len() + COST_BYTES;
            }
            kept
        });
        *recent = *next;
    }
}

#[cfg(test)]
mod tests {
    use super::{COST_BYTES, Texts};

    #[test]
    fn a_text_is_kept_once_and_none_beyond_the_bound() {
        let texts = Texts::new(2 * COST_BYTES + 5);
        let a = texts.intern(b"\xffa").unwrap();
        assert_eq!(texts.intern(b"\xffa"), Some(a));
        assert_eq!(texts.intern(b"four"), None);
        let b = texts.intern(b"xyz").unwrap();
        assert_ne!(a, b);
        assert_eq!((texts.intern(b""), texts.refused()), (None, 2));
        assert_eq!(texts.get(a).as_deref(), Some(b"\xffa".as_slice()));
    }

    #[test]
    fn what_nobody_needs_makes_room_but_for_what_just_came_and_no_id_is_given_twice() {
        let texts = Texts::new(2 * COST_BYTES + 2);
        let [a, b] = [b"a", b"b"].map(|text| texts.intern(text).unwrap());
        assert!(texts.is_filling());
        texts.retain(|_| false);
        assert!(texts.get(a).is_some() && texts.get(b).is_some());
        texts.retain(|id| id == b);
        assert!(texts.get(a).is_none() && texts.get(b).is_some());
        let again = texts.intern(b"a").unwrap();
        assert!(again != a && again != b);
        assert_eq!(texts.intern(b"c"), None);
    }
}
