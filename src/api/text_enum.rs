//! One macro for the enumerations of the API, so that a value a newer CRD allows is kept and not a decoding error.

/// Declares an enumeration of text values. An absent field is the variant marked `#[default]`; unknown text is kept in
/// `Other`, because what ESO does with it differs from field to field (some fall back, some fail when used).
macro_rules! text_enum {
    ($(#[$doc:meta])* $name:ident { $($(#[$vdoc:meta])* $variant:ident),+ $(,)? }) => {
        $(#[$doc])*
        #[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
        pub enum $name {
            $($(#[$vdoc])* $variant,)+
            /// Text that is none of the above, kept as written (also the empty text).
            Other(String),
        }

        impl $name {
            /// The text as it stands in a manifest.
            pub fn as_str(&self) -> &str {
                match self {
                    $(Self::$variant => stringify!($variant),)+
                    Self::Other(text) => text,
                }
            }
        }

        impl From<&str> for $name {
            fn from(text: &str) -> Self {
                match text {
                    $(stringify!($variant) => Self::$variant,)+
                    other => Self::Other(other.to_owned()),
                }
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(self.as_str())
            }
        }

        impl serde::Serialize for $name {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_str(self.as_str())
            }
        }

        impl<'de> serde::Deserialize<'de> for $name {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                Ok(Self::from(<String as serde::Deserialize>::deserialize(deserializer)?.as_str()))
            }
        }
    };
}

pub(crate) use text_enum;
