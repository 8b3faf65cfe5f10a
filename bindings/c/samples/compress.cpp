// Compresses all clips of a file, and writes each to its own file. `compress CHARACTER.glb FOLDER`
#define CONDYLE_EXCEPTIONS
#include <cstdio>
#include <fstream>
#include <stdexcept>
#include <string>

#include "condyle.hpp"

static void run(const char *path, const std::string &folder) {
    condyle::model model = condyle::open(path);
    condyle_encode_options options = CONDYLE_ENCODE_OPTIONS;
    options.best = 1;
    std::size_t count = condyle::info(model).clip_count;
    for (std::size_t index = 0; index < count; ++index) {
        condyle_encode_info encoded{};
        condyle::clip clip = condyle::encode(model, model.clip(index), &options, &encoded);
        condyle_clip_info info = condyle::info(clip);
        std::printf("%s: %zu bytes of %zu, error %.3f mm\n", info.name, encoded.bytes, encoded.raw_bytes,
                    encoded.error_max * 1000);
        std::string path_of_clip = folder + "/" + std::to_string(index) + ".clip";
        std::ofstream file(path_of_clip, std::ios::binary);
        file.write(reinterpret_cast<const char *>(info.bytes), static_cast<std::streamsize>(info.byte_count));
        if (!file.flush()) throw std::runtime_error(path_of_clip + " cannot be written");

        // The runtime loads it by `condyle::load_clip(name, bytes)`, or uses mapped bytes by `condyle_clip_view`.
        condyle::clip loaded = condyle::load_clip(info.name, {info.bytes, info.byte_count});
        condyle::pose pose = condyle::make_pose(model.skeleton());
        condyle::sample(loaded, model.skeleton(), info.start, pose);
    }
}

int main(int argc, char **argv) {
    if (argc != 3) {
        std::fprintf(stderr, "usage: compress CHARACTER.glb FOLDER\n");
        return 2;
    }
    try {
        run(argv[1], argv[2]);
    } catch (const std::exception &error) {
        std::fprintf(stderr, "%s\n", error.what());
        return 1;
    }
    return 0;
}
