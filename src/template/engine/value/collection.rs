//! Lists and maps. Dropping a deep structure never recurses; maps that were changed are registered so that a
//! map that contains itself can be taken apart at the end of a run.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::ops::Deref;
use std::rc::{Rc, Weak};

use super::{Str, Value};
use crate::template::engine::meter::Charge;

/// Bytes counted for one list element or map entry besides its text.
const SLOT: usize = 24;
const ENTRY: usize = 64;

/// `[]interface {}`: immutable once made. A nil list and an empty one print alike but differ in JSON.
#[derive(Clone)]
pub struct List(Option<Rc<ListCell>>);

struct ListCell {
    items: Vec<Value>,
    _charge: Charge,
}

impl List {
    /// A list of these elements.
    pub fn new(items: Vec<Value>) -> Self {
        let charge = Charge::new(ENTRY + items.len() * SLOT);
        Self(Some(Rc::new(ListCell { items, _charge: charge })))
    }

    /// The nil list.
    pub fn nil() -> Self {
        Self(None)
    }

    /// True for the nil list only.
    pub fn is_nil(&self) -> bool {
        self.0.is_none()
    }
}

impl Deref for List {
    type Target = [Value];

    fn deref(&self) -> &[Value] {
        self.0.as_ref().map_or(&[], |cell| &cell.items)
    }
}

impl Drop for ListCell {
    fn drop(&mut self) {
        dismantle(std::mem::take(&mut self.items));
    }
}

/// `map[string]interface {}`: a reference to shared entries, sorted by key bytes.
#[derive(Clone)]
pub struct Map(Option<Rc<MapCell>>);

struct MapCell {
    entries: RefCell<BTreeMap<Str, Value>>,
    charge: RefCell<Charge>,
    registered: Cell<bool>,
}

thread_local! {
    /// Maps changed after they were made: the only ones that can contain themselves.
    static CHANGED: RefCell<Vec<Weak<MapCell>>> = const { RefCell::new(Vec::new()) };
}

impl Map {
    /// An empty map.
    pub fn new() -> Self {
        Self::from_entries(BTreeMap::new())
    }

    /// The nil map: it reads as empty and cannot be written.
    pub fn nil() -> Self {
        Self(None)
    }

    /// A map with these entries.
    pub fn from_entries(entries: BTreeMap<Str, Value>) -> Self {
        let charge = RefCell::new(Charge::new(ENTRY + entries.len() * ENTRY));
        Self(Some(Rc::new(MapCell { entries: RefCell::new(entries), charge, registered: Cell::new(false) })))
    }

    /// True for the nil map only.
    pub fn is_nil(&self) -> bool {
        self.0.is_none()
    }

    /// Number of entries.
    pub fn len(&self) -> usize {
        self.0.as_ref().map_or(0, |cell| cell.entries.borrow().len())
    }

    /// True when there is no entry.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The value under a key.
    pub fn get(&self, key: &[u8]) -> Option<Value> {
        self.0.as_ref()?.entries.borrow().get(key).cloned()
    }

    /// True when the key is there, even with a nil value.
    pub fn contains(&self, key: &[u8]) -> bool {
        self.0.as_ref().is_some_and(|cell| cell.entries.borrow().contains_key(key))
    }

    /// Writes one entry. False, and nothing written, when the map is nil.
    #[must_use]
    pub fn insert(&self, key: Str, value: Value) -> bool {
        let Some(cell) = &self.0 else { return false };
        register(cell);
        let previous = cell.entries.borrow_mut().insert(key, value);
        drop(previous);
        cell.recharge();
        true
    }

    /// Removes one entry, if it is there.
    pub fn remove(&self, key: &[u8]) {
        if let Some(cell) = &self.0 {
            let previous = cell.entries.borrow_mut().remove(key);
            drop(previous);
            cell.recharge();
        }
    }

    /// The keys in byte order.
    pub fn keys(&self) -> Vec<Str> {
        self.0.as_ref().map_or_else(Vec::new, |cell| cell.entries.borrow().keys().cloned().collect())
    }

    /// The entries in byte order of their keys, as they are now.
    pub fn entries(&self) -> Vec<(Str, Value)> {
        let Some(cell) = &self.0 else { return Vec::new() };
        cell.entries.borrow().iter().map(|(key, value)| (key.clone(), value.clone())).collect()
    }

    /// True when both are the same map, not only equal ones.
    pub fn same(&self, other: &Self) -> bool {
        match (&self.0, &other.0) {
            (Some(a), Some(b)) => Rc::ptr_eq(a, b),
            (None, None) => true,
            _ => false,
        }
    }
}

impl Default for Map {
    fn default() -> Self {
        Self::new()
    }
}

impl MapCell {
    fn recharge(&self) {
        let size = ENTRY + self.entries.borrow().len() * ENTRY;
        self.charge.borrow_mut().resize(size);
    }
}

impl Drop for MapCell {
    fn drop(&mut self) {
        dismantle(std::mem::take(self.entries.get_mut()).into_values().collect());
    }
}

fn register(cell: &Rc<MapCell>) {
    if !cell.registered.replace(true) {
        CHANGED.with_borrow_mut(|changed| changed.push(Rc::downgrade(cell)));
    }
}

/// Empties every map that was changed since the last call, so that maps which contain themselves are freed
/// and wiped. Call it when no value of the run is needed any more.
pub(crate) fn release_changed_maps() {
    let changed = CHANGED.take();
    for cell in changed.iter().filter_map(Weak::upgrade) {
        let entries = cell.entries.take();
        drop(entries);
        cell.recharge();
    }
}

/// Frees values without recursion, however deep they are nested.
fn dismantle(mut pending: Vec<Value>) {
    while let Some(value) = pending.pop() {
        match value {
            Value::List(List(Some(cell))) | Value::Chunks(List(Some(cell))) => {
                if let Ok(mut cell) = Rc::try_unwrap(cell) {
                    pending.append(&mut std::mem::take(&mut cell.items));
                }
            }
            Value::Map(Map(Some(cell))) => {
                if let Ok(mut cell) = Rc::try_unwrap(cell) {
                    pending.extend(std::mem::take(cell.entries.get_mut()).into_values());
                }
            }
            _ => {}
        }
    }
}

/// `[]string`: a reference, because `sortAlpha` sorts such a list in place.
#[derive(Clone)]
pub struct StringList(Option<Rc<RefCell<Vec<Str>>>>);

impl StringList {
    /// A list of these texts.
    pub fn new(items: Vec<Str>) -> Self {
        Self(Some(Rc::new(RefCell::new(items))))
    }

    /// The nil list.
    pub fn nil() -> Self {
        Self(None)
    }

    /// True for the nil list only.
    pub fn is_nil(&self) -> bool {
        self.0.is_none()
    }

    /// Number of elements.
    pub fn len(&self) -> usize {
        self.0.as_ref().map_or(0, |items| items.borrow().len())
    }

    /// True when there is no element.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// One element.
    pub fn get(&self, index: usize) -> Option<Str> {
        self.0.as_ref()?.borrow().get(index).cloned()
    }

    /// The elements as they are now.
    pub fn to_vec(&self) -> Vec<Str> {
        self.0.as_ref().map_or_else(Vec::new, |items| items.borrow().clone())
    }

    /// Sorts the shared elements by their bytes.
    pub fn sort(&self) {
        if let Some(items) = &self.0 {
            items.borrow_mut().sort();
        }
    }
}

/// `map[string]string`: the root data, `split`, `splitn`. Nothing can change it.
#[derive(Clone)]
pub struct StringMap(Rc<BTreeMap<Str, Str>>);

impl StringMap {
    /// A map with these entries.
    pub fn new(entries: BTreeMap<Str, Str>) -> Self {
        Self(Rc::new(entries))
    }
}

impl Deref for StringMap {
    type Target = BTreeMap<Str, Str>;

    fn deref(&self) -> &BTreeMap<Str, Str> {
        &self.0
    }
}
