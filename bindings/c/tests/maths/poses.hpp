/* Palettes, vertices and goals in the types of a library for maths. */
#include <cstdio>
#include <vector>

#define CONDYLE_EXCEPTIONS
#include "condyle.hpp"

namespace poses {

/* Model matrices of two joints: 1 m and 2 m high. */
static const condyle_matrix model[2] = {
    {{{1, 0, 0, 0}, {0, 1, 0, 1}, {0, 0, 1, 0}}},
    {{{1, 0, 0, 0}, {0, 1, 0, 2}, {0, 0, 1, 0}}},
};

/* Skins a triangle that follows both joints. `translation` returns the last column of a matrix. */
template <class Matrix, class Vector, class Function>
int check(condyle::span<const condyle_matrix> matrices, Function translation) {
    const condyle_transform up = {{0, 0, 0, 1}, {0, 1, 0}, {1, 1, 1}};
    const condyle_joint joints[2] = {{"hip", CONDYLE_NO_JOINT, up}, {"knee", 0, up}};
    condyle_skeleton *skeleton = nullptr;
    condyle_mesh *mesh = nullptr;
    const Vector bind[3] = {Vector(0, 0, 0), Vector(1, 0, 0), Vector(0, 0, 1)};
    const std::uint16_t influences[3] = {0, 1, 1}, palette_joints[2] = {0, 1};
    const float weights[3] = {1, 1, 1};
    const condyle_matrix identity = {{{1, 0, 0, 0}, {0, 1, 0, 0}, {0, 0, 1, 0}}};
    const condyle_matrix inverse_bind[2] = {identity, identity};
    condyle_mesh_options options = CONDYLE_MESH_OPTIONS;
    options.vertices.vertex_count = 3;
    options.vertices.positions = reinterpret_cast<const float *>(bind);
    options.influence_joints = influences;
    options.influence_weights = weights;
    options.influences_per_vertex = 1;
    options.palette_joints = palette_joints;
    options.inverse_bind = inverse_bind;
    options.palette_count = 2;
    condyle_error error;
    if (condyle_skeleton_new(joints, 2, &skeleton, &error) != CONDYLE_OK ||
        condyle_mesh_new(skeleton, &options, &mesh, &error) != CONDYLE_OK) {
        std::fprintf(stderr, "%s\n", error.text);
        return 1;
    }
    std::vector<Matrix> columns(2);
    condyle::palette_columns(mesh, matrices, columns.data(), columns.size());
    condyle::palette palette = condyle::make_palette(mesh);
    condyle::fill(mesh, matrices, palette);
    std::vector<Vector> posed(3);
    condyle::skin(mesh, palette, condyle::vertices(condyle::span<Vector>(posed)));
    condyle_two_bone_options reach = CONDYLE_TWO_BONE_OPTIONS;
    condyle::assign(reach.goal, posed[1]);
    condyle_mesh_free(mesh);
    condyle_skeleton_free(skeleton);
    const bool right = translation(columns[1])[1] == 2 && posed[0][1] == 1 && posed[1][1] == 2 &&
                       reach.goal[0] == 1 && reach.goal[1] == 2;
    return right ? 0 : 1;
}

} // namespace poses
