/* Shoots at a posed character: hitboxes first, then the triangle. `raycast CHARACTER.glb` */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "condyle.h"

enum { MAX_JOINTS = 512 };

static condyle_error error;

static void check(condyle_status status) {
    if (status != CONDYLE_OK) {
        fprintf(stderr, "%s\n", error.text);
        exit(1);
    }
}

int main(int argc, char **argv) {
    if (argc != 2) {
        fprintf(stderr, "usage: raycast CHARACTER.glb\n");
        return 2;
    }
    condyle_model *model = NULL;
    const condyle_skeleton *skeleton = NULL;
    const condyle_mesh *mesh = NULL;
    const condyle_clip *clip = NULL;
    condyle_skeleton_info joints = {0};
    condyle_mesh_info shape = {0};
    joints.size = sizeof joints, shape.size = sizeof shape;
    check(condyle_open(argv[1], NULL, &model, &error));
    check(condyle_model_get_skeleton(model, &skeleton, &error));
    check(condyle_model_get_mesh(model, 0, &mesh, &error));
    check(condyle_model_get_clip(model, 0, &clip, &error));
    check(condyle_skeleton_get_info(skeleton, &joints, &error));
    check(condyle_mesh_get_info(mesh, &shape, &error));

    /* Once: shapes around the joints, and the triangles of the mesh. */
    condyle_hitboxes *hitboxes = NULL;
    condyle_posed_hitboxes *placed = NULL;
    condyle_tree *tree = NULL;
    condyle_pose *pose = NULL;
    condyle_palette *palette = NULL;
    static condyle_matrix matrices[MAX_JOINTS];
    size_t count = joints.joint_count;
    if (count > MAX_JOINTS) return 1;
    check(condyle_hitboxes_fit(&mesh, 1, 1, &hitboxes, &error));
    check(condyle_posed_hitboxes_new(hitboxes, &placed, &error));
    check(condyle_tree_new(mesh, &tree, &error));
    check(condyle_pose_new(skeleton, &pose, &error));
    check(condyle_palette_new(mesh, &palette, &error));
    float *positions = malloc(shape.vertices.vertex_count * 3 * sizeof *positions);
    condyle_vertices posed = {shape.vertices.vertex_count, positions, NULL, NULL};

    /* Each frame: the pose, its hitboxes, and a ray at four fifths of its height. */
    condyle_aabb box;
    condyle_hitbox_hit coarse;
    check(condyle_sample(clip, skeleton, 0.25, pose, &error));
    check(condyle_local_to_model(skeleton, pose, matrices, count, &error));
    check(condyle_hitboxes_place(hitboxes, matrices, count, placed, &error));
    check(condyle_hitboxes_box(placed, &box, &error));
    condyle_ray ray = {{0, 0, 0}, {0, 0, 1}, INFINITY};
    ray.origin[0] = 0.5f * (box.min[0] + box.max[0]);
    ray.origin[1] = 0.2f * box.min[1] + 0.8f * box.max[1];
    ray.origin[2] = box.min[2] - 1;
    check(condyle_hitboxes_first_hit(placed, &ray, &coarse, &error));
    if (!coarse.found) {
        printf("no hitbox is hit\n");
    } else {
        /* Only then the vertices and the exact triangle. */
        condyle_hit hit;
        check(condyle_palette_fill(mesh, matrices, count, CONDYLE_SKIN_LINEAR, palette, &error));
        check(condyle_skin(mesh, palette, NULL, &posed, &error));
        check(condyle_tree_refit(tree, positions, posed.vertex_count, &error));
        check(condyle_tree_first_hit(tree, &ray, &hit, &error));
        printf("hitbox of %s at %.3f m, ", joints.names[coarse.joint], coarse.distance);
        printf(hit.found ? "triangle %u at %.3f m\n" : "no triangle\n", hit.triangle, hit.distance);
    }

    free(positions);
    condyle_palette_free(palette);
    condyle_pose_free(pose);
    condyle_tree_free(tree);
    condyle_posed_hitboxes_free(placed);
    condyle_hitboxes_free(hitboxes);
    condyle_model_free(model);
    return 0;
}
