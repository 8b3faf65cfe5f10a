/* The frame of an engine in C: two clips, blended, placed, skinned. `engine_loop CHARACTER.glb` */
#include <stdio.h>
#include <stdlib.h>

#include "condyle.h"

static condyle_error error;

static void check(condyle_status status) {
    if (status != CONDYLE_OK) {
        fprintf(stderr, "%s\n", error.text);
        exit(1);
    }
}

int main(int argc, char **argv) {
    if (argc != 2) {
        fprintf(stderr, "usage: engine_loop CHARACTER.glb\n");
        return 2;
    }

    /* Once: open the file, and compress its first and last clip. Errors stay below half a millimetre. */
    condyle_model *model = NULL;
    const condyle_skeleton *skeleton = NULL;
    const condyle_mesh *mesh = NULL;
    condyle_model_info file = {0};
    condyle_skeleton_info joints = {0};
    condyle_mesh_info shape = {0};
    file.size = sizeof file, joints.size = sizeof joints, shape.size = sizeof shape;
    check(condyle_open(argv[1], NULL, &model, &error));
    check(condyle_model_get_info(model, &file, &error));
    check(condyle_model_get_skeleton(model, &skeleton, &error));
    check(condyle_skeleton_get_info(skeleton, &joints, &error));
    check(condyle_model_get_mesh(model, 0, &mesh, &error));
    check(condyle_mesh_get_info(mesh, &shape, &error));
    condyle_clip *clips[2];
    for (size_t i = 0; i < 2; ++i) {
        const condyle_clip *raw = NULL;
        condyle_encode_options options = CONDYLE_ENCODE_OPTIONS;
        options.motion_joint = 0;
        check(condyle_model_get_clip(model, i == 0 ? 0 : file.clip_count - 1, &raw, &error));
        check(condyle_encode(model, raw, &options, &clips[i], NULL, &error));
    }

    /* Once per character: clocks and memory. The frame allocates nothing. */
    condyle_player *players[2];
    condyle_pose *poses[2], *pose = NULL;
    condyle_palette *palette = NULL;
    for (size_t i = 0; i < 2; ++i) {
        check(condyle_player_new(CONDYLE_WRAP, &players[i], &error));
        check(condyle_pose_new(skeleton, &poses[i], &error));
    }
    check(condyle_pose_new(skeleton, &pose, &error));
    check(condyle_palette_new(mesh, &palette, &error));
    condyle_matrix *matrices = NULL;
    size_t bytes = joints.joint_count * sizeof *matrices;
#ifdef _WIN32
    matrices = _aligned_malloc(bytes, 16);
#else
    if (posix_memalign((void **)&matrices, 16, bytes) != 0) return 1;
#endif
    float *positions = malloc(shape.vertices.vertex_count * 3 * sizeof *positions);
    condyle_vertices posed = {shape.vertices.vertex_count, positions, NULL, NULL};
    condyle_rigid place = {{0, 0, 0, 1}, {0, 0, 0}};
    size_t steps = 0;

    for (int frame = 0; frame < 120; ++frame) {
        float weights[2] = {0.7f, 0.3f};
        condyle_rigid motions[2], motion;
        for (size_t i = 0; i < 2; ++i) {
            condyle_event events[8];
            size_t count = 0;
            check(condyle_player_advance(players[i], 1.0 / 60, &error));
            check(condyle_player_get_events(players[i], clips[i], events, 8, &count, &error));
            check(condyle_player_get_motion(players[i], clips[i], &motions[i], &error));
            check(condyle_player_sample(players[i], clips[i], skeleton, poses[i], &error));
            steps += count;
        }
        check(condyle_motion_blend(motions, weights, 2, &motion, &error));
        check(condyle_rigid_multiply(&place, &motion, &place, &error));
        condyle_layer layers[2] = {{poses[0], weights[0], NULL, 0}, {poses[1], weights[1], NULL, 0}};
        check(condyle_blend(skeleton, layers, 2, CONDYLE_MEAN_LINEAR, pose, &error));
        check(condyle_local_to_model(skeleton, pose, matrices, joints.joint_count, &error));
        check(condyle_palette_fill(mesh, matrices, joints.joint_count, CONDYLE_SKIN_LINEAR, palette, &error));
        check(condyle_skin(mesh, palette, NULL, &posed, &error));
    }
    printf("%zu joints, %zu vertices, %zu events, moved %.2f m, first vertex at %.3f %.3f %.3f\n",
           joints.joint_count, posed.vertex_count, steps, place.translation[2], positions[0], positions[1],
           positions[2]);

    free(positions);
#ifdef _WIN32
    _aligned_free(matrices);
#else
    free(matrices);
#endif
    condyle_palette_free(palette);
    condyle_pose_free(pose);
    for (size_t i = 0; i < 2; ++i) {
        condyle_pose_free(poses[i]);
        condyle_player_free(players[i]);
        condyle_clip_free(clips[i]);
    }
    condyle_model_free(model);
    return 0;
}
