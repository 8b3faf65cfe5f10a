/* Palettes, skinning and morph targets. */
#include "check.h"

static void skinning(leg *it) {
    condyle_error error;
    condyle_pose *pose = NULL;
    condyle_matrix model[LEG_JOINTS], rows[2];
    condyle_columns columns[2];
    GOOD(condyle_pose_new(it->skeleton, &pose, &error));
    GOOD(condyle_sample(it->swing, it->skeleton, 0.25, pose, &error));
    GOOD(condyle_local_to_model(it->skeleton, pose, model, LEG_JOINTS, &error));
    condyle_palette *palette = NULL;
    GOOD(condyle_palette_new(it->mesh, &palette, &error));
    GOOD(condyle_palette_columns(it->mesh, model, LEG_JOINTS, columns, 2, &error));
    GOOD(condyle_palette_rows(it->mesh, model, LEG_JOINTS, rows, 2, &error));
    CHECK(columns[1].columns[14] == rows[1].rows[2][3]);

    float positions[LEG_VERTICES * 3], normals[LEG_VERTICES * 3], tangents[LEG_VERTICES * 4];
    condyle_vertices posed = {LEG_VERTICES, positions, normals, tangents};
    REFUSED(CONDYLE_INVALID_ARGUMENT, "palette_fill", condyle_skin(it->mesh, palette, NULL, &posed, &error));
    unsigned char buffer[LEG_VERTICES * 45 + 1];
    condyle_vertex_buffer interleaved = {buffer + 1, LEG_VERTICES * 45, {45, 4, CONDYLE_NO_ATTRIBUTE, 20}};
    for (int method = CONDYLE_SKIN_LINEAR; method <= CONDYLE_SKIN_DUAL_QUATERNION; ++method) {
        GOOD(condyle_palette_fill(it->mesh, model, LEG_JOINTS, (condyle_skinning)method, palette, &error));
        GOOD(condyle_skin(it->mesh, palette, NULL, &posed, &error));
        GOOD(condyle_skin_interleaved(it->mesh, palette, NULL, &interleaved, &error));
        for (int vertex = 0; vertex < LEG_VERTICES; ++vertex) {
            CHECK(memcmp(buffer + 1 + vertex * 45 + 4, &positions[vertex * 3], 12) == 0);
            CHECK(memcmp(buffer + 1 + vertex * 45 + 20, &tangents[vertex * 4], 16) == 0);
            float *n = &normals[vertex * 3];
            CHECK(fabsf(n[0] * n[0] + n[1] * n[1] + n[2] * n[2] - 1) < 1e-5f);
        }
        /* The lowest ring follows the shin only. */
        float *p = &positions[12 * 3];
        const float *m = &rows[1].rows[2][0];
        CHECK(fabsf(p[2] - (m[0] * 0.15f + m[1] * 0.14f + m[3])) < 1e-5f);
    }
    condyle_const_vertices bind = {LEG_VERTICES, positions, NULL, NULL};
    float other[LEG_VERTICES * 3];
    condyle_vertices out = {LEG_VERTICES, other, NULL, NULL};
    GOOD(condyle_skin(it->mesh, palette, &bind, &out, &error));
    condyle_const_vertex_buffer source = {buffer + 1, LEG_VERTICES * 45, {45, 4, CONDYLE_NO_ATTRIBUTE, 20}};
    condyle_vertex_buffer target = {(unsigned char *)other, sizeof other, {12, 0, CONDYLE_NO_ATTRIBUTE, CONDYLE_NO_ATTRIBUTE}};
    GOOD(condyle_skin_interleaved(it->mesh, palette, &source, &target, &error));

    posed.normals = positions + 3;
    REFUSED(CONDYLE_INVALID_POINTER, "overlap", condyle_skin(it->mesh, palette, NULL, &posed, &error));
    posed.normals = normals;
    REFUSED(CONDYLE_INVALID_POINTER, "overlap", condyle_skin(it->mesh, palette, &bind, &posed, &error));
    posed.vertex_count = 3;
    CHECK(condyle_skin(it->mesh, palette, NULL, &posed, &error) == CONDYLE_MISMATCH);
    posed.vertex_count = LEG_VERTICES;
    posed.positions = NULL;
    NO_NULL("positions", condyle_skin(it->mesh, palette, NULL, &posed, &error));
    condyle_mesh_info info = {0};
    info.size = sizeof info;
    GOOD(condyle_mesh_get_info(it->mesh, &info, &error));
    posed.positions = (float *)(uintptr_t)info.vertices.positions;
    REFUSED(CONDYLE_INVALID_POINTER, "bind->positions", condyle_skin(it->mesh, palette, NULL, &posed, &error));
    posed.positions = (float *)((char *)other + 2);
    REFUSED(CONDYLE_INVALID_POINTER, "multiple of 4", condyle_skin(it->mesh, palette, NULL, &posed, &error));
    NO_NULL("mesh", condyle_skin(NULL, palette, NULL, &posed, &error));
    NO_NULL("palette", condyle_skin(it->mesh, NULL, NULL, &posed, &error));
    NO_NULL("posed", condyle_skin(it->mesh, palette, NULL, NULL, &error));
    NO_NULL("posed", condyle_skin_interleaved(it->mesh, palette, NULL, NULL, &error));
    target.layout.stride = 4;
    CHECK(condyle_skin_interleaved(it->mesh, palette, NULL, &target, &error) == CONDYLE_INVALID_ARGUMENT);
    target.layout.stride = 12;
    target.byte_count -= 1;
    CHECK(condyle_skin_interleaved(it->mesh, palette, NULL, &target, &error) == CONDYLE_MISMATCH);
    REFUSED(CONDYLE_INVALID_POINTER, "overlap",
            condyle_skin_interleaved(it->mesh, palette, &source, &interleaved, &error));

    NO_NULL("mesh", condyle_palette_new(NULL, &palette, &error));
    NO_NULL("palette", condyle_palette_new(it->mesh, NULL, &error));
    NO_NULL("palette", condyle_palette_fill(it->mesh, model, LEG_JOINTS, CONDYLE_SKIN_LINEAR, NULL, &error));
    NO_NULL("matrices", condyle_palette_fill(it->mesh, NULL, 5, CONDYLE_SKIN_LINEAR, palette, &error));
    REFUSED(CONDYLE_INVALID_ARGUMENT, "skinning is 3",
            condyle_palette_fill(it->mesh, model, LEG_JOINTS, (condyle_skinning)3, palette, &error));
    CHECK(condyle_palette_fill(it->mesh, model, 1, CONDYLE_SKIN_LINEAR, palette, &error) == CONDYLE_MISMATCH);
    REFUSED(CONDYLE_MISMATCH, "", condyle_palette_columns(it->mesh, model, LEG_JOINTS, columns, 1, &error));
    REFUSED(CONDYLE_MISMATCH, "", condyle_palette_rows(it->mesh, model, LEG_JOINTS, rows, 1, &error));
    REFUSED(CONDYLE_INVALID_POINTER, "overlap",
            condyle_palette_rows(it->mesh, model, LEG_JOINTS, model + 1, 2, &error));
    NO_NULL("columns", condyle_palette_columns(it->mesh, model, LEG_JOINTS, NULL, 2, &error));
    NO_NULL("rows", condyle_palette_rows(it->mesh, model, LEG_JOINTS, NULL, 2, &error));
    condyle_palette_free(palette);
    condyle_palette_free(NULL);
    condyle_pose_free(pose);
}

static void morphing(void) {
    condyle_error error;
    condyle_model *model = open_test("morph.glb");
    const condyle_mesh *mesh = NULL;
    const condyle_clip *clip = NULL;
    condyle_mesh_info info = {0};
    info.size = sizeof info;
    GOOD(condyle_model_get_mesh(model, 0, &mesh, &error));
    GOOD(condyle_model_get_clip(model, 0, &clip, &error));
    GOOD(condyle_mesh_get_info(mesh, &info, &error));
    CHECK(info.morph_target_count == 2);
    float weights[2] = {-1, -1}, later[2];
    GOOD(condyle_sample_weights(clip, mesh, 0.1, weights, 2, &error));
    GOOD(condyle_sample_weights(clip, mesh, 0.6, later, 2, &error));
    CHECK(memcmp(weights, later, sizeof weights) != 0);
    float *numbers = malloc(info.vertices.vertex_count * 3 * sizeof *numbers);
    condyle_vertices morphed = {info.vertices.vertex_count, numbers, NULL, NULL};
    float none[2] = {0, 0};
    GOOD(condyle_morph(mesh, none, 2, &morphed, &error));
    CHECK(memcmp(numbers, info.vertices.positions, info.vertices.vertex_count * 12) == 0);
    none[0] = 1;
    GOOD(condyle_morph(mesh, none, 2, &morphed, &error));
    CHECK(memcmp(numbers, info.vertices.positions, info.vertices.vertex_count * 12) != 0);
    REFUSED(CONDYLE_MISMATCH, "weights", condyle_morph(mesh, none, 1, &morphed, &error));
    none[1] = NAN;
    CHECK(condyle_morph(mesh, none, 2, &morphed, &error) == CONDYLE_INVALID_ARGUMENT);
    NO_NULL("weights", condyle_morph(mesh, NULL, 2, &morphed, &error));
    NO_NULL("morphed", condyle_morph(mesh, none, 2, NULL, &error));
    NO_NULL("mesh", condyle_morph(NULL, none, 2, &morphed, &error));
    REFUSED(CONDYLE_MISMATCH, "weights", condyle_sample_weights(clip, mesh, 0, weights, 1, &error));
    float kept[2] = {7, 8};
    REFUSED(CONDYLE_INVALID_ARGUMENT, "finite", condyle_sample_weights(clip, mesh, NAN, kept, 2, &error));
    CHECK(kept[0] == 7 && kept[1] == 8);
    NO_NULL("weights", condyle_sample_weights(clip, mesh, 0, NULL, 2, &error));
    NO_NULL("mesh", condyle_sample_weights(clip, NULL, 0, weights, 2, &error));
    NO_NULL("clip", condyle_sample_weights(NULL, mesh, 0, weights, 2, &error));
    free(numbers);
    condyle_model_free(model);
}

void test_skin(void) {
    leg it = leg_new();
    skinning(&it);
    leg_free(&it);
    morphing();
}
