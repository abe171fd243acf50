//! Time zones: UTC, a fixed offset, or a place from the bundled tz database.

use std::sync::LazyLock;

use jiff::Timestamp;
use jiff::tz::{TimeZone, TimeZoneDatabase};

/// The database is part of the program: containers without `/usr/share/zoneinfo` behave like all others.
static DATABASE: LazyLock<TimeZoneDatabase> = LazyLock::new(TimeZoneDatabase::bundled);

/// The zone that a time is shown in.
#[derive(Clone, Debug, PartialEq)]
pub enum Zone {
    /// UTC.
    Utc,
    /// Local time: UTC's clock and name, but another identity.
    Local,
    /// An offset that a text gave, with the abbreviation it gave (often empty).
    Fixed {
        /// The abbreviation.
        name: String,
        /// Seconds east of UTC.
        offset: i32,
    },
    /// A place, such as `Europe/Prague`.
    Place(TimeZone),
}

impl Zone {
    /// Looks a zone up by name as Go's `LoadLocation` does, in the bundled database.
    ///
    /// Names are case-sensitive; the empty name, `UTC` and `Local` are UTC. Unknown names give nothing.
    pub fn load(name: &str) -> Option<Self> {
        match name {
            "" | "UTC" => return Some(Self::Utc),
            "Local" => return Some(Self::Local),
            _ => {}
        }
        let zone = DATABASE.get(name).ok()?;
        (zone.iana_name() == Some(name)).then_some(Self::Place(zone))
    }

    /// The name of the zone as Go's `Location` prints it.
    pub fn name(&self) -> &str {
        match self {
            // Local time has no file of its own in the operator's image, so Go calls it UTC too.
            Self::Utc | Self::Local => "UTC",
            Self::Fixed { name, .. } => name,
            Self::Place(zone) => zone.iana_name().unwrap_or_default(),
        }
    }

    /// True when clocks are put forward at a point in time.
    pub(super) fn is_dst(&self, seconds: i64) -> bool {
        match self {
            Self::Place(zone) => zone.to_offset_info(instant(seconds)).dst().is_dst(),
            Self::Utc | Self::Local | Self::Fixed { .. } => false,
        }
    }

    /// Seconds east of UTC at a point in time.
    pub(super) fn offset(&self, seconds: i64) -> i32 {
        match self {
            Self::Utc | Self::Local => 0,
            Self::Fixed { offset, .. } => *offset,
            Self::Place(zone) => zone.to_offset(instant(seconds)).seconds(),
        }
    }

    /// The abbreviation at a point in time, such as `CEST`; may be empty.
    pub(super) fn abbreviation(&self, seconds: i64) -> String {
        match self {
            Self::Utc | Self::Local => "UTC".to_owned(),
            Self::Fixed { name, .. } => name.clone(),
            Self::Place(zone) => zone.to_offset_info(instant(seconds)).abbreviation().to_owned(),
        }
    }
}

/// The library knows the years -9999 to 9999; beyond them the nearest known rule holds.
fn instant(seconds: i64) -> Timestamp {
    let (first, last) = (Timestamp::MIN.as_second(), Timestamp::MAX.as_second());
    Timestamp::from_second(seconds.clamp(first, last)).unwrap_or(Timestamp::UNIX_EPOCH)
}
