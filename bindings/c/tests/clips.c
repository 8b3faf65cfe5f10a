/* Clips, sampling and frames. */
#include "check.h"

static void clips(leg *it) {
    condyle_error error;
    condyle_clip_info info = {0};
    info.size = sizeof info;
    GOOD(condyle_clip_get_info(it->swing, &info, &error));
    CHECK(strcmp(info.name, "swing") == 0 && info.end == 1.0 && info.bytes == NULL && info.event_count == 0);
    NO_NULL("clip", condyle_clip_get_info(NULL, &info, &error));
    NO_NULL("info", condyle_clip_get_info(it->swing, NULL, &error));
    condyle_event event;
    REFUSED(CONDYLE_NOT_FOUND, "event 0", condyle_clip_get_event(it->swing, 0, &event, &error));
    NO_NULL("event", condyle_clip_get_event(it->swing, 0, NULL, &error));
    double seconds = 0;
    GOOD(condyle_clip_moment(it->swing, CONDYLE_WRAP, 2.25, &seconds, &error));
    CHECK(seconds == 0.25);
    GOOD(condyle_clip_moment(it->swing, CONDYLE_CLAMP, 2.25, &seconds, &error));
    CHECK(seconds == 1.0);
    NO_NULL("seconds", condyle_clip_moment(it->swing, CONDYLE_WRAP, 0, NULL, &error));
    REFUSED(CONDYLE_INVALID_ARGUMENT, "finite",
            condyle_clip_moment(it->swing, CONDYLE_WRAP, NAN, &seconds, &error));
    REFUSED(CONDYLE_INVALID_ARGUMENT, "looping is 7",
            condyle_clip_moment(it->swing, (condyle_looping)7, 0, &seconds, &error));
    condyle_rigid motion;
    REFUSED(CONDYLE_UNSUPPORTED, "encode",
            condyle_clip_motion(it->swing, CONDYLE_WRAP, 0, 1, &motion, &error));
    NO_NULL("motion", condyle_clip_motion(it->swing, CONDYLE_WRAP, 0, 1, NULL, &error));

    condyle_clip *clip = NULL;
    condyle_transform one = {{0, 0, 0, 1}, {0, 0, 0}, {1, 1, 1}};
    NO_NULL("transforms", condyle_clip_new("x", it->skeleton, NULL, 1, 30, &clip, &error));
    NO_NULL("name", condyle_clip_new(NULL, it->skeleton, &one, 1, 30, &clip, &error));
    NO_NULL("skeleton", condyle_clip_new("x", NULL, &one, 1, 30, &clip, &error));
    NO_NULL("clip", condyle_clip_new("x", it->skeleton, &one, 1, 30, NULL, &error));
    REFUSED(CONDYLE_INVALID_ARGUMENT, "transforms",
            condyle_clip_new("x", it->skeleton, &one, SIZE_MAX / 2, 30, &clip, &error));
    CHECK(condyle_clip_new("x", it->skeleton, NULL, 0, 30, &clip, &error) == CONDYLE_INVALID_ARGUMENT);
    REFUSED(CONDYLE_INVALID_FILE, "", condyle_clip_load("x", (const uint8_t *)"junk", 4, &clip, &error));
    REFUSED(CONDYLE_INVALID_FILE, "", condyle_clip_view("x", (const uint8_t *)"junk", 4, &clip, &error));
    NO_NULL("bytes", condyle_clip_load("x", NULL, 4, &clip, &error));
    NO_NULL("clip", condyle_clip_view("x", NULL, 4, NULL, &error));
    CHECK(clip == NULL);
    condyle_skeleton *empty = NULL;
    if (condyle_skeleton_new(NULL, 0, &empty, &error) == CONDYLE_OK) {
        REFUSED(CONDYLE_INVALID_ARGUMENT, "no joints",
                condyle_clip_new("x", empty, NULL, SIZE_MAX, 30, &clip, &error));
        condyle_skeleton_free(empty);
    }
    CHECK(clip == NULL);
    condyle_clip_free(NULL);
}

static void sampling(leg *it) {
    condyle_error error;
    condyle_pose *pose = NULL;
    GOOD(condyle_pose_new(it->skeleton, &pose, &error));
    GOOD(condyle_sample(it->swing, it->skeleton, 0.25, pose, &error));
    condyle_transform thigh;
    GOOD(condyle_pose_get(pose, 1, &thigh, 1, &error));
    CHECK(fabsf(thigh.rotation[0] - sinf(0.29f)) < 0.02f);
    REFUSED(CONDYLE_INVALID_ARGUMENT, "finite", condyle_sample(it->swing, it->skeleton, INFINITY, pose, &error));
    NO_NULL("clip", condyle_sample(NULL, it->skeleton, 0, pose, &error));
    NO_NULL("skeleton", condyle_sample(it->swing, NULL, 0, pose, &error));
    NO_NULL("pose", condyle_sample(it->swing, it->skeleton, 0, NULL, &error));
    condyle_model *other = open_test("two_joints.glb");
    const condyle_skeleton *two = NULL;
    GOOD(condyle_model_get_skeleton(other, &two, &error));
    CHECK(condyle_sample(it->swing, two, 0, pose, &error) == CONDYLE_MISMATCH);
    condyle_model_free(other);

    condyle_frames *frames = NULL;
    GOOD(condyle_frames_new(it->swing, it->skeleton, 1e-3f, 0.1f, &frames, &error));
    condyle_frames_info info = {0};
    info.size = sizeof info;
    GOOD(condyle_frames_get_info(frames, &info, &error));
    CHECK(info.end == 1.0 && info.error_bound <= 1e-3f && info.byte_count > 0);
    condyle_frame_layer layers[2] = {{0}};
    layers[0].frames = layers[1].frames = frames;
    layers[0].weight = layers[1].weight = 0.5f;
    layers[0].seconds = layers[1].seconds = 0.25;
    GOOD(condyle_sample_frames(it->skeleton, layers, 2, pose, &error));
    condyle_transform same;
    GOOD(condyle_pose_get(pose, 1, &same, 1, &error));
    CHECK(fabsf(same.rotation[0] - thigh.rotation[0]) < 2e-2f);
    float mask[LEG_JOINTS] = {0, 1, 1, 1, 1};
    layers[1].mask = mask;
    layers[1].mask_count = LEG_JOINTS;
    GOOD(condyle_sample_frames(it->skeleton, layers, 2, pose, &error));
    layers[1].mask_count = 2;
    REFUSED(CONDYLE_MISMATCH, "mask", condyle_sample_frames(it->skeleton, layers, 2, pose, &error));
    layers[1].frames = NULL;
    NO_NULL("layers[].frames", condyle_sample_frames(it->skeleton, layers, 2, pose, &error));
    REFUSED(CONDYLE_INVALID_POINTER, "is null", condyle_sample_frames(it->skeleton, NULL, 1, pose, &error));
    condyle_frame_layer many[CONDYLE_MAX_FRAME_LAYERS + 1];
    for (size_t layer = 0; layer <= CONDYLE_MAX_FRAME_LAYERS; ++layer) many[layer] = layers[0];
    REFUSED(CONDYLE_MISMATCH, "at most 8",
            condyle_sample_frames(it->skeleton, many, CONDYLE_MAX_FRAME_LAYERS + 1, pose, &error));
    NO_NULL("frames", condyle_frames_get_info(NULL, &info, &error));
    NO_NULL("clip", condyle_frames_new(NULL, it->skeleton, 1, 1, &frames, &error));
    CHECK(condyle_frames_new(it->swing, it->skeleton, NAN, 1, &frames, &error) == CONDYLE_INVALID_ARGUMENT);
    condyle_frames_free(frames);
    condyle_frames_free(NULL);
    condyle_pose_free(pose);
}

void test_clips(void) {
    leg it = leg_new();
    clips(&it);
    sampling(&it);
    leg_free(&it);
}
