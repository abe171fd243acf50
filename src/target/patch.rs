//! The JSON merge patch from one state of an object to another.

use serde_json::{Map, Value};

/// What turns `old` into `new`: members that went are null. `None` if nothing differs.
pub fn merge_patch(old: &Value, new: &Value) -> Option<Value> {
    let (Value::Object(before), Value::Object(after)) = (old, new) else {
        return (old != new).then(|| new.clone());
    };
    let mut patch = Map::new();
    for (key, value) in after {
        match before.get(key) {
            None => {
                patch.insert(key.clone(), value.clone());
            }
            Some(known) => {
                if let Some(inner) = merge_patch(known, value) {
                    patch.insert(key.clone(), inner);
                }
            }
        }
    }
    for key in before.keys().filter(|key| !after.contains_key(*key)) {
        patch.insert(key.clone(), Value::Null);
    }
    (!patch.is_empty()).then_some(Value::Object(patch))
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::merge_patch;

    #[test]
    fn only_the_difference_is_sent_and_what_went_is_null() {
        let old = json!({"a": 1, "b": {"x": 1, "y": {}}, "c": [1]});
        assert_eq!(merge_patch(&old, &old), None);
        let new = json!({"a": 1, "b": {"x": 2, "z": {}}, "c": [1, 2]});
        assert_eq!(
            merge_patch(&old, &new),
            Some(json!({"b": {"x": 2, "y": Value::Null, "z": {}}, "c": [1, 2]}))
        );
    }
}
