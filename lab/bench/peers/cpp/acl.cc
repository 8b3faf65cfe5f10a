// ACL with RTM. Forms: 0, 1, 2 compressed at 0.1 mm, and 3, 4, 5 at 1 mm. Within three, methods of model
// space: local matrices and `matrix_mul`; `qvv_mul` and a matrix per joint; the same without scale.
#include <cstdio>
#include <cstring>
#include <memory>
#include <utility>

#include <acl/compression/compress.h>
#include <acl/compression/compression_settings.h>
#include <acl/compression/track_array.h>
#include <acl/compression/transform_error_metrics.h>
#include <acl/core/ansi_allocator.h>
#include <acl/core/compressed_tracks.h>
#include <acl/decompression/decompress.h>
#include <rtm/matrix3x4f.h>
#include <rtm/qvvf.h>

#include "flat.h"
#include "peer.h"

using Context = acl::decompression_context<acl::default_transform_decompression_settings>;

constexpr float kPrecision[2] = {1e-4f, 1e-3f};
// Errors are measured at this distance from each joint.
constexpr float kShell = .03f;

struct Writer : acl::track_writer {
  rtm::qvvf* out;
  explicit Writer(rtm::qvvf* out) : out(out) {}
  void RTM_SIMD_CALL write_rotation(uint32_t i, rtm::quatf_arg0 v) { out[i].rotation = v; }
  void RTM_SIMD_CALL write_translation(uint32_t i, rtm::vector4f_arg0 v) { out[i].translation = v; }
  void RTM_SIMD_CALL write_scale(uint32_t i, rtm::vector4f_arg0 v) { out[i].scale = v; }
};

struct alignas(64) Peer {
  Flat flat;
  acl::ansi_allocator allocator;
  std::vector<acl::compressed_tracks*> clips[2];
  std::vector<std::unique_ptr<Context>> contexts[2];
  // Two sampled poses, their mean, and the mean in model space.
  std::vector<rtm::qvvf> poses[4];
  std::vector<rtm::matrix3x4f> model, inverse_bind, palette, palettes;

  bool compress(const Keys& keys);
  void sample(int form, int clip, float time, std::vector<rtm::qvvf>& out);
  void blend();
  void to_model(int method);
  void write_palette(rtm::matrix3x4f* out);
};

bool Peer::compress(const Keys& keys) {
  acl::track_array_qvvf tracks(allocator, flat.joints);
  for (int j = 0; j < flat.joints; ++j) {
    acl::track_desc_transformf description;
    description.output_index = j;
    description.parent_index = flat.parents[j] < 0 ? acl::k_invalid_track_index : flat.parents[j];
    description.shell_distance = kShell;
    auto track = acl::track_qvvf::make_reserve(description, allocator, keys.frames, 30.f);
    for (int k = 0; k < keys.frames; ++k) {
      const float* v = &keys.values[((size_t)k * flat.joints + j) * 10];
      track[k] = rtm::qvv_set(rtm::quat_load(v + 3), rtm::vector_load3(v), rtm::vector_load3(v + 7));
    }
    tracks[j] = std::move(track);
  }
  acl::qvvf_transform_error_metric metric;
  for (int i = 0; i < 2; ++i) {
    for (int j = 0; j < flat.joints; ++j) tracks[j].get_description().precision = kPrecision[i];
    acl::compression_settings settings = acl::get_default_compression_settings();
    settings.level = acl::compression_level8::highest;
    settings.error_metric = &metric;
    acl::output_stats stats;
    acl::compressed_tracks* out = nullptr;
    const auto error = acl::compress_track_list(allocator, tracks, settings, out, stats);
    if (error.any()) {
      fprintf(stderr, "acl: %s\n", error.c_str());
      return false;
    }
    clips[i].push_back(out);
    contexts[i].push_back(std::make_unique<Context>());
    if (!contexts[i].back()->initialize(*out)) return false;
  }
  return true;
}

void Peer::sample(int form, int clip, float time, std::vector<rtm::qvvf>& out) {
  Context& context = *contexts[form / 3][clip];
  context.seek(time, acl::sample_rounding_policy::none);
  Writer writer(out.data());
  context.decompress_tracks(writer);
}

void Peer::blend() {
  const rtm::qvvf *a = poses[0].data(), *b = poses[1].data();
  rtm::qvvf* out = poses[2].data();
  for (int j = 0; j < flat.joints; ++j) {
    out[j].rotation = rtm::quat_lerp(a[j].rotation, b[j].rotation, .5f);
    out[j].translation = rtm::vector_lerp(a[j].translation, b[j].translation, .5f);
    out[j].scale = rtm::vector_lerp(a[j].scale, b[j].scale, .5f);
  }
}

void Peer::to_model(int method) {
  const rtm::qvvf* local = poses[2].data();
  rtm::qvvf* placed = poses[3].data();
  rtm::matrix3x4f* m = model.data();
  const int16_t* parents = flat.parents.data();
  const int joints = flat.joints;
  if (method == 0) {
    for (int j = 0; j < joints; ++j) {
      const rtm::matrix3x4f own = rtm::matrix_from_qvv(local[j]);
      m[j] = parents[j] < 0 ? own : (rtm::matrix3x4f)rtm::matrix_mul(own, m[parents[j]]);
    }
  } else if (method == 1) {
    for (int j = 0; j < joints; ++j) {
      placed[j] = parents[j] < 0 ? local[j] : rtm::qvv_mul(local[j], placed[parents[j]]);
      m[j] = rtm::matrix_from_qvv(placed[j]);
    }
  } else {
    for (int j = 0; j < joints; ++j) {
      placed[j] = parents[j] < 0 ? local[j] : rtm::qvv_mul_no_scale(local[j], placed[parents[j]]);
      m[j] = rtm::matrix_from_qvv(placed[j].rotation, placed[j].translation, rtm::vector_set(1.f));
    }
  }
}

void Peer::write_palette(rtm::matrix3x4f* out) {
  for (int j = 0; j < flat.joints; ++j) out[j] = rtm::matrix_mul(inverse_bind[j], model[j]);
}

API Peer* peer_new(const char* data, const char*, const char*) {
  auto p = std::make_unique<Peer>();
  if (!p->flat.read(data)) return nullptr;
  for (const auto& keys : p->flat.clips) {
    if (!p->compress(keys)) return nullptr;
  }
  const int joints = p->flat.joints;
  for (auto& pose : p->poses) pose.resize(joints, rtm::qvv_identity());
  p->model.resize(joints);
  p->palette.resize(joints);
  for (int j = 0; j < joints; ++j) {
    const float* r = &p->flat.inverse_bind[12 * j];
    rtm::matrix3x4f m;
    m.x_axis = rtm::vector_set(r[0], r[4], r[8], 0.f);
    m.y_axis = rtm::vector_set(r[1], r[5], r[9], 0.f);
    m.z_axis = rtm::vector_set(r[2], r[6], r[10], 0.f);
    m.w_axis = rtm::vector_set(r[3], r[7], r[11], 1.f);
    p->inverse_bind.push_back(m);
  }
  return p.release();
}

API int peer_bytes(Peer* p, int form, int clip) { return (int)p->clips[form / 3][clip]->get_size(); }

API void peer_sample(Peer* p, int form, int clip, const float* times, int count) {
  for (int i = 0; i < count; ++i) p->sample(form, clip, times[i], p->poses[0]);
}

API void peer_pose(Peer* p, int form, int clip, float time, float* transforms) {
  peer_sample(p, form, clip, &time, 1);
  for (int j = 0; j < p->flat.joints; ++j) {
    const rtm::qvvf& joint = p->poses[0][j];
    rtm::vector_store3(joint.translation, transforms + 10 * j);
    rtm::quat_store(joint.rotation, transforms + 10 * j + 3);
    rtm::vector_store3(joint.scale, transforms + 10 * j + 7);
  }
}

API void peer_character(Peer* p, int form, int clip_a, int clip_b, const float* times_a, const float* times_b,
                        int count) {
  for (int i = 0; i < count; ++i) {
    p->sample(form, clip_a, times_a[i], p->poses[0]);
    p->sample(form, clip_b, times_b[i], p->poses[1]);
    p->blend();
    p->to_model(form % 3);
    p->write_palette(p->palette.data());
  }
}

API void peer_crowd(Peer* p, int form, const int* clips_a, const int* clips_b, const float* times_a,
                    const float* times_b, int count) {
  p->palettes.resize((size_t)count * p->flat.joints);
  for (int i = 0; i < count; ++i) {
    p->sample(form, clips_a[i], times_a[i], p->poses[0]);
    p->sample(form, clips_b[i], times_b[i], p->poses[1]);
    p->blend();
    p->to_model(form % 3);
    p->write_palette(&p->palettes[(size_t)i * p->flat.joints]);
  }
}

API void peer_stage(Peer* p, int form, int stage, int count) {
  for (int i = 0; i < count; ++i) {
    switch (stage) {
      case 0: p->blend(); break;
      case 1: p->to_model(form % 3); break;
      default: p->write_palette(p->palette.data());
    }
    asm volatile("" ::: "memory");
  }
}

API void peer_palette(Peer* p, int, int at, float* matrices) {
  const rtm::matrix3x4f* from = at < 0 ? p->palette.data() : &p->palettes[(size_t)at * p->flat.joints];
  for (int j = 0; j < p->flat.joints; ++j) {
    const rtm::vector4f axes[4] = {from[j].x_axis, from[j].y_axis, from[j].z_axis, from[j].w_axis};
    for (int c = 0; c < 4; ++c) {
      float* column = matrices + 16 * j + 4 * c;
      rtm::vector_store3(axes[c], column);
      column[3] = c == 3 ? 1.f : 0.f;
    }
  }
}
