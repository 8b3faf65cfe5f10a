/* Inverse kinematics, feet and springs. */
#include "check.h"

static uint32_t slope(void *data, const double *from, condyle_ground_point *point) {
    ++*(int *)data;
    point->height = 0.1 * from[2];
    point->normal[0] = 0, point->normal[1] = 1, point->normal[2] = -0.1;
    return 1;
}

static uint32_t nothing(void *data, const double *from, condyle_ground_point *point) {
    (void)data, (void)from, (void)point;
    return 0;
}

static float distance(const float *a, const condyle_matrix *b) {
    float sum = 0;
    for (int axis = 0; axis < 3; ++axis) {
        float d = a[axis] - b->rows[axis][3];
        sum += d * d;
    }
    return sqrtf(sum);
}

static void limbs(leg *it, condyle_pose *pose, condyle_matrix *model) {
    condyle_error error;
    condyle_reached reached;
    condyle_two_bone_options reach = CONDYLE_TWO_BONE_OPTIONS;
    reach.joints[0] = 1, reach.joints[1] = 2, reach.joints[2] = 3;
    reach.goal[0] = 0.2f, reach.goal[1] = 0.4f, reach.goal[2] = 0.3f;
    reach.pole[2] = 1;
    GOOD(condyle_two_bone(it->skeleton, model, LEG_JOINTS, &reach, pose, &reached, &error));
    GOOD(condyle_local_to_model_below(it->skeleton, pose, 1, model, LEG_JOINTS, &error));
    CHECK(reached.distance < 1e-4f && distance(reach.goal, &model[3]) < 1e-4f);
    GOOD(condyle_two_bone(it->skeleton, model, LEG_JOINTS, &reach, pose, NULL, &error));
    reach.joints[1] = 0;
    CHECK(condyle_two_bone(it->skeleton, model, LEG_JOINTS, &reach, pose, NULL, &error) ==
          CONDYLE_INVALID_ARGUMENT);
    reach.joints[1] = 2;
    reach.weight = 2;
    CHECK(condyle_two_bone(it->skeleton, model, LEG_JOINTS, &reach, pose, NULL, &error) ==
          CONDYLE_INVALID_ARGUMENT);
    CHECK(condyle_two_bone(it->skeleton, model, 2, &reach, pose, NULL, &error) != CONDYLE_OK);
    NO_NULL("skeleton", condyle_two_bone(NULL, model, LEG_JOINTS, &reach, pose, NULL, &error));
    NO_NULL("matrices", condyle_two_bone(it->skeleton, NULL, LEG_JOINTS, &reach, pose, NULL, &error));
    NO_NULL("options", condyle_two_bone(it->skeleton, model, LEG_JOINTS, NULL, pose, NULL, &error));
    NO_NULL("pose", condyle_two_bone(it->skeleton, model, LEG_JOINTS, &reach, NULL, NULL, &error));
    reach.size = 8;
    REFUSED(CONDYLE_UNSUPPORTED, "options->size is 8",
            condyle_two_bone(it->skeleton, model, LEG_JOINTS, &reach, pose, NULL, &error));
    /* A place for the result that is refused leaves the pose unchanged. */
    reach.size = sizeof reach;
    reach.weight = 1;
    reach.goal[0] = -0.3f;
    condyle_transform before, after;
    condyle_reached *odd = (condyle_reached *)((char *)&reached + 1);
    GOOD(condyle_pose_get(pose, 1, &before, 1, &error));
    REFUSED(CONDYLE_INVALID_POINTER, "reached is not aligned",
            condyle_two_bone(it->skeleton, model, LEG_JOINTS, &reach, pose, odd, &error));
    GOOD(condyle_pose_get(pose, 1, &after, 1, &error));
    CHECK(memcmp(&before, &after, sizeof before) == 0);

    condyle_aim_options look = CONDYLE_AIM_OPTIONS;
    look.joint = 3;
    look.target[1] = 5;
    GOOD(condyle_aim(it->skeleton, model, LEG_JOINTS, &look, pose, &reached, &error));
    CHECK(reached.distance < 1e-3f);
    condyle_joint_weight shares[2] = {{1, 1}, {3, 1}};
    look.shares = shares;
    look.share_count = 2;
    look.up_axis[1] = 1;
    GOOD(condyle_aim(it->skeleton, model, LEG_JOINTS, &look, pose, &reached, &error));
    look.share_count = 65;
    condyle_joint_weight many[65] = {{0, 0}};
    look.shares = many;
    REFUSED(CONDYLE_MISMATCH, "at most 64",
            condyle_aim(it->skeleton, model, LEG_JOINTS, &look, pose, NULL, &error));
    look.shares = NULL;
    NO_NULL("options->shares", condyle_aim(it->skeleton, model, LEG_JOINTS, &look, pose, NULL, &error));
    NO_NULL("options", condyle_aim(it->skeleton, model, LEG_JOINTS, NULL, pose, NULL, &error));
    look.share_count = 0;
    look.axis[2] = 0;
    CHECK(condyle_aim(it->skeleton, model, LEG_JOINTS, &look, pose, NULL, &error) == CONDYLE_INVALID_ARGUMENT);

    uint16_t joints[3] = {1, 2, 3};
    condyle_chain_options chain = CONDYLE_CHAIN_OPTIONS;
    chain.joints = joints;
    chain.joint_count = 3;
    chain.tip = 4;
    chain.goal[0] = 0.1f, chain.goal[1] = 0.3f, chain.goal[2] = 0.4f;
    for (int method = CONDYLE_CHAIN_LEAST_SQUARES; method <= CONDYLE_CHAIN_FABRIK; ++method) {
        chain.method = (condyle_chain_method)method;
        GOOD(condyle_pose_set_rest(it->skeleton, pose, &error));
        GOOD(condyle_local_to_model(it->skeleton, pose, model, LEG_JOINTS, &error));
        GOOD(condyle_chain(it->skeleton, model, LEG_JOINTS, &chain, pose, &reached, &error));
        CHECK(reached.distance < 1e-2f);
    }
    chain.method = (condyle_chain_method)3;
    REFUSED(CONDYLE_INVALID_ARGUMENT, "method is 3",
            condyle_chain(it->skeleton, model, LEG_JOINTS, &chain, pose, NULL, &error));
    chain.method = CONDYLE_CHAIN_FABRIK;
    chain.joint_count = SIZE_MAX;
    REFUSED(CONDYLE_MISMATCH, "at most 64",
            condyle_chain(it->skeleton, model, LEG_JOINTS, &chain, pose, NULL, &error));
    chain.joint_count = 3;
    chain.joints = NULL;
    NO_NULL("options->joints", condyle_chain(it->skeleton, model, LEG_JOINTS, &chain, pose, NULL, &error));
    NO_NULL("options", condyle_chain(it->skeleton, model, LEG_JOINTS, NULL, pose, NULL, &error));
}

static void ground(leg *it, condyle_pose *pose, condyle_matrix *model) {
    condyle_error error;
    condyle_leg one = {1, 2, 3, 4};
    condyle_feet *feet = NULL;
    condyle_feet_state *state = NULL;
    int calls = 0;
    GOOD(condyle_feet_new(it->skeleton, 0, &one, 1, &feet, &error));
    GOOD(condyle_feet_state_new(feet, &state, &error));
    condyle_feet_frame frame = CONDYLE_FEET_FRAME;
    frame.ground = slope;
    frame.ground_data = &calls;
    frame.placement.translation[2] = 1;
    frame.seconds = 0.02f;
    condyle_reached reached;
    for (int step = 0; step < 5; ++step) {
        GOOD(condyle_pose_set_rest(it->skeleton, pose, &error));
        GOOD(condyle_local_to_model(it->skeleton, pose, model, LEG_JOINTS, &error));
        GOOD(condyle_feet_place(it->skeleton, model, LEG_JOINTS, feet, &frame, state, pose, &reached, &error));
    }
    CHECK(calls > 0);
    GOOD(condyle_local_to_model(it->skeleton, pose, model, LEG_JOINTS, &error));
    CHECK(fabsf(model[4].rows[1][3] - 0.1f * (1 + model[4].rows[2][3])) < 0.05f);
    frame.ground = nothing;
    GOOD(condyle_feet_place(it->skeleton, model, LEG_JOINTS, feet, &frame, state, pose, NULL, &error));
    frame.ground = NULL;
    NO_NULL("frame->ground",
            condyle_feet_place(it->skeleton, model, LEG_JOINTS, feet, &frame, state, pose, NULL, &error));
    frame.ground = slope;
    NO_NULL("state", condyle_feet_place(it->skeleton, model, 5, feet, &frame, NULL, pose, NULL, &error));
    NO_NULL("pose", condyle_feet_place(it->skeleton, model, 5, feet, &frame, state, NULL, NULL, &error));
    NO_NULL("feet", condyle_feet_place(it->skeleton, model, 5, NULL, &frame, state, pose, NULL, &error));
    NO_NULL("frame", condyle_feet_place(it->skeleton, model, 5, feet, NULL, state, pose, NULL, &error));
    frame.seconds = NAN;
    CHECK(condyle_feet_place(it->skeleton, model, LEG_JOINTS, feet, &frame, state, pose, NULL, &error) ==
          CONDYLE_INVALID_ARGUMENT);

    condyle_contacts *contacts = NULL;
    REFUSED(CONDYLE_UNSUPPORTED, "raw",
            condyle_contacts_new(it->swing, it->skeleton, feet, CONDYLE_WRAP, &contacts, &error));
    NO_NULL("clip", condyle_contacts_new(NULL, it->skeleton, feet, CONDYLE_WRAP, &contacts, &error));
    NO_NULL("contacts", condyle_contacts_new(it->swing, it->skeleton, feet, CONDYLE_WRAP, NULL, &error));
    condyle_feet *bad = NULL;
    one.knee = 99;
    CHECK(condyle_feet_new(it->skeleton, 0, &one, 1, &bad, &error) == CONDYLE_MISMATCH);
    REFUSED(CONDYLE_MISMATCH, "at most 16", condyle_feet_new(it->skeleton, 0, &one, 17, &bad, &error));
    NO_NULL("legs", condyle_feet_new(it->skeleton, 0, NULL, 1, &bad, &error));
    NO_NULL("feet", condyle_feet_new(it->skeleton, 0, &one, 1, NULL, &error));
    NO_NULL("feet", condyle_feet_state_new(NULL, &state, &error));
    NO_NULL("state", condyle_feet_state_new(feet, NULL, &error));
    condyle_contacts_free(NULL);
    condyle_feet_state_free(state);
    condyle_feet_state_free(NULL);
    condyle_feet_free(feet);
    condyle_feet_free(NULL);
}

/* A clip in which a leg stands for half a second and is lifted for the next half. */
static condyle_clip *lifting(leg *it) {
    condyle_error error;
    enum { FRAMES = 21 };
    condyle_pose *pose = NULL;
    condyle_transform frames[FRAMES][LEG_JOINTS];
    GOOD(condyle_pose_new(it->skeleton, &pose, &error));
    for (int frame = 0; frame < FRAMES; ++frame) {
        GOOD(condyle_pose_get(pose, 0, frames[frame], LEG_JOINTS, &error));
        float lift = frame > 10 ? 0.4f * sinf((float)(frame - 10) * 0.314159265f) : 0;
        frames[frame][1].rotation[0] = -sinf(lift);
        frames[frame][1].rotation[3] = cosf(lift);
    }
    condyle_pose_free(pose);
    condyle_clip *raw = NULL, *clip = NULL;
    GOOD(condyle_clip_new("lift", it->skeleton, frames[0], FRAMES, 20, &raw, &error));
    condyle_writer *writer = NULL;
    condyle_model *model = NULL;
    const uint8_t *bytes = NULL;
    size_t at = 0, count = 0;
    GOOD(condyle_writer_new(&writer, &error));
    GOOD(condyle_writer_add_skeleton(writer, "leg", it->skeleton, 1, &at, &error));
    GOOD(condyle_writer_finish(writer, &bytes, &count, &error));
    GOOD(condyle_open_memory("leg.condyle", bytes, count, NULL, &model, &error));
    GOOD(condyle_encode(model, raw, NULL, &clip, NULL, &error));
    condyle_model_free(model);
    condyle_writer_free(writer);
    condyle_clip_free(raw);
    return clip;
}

/* Height of the toe at a moment of a clip, after the foot was put on ground 20 cm below. */
static float placed(leg *it, const condyle_clip *clip, const condyle_feet *feet,
                    const condyle_contacts *contacts, double clock) {
    condyle_error error;
    condyle_feet_state *state = NULL;
    condyle_pose *pose = NULL;
    condyle_matrix model[LEG_JOINTS];
    int calls = 0;
    condyle_feet_frame frame = CONDYLE_FEET_FRAME;
    frame.ground = slope;
    frame.ground_data = &calls;
    frame.placement.translation[1] = 0.2;
    frame.contacts = contacts;
    frame.clock = clock;
    frame.seconds = 0.02f;
    GOOD(condyle_feet_state_new(feet, &state, &error));
    GOOD(condyle_pose_new(it->skeleton, &pose, &error));
    GOOD(condyle_sample(clip, it->skeleton, clock, pose, &error));
    GOOD(condyle_local_to_model(it->skeleton, pose, model, LEG_JOINTS, &error));
    GOOD(condyle_feet_place(it->skeleton, model, LEG_JOINTS, feet, &frame, state, pose, NULL, &error));
    GOOD(condyle_local_to_model(it->skeleton, pose, model, LEG_JOINTS, &error));
    frame.clock = NAN;
    CHECK(condyle_feet_place(it->skeleton, model, LEG_JOINTS, feet, &frame, state, pose, NULL, &error) ==
          CONDYLE_INVALID_ARGUMENT);
    condyle_pose_free(pose);
    condyle_feet_state_free(state);
    return model[4].rows[1][3];
}

/* Contacts of a compressed clip. */
static void contacts(void) {
    condyle_error error;
    leg it = leg_new();
    condyle_feet *feet = NULL;
    condyle_leg one = {1, 1, 3, 4};
    CHECK(condyle_feet_new(it.skeleton, 0, &one, 1, &feet, &error) == CONDYLE_INVALID_ARGUMENT);
    one.knee = 2;
    GOOD(condyle_feet_new(it.skeleton, 0, &one, 1, &feet, &error));
    condyle_clip *clip = lifting(&it);
    condyle_contacts *found = NULL;
    GOOD(condyle_contacts_new(clip, it.skeleton, feet, CONDYLE_WRAP, &found, &error));
    /* The foot reaches down while it stands, and is higher while the clip lifts it. */
    float stands = placed(&it, clip, feet, found, 0.25), lifted = placed(&it, clip, feet, found, 0.75);
    CHECK(stands < 0.0f && lifted > stands + 0.1f);
    REFUSED(CONDYLE_INVALID_ARGUMENT, "looping is 9",
            condyle_contacts_new(clip, it.skeleton, feet, (condyle_looping)9, &found, &error));
    NO_NULL("skeleton", condyle_contacts_new(clip, NULL, feet, CONDYLE_WRAP, &found, &error));
    NO_NULL("feet", condyle_contacts_new(clip, it.skeleton, NULL, CONDYLE_WRAP, &found, &error));

    /* Contacts of other legs, and a clip of another skeleton. */
    condyle_feet *heel = NULL;
    condyle_feet_state *state = NULL;
    condyle_pose *pose = NULL;
    condyle_matrix matrices[LEG_JOINTS];
    int calls = 0;
    condyle_feet_frame frame = CONDYLE_FEET_FRAME;
    frame.ground = slope;
    frame.ground_data = &calls;
    frame.contacts = found;
    one.toe = CONDYLE_NO_JOINT;
    GOOD(condyle_feet_new(it.skeleton, 0, &one, 1, &heel, &error));
    GOOD(condyle_feet_state_new(heel, &state, &error));
    GOOD(condyle_pose_new(it.skeleton, &pose, &error));
    GOOD(condyle_local_to_model(it.skeleton, pose, matrices, LEG_JOINTS, &error));
    REFUSED(CONDYLE_MISMATCH, "other legs",
            condyle_feet_place(it.skeleton, matrices, LEG_JOINTS, heel, &frame, state, pose, NULL, &error));
    condyle_pose_free(pose);
    condyle_feet_state_free(state);
    condyle_feet_free(heel);
    condyle_model *model = open_test("two_joints.glb");
    const condyle_skeleton *two = NULL;
    condyle_contacts *other = NULL;
    GOOD(condyle_model_get_skeleton(model, &two, &error));
    CHECK(condyle_contacts_new(clip, two, feet, CONDYLE_WRAP, &other, &error) == CONDYLE_MISMATCH);
    condyle_model_free(model);
    condyle_contacts_free(found);
    condyle_feet_free(feet);
    condyle_clip_free(clip);
    leg_free(&it);
}

static void springs(leg *it, condyle_pose *pose, condyle_matrix *model) {
    condyle_error error;
    condyle_springs *springs = NULL;
    condyle_spring_state *state = NULL;
    condyle_spring_joint joints[2] = {{2, 1, {0, -1, 0}, 0.4f, 0.02f}, {3, 1, {0, -1, 0}, 0.4f, 0.02f}};
    uint16_t stops[1] = {0};
    condyle_collider collider = {0, CONDYLE_COLLIDER_SPHERE, 0, {0, -0.5f, 0.3f}, {0, 0, 0}, 0.1f};
    condyle_spring chain = {joints, 2, {0, -0.04f, 0.15f}, CONDYLE_NO_JOINT, stops, 1};
    GOOD(condyle_springs_new(it->skeleton, &chain, 1, &collider, 1, &springs, &error));
    GOOD(condyle_spring_state_new(springs, &state, &error));
    condyle_spring_frame frame = CONDYLE_SPRING_FRAME;
    frame.seconds = 0.02f;
    float swing = 0;
    for (int step = 0; step < 20; ++step) {
        frame.to_world.rows[0][3] = 0.1f * (float)step;
        GOOD(condyle_pose_set_rest(it->skeleton, pose, &error));
        GOOD(condyle_local_to_model(it->skeleton, pose, model, LEG_JOINTS, &error));
        GOOD(condyle_springs_swing(it->skeleton, model, LEG_JOINTS, springs, &frame, state, pose, &error));
        condyle_transform shin;
        GOOD(condyle_pose_get(pose, 2, &shin, 1, &error));
        swing = fmaxf(swing, fabsf(shin.rotation[2]));
    }
    CHECK(swing > 0.02f);
    GOOD(condyle_spring_state_reset(state, &error));
    NO_NULL("state", condyle_spring_state_reset(NULL, &error));
    NO_NULL("springs", condyle_springs_swing(it->skeleton, model, 5, NULL, &frame, state, pose, &error));
    NO_NULL("frame", condyle_springs_swing(it->skeleton, model, 5, springs, NULL, state, pose, &error));
    NO_NULL("state", condyle_springs_swing(it->skeleton, model, 5, springs, &frame, NULL, pose, &error));
    NO_NULL("pose", condyle_springs_swing(it->skeleton, model, 5, springs, &frame, state, NULL, &error));
    frame.seconds = -1;
    CHECK(condyle_springs_swing(it->skeleton, model, LEG_JOINTS, springs, &frame, state, pose, &error) ==
          CONDYLE_INVALID_ARGUMENT);
    condyle_springs *bad = NULL;
    collider.shape = (condyle_collider_shape)5;
    REFUSED(CONDYLE_INVALID_ARGUMENT, "shape is 5",
            condyle_springs_new(it->skeleton, &chain, 1, &collider, 1, &bad, &error));
    collider.shape = CONDYLE_COLLIDER_PLANE;
    collider.inside = 7;
    REFUSED(CONDYLE_INVALID_ARGUMENT, "inside is 7",
            condyle_springs_new(it->skeleton, &chain, 1, &collider, 1, &bad, &error));
    stops[0] = 4;
    collider.inside = 0;
    CHECK(condyle_springs_new(it->skeleton, &chain, 1, &collider, 1, &bad, &error) != CONDYLE_OK);
    chain.joints = NULL;
    NO_NULL("chains[].joints", condyle_springs_new(it->skeleton, &chain, 1, NULL, 0, &bad, &error));
    NO_NULL("colliders", condyle_springs_new(it->skeleton, NULL, 0, NULL, 1, &bad, &error));
    NO_NULL("springs", condyle_springs_new(it->skeleton, NULL, 0, NULL, 0, NULL, &error));
    condyle_spring_state_free(state);
    condyle_spring_state_free(NULL);
    condyle_springs_free(springs);
    condyle_springs_free(NULL);

    condyle_model *hair = open_test("springs/vrm1.gltf");
    GOOD(condyle_springs_of_model(hair, &springs, &error));
    GOOD(condyle_spring_state_new(springs, &state, &error));
    NO_NULL("springs", condyle_spring_state_new(NULL, &state, &error));
    NO_NULL("state", condyle_spring_state_new(springs, NULL, &error));
    condyle_spring_state_free(state);
    condyle_springs_free(springs);
    NO_NULL("springs", condyle_springs_of_model(hair, NULL, &error));
    NO_NULL("model", condyle_springs_of_model(NULL, &springs, &error));
    condyle_model_free(hair);
    hair = open_test("two_joints.glb");
    REFUSED(CONDYLE_NOT_FOUND, "no springs", condyle_springs_of_model(hair, &springs, &error));
    condyle_model_free(hair);
}

void test_solve(void) {
    condyle_error error;
    leg it = leg_new();
    condyle_pose *pose = NULL;
    condyle_matrix model[LEG_JOINTS];
    GOOD(condyle_pose_new(it.skeleton, &pose, &error));
    GOOD(condyle_local_to_model(it.skeleton, pose, model, LEG_JOINTS, &error));
    limbs(&it, pose, model);
    ground(&it, pose, model);
    contacts();
    springs(&it, pose, model);
    condyle_pose_free(pose);
    leg_free(&it);
}
