//! Labels, annotations, finalizers and field managers, exactly as ESO spells them: either side recognises the other's work.

use super::hash;

/// On every object the loop writes or adopts, with value `true`.
pub const MANAGED_LABEL: &str = "reconcile.external-secrets.io/managed";
/// Hash of `<namespace>/<ExternalSecret>`, only under creation policy `Owner`.
pub const OWNER_LABEL: &str = "reconcile.external-secrets.io/created-by";
/// Hash of the content as last written.
pub const HASH_ANNOTATION: &str = "reconcile.external-secrets.io/data-hash";
/// Keeps an ExternalSecret until its target was cleaned up.
pub const FINALIZER: &str = "externalsecrets.external-secrets.io/externalsecret-cleanup";
/// Label selector of [`MANAGED_LABEL`].
pub const MANAGED_SELECTOR: &str = "reconcile.external-secrets.io/managed=true";
/// What the API server accepts as a field manager without complaint elsewhere in ESO.
const LIMIT: usize = 63;
const PREFIX: &str = "externalsecrets.external-secrets.io/";

/// The field manager of every write to a target Secret: the name, or its hash where the whole text would be longer than
/// 63 bytes.
pub fn field_manager(name: &str) -> String {
    hash::field_manager(name)
}

/// The manager under which ESO looks for labels and annotations to take away: it hashes only if the *name* is longer
/// than 63 bytes, so that stale metadata of names between 28 and 63 bytes stays for ever (recorded).
pub fn metadata_manager(name: &str) -> String {
    if name.len() > LIMIT {
        hashed(name)
    } else {
        format!("{PREFIX}{name}")
    }
}

/// True for a manager of any ExternalSecret.
pub fn is_own_manager(manager: &str) -> bool {
    manager.starts_with(PREFIX)
}

fn hashed(name: &str) -> String {
    format!("{PREFIX}sha3/{}", hash::of_text(name))
}

/// The value of [`OWNER_LABEL`].
pub fn owner_hash(namespace: &str, name: &str) -> String {
    hash::created_by(namespace, name)
}

#[cfg(test)]
mod tests {
    use super::{field_manager, metadata_manager, owner_hash};

    #[test]
    fn a_long_name_is_hashed_by_the_length_of_the_whole() {
        assert_eq!(field_manager("es"), "externalsecrets.external-secrets.io/es");
        assert_eq!(
            field_manager("my-external-secret-with-a-long-name"),
            "externalsecrets.external-secrets.io/sha3/b6c2bd04c7e479c040f710b3e79ba36ce1c25c60622eaa013051921e"
        );
        assert_eq!(field_manager(&"a".repeat(27)).len(), 63);
        assert!(field_manager(&"a".repeat(28)).contains("/sha3/"));
    }

    #[test]
    fn metadata_is_looked_up_under_a_name_nobody_writes_with() {
        let name = "a".repeat(40);
        assert_ne!(metadata_manager(&name), field_manager(&name));
        assert_eq!(metadata_manager(&"a".repeat(64)), field_manager(&"a".repeat(64)));
    }

    #[test]
    fn owner_hash_of_the_documentation() {
        assert_eq!(
            owner_hash("default", "my-es"),
            "b8464376b5fe3535e690594280bfe59b60be2603cb6cbb6d6c8bcbb4"
        );
    }
}
