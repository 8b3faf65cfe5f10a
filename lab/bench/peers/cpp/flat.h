// Reader of the file that mkdata.cc writes.
#pragma once
#include <cstdint>
#include <cstdio>
#include <vector>

struct Keys {
  int frames = 0;
  std::vector<float> values;

  // Last time in seconds, at 30 Hz.
  float duration() const { return (frames - 1) / 30.f; }
};

struct Flat {
  int joints = 0;
  std::vector<int16_t> parents;
  std::vector<float> rest;
  // Twelve numbers per joint, in rows.
  std::vector<float> inverse_bind;
  std::vector<Keys> clips;

  bool read(const char* path) {
    FILE* file = fopen(path, "rb");
    if (!file) return false;
    bool complete = true;
    auto word = [&] {
      uint32_t value = 0;
      complete &= fread(&value, 4, 1, file) == 1;
      return value;
    };
    auto floats = [&](std::vector<float>& values, size_t count) {
      values.resize(count);
      complete &= fread(values.data(), 4, count, file) == count;
    };
    joints = word();
    for (int j = 0; j < joints; ++j) parents.push_back((int16_t)(int32_t)word());
    floats(rest, joints * 10);
    floats(inverse_bind, joints * 12);
    clips.resize(word());
    for (auto& clip : clips) {
      clip.frames = word();
      floats(clip.values, (size_t)clip.frames * joints * 10);
    }
    fclose(file);
    return complete;
  }
};
