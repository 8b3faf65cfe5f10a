//! Joins several containers, with only one of them in memory at a time.

use alloc::collections::BTreeMap;
use alloc::string::String;
use alloc::vec::Vec;

use super::{Container, ContainerTable, Entry, EntryKind};
use condyle_base::error::Error;

/// Joins the skeletons and clips of several containers, with their units and shells. Equal skeletons are
/// stored once.
///
/// Each part is read twice: once to build the table, and once to copy its bytes after the table. A joined
/// file can be joined again, and the result does not depend on the grouping of the parts.
///
/// ```
/// use condyle::container::{Container, ContainerJoin, ContainerTable, ContainerWriter, EntryKind};
/// use condyle::example;
///
/// let part = |name: &str, data: &[u8]| {
///     let mut part = ContainerWriter::default();
///     let model = part.add_skeleton("model", &example::skeleton())?;
///     part.add(EntryKind::Clip, name, Some(model), data)?;
///     Ok::<_, condyle::Error>(part.finish())
/// };
/// let parts = [part("walk", &[1, 2, 3])?, part("run", &[4; 20])?];
///
/// let mut join = ContainerJoin::default();
/// let mut copied = Vec::new();
/// for part in &parts {
///     copied.push(join.add(&Container::from_bytes(part)?, None, |name| format!("bob/{name}"))?);
/// }
/// let mut file = join.finish();
/// for (part, entries) in parts.iter().zip(copied) {
///     for entry in entries {
///         file.extend(ContainerTable::zeros(file.len() as u64));
///         file.extend(Container::from_bytes(part)?.data(entry)?);
///     }
/// }
/// let joined = Container::from_bytes(&file)?;
/// assert_eq!(joined.entries().map(|it| it.name).collect::<Vec<_>>(), ["model", "bob/walk", "bob/run"]);
/// assert_eq!(joined.data(2)?, [4; 20]);
/// # Ok::<(), condyle::Error>(())
/// ```
#[derive(Debug, Clone, Default)]
pub struct ContainerJoin {
    table: ContainerTable,
    /// Skeletons by the bits of their unit and their bytes.
    models: BTreeMap<(Option<u32>, Vec<u8>), usize>,
}

impl ContainerJoin {
    /// Adds the new skeletons and the clips of a part to the table. Returns the indices in the part of the
    /// entries whose bytes must be copied, in that order.
    ///
    /// `unit` is the number of metres per unit for skeletons that do not state it. `name` maps the name of
    /// each clip to its name in the joined file. Other entries are dropped.
    ///
    /// # Errors
    /// The errors of [`Container::data`], [`ContainerTable::add`] and [`ContainerTable::set_unit`].
    pub fn add(
        &mut self,
        part: &Container<'_>,
        unit: Option<f32>,
        mut name: impl FnMut(&str) -> String,
    ) -> Result<Vec<usize>, Error> {
        let mut copied = Vec::new();
        // Indices in the joined file of the part's skeletons.
        let mut places = BTreeMap::new();
        for entry in part.entries() {
            match (entry.kind, entry.model) {
                (EntryKind::Skeleton, _) => {
                    self.place(part, entry, unit, &mut places, &mut copied)?;
                }
                (EntryKind::Clip, model) => {
                    // The skeleton may come after the clip.
                    let skeleton = model.map(|model| part.line(model));
                    let skeleton = skeleton.filter(|it| it.kind == EntryKind::Skeleton);
                    let model = skeleton.map(|it| self.place(part, it, unit, &mut places, &mut copied));
                    let data = part.data(entry.index)?;
                    let clip = self.table.add(entry.kind, &name(entry.name), model.transpose()?, data)?;
                    let shell = part.shell(entry.index);
                    shell.map_or(Ok(()), |radius| self.table.set_shell(clip, radius))?;
                    copied.push(entry.index);
                }
                _ => {}
            }
        }
        Ok(copied)
    }

    /// Returns the index of a part's skeleton in the joined file. Appends the skeleton if no equal one
    /// exists.
    fn place(
        &mut self,
        part: &Container<'_>,
        entry: Entry<'_>,
        unit: Option<f32>,
        places: &mut BTreeMap<usize, usize>,
        copied: &mut Vec<usize>,
    ) -> Result<usize, Error> {
        if let Some(known) = places.get(&entry.index) {
            return Ok(*known);
        }
        let data = part.data(entry.index)?;
        let unit = part.unit(entry.index).or(unit);
        let key = (unit.map(f32::to_bits), data.to_vec());
        let place = if let Some(known) = self.models.get(&key) {
            *known
        } else {
            let place = self.table.add(entry.kind, entry.name, None, data)?;
            unit.map_or(Ok(()), |unit| self.table.set_unit(place, unit))?;
            self.models.insert(key, place);
            copied.push(entry.index);
            place
        };
        places.insert(entry.index, place);
        Ok(place)
    }

    /// Adds an entry of kind [`EntryKind::Metadata`]. Write its bytes after those of the parts added before.
    ///
    /// # Errors
    /// The errors of [`ContainerTable::add`].
    pub fn add_metadata(&mut self, name: &str, data: &[u8]) -> Result<(), Error> {
        self.table.add(EntryKind::Metadata, name, None, data).map(|_| ())
    }

    /// Number of skeletons.
    #[must_use]
    pub fn skeleton_count(&self) -> usize {
        self.models.len()
    }

    /// Returns the header, the table and the names. Write the bytes of the entries after them, each after
    /// [`ContainerTable::zeros`].
    #[must_use]
    pub fn finish(self) -> Vec<u8> {
        self.table.finish()
    }
}

#[cfg(test)]
mod tests {
    use alloc::borrow::ToOwned;

    use super::*;
    use crate::container::{ContainerWriter, checksum};
    use crate::skeleton::{Joint, Skeleton};
    use condyle_base::math::Transform;

    fn skeleton(name: &str) -> Skeleton {
        Skeleton::new([Joint::new(name, None, Transform::IDENTITY)]).unwrap()
    }

    fn part(models: &[(&str, &str)], unit: Option<f32>) -> Vec<u8> {
        let mut part = ContainerWriter::default();
        for (model, clip) in models {
            let at = part.add_skeleton("model", &skeleton(model)).unwrap();
            unit.map_or(Ok(()), |unit| part.set_unit(at, unit)).unwrap();
            part.add(EntryKind::Clip, clip, Some(at), clip.as_bytes()).unwrap();
        }
        part.add(EntryKind::Metadata, "part", None, b"{}").unwrap();
        part.finish()
    }

    fn joined(parts: &[Vec<u8>], unit: Option<f32>) -> Vec<u8> {
        let mut join = ContainerJoin::default();
        let add =
            |part: &Vec<u8>| join.add(&Container::from_bytes(part).unwrap(), unit, str::to_owned).unwrap();
        let copied: Vec<_> = parts.iter().map(add).collect();
        let mut file = join.finish();
        for (part, entries) in parts.iter().zip(copied) {
            for entry in entries {
                file.extend(ContainerTable::zeros(file.len() as u64));
                file.extend(Container::from_bytes(part).unwrap().data(entry).unwrap());
            }
        }
        file
    }

    #[test]
    fn groups_of_parts_give_the_same_bytes() {
        let parts = [
            part(&[("a", "walk")], None),
            part(&[("b", "run"), ("a", "jump")], None),
            part(&[("a", "stand")], Some(0.01)),
        ];
        let whole = joined(&parts, None);
        let [first, second, third] = &parts;
        let early = joined(&[first.clone(), second.clone()], None);
        let late = joined(&[second.clone(), third.clone()], None);
        assert_eq!(joined(&[early, third.clone()], None), whole);
        assert_eq!(joined(&[first.clone(), late], None), whole);

        let whole = Container::from_bytes(&whole).unwrap();
        let entries: Vec<_> = whole.entries().map(|it| (it.name, it.model)).collect();
        let (model, unit) = (("model", None), |at| whole.unit(at));
        let want =
            [model, ("walk", Some(0)), model, ("run", Some(2)), ("jump", Some(0)), model, ("stand", Some(5))];
        assert_eq!(entries, want);
        assert_eq!([unit(0), unit(2), unit(5)], [None, None, Some(0.01)]);
        assert_eq!(whole.data(4).unwrap(), b"jump");
    }

    /// Entries may be in any order: a clip may come before its skeleton.
    #[test]
    fn a_clip_before_its_skeleton_keeps_it() {
        let mut file = {
            let mut part = ContainerWriter::default();
            let at = part.add_skeleton("model", &skeleton("a")).unwrap();
            part.add(EntryKind::Clip, "early", Some(at), b"early").unwrap();
            part.finish()
        };
        // Swap the two records except their name ends, and swap the names.
        let (first, second) = (32..72, 72..112);
        let records = [file[first.clone()].to_vec(), file[second.clone()].to_vec()];
        for (range, record) in [first, second].into_iter().zip([&records[1], &records[0]]) {
            file[range.start..range.start + 8].copy_from_slice(&record[..8]);
            file[range.start + 12..range.end].copy_from_slice(&record[12..]);
        }
        file[36..40].copy_from_slice(&1_u32.to_le_bytes());
        file[112..122].copy_from_slice(b"earlymodel");
        // Swap their bytes.
        let bytes = file[144..].to_vec();
        let length = u64::from_le_bytes(records[0][24..32].try_into().unwrap()) as usize;
        file.truncate(144);
        file.extend(b"early");
        file.resize(160, 0);
        file.extend(&bytes[..length]);
        file[48..56].copy_from_slice(&144_u64.to_le_bytes());
        file[88..96].copy_from_slice(&160_u64.to_le_bytes());
        let end = file.len() as u64;
        file[24..32].copy_from_slice(&end.to_le_bytes());
        let sum = checksum(&file[..128]);
        file[128..136].copy_from_slice(&sum.to_le_bytes());

        let whole = joined(&[file], None);
        let whole = Container::from_bytes(&whole).unwrap();
        let entries: Vec<_> = whole.entries().map(|it| (it.name, it.model)).collect();
        assert_eq!(entries, [("model", None), ("early", Some(0))]);
        assert_eq!(whole.data(1).unwrap(), b"early");
    }

    #[test]
    fn clips_keep_their_shells() {
        let mut part = ContainerWriter::default();
        let model = part.add_skeleton("model", &skeleton("a")).unwrap();
        for (name, shell) in [("fine", Some(0.05)), ("silent", None)] {
            let clip = part.add(EntryKind::Clip, name, Some(model), name.as_bytes()).unwrap();
            shell.map_or(Ok(()), |radius| part.set_shell(clip, radius)).unwrap();
        }
        let whole = joined(&[part.finish()], None);
        let whole = Container::from_bytes(&whole).unwrap();
        let shell = |name| whole.shell(whole.find(EntryKind::Clip, name).unwrap());
        assert_eq!((shell("fine"), shell("silent")), (Some(0.05), None));
    }

    /// A newer layout has another meaning, and the joined table would not state its version.
    #[test]
    fn entries_with_a_newer_layout_are_not_joined() {
        for index in [0, 1] {
            let mut newer = part(&[("a", "walk")], None);
            newer[32 + 40 * index + 2] = 1;
            let end = 32 + 40 * 3 + "modelwalkpart".len().next_multiple_of(8);
            let sum = checksum(&newer[..end]);
            newer[end..end + 8].copy_from_slice(&sum.to_le_bytes());
            let newer = Container::from_bytes(&newer).unwrap();
            let refused = ContainerJoin::default().add(&newer, None, str::to_owned);
            assert!(matches!(refused, Err(Error::Version { found: 1, newest: 0, .. })), "{refused:?}");
        }
    }

    #[test]
    fn a_unit_is_for_those_that_say_none() {
        let parts = [part(&[("a", "walk")], None), part(&[("a", "run")], Some(0.01))];
        let whole = joined(&parts, Some(0.01));
        let whole = Container::from_bytes(&whole).unwrap();
        assert_eq!((whole.entries().len(), whole.unit(0)), (3, Some(0.01)));
        let refused = ContainerJoin::default().add(
            &Container::from_bytes(&parts[0]).unwrap(),
            Some(0.0),
            str::to_owned,
        );
        assert!(matches!(refused, Err(Error::OutOfRange { .. })));
    }
}
