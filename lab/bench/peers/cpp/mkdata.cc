// Samples ozz's 67-joint sample character at 30 Hz into one file that every peer converts from.
//
//   mkdata OZZ/media/bin OUT
//
// Layout (little endian): u32 joints; i32 parents[joints]; f32 rest[joints][10]; f32 inverse_bind[joints][12]
// (rows); u32 clips; per clip: u32 frames; f32 keys[frames][joints][10]. Ten numbers: translation xyz,
// rotation xyzw, scale xyz. The clips are walk, jog, run, a long one of 15 s, and 29 overlapping windows of
// it of 1 s.
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "ozz/animation/offline/raw_animation.h"
#include "ozz/animation/offline/raw_animation_utils.h"
#include "ozz/animation/runtime/local_to_model_job.h"
#include "ozz/animation/runtime/skeleton.h"
#include "ozz/base/io/archive.h"
#include "ozz/base/io/stream.h"
#include "ozz/base/maths/simd_math.h"
#include "ozz/base/maths/soa_transform.h"
#include "ozz/base/maths/transform.h"

using ozz::math::Transform;

static FILE* out;

template <class T>
static void load(const std::string& path, T* object) {
  ozz::io::File file(path.c_str(), "rb");
  if (file.opened()) {
    ozz::io::IArchive archive(&file);
    if (archive.TestTag<T>()) {
      archive >> *object;
      return;
    }
  }
  fprintf(stderr, "cannot read %s\n", path.c_str());
  exit(1);
}

static void put_word(unsigned value) { fwrite(&value, 4, 1, out); }

static void put_floats(const float* values, size_t count) { fwrite(values, 4, count, out); }

// The archives store scales of 1 with rounding errors.
static float near_one(float scale) { return std::fabs(scale - 1.f) < 1e-4f ? 1.f : scale; }

static void put(const Transform& t) {
  const auto& r = t.rotation;
  const float length = std::sqrt(r.x * r.x + r.y * r.y + r.z * r.z + r.w * r.w);
  const float values[10] = {
      t.translation.x, t.translation.y, t.translation.z,     r.x / length,        r.y / length,
      r.z / length,    r.w / length,    near_one(t.scale.x), near_one(t.scale.y), near_one(t.scale.z),
  };
  put_floats(values, 10);
}

static void put_rest(const ozz::animation::Skeleton& skeleton) {
  for (int j = 0; j < skeleton.num_joints(); ++j) {
    const auto& soa = skeleton.joint_rest_poses()[j / 4];
    auto lane = [&](ozz::math::_SimdFloat4 v) {
      float lanes[4];
      ozz::math::StorePtrU(v, lanes);
      return lanes[j % 4];
    };
    Transform t;
    t.translation = {lane(soa.translation.x), lane(soa.translation.y), lane(soa.translation.z)};
    t.rotation = {lane(soa.rotation.x), lane(soa.rotation.y), lane(soa.rotation.z), lane(soa.rotation.w)};
    t.scale = {lane(soa.scale.x), lane(soa.scale.y), lane(soa.scale.z)};
    put(t);
  }
}

static void put_inverse_bind(const ozz::animation::Skeleton& skeleton) {
  std::vector<ozz::math::Float4x4> model(skeleton.num_joints());
  ozz::animation::LocalToModelJob job;
  job.skeleton = &skeleton;
  job.input = skeleton.joint_rest_poses();
  job.output = {model.data(), model.size()};
  if (!job.Run()) exit(1);
  for (const auto& m : model) {
    const ozz::math::Float4x4 inverse = Invert(m);
    float columns[4][4];
    for (int c = 0; c < 4; ++c) ozz::math::StorePtrU(inverse.cols[c], columns[c]);
    float rows[12];
    for (int r = 0; r < 3; ++r) {
      for (int c = 0; c < 4; ++c) rows[4 * r + c] = columns[c][r];
    }
    put_floats(rows, 12);
  }
}

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  const std::string folder = argv[1];
  ozz::animation::Skeleton skeleton;
  load(folder + "/pab_skeleton.ozz", &skeleton);
  const int joints = skeleton.num_joints();
  out = fopen(argv[2], "wb");
  if (!out) return 1;
  put_word(joints);
  for (int j = 0; j < joints; ++j) put_word((unsigned)(int)skeleton.joint_parents()[j]);
  put_rest(skeleton);
  put_inverse_bind(skeleton);

  struct Cut {
    const char* file;
    float from;
    // 0 for the whole clip.
    float seconds;
  };
  std::vector<Cut> cuts;
  for (const char* whole : {"pab_walk_raw", "pab_jog_raw", "pab_run_raw", "pab_atlas_raw"}) {
    cuts.push_back({whole, 0, 0});
  }
  for (int i = 0; i < 29; ++i) cuts.push_back({"pab_atlas_raw", .46f * i, 1.f});
  put_word(cuts.size());
  for (const auto& cut : cuts) {
    ozz::animation::offline::RawAnimation raw;
    load(folder + "/" + cut.file + ".ozz", &raw);
    if (raw.num_tracks() != joints) return 1;
    const float seconds = cut.seconds > 0 ? cut.seconds : raw.duration;
    const unsigned frames = (unsigned)std::floor(seconds * 30.f + 1e-3f) + 1;
    put_word(frames);
    std::vector<Transform> pose(joints);
    for (unsigned f = 0; f < frames; ++f) {
      ozz::animation::offline::SampleAnimation(raw, cut.from + f / 30.f, {pose.data(), pose.size()});
      for (const auto& t : pose) put(t);
    }
  }
  return fclose(out) ? 1 : 0;
}
