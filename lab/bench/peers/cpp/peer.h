// C interface of an adapter. The program loads one shared library per peer and build, so that different
// builds of one peer can take turns in one process.
//
// A form selects clips and method, see each adapter. Times are in seconds. A local transform has ten numbers:
// translation xyz, rotation xyzw, scale xyz. A palette matrix has sixteen, in columns.
#pragma once
#include <cstdint>

#define API extern "C" __attribute__((visibility("default")))

struct Peer;

// Reads `data`, compresses its clips and allocates all buffers. Null after an error. The ozz adapter writes
// its archives to `archives`, and that of ozz-animation-rs reads them there.
API Peer* peer_new(const char* data, const char* skeleton, const char* archives);

// Size of a clip in bytes.
API int peer_bytes(Peer*, int form, int clip);

// Samples a clip at `count` times.
API void peer_sample(Peer*, int form, int clip, const float* times, int count);

// Local transforms of a clip at one time.
API void peer_pose(Peer*, int form, int clip, float time, float* transforms);

// `count` frames of one character: two clips, their mean, model space, palette.
API void peer_character(Peer*, int form, int clip_a, int clip_b, const float* times_a, const float* times_b,
                        int count);

// One frame of each of `count` characters, with separate clips, times and palettes.
API void peer_crowd(Peer*, int form, const int* clips_a, const int* clips_b, const float* times_a,
                    const float* times_b, int count);

// One stage, `count` times, on the data of the last character: 0 mean of two poses, 1 model space, 2 palette.
API void peer_stage(Peer*, int form, int stage, int count);

// Palette of the last character, or of character `at` of the crowd if `at` is not negative.
API void peer_palette(Peer*, int form, int at, float* matrices);

// Optional: skinning with four influences per vertex and the palette of the last character.
API void peer_mesh(Peer*, int vertices, const uint16_t* joints, const float* weights, const float* positions,
                   const float* normals, const float* tangents);

// Skins `count` times: 0 positions, 1 with normals, 2 with normals and tangents.
API void peer_skin(Peer*, int attributes, int count);

// Positions and normals of the last skinning.
API void peer_skinned(Peer*, float* positions, float* normals);
