// Shoots at a posed character: hitboxes first, then the triangle. `raycast CHARACTER.glb`
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "condyle.hpp"

struct vec3 {
    float x, y, z;
};

// Value of a result, or the end of the program. An engine would log the text.
template <class T>
static T take(condyle::result<T> result) {
    if (!result) {
        std::fprintf(stderr, "%s\n", result.error().what());
        std::exit(1);
    }
    return *std::move(result);
}

static void check(const condyle::result<void> &result) {
    if (!result) {
        std::fprintf(stderr, "%s\n", result.error().what());
        std::exit(1);
    }
}

int main(int argc, char **argv) {
    if (argc != 2) {
        std::fprintf(stderr, "usage: raycast CHARACTER.glb\n");
        return 2;
    }
    condyle::model model = take(condyle::open(argv[1]));
    const condyle_skeleton *skeleton = take(model.skeleton());
    const condyle_mesh *mesh = take(model.mesh(0));
    const condyle_clip *clip = take(model.clip(0));

    // Once: shapes around the joints, and the triangles of the mesh.
    condyle::hitboxes hitboxes = take(condyle::fit_hitboxes(mesh));
    condyle::posed_hitboxes placed = take(condyle::make_posed(hitboxes));
    condyle::tree tree = take(condyle::make_tree(mesh));
    condyle::bounds bounds = take(condyle::make_bounds(mesh));
    condyle::pose pose = take(condyle::make_pose(skeleton));
    condyle::palette palette = take(condyle::make_palette(mesh));
    condyle_skeleton_info joints = take(condyle::info(skeleton));
    std::vector<condyle_matrix> matrices(joints.joint_count);
    std::vector<vec3> positions(take(condyle::info(mesh)).vertices.vertex_count);

    // Each frame: the pose, its hitboxes, and a ray at four fifths of its height.
    check(condyle::sample(clip, skeleton, 0.25, pose));
    check(condyle::local_to_model(skeleton, pose, matrices));
    check(condyle::place(hitboxes, matrices, placed));
    condyle_aabb box = take(condyle::box(bounds, matrices));
    condyle_ray ray{{0, 0, box.min[2] - 1}, {0, 0, 1}, 100};
    ray.origin[0] = 0.5f * (box.min[0] + box.max[0]);
    ray.origin[1] = 0.2f * box.min[1] + 0.8f * box.max[1];
    condyle_hitbox_hit coarse = take(condyle::first_hit(placed, ray));
    if (!coarse.found) {
        std::printf("no hitbox is hit\n");
        return 0;
    }
    std::printf("hitbox of %s at %.3f m\n", joints.names[coarse.joint], coarse.distance);

    // Only then the vertices and the exact triangle.
    check(condyle::fill(mesh, matrices, palette));
    check(condyle::skin(mesh, palette, condyle::vertices(positions)));
    check(condyle::refit(tree, positions));
    condyle_hit hit = take(condyle::first_hit(tree, ray));
    if (hit.found) {
        std::printf("triangle %u at %.3f m, from the %s\n", hit.triangle, hit.distance, hit.front ? "front" : "back");
    } else {
        std::printf("no triangle is hit\n");
    }
    return 0;
}
