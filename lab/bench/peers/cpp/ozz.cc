// ozz-animation. Forms: 0 all keys, 1 keys reduced at 1 mm, 2 the same with an iframe every quarter second,
// which makes jumps in time faster and clips larger.
#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>

#include "flat.h"
#include "ozz/animation/offline/animation_builder.h"
#include "ozz/animation/offline/animation_optimizer.h"
#include "ozz/animation/offline/raw_animation.h"
#include "ozz/animation/runtime/animation.h"
#include "ozz/animation/runtime/blending_job.h"
#include "ozz/animation/runtime/local_to_model_job.h"
#include "ozz/animation/runtime/sampling_job.h"
#include "ozz/animation/runtime/skeleton.h"
#include "ozz/base/io/archive.h"
#include "ozz/base/io/stream.h"
#include "ozz/base/maths/simd_math.h"
#include "ozz/base/maths/soa_transform.h"
#include "ozz/geometry/runtime/skinning_job.h"
#include "peer.h"

using namespace ozz;
using animation::Animation;
using math::Float4x4;
using math::SoaTransform;
using Context = animation::SamplingJob::Context;

constexpr int kForms = 3;
constexpr float kIframeSeconds = .25f;

struct alignas(64) Peer {
  Flat flat;
  animation::Skeleton skeleton;
  std::vector<unique_ptr<Animation>> clips[kForms];
  std::unique_ptr<Context> context[2];
  // Two per character of the crowd.
  std::vector<std::unique_ptr<Context>> contexts;
  // Two sampled poses and their mean.
  std::vector<SoaTransform> local[3];
  std::vector<Float4x4> model, inverse_bind, palette, palettes;

  int vertices = 0;
  std::vector<uint16_t> joints;
  std::vector<float> weights;
  std::vector<float> positions, normals, tangents;
  std::vector<float> posed_positions, posed_normals, posed_tangents;

  bool build_clip(const Keys& keys);
  bool write(const char* folder);
  void sample(const Animation& clip, Context& context, float time, std::vector<SoaTransform>& out);
  void blend();
  void to_model();
  void write_palette(Float4x4* out);
};

bool Peer::build_clip(const Keys& keys) {
  animation::offline::RawAnimation raw, reduced;
  raw.duration = keys.duration();
  raw.tracks.resize(flat.joints);
  for (int j = 0; j < flat.joints; ++j) {
    auto& track = raw.tracks[j];
    for (int k = 0; k < keys.frames; ++k) {
      const float* v = &keys.values[((size_t)k * flat.joints + j) * 10];
      const float time = std::min(k / 30.f, raw.duration);
      track.translations.push_back({time, {v[0], v[1], v[2]}});
      track.rotations.push_back({time, {v[3], v[4], v[5], v[6]}});
      track.scales.push_back({time, {v[7], v[8], v[9]}});
    }
  }
  // Default settings of the optimizer: 1 mm at 10 cm from the joint.
  animation::offline::AnimationOptimizer optimize;
  if (!optimize(raw, skeleton, &reduced)) return false;
  animation::offline::AnimationBuilder build;
  clips[0].push_back(build(raw));
  clips[1].push_back(build(reduced));
  build.iframe_interval = kIframeSeconds;
  clips[2].push_back(build(reduced));
  return clips[0].back() && clips[1].back() && clips[2].back();
}

bool Peer::write(const char* folder) {
  for (size_t c = 0; c < flat.clips.size(); ++c) {
    for (int form = 0; form < 2; ++form) {
      const auto name = "clip" + std::to_string(c) + "_" + std::to_string(form) + ".ozz";
      const auto path = std::string(folder) + "/" + name;
      io::File file(path.c_str(), "wb");
      if (!file.opened()) return false;
      io::OArchive archive(&file);
      archive << *clips[form][c];
    }
  }
  return true;
}

void Peer::sample(const Animation& clip, Context& context, float time, std::vector<SoaTransform>& out) {
  animation::SamplingJob job;
  job.animation = &clip;
  job.context = &context;
  job.ratio = time / clip.duration();
  job.output = make_span(out);
  if (!job.Run()) abort();
}

void Peer::blend() {
  animation::BlendingJob::Layer layers[2];
  for (int i = 0; i < 2; ++i) {
    layers[i].transform = make_span(local[i]);
    layers[i].weight = .5f;
  }
  animation::BlendingJob job;
  job.layers = layers;
  job.rest_pose = skeleton.joint_rest_poses();
  job.output = make_span(local[2]);
  if (!job.Run()) abort();
}

void Peer::to_model() {
  animation::LocalToModelJob job;
  job.skeleton = &skeleton;
  job.input = make_span(local[2]);
  job.output = make_span(model);
  if (!job.Run()) abort();
}

void Peer::write_palette(Float4x4* out) {
  for (int j = 0; j < flat.joints; ++j) out[j] = model[j] * inverse_bind[j];
}

API Peer* peer_new(const char* data, const char* skeleton, const char* archives) {
  auto p = std::make_unique<Peer>();
  if (!p->flat.read(data)) return nullptr;
  io::File file(skeleton, "rb");
  if (!file.opened()) return nullptr;
  io::IArchive archive(&file);
  if (!archive.TestTag<animation::Skeleton>()) return nullptr;
  archive >> p->skeleton;
  for (const auto& keys : p->flat.clips) {
    if (!p->build_clip(keys)) return nullptr;
  }
  if (!p->write(archives)) return nullptr;
  const int joints = p->flat.joints;
  for (auto& context : p->context) context = std::make_unique<Context>(joints);
  for (auto& local : p->local) local.resize(p->skeleton.num_soa_joints(), SoaTransform::identity());
  p->model.resize(joints);
  p->palette.resize(joints);
  for (int j = 0; j < joints; ++j) {
    const float* r = &p->flat.inverse_bind[12 * j];
    Float4x4 m;
    for (int c = 0; c < 4; ++c) {
      m.cols[c] = math::simd_float4::Load(r[c], r[4 + c], r[8 + c], c == 3 ? 1.f : 0.f);
    }
    p->inverse_bind.push_back(m);
  }
  return p.release();
}

API int peer_bytes(Peer* p, int form, int clip) { return (int)p->clips[form][clip]->size(); }

API void peer_sample(Peer* p, int form, int clip, const float* times, int count) {
  const Animation& animation = *p->clips[form][clip];
  for (int i = 0; i < count; ++i) p->sample(animation, *p->context[0], times[i], p->local[0]);
}

API void peer_pose(Peer* p, int form, int clip, float time, float* transforms) {
  peer_sample(p, form, clip, &time, 1);
  for (int j = 0; j < p->flat.joints; ++j) {
    const SoaTransform& soa = p->local[0][j / 4];
    const math::SimdFloat4 parts[10] = {
        soa.translation.x, soa.translation.y, soa.translation.z, soa.rotation.x, soa.rotation.y,
        soa.rotation.z,    soa.rotation.w,    soa.scale.x,       soa.scale.y,    soa.scale.z,
    };
    for (int i = 0; i < 10; ++i) {
      float lanes[4];
      math::StorePtrU(parts[i], lanes);
      transforms[10 * j + i] = lanes[j % 4];
    }
  }
}

API void peer_character(Peer* p, int form, int clip_a, int clip_b, const float* times_a, const float* times_b,
                        int count) {
  for (int i = 0; i < count; ++i) {
    p->sample(*p->clips[form][clip_a], *p->context[0], times_a[i], p->local[0]);
    p->sample(*p->clips[form][clip_b], *p->context[1], times_b[i], p->local[1]);
    p->blend();
    p->to_model();
    p->write_palette(p->palette.data());
  }
}

API void peer_crowd(Peer* p, int form, const int* clips_a, const int* clips_b, const float* times_a,
                    const float* times_b, int count) {
  while ((int)p->contexts.size() < 2 * count) {
    p->contexts.push_back(std::make_unique<Context>(p->flat.joints));
  }
  p->palettes.resize((size_t)count * p->flat.joints);
  for (int i = 0; i < count; ++i) {
    p->sample(*p->clips[form][clips_a[i]], *p->contexts[2 * i], times_a[i], p->local[0]);
    p->sample(*p->clips[form][clips_b[i]], *p->contexts[2 * i + 1], times_b[i], p->local[1]);
    p->blend();
    p->to_model();
    p->write_palette(&p->palettes[(size_t)i * p->flat.joints]);
  }
}

API void peer_stage(Peer* p, int, int stage, int count) {
  for (int i = 0; i < count; ++i) {
    switch (stage) {
      case 0: p->blend(); break;
      case 1: p->to_model(); break;
      default: p->write_palette(p->palette.data());
    }
    asm volatile("" ::: "memory");
  }
}

API void peer_palette(Peer* p, int, int at, float* matrices) {
  const Float4x4* from = at < 0 ? p->palette.data() : &p->palettes[(size_t)at * p->flat.joints];
  for (int j = 0; j < p->flat.joints; ++j) {
    for (int c = 0; c < 4; ++c) math::StorePtrU(from[j].cols[c], matrices + 16 * j + 4 * c);
  }
}

API void peer_mesh(Peer* p, int vertices, const uint16_t* joints, const float* weights,
                   const float* positions, const float* normals, const float* tangents) {
  p->vertices = vertices;
  p->joints.assign(joints, joints + 4 * vertices);
  p->weights.assign(weights, weights + 4 * vertices);
  p->positions.assign(positions, positions + 3 * vertices);
  p->normals.assign(normals, normals + 3 * vertices);
  p->tangents.assign(tangents, tangents + 3 * vertices);
  for (auto* posed : {&p->posed_positions, &p->posed_normals, &p->posed_tangents}) {
    posed->assign(3 * vertices, 0.f);
  }
}

API void peer_skin(Peer* p, int attributes, int count) {
  for (int i = 0; i < count; ++i) {
    geometry::SkinningJob job;
    job.vertex_count = p->vertices;
    job.influences_count = 4;
    job.joint_matrices = make_span(p->palette);
    job.joint_indices = make_span(p->joints);
    job.joint_indices_stride = 8;
    job.joint_weights = make_span(p->weights);
    job.joint_weights_stride = 16;
    job.in_positions = make_span(p->positions);
    job.out_positions = make_span(p->posed_positions);
    job.in_positions_stride = job.out_positions_stride = 12;
    if (attributes > 0) {
      job.in_normals = make_span(p->normals);
      job.out_normals = make_span(p->posed_normals);
      job.in_normals_stride = job.out_normals_stride = 12;
    }
    if (attributes > 1) {
      job.in_tangents = make_span(p->tangents);
      job.out_tangents = make_span(p->posed_tangents);
      job.in_tangents_stride = job.out_tangents_stride = 12;
    }
    if (!job.Run()) abort();
  }
}

API void peer_skinned(Peer* p, float* positions, float* normals) {
  memcpy(positions, p->posed_positions.data(), p->posed_positions.size() * 4);
  memcpy(normals, p->posed_normals.data(), p->posed_normals.size() * 4);
}
