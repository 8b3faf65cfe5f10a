/* Files, models and skeletons. */
#include "check.h"

static void files(void) {
    condyle_error error;
    condyle_model *model = NULL;
    condyle_model_info info = {0};
    model = open_test("two_joints.glb");
    info.size = sizeof info;
    GOOD(condyle_model_get_info(model, &info, &error));
    CHECK(info.clip_count == 1 && info.mesh_count == 1 && strstr(info.name, "two_joints.glb") != NULL);
    const condyle_skeleton *skeleton = NULL;
    GOOD(condyle_model_get_skeleton(model, &skeleton, &error));
    const condyle_clip *clip = NULL, *same = NULL;
    GOOD(condyle_model_get_clip(model, 0, &clip, &error));
    GOOD(condyle_model_find_clip(model, "bend", &same, &error));
    CHECK(clip == same);
    const condyle_mesh *mesh = NULL;
    GOOD(condyle_model_get_mesh(model, 0, &mesh, &error));
    condyle_mesh_info shape = {0};
    shape.size = sizeof shape;
    GOOD(condyle_mesh_get_info(mesh, &shape, &error));
    CHECK(shape.vertices.vertex_count == 20 && shape.palette_count == 2 && shape.is_visible == 1);
    CHECK(shape.influence_starts[20] == shape.influence_count && shape.index_count % 3 == 0);

    NO_NULL("model", condyle_model_get_info(NULL, &info, &error));
    NO_NULL("info", condyle_model_get_info(model, NULL, &error));
    info.size = 3;
    REFUSED(CONDYLE_UNSUPPORTED, "info->size is 3", condyle_model_get_info(model, &info, &error));
    NO_NULL("model", condyle_model_get_skeleton(NULL, &skeleton, &error));
    NO_NULL("skeleton", condyle_model_get_skeleton(model, NULL, &error));
    NO_NULL("model", condyle_model_get_clip(NULL, 0, &clip, &error));
    NO_NULL("clip", condyle_model_get_clip(model, 0, NULL, &error));
    REFUSED(CONDYLE_NOT_FOUND, "clip 1: there are 1", condyle_model_get_clip(model, 1, &clip, &error));
    NO_NULL("name", condyle_model_find_clip(model, NULL, &clip, &error));
    REFUSED(CONDYLE_NOT_FOUND, "the file has \"bend\"", condyle_model_find_clip(model, "run", &clip, &error));
    REFUSED(CONDYLE_INVALID_ARGUMENT, "UTF-8", condyle_model_find_clip(model, "\xff", &clip, &error));
    NO_NULL("mesh", condyle_model_get_mesh(model, 0, NULL, &error));
    REFUSED(CONDYLE_NOT_FOUND, "mesh 9", condyle_model_get_mesh(model, 9, &mesh, &error));
    condyle_problem problem;
    REFUSED(CONDYLE_NOT_FOUND, "problem 0", condyle_model_get_problem(model, 0, &problem, &error));
    NO_NULL("mesh", condyle_mesh_get_info(NULL, &shape, &error));
    NO_NULL("info", condyle_mesh_get_info(mesh, NULL, &error));
    CHECK(condyle_model_get_info(model, NULL, NULL) == CONDYLE_INVALID_POINTER);
    condyle_model_free(model);
    condyle_model_free(NULL);
}

static void memory(void) {
    condyle_error error;
    char path[1024];
    size_t count;
    snprintf(path, sizeof path, "%s/two_joints.glb", testdata);
    unsigned char *bytes = read_file(path, &count);
    condyle_model *model = NULL;
    condyle_open_options options = CONDYLE_OPEN_OPTIONS;
    options.unit = 0.01;
    options.z_up = 1;
    GOOD(condyle_open_memory("a.glb", bytes, count, &options, &model, &error));
    condyle_model_info info = {0};
    info.size = sizeof info;
    GOOD(condyle_model_get_info(model, &info, &error));
    CHECK(info.unit == 0.01);
    condyle_model_free(model);

    /* Every part of a file is refused, and a part of one never leaks. */
    for (size_t part = 0; part < count; part += 97) {
        CHECK(condyle_open_memory("a.glb", bytes, part, NULL, &model, &error) == CONDYLE_INVALID_FILE);
    }
    options.z_up = 2;
    REFUSED(CONDYLE_INVALID_ARGUMENT, "z_up is 2", condyle_open("x", &options, &model, &error));
    options.z_up = 0;
    options.unit = -1;
    REFUSED(CONDYLE_INVALID_FILE, "unit", condyle_open_memory("a", bytes, count, &options, &model, &error));
    options.unit = 0;
    options.model = "hero";
    REFUSED(CONDYLE_INVALID_ARGUMENT, "", condyle_open_memory("a", bytes, count, &options, &model, &error));
    options.size = 0;
    REFUSED(CONDYLE_UNSUPPORTED, "options->size is 0", condyle_open("x", &options, &model, &error));
    REFUSED(CONDYLE_UNREADABLE, "missing.glb", condyle_open("missing.glb", NULL, &model, &error));
    NO_NULL("path", condyle_open(NULL, NULL, &model, &error));
    NO_NULL("model", condyle_open(path, NULL, NULL, &error));
    NO_NULL("name", condyle_open_memory(NULL, bytes, count, NULL, &model, &error));
    NO_NULL("bytes", condyle_open_memory("a", NULL, count, NULL, &model, &error));
    REFUSED(CONDYLE_INVALID_ARGUMENT, "address space",
            condyle_open_memory("a", bytes, SIZE_MAX, NULL, &model, &error));
    free(bytes);

    model = open_test("format/small.condyle");
    GOOD(condyle_model_get_info(model, &info, &error));
    CHECK(info.clip_count >= 1);
    condyle_model_free(model);
}

static void skeletons(void) {
    condyle_error error;
    leg it = leg_new();
    condyle_skeleton_info info = {0};
    info.size = sizeof info;
    GOOD(condyle_skeleton_get_info(it.skeleton, &info, &error));
    CHECK(info.joint_count == LEG_JOINTS && strcmp(info.names[2], "shin") == 0);
    CHECK(info.parents[0] == CONDYLE_NO_JOINT && info.parents[4] == 3 && info.rest[0].translation[1] == 1);
    uint16_t joint = 0;
    GOOD(condyle_skeleton_find_joint(it.skeleton, "foot", &joint, &error));
    CHECK(joint == 3);
    REFUSED(CONDYLE_NOT_FOUND, "\"hand\"", condyle_skeleton_find_joint(it.skeleton, "hand", &joint, &error));
    NO_NULL("skeleton", condyle_skeleton_find_joint(NULL, "hand", &joint, &error));
    NO_NULL("name", condyle_skeleton_find_joint(it.skeleton, NULL, &joint, &error));
    NO_NULL("joint", condyle_skeleton_find_joint(it.skeleton, "hand", NULL, &error));
    NO_NULL("skeleton", condyle_skeleton_get_info(NULL, &info, &error));
    NO_NULL("info", condyle_skeleton_get_info(it.skeleton, NULL, &error));

    condyle_skeleton *made = NULL;
    condyle_joint joints[2] = {{"a", CONDYLE_NO_JOINT, info.rest[0]}, {"b", 7, info.rest[0]}};
    NO_NULL("joints", condyle_skeleton_new(NULL, 2, &made, &error));
    CHECK(condyle_skeleton_new(joints, 65536, &made, &error) != CONDYLE_OK);
    NO_NULL("skeleton", condyle_skeleton_new(joints, 1, NULL, &error));
    REFUSED(CONDYLE_INVALID_ARGUMENT, "parent", condyle_skeleton_new(joints, 2, &made, &error));
    joints[1].parent = 0;
    joints[1].name = NULL;
    NO_NULL("joints[].name", condyle_skeleton_new(joints, 2, &made, &error));
    joints[1].name = "b";
    joints[1].rest.rotation[3] = NAN;
    CHECK(condyle_skeleton_new(joints, 2, &made, &error) == CONDYLE_INVALID_ARGUMENT);
    CHECK(made == NULL);
    condyle_skeleton_free(NULL);
    leg_free(&it);
}

static void meshes(void) {
    condyle_error error;
    leg it = leg_new();
    condyle_mesh *mesh = NULL;
    condyle_mesh_options options = CONDYLE_MESH_OPTIONS;
    float numbers[4] = {0, 0, 0, 1};
    uint16_t joints[1] = {9};
    condyle_matrix identity = {{{1, 0, 0, 0}, {0, 1, 0, 0}, {0, 0, 1, 0}}};
    REFUSED(CONDYLE_INVALID_ARGUMENT, "influences_per_vertex",
            condyle_mesh_new(it.skeleton, &options, &mesh, &error));
    options.influences_per_vertex = 1;
    options.vertices.vertex_count = 1;
    NO_NULL("positions", condyle_mesh_new(it.skeleton, &options, &mesh, &error));
    options.vertices.positions = numbers;
    NO_NULL("influence_joints", condyle_mesh_new(it.skeleton, &options, &mesh, &error));
    options.influence_joints = joints;
    options.influence_weights = &numbers[3];
    options.palette_joints = joints;
    options.palette_count = 1;
    options.inverse_bind = (const condyle_matrix *)((const char *)&identity + 4);
    REFUSED(CONDYLE_INVALID_POINTER, "multiple of 16", condyle_mesh_new(it.skeleton, &options, &mesh, &error));
    options.inverse_bind = &identity;
    REFUSED(CONDYLE_MISMATCH, "9", condyle_mesh_new(it.skeleton, &options, &mesh, &error));
    NO_NULL("skeleton", condyle_mesh_new(NULL, &options, &mesh, &error));
    NO_NULL("options", condyle_mesh_new(it.skeleton, NULL, &mesh, &error));
    NO_NULL("mesh", condyle_mesh_new(it.skeleton, &options, NULL, &error));
    CHECK(mesh == NULL);

    /* A name and two morph targets: one moves the vertex up, the other does nothing. */
    joints[0] = 0;
    float up[3] = {0, 2, 0}, defaults[2] = {0.5f, 0}, moved[3] = {9, 9, 9};
    condyle_morph_target targets[2] = {{up, NULL, NULL}, {NULL, NULL, NULL}};
    options.name = "flag";
    options.morph_target_count = 2;
    NO_NULL("morph_targets", condyle_mesh_new(it.skeleton, &options, &mesh, &error));
    options.morph_targets = targets;
    up[1] = NAN;
    CHECK(condyle_mesh_new(it.skeleton, &options, &mesh, &error) == CONDYLE_INVALID_ARGUMENT);
    up[1] = 2;
    defaults[1] = INFINITY;
    options.morph_weights = defaults;
    CHECK(condyle_mesh_new(it.skeleton, &options, &mesh, &error) == CONDYLE_INVALID_ARGUMENT && mesh == NULL);
    defaults[1] = 0;
    GOOD(condyle_mesh_new(it.skeleton, &options, &mesh, &error));
    condyle_mesh_info info = {0};
    info.size = sizeof info;
    GOOD(condyle_mesh_get_info(mesh, &info, &error));
    CHECK(strcmp(info.name, "flag") == 0 && info.morph_target_count == 2 && info.morph_weights[0] == 0.5f);
    condyle_vertices out = {1, moved, NULL, NULL};
    GOOD(condyle_morph(mesh, defaults, 2, &out, &error));
    CHECK(moved[0] == numbers[0] && moved[1] == numbers[1] + 1 && moved[2] == numbers[2]);
    condyle_mesh_free(mesh);
    condyle_mesh_free(NULL);
    leg_free(&it);
}

void test_open(void) {
    files();
    memory();
    skeletons();
    meshes();
}
