//! Hostile documents in families. Each document is the small character, or another document of `tiny`, with
//! an error.
//!
//! The malformed-input tests try all of them. A program for the tests of the Python package writes a sample
//! of them into a folder.

pub(crate) mod buffers;
pub(crate) mod container;
pub(crate) mod json;

use std::borrow::Cow;
use std::fmt::Display;

/// One document, and its required outcome.
pub(crate) struct Hostile<'a> {
    /// Description of the error.
    pub(crate) case: String,
    pub(crate) bytes: Cow<'a, [u8]>,
    pub(crate) must: Must,
}

/// The required outcome of a document; none may cause harm.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Must {
    /// It can be accepted or refused.
    EndWell,
    BeAccepted,
    /// It is refused, or accepted with at least one problem.
    BeTold,
    /// It is accepted, with a problem at a path that starts with this text.
    BeToldAt(&'static str),
    BeRefused,
    /// It is refused, with an error at this path.
    BeRefusedAt(&'static str),
    /// It is refused, with this text in the message.
    BeRefusedWith(&'static str),
}

/// Receives the documents of a family one at a time, because all together do not fit in memory.
pub(crate) type Take<'t> = &'t mut dyn FnMut(Hostile<'_>);

/// Makes the documents of a family, always the same ones.
pub(crate) type Family = fn(Take<'_>);

/// All families, each with its name.
pub(crate) const FAMILIES: [(&str, Family); 28] = [
    ("every_number_replaced_by_one_that_is_none", buffers::every_number_replaced_by_one_that_is_none),
    ("numbers_that_are_none", buffers::numbers_that_are_none),
    ("every_byte_of_the_buffer_flipped", buffers::every_byte_of_the_buffer_flipped),
    ("key_times_out_of_order", buffers::key_times_out_of_order),
    ("rotations_without_a_direction", buffers::rotations_without_a_direction),
    ("sparse_indices_that_lie", buffers::sparse_indices_that_lie),
    ("compressed_streams_of_noise", buffers::compressed_streams_of_noise),
    ("compressed_layouts_that_lie", buffers::compressed_layouts_that_lie),
    ("cut_short_at_every_length", container::cut_short_at_every_length),
    ("one_bit_flipped_in_every_byte", container::one_bit_flipped_in_every_byte),
    ("every_byte_replaced_by_one_with_a_meaning", container::every_byte_replaced_by_one_with_a_meaning),
    ("headers_and_chunks_that_lie", container::headers_and_chunks_that_lie),
    ("what_is_no_document", container::what_is_no_document),
    ("deep_nesting", container::deep_nesting),
    ("data_uris_that_are_broken", container::data_uris_that_are_broken),
    ("every_place_replaced_by_everything", json::every_place_replaced_by_everything),
    ("every_member_left_out", json::every_member_left_out),
    ("references_that_lead_nowhere", json::references_that_lead_nowhere),
    ("cycles_and_shared_children", json::cycles_and_shared_children),
    ("long_chains_and_too_many_joints", json::long_chains_and_too_many_joints),
    ("counts_out_of_proportion", json::counts_out_of_proportion),
    ("one_accessor_used_very_often", json::one_accessor_used_very_often),
    ("morph_weights_that_all_move_in_their_own_time", json::morph_weights_that_all_move_in_their_own_time),
    ("copies_of_zeros", json::copies_of_zeros),
    ("small_text_of_large_values", json::small_text_of_large_values),
    ("roots_and_scenes_over_and_over", json::roots_and_scenes_over_and_over),
    ("springs_out_of_proportion", json::springs_out_of_proportion),
    ("required_extensions_that_are_unknown", json::required_extensions_that_are_unknown),
];

/// Passes one document to `take`.
fn give<'a>(take: Take<'_>, case: impl Display, bytes: impl Into<Cow<'a, [u8]>>, must: Must) {
    take(Hostile { case: case.to_string(), bytes: bytes.into(), must });
}
