// The frame of an engine in C++: two clips, blended, placed, skinned. `engine_loop CHARACTER.glb`
#define CONDYLE_EXCEPTIONS
#include <array>
#include <cstdio>
#include <vector>

#include "condyle.hpp"

struct vec3 {
    float x, y, z;
};

static void run(const char *path) {
    // Once: open the file, and compress its first and last clip. Errors stay below half a millimetre.
    condyle::model model = condyle::open(path);
    const condyle_skeleton *skeleton = model.skeleton();
    const condyle_mesh *mesh = model.mesh(0);
    condyle_encode_options options = CONDYLE_ENCODE_OPTIONS;
    options.motion_joint = 0;
    std::array<condyle::clip, 2> clips = {
        condyle::encode(model, model.clip(0), &options),
        condyle::encode(model, model.clip(condyle::info(model).clip_count - 1), &options),
    };

    // Once per character: clocks and memory. The frame allocates nothing.
    std::array<condyle::player, 2> players = {condyle::make_player(CONDYLE_WRAP), condyle::make_player(CONDYLE_WRAP)};
    std::array<condyle::pose, 2> poses = {condyle::make_pose(skeleton), condyle::make_pose(skeleton)};
    condyle::pose pose = condyle::make_pose(skeleton);
    condyle::palette palette = condyle::make_palette(mesh);
    std::vector<condyle_matrix> matrices(condyle::info(skeleton).joint_count);
    std::vector<vec3> positions(condyle::info(mesh).vertices.vertex_count);
    condyle_vertices posed = condyle::vertices(positions);
    condyle_rigid place{{0, 0, 0, 1}, {0, 0, 0}};

    for (int frame = 0; frame < 120; ++frame) {
        for (std::size_t i = 0; i < 2; ++i) {
            condyle::advance(players[i], 1.0 / 60);
            condyle::sample(players[i], clips[i], skeleton, poses[i]);
        }
        place = condyle::multiply(place, condyle::motion(players[0], clips[0]));
        std::array<condyle_layer, 2> layers = {condyle::layer(poses[0], 0.7f), condyle::layer(poses[1], 0.3f)};
        condyle::blend(skeleton, layers, pose);
        condyle::local_to_model(skeleton, pose, matrices);
        condyle::fill(mesh, matrices, palette);
        condyle::skin(mesh, palette, posed);
    }
    std::printf("%zu joints, %zu vertices, moved %.2f m, first vertex at %.3f %.3f %.3f\n", matrices.size(),
                positions.size(), place.translation[2], positions[0].x, positions[0].y, positions[0].z);
}

int main(int argc, char **argv) {
    if (argc != 2) {
        std::fprintf(stderr, "usage: engine_loop CHARACTER.glb\n");
        return 2;
    }
    try {
        run(argv[1]);
    } catch (const condyle::error &error) {
        std::fprintf(stderr, "%s\n", error.what());
        return 1;
    }
    return 0;
}
