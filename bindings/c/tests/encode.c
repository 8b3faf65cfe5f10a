/* Encoding, playback and containers. */
#include "check.h"

/* A container with the leg, opened again. */
static void containers(leg *it, const condyle_clip *encoded) {
    condyle_error error;
    condyle_writer *writer = NULL;
    size_t model = 99, count = 0;
    const uint8_t *bytes = NULL;
    GOOD(condyle_writer_new(&writer, &error));
    GOOD(condyle_writer_add_skeleton(writer, "leg", it->skeleton, 1, &model, &error));
    CHECK(model == 0);
    GOOD(condyle_writer_add_mesh(writer, model, "skin", it->mesh, &error));
    REFUSED(CONDYLE_UNSUPPORTED, "raw", condyle_writer_add_clip(writer, model, it->swing, &error));
    REFUSED(CONDYLE_MISMATCH, "clip", condyle_writer_add_clip(writer, model, encoded, &error));
    REFUSED(CONDYLE_NOT_FOUND, "model 3", condyle_writer_add_clip(writer, 3, encoded, &error));
    REFUSED(CONDYLE_NOT_FOUND, "model 3", condyle_writer_add_mesh(writer, 3, "", it->mesh, &error));
    REFUSED(CONDYLE_INVALID_ARGUMENT, "unit",
            condyle_writer_add_skeleton(writer, "x", it->skeleton, -1, &model, &error));
    REFUSED(CONDYLE_INVALID_ARGUMENT, "leg",
            condyle_writer_add_skeleton(writer, "leg", it->skeleton, 1, &model, &error));
    GOOD(condyle_writer_add_skeleton(writer, "x", it->skeleton, 1, &model, &error));
    CHECK(model == 1);
    model = 0;
    NO_NULL("writer", condyle_writer_new(NULL, &error));
    NO_NULL("skeleton", condyle_writer_add_skeleton(writer, "leg", NULL, 1, &model, &error));
    NO_NULL("model", condyle_writer_add_skeleton(writer, "leg", it->skeleton, 1, NULL, &error));
    NO_NULL("mesh", condyle_writer_add_mesh(writer, model, "skin", NULL, &error));
    NO_NULL("name", condyle_writer_add_mesh(writer, model, NULL, it->mesh, &error));
    NO_NULL("clip", condyle_writer_add_clip(writer, model, NULL, &error));
    NO_NULL("bytes", condyle_writer_finish(writer, NULL, &count, &error));
    NO_NULL("byte_count", condyle_writer_finish(writer, &bytes, NULL, &error));
    condyle_writer_free(writer);
    condyle_writer_free(NULL);

    GOOD(condyle_writer_new(&writer, &error));
    GOOD(condyle_writer_add_skeleton(writer, "leg", it->skeleton, 1, &model, &error));
    GOOD(condyle_writer_add_mesh(writer, model, "skin", it->mesh, &error));
    GOOD(condyle_writer_finish(writer, &bytes, &count, &error));
    REFUSED(CONDYLE_UNSUPPORTED, "finished", condyle_writer_finish(writer, &bytes, &count, &error));
    REFUSED(CONDYLE_UNSUPPORTED, "finished",
            condyle_writer_add_skeleton(writer, "leg", it->skeleton, 1, &model, &error));
    condyle_model *opened = NULL;
    GOOD(condyle_open_memory("leg.condyle", bytes, count, NULL, &opened, &error));
    condyle_writer_free(writer);
    const condyle_mesh *mesh = NULL;
    GOOD(condyle_model_get_mesh(opened, 0, &mesh, &error));
    condyle_mesh_info info = {0};
    info.size = sizeof info;
    GOOD(condyle_mesh_get_info(mesh, &info, &error));
    CHECK(info.vertices.vertex_count == LEG_VERTICES && strcmp(info.name, "skin") == 0);
    condyle_clip *clip = NULL;
    GOOD(condyle_encode(opened, it->swing, NULL, &clip, NULL, &error));
    condyle_clip_free(clip);
    condyle_model_free(opened);
}

/* Skeleton, meshes and motion of the caller: no file. */
static void own_meshes(const leg *it) {
    condyle_error error;
    condyle_encode_options options = CONDYLE_ENCODE_OPTIONS;
    options.error_bound = 0.001f;
    condyle_encode_info info = {0}, loose = {0};
    info.size = loose.size = sizeof info;
    condyle_clip *clip = NULL, *bad = NULL;
    const condyle_mesh *const meshes[2] = {it->mesh, it->mesh};
    GOOD(condyle_encode_for_meshes(it->skeleton, meshes, 2, it->swing, &options, &clip, &info, &error));
    CHECK(info.bytes > 0 && info.error_max > 0 && info.error_max <= 0.001f);

    /* The measured error holds for every vertex: decode, skin, and compare with the raw clip. */
    float worst = 0;
    for (int step = 0; step <= 40; ++step) {
        float posed[2][3 * LEG_VERTICES];
        for (int side = 0; side < 2; ++side) {
            condyle_pose *pose = NULL;
            condyle_matrix model[LEG_JOINTS];
            condyle_palette *palette = NULL;
            condyle_vertices out = {LEG_VERTICES, posed[side], NULL, NULL};
            GOOD(condyle_pose_new(it->skeleton, &pose, &error));
            GOOD(condyle_sample(side ? clip : it->swing, it->skeleton, step / 40.0, pose, &error));
            GOOD(condyle_local_to_model(it->skeleton, pose, model, LEG_JOINTS, &error));
            GOOD(condyle_palette_new(it->mesh, &palette, &error));
            GOOD(condyle_palette_fill(it->mesh, model, LEG_JOINTS, CONDYLE_SKIN_LINEAR, palette, &error));
            GOOD(condyle_skin(it->mesh, palette, NULL, &out, &error));
            condyle_palette_free(palette);
            condyle_pose_free(pose);
        }
        for (int v = 0; v < LEG_VERTICES; ++v) {
            float sum = 0;
            for (int c = 0; c < 3; ++c) {
                float by = posed[0][3 * v + c] - posed[1][3 * v + c];
                sum += by * by;
            }
            worst = fmaxf(worst, sqrtf(sum));
        }
    }
    CHECK(worst <= info.error_max + 1e-6f);
    condyle_clip_free(clip);

    /* Without meshes, balls of 3 cm. */
    GOOD(condyle_encode_for_meshes(it->skeleton, NULL, 0, it->swing, NULL, &clip, &loose, &error));
    CHECK(loose.error_max <= 0.0005f);
    condyle_clip_free(clip);

    condyle_transform rest = {{0, 0, 0, 1}, {0, 0, 0}, {1, 1, 1}};
    condyle_joint joint = {"other", CONDYLE_NO_JOINT, rest};
    condyle_skeleton *other = NULL;
    GOOD(condyle_skeleton_new(&joint, 1, &other, &error));
    REFUSED(CONDYLE_MISMATCH, "meshes[]",
            condyle_encode_for_meshes(other, meshes, 1, it->swing, NULL, &bad, NULL, &error));
    condyle_skeleton_free(other);
    const condyle_mesh *none = NULL;
    NO_NULL("skeleton", condyle_encode_for_meshes(NULL, meshes, 1, it->swing, NULL, &bad, NULL, &error));
    NO_NULL("meshes", condyle_encode_for_meshes(it->skeleton, NULL, 1, it->swing, NULL, &bad, NULL, &error));
    NO_NULL("meshes[]", condyle_encode_for_meshes(it->skeleton, &none, 1, it->swing, NULL, &bad, NULL, &error));
    NO_NULL("clip", condyle_encode_for_meshes(it->skeleton, meshes, 1, NULL, NULL, &bad, NULL, &error));
    NO_NULL("encoded", condyle_encode_for_meshes(it->skeleton, meshes, 1, it->swing, NULL, NULL, NULL, &error));
    options.error_bound = NAN;
    CHECK(condyle_encode_for_meshes(it->skeleton, meshes, 1, it->swing, &options, &bad, NULL, &error) ==
          CONDYLE_INVALID_ARGUMENT);
    CHECK(bad == NULL);
}

/* Motion without meshes: balls around the joints stand for vertices. */
static void motion(void) {
    static const char text[] =
        "HIERARCHY\nROOT hips\n{\nOFFSET 0 0 0\nCHANNELS 3 Zrotation Xrotation Yrotation\n"
        "JOINT knee\n{\nOFFSET 0 -0.5 0\nCHANNELS 3 Zrotation Xrotation Yrotation\n"
        "End Site\n{\nOFFSET 0 -0.5 0\n}\n}\n}\n"
        "MOTION\nFrames: 3\nFrame Time: 0.1\n0 0 0 0 0 0\n0 10 0 0 -20 0\n0 20 0 0 -40 0\n";
    condyle_error error;
    condyle_model *model = NULL;
    const condyle_clip *raw = NULL;
    condyle_clip *clip = NULL;
    condyle_encode_info info = {0};
    info.size = sizeof info;
    GOOD(condyle_open_memory("leg.bvh", (const uint8_t *)text, sizeof text - 1, NULL, &model, &error));
    GOOD(condyle_model_get_clip(model, 0, &raw, &error));
    GOOD(condyle_encode(model, raw, NULL, &clip, &info, &error));
    CHECK(info.bytes > 0 && info.error_max <= 5e-4f);
    condyle_clip_free(clip);
    condyle_model_free(model);
}

void test_encode(void) {
    motion();
    condyle_error error;
    condyle_model *model = open_test("two_joints.glb");
    const condyle_skeleton *skeleton = NULL;
    const condyle_clip *raw = NULL;
    GOOD(condyle_model_get_skeleton(model, &skeleton, &error));
    GOOD(condyle_model_get_clip(model, 0, &raw, &error));
    condyle_encode_options options = CONDYLE_ENCODE_OPTIONS;
    condyle_new_event event = {0.25, "step"};
    options.events = &event;
    options.event_count = 1;
    options.motion_joint = 0;
    condyle_encode_info info = {0};
    info.size = sizeof info;
    condyle_clip *clip = NULL;
    GOOD(condyle_encode(model, raw, &options, &clip, &info, &error));
    CHECK(info.error_max <= 5e-4f && info.bytes > 0 && info.raw_bytes > info.bytes);
    condyle_clip_info properties = {0};
    properties.size = sizeof properties;
    GOOD(condyle_clip_get_info(clip, &properties, &error));
    CHECK(properties.has_motion == 1 && properties.event_count == 1 && properties.byte_count == info.bytes);
    CHECK(strcmp(properties.name, "bend") == 0);

    /* Stored, loaded, and used in place: the same pose. */
    condyle_clip *loaded = NULL, *view = NULL;
    GOOD(condyle_clip_load("a", properties.bytes, properties.byte_count, &loaded, &error));
    GOOD(condyle_clip_view("b", properties.bytes, properties.byte_count, &view, &error));
    condyle_pose *pose = NULL;
    GOOD(condyle_pose_new(skeleton, &pose, &error));
    condyle_transform joint[3];
    const condyle_clip *forms[3] = {clip, loaded, view};
    for (int form = 0; form < 3; ++form) {
        GOOD(condyle_sample(forms[form], skeleton, 0.4, pose, &error));
        GOOD(condyle_pose_get(pose, 1, &joint[form], 1, &error));
        CHECK(memcmp(&joint[form], &joint[0], sizeof joint[0]) == 0);
    }

    /* A player passes each event once. */
    condyle_player *player = NULL;
    condyle_event events[2];
    size_t count = 0, steps = 0;
    GOOD(condyle_player_new(CONDYLE_WRAP, &player, &error));
    double duration = properties.end - properties.start, clock = 0;
    for (int frame = 0; frame < 40; ++frame) {
        GOOD(condyle_player_advance(player, duration / 20, &error));
        GOOD(condyle_player_sample(player, clip, skeleton, pose, &error));
        GOOD(condyle_player_get_events(player, clip, events, 2, &count, &error));
        CHECK(count == 0 || strcmp(events[0].name, "step") == 0);
        steps += count;
    }
    CHECK(steps == 2);
    GOOD(condyle_player_get_clock(player, &clock, &error));
    CHECK(fabs(clock - 2 * duration) < 1e-9);
    GOOD(condyle_player_seek(player, 0, &error));
    GOOD(condyle_player_set(player, 2, CONDYLE_WRAP, &error));
    GOOD(condyle_player_advance(player, duration, &error));
    GOOD(condyle_player_get_events(player, clip, NULL, 0, &count, &error));
    CHECK(count == 2);
    GOOD(condyle_player_get_events(player, raw, events, 2, &count, &error));
    CHECK(count == 0);
    condyle_rigid motion, whole;
    GOOD(condyle_player_get_motion(player, clip, &motion, &error));
    GOOD(condyle_clip_motion(clip, CONDYLE_WRAP, 0, 2 * duration, &whole, &error));
    CHECK(memcmp(&motion, &whole, sizeof whole) == 0);
    GOOD(condyle_player_sample(player, raw, skeleton, pose, &error));
    GOOD(condyle_clip_get_event(clip, 0, events, &error));
    CHECK(events[0].seconds == 0.25);

    NO_NULL("player", condyle_player_new(CONDYLE_WRAP, NULL, &error));
    REFUSED(CONDYLE_INVALID_ARGUMENT, "looping", condyle_player_new((condyle_looping)2, &player, &error));
    NO_NULL("player", condyle_player_set(NULL, 1, CONDYLE_WRAP, &error));
    REFUSED(CONDYLE_INVALID_ARGUMENT, "speed", condyle_player_set(player, NAN, CONDYLE_WRAP, &error));
    NO_NULL("player", condyle_player_seek(NULL, 0, &error));
    REFUSED(CONDYLE_INVALID_ARGUMENT, "finite", condyle_player_seek(player, INFINITY, &error));
    NO_NULL("player", condyle_player_advance(NULL, 0, &error));
    REFUSED(CONDYLE_INVALID_ARGUMENT, "finite", condyle_player_advance(player, NAN, &error));
    NO_NULL("player", condyle_player_get_clock(NULL, &clock, &error));
    NO_NULL("clock", condyle_player_get_clock(player, NULL, &error));
    NO_NULL("player", condyle_player_sample(NULL, clip, skeleton, pose, &error));
    NO_NULL("pose", condyle_player_sample(player, clip, skeleton, NULL, &error));
    NO_NULL("events", condyle_player_get_events(player, clip, NULL, 2, &count, &error));
    NO_NULL("count", condyle_player_get_events(player, clip, events, 2, NULL, &error));
    NO_NULL("events", condyle_player_get_events(player, raw, NULL, 2, &count, &error));
    REFUSED(CONDYLE_INVALID_ARGUMENT, "address space",
            condyle_player_get_events(player, clip, events, SIZE_MAX, &count, &error));
    REFUSED(CONDYLE_INVALID_POINTER, "overlap",
            condyle_player_get_events(player, clip, events, 2, &events[1].index, &error));
    NO_NULL("motion", condyle_player_get_motion(player, clip, NULL, &error));
    REFUSED(CONDYLE_UNSUPPORTED, "raw", condyle_player_get_motion(player, raw, &motion, &error));
    condyle_player_free(player);
    condyle_player_free(NULL);

    condyle_clip *bad = NULL;
    REFUSED(CONDYLE_UNSUPPORTED, "compressed already", condyle_encode(model, clip, NULL, &bad, NULL, &error));
    options.best = 8;
    REFUSED(CONDYLE_INVALID_ARGUMENT, "best is 8", condyle_encode(model, raw, &options, &bad, NULL, &error));
    options.best = 0;
    options.error_bound = NAN;
    CHECK(condyle_encode(model, raw, &options, &bad, NULL, &error) == CONDYLE_INVALID_ARGUMENT);
    options.error_bound = 1e-3f;
    event.name = NULL;
    NO_NULL("options->events[].name", condyle_encode(model, raw, &options, &bad, NULL, &error));
    options.events = NULL;
    NO_NULL("options->events", condyle_encode(model, raw, &options, &bad, NULL, &error));
    NO_NULL("model", condyle_encode(NULL, raw, NULL, &bad, NULL, &error));
    NO_NULL("clip", condyle_encode(model, NULL, NULL, &bad, NULL, &error));
    NO_NULL("encoded", condyle_encode(model, raw, NULL, NULL, NULL, &error));
    info.size = 1;
    REFUSED(CONDYLE_UNSUPPORTED, "info->size", condyle_encode(model, raw, NULL, &bad, &info, &error));
    CHECK(bad == NULL);

    leg it = leg_new();
    containers(&it, clip);
    own_meshes(&it);
    leg_free(&it);
    condyle_clip_free(view);
    condyle_clip_free(loaded);
    condyle_clip_free(clip);
    condyle_pose_free(pose);
    condyle_model_free(model);
}

void test_player(void) {
    condyle_error error;
    condyle_rigid step = {{0, 0, 0, 1}, {0, 0, 1}}, turn = {{0, 1, 0, 0}, {0, 0, 0}}, out;
    GOOD(condyle_rigid_multiply(&turn, &step, &out, &error));
    CHECK(out.translation[2] == -1);
    GOOD(condyle_rigid_multiply(&step, &step, &step, &error));
    CHECK(step.translation[2] == 2);
    NO_NULL("a", condyle_rigid_multiply(NULL, &step, &out, &error));
    NO_NULL("b", condyle_rigid_multiply(&step, NULL, &out, &error));
    NO_NULL("product", condyle_rigid_multiply(&step, &step, NULL, &error));
    condyle_rigid motions[CONDYLE_MAX_LAYERS + 1];
    float weights[CONDYLE_MAX_LAYERS + 1];
    for (int layer = 0; layer <= CONDYLE_MAX_LAYERS; ++layer) {
        motions[layer] = step;
        weights[layer] = 1;
    }
    motions[1].translation[2] = 0;
    GOOD(condyle_motion_blend(motions, weights, 2, &out, &error));
    CHECK(fabs(out.translation[2] - 1) < 1e-12);
    REFUSED(CONDYLE_MISMATCH, "at most 32",
            condyle_motion_blend(motions, weights, CONDYLE_MAX_LAYERS + 1, &out, &error));
    NO_NULL("motions", condyle_motion_blend(NULL, weights, 2, &out, &error));
    NO_NULL("weights", condyle_motion_blend(motions, NULL, 2, &out, &error));
    NO_NULL("blended", condyle_motion_blend(motions, weights, 2, NULL, &error));
    weights[0] = NAN;
    CHECK(condyle_motion_blend(motions, weights, 2, &out, &error) == CONDYLE_INVALID_ARGUMENT);
}
