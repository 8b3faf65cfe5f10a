/* Data that the tests share. */
#include "check.h"

unsigned char *read_file(const char *path, size_t *byte_count) {
    FILE *file = fopen(path, "rb");
    CHECK(file != NULL);
    fseek(file, 0, SEEK_END);
    *byte_count = (size_t)ftell(file);
    rewind(file);
    unsigned char *bytes = malloc(*byte_count);
    CHECK(bytes != NULL && fread(bytes, 1, *byte_count, file) == *byte_count);
    fclose(file);
    return bytes;
}

condyle_model *open_test(const char *name) {
    char path[1024];
    condyle_error error;
    condyle_model *model = NULL;
    snprintf(path, sizeof path, "%s/%s", testdata, name);
    GOOD(condyle_open(path, NULL, &model, &error));
    return model;
}

static condyle_transform at(float x, float y, float z) {
    condyle_transform it = {{0, 0, 0, 1}, {0, 0, 0}, {1, 1, 1}};
    it.translation[0] = x;
    it.translation[1] = y;
    it.translation[2] = z;
    return it;
}

leg leg_new(void) {
    condyle_error error;
    leg it;
    memset(&it, 0, sizeof it);
    condyle_joint joints[LEG_JOINTS];
    const char *names[LEG_JOINTS] = {"pelvis", "thigh", "shin", "foot", "toe"};
    for (int joint = 0; joint < LEG_JOINTS; ++joint) {
        joints[joint].name = names[joint];
        joints[joint].parent = joint == 0 ? CONDYLE_NO_JOINT : (uint16_t)(joint - 1);
    }
    joints[0].rest = at(0, 1, 0);
    joints[1].rest = at(0.1f, 0, 0);
    joints[2].rest = at(0, -0.5f, 0.01f);
    joints[3].rest = at(0, -0.45f, -0.01f);
    joints[4].rest = at(0, -0.04f, 0.15f);
    GOOD(condyle_skeleton_new(joints, LEG_JOINTS, &it.skeleton, &error));

    /* Two rings around the thigh and two around the shin. */
    float positions[LEG_VERTICES * 3], normals[LEG_VERTICES * 3], weights[LEG_VERTICES * 2];
    float tangents[LEG_VERTICES * 4];
    uint16_t influences[LEG_VERTICES * 2];
    uint32_t indices[18];
    for (int v = 0; v < LEG_VERTICES; ++v) {
        float side[4][2] = {{1, 0}, {0, 1}, {-1, 0}, {0, -1}};
        int ring = v / 4;
        float *n = &normals[v * 3];
        n[0] = side[v % 4][0], n[1] = 0, n[2] = side[v % 4][1];
        positions[v * 3] = 0.1f + 0.05f * n[0];
        positions[v * 3 + 1] = 0.95f - 0.27f * (float)ring;
        positions[v * 3 + 2] = 0.05f * n[2];
        tangents[v * 4] = 0, tangents[v * 4 + 1] = 1, tangents[v * 4 + 2] = 0, tangents[v * 4 + 3] = 1;
        influences[v * 2] = 0, influences[v * 2 + 1] = 1;
        weights[v * 2] = 1.0f - (float)ring / 3.0f;
        weights[v * 2 + 1] = (float)ring / 3.0f;
    }
    for (uint32_t side = 0; side < 3; ++side) {
        uint32_t corners[6] = {side, side + 1, side + 4, side + 1, side + 5, side + 4};
        memcpy(&indices[side * 6], corners, sizeof corners);
    }
    uint16_t palette_joints[2] = {1, 2};
    condyle_matrix inverse_bind[2] = {{{{1, 0, 0, -0.1f}, {0, 1, 0, -1}, {0, 0, 1, 0}}},
                                      {{{1, 0, 0, -0.1f}, {0, 1, 0, -0.5f}, {0, 0, 1, -0.01f}}}};
    condyle_mesh_options options = CONDYLE_MESH_OPTIONS;
    options.vertices.vertex_count = LEG_VERTICES;
    options.vertices.positions = positions;
    options.vertices.normals = normals;
    options.vertices.tangents = tangents;
    options.indices = indices;
    options.index_count = 18;
    options.influence_joints = influences;
    options.influence_weights = weights;
    options.influences_per_vertex = 2;
    options.palette_joints = palette_joints;
    options.inverse_bind = inverse_bind;
    options.palette_count = 2;
    GOOD(condyle_mesh_new(it.skeleton, &options, &it.mesh, &error));

    /* One second at 10 frames per second: at rest, and a thigh that swings. */
    condyle_transform frames[11 * LEG_JOINTS];
    for (int frame = 0; frame < 11; ++frame) {
        for (int joint = 0; joint < LEG_JOINTS; ++joint) {
            frames[frame * LEG_JOINTS + joint] = joints[joint].rest;
        }
    }
    GOOD(condyle_clip_new("rest", it.skeleton, frames, 11, 10, &it.rest, &error));
    for (int frame = 0; frame < 11; ++frame) {
        float half = 0.3f * sinf((float)frame * 0.62831853f);
        frames[frame * LEG_JOINTS + 1].rotation[0] = sinf(half);
        frames[frame * LEG_JOINTS + 1].rotation[3] = cosf(half);
        frames[frame * LEG_JOINTS].translation[2] = 0.1f * (float)frame;
    }
    GOOD(condyle_clip_new("swing", it.skeleton, frames, 11, 10, &it.swing, &error));
    return it;
}

void leg_free(leg *it) {
    condyle_clip_free(it->swing);
    condyle_clip_free(it->rest);
    condyle_mesh_free(it->mesh);
    condyle_skeleton_free(it->skeleton);
}
