//! The events of a compressed clip.

use super::events::{Event, Events};
use crate::clip::Clip;

impl Clip<'_> {
    /// All events, ready for [`Events::passed`]. Allocates: once for each clip, not for each frame.
    ///
    /// ```
    /// use condyle::{Clip, EncodeOptions, Event, RawClip, Skeleton, encode};
    ///
    /// let raw = RawClip::new("still".into(), vec![], vec![])?;
    /// let events = vec![Event { seconds: 0.0, name: "appears".into() }];
    /// let options = EncodeOptions { events, ..EncodeOptions::default() };
    /// let encoded = encode(&raw, &Skeleton::new([])?, &options, &mut |_| ())?;
    /// let clip = Clip::from_bytes(encoded.bytes())?;
    /// assert_eq!(clip.event(0), Some((0.0, "appears")));
    /// assert_eq!(clip.events().as_slice(), options.events);
    /// # Ok::<(), condyle::Error>(())
    /// ```
    #[must_use]
    pub fn events(&self) -> Events {
        let all = (0..self.event_count()).filter_map(|at| self.event(at));
        let all = all.map(|(seconds, name)| Event { seconds, name: name.into() });
        Events::in_order(self.duration(), all.collect())
    }
}
