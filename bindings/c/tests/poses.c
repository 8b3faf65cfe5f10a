/* Poses, blending and model matrices. */
#include "check.h"

static void poses(leg *it) {
    condyle_error error;
    condyle_pose *a = NULL, *b = NULL, *out = NULL;
    GOOD(condyle_pose_new(it->skeleton, &a, &error));
    GOOD(condyle_pose_new(it->skeleton, &b, &error));
    GOOD(condyle_pose_new(it->skeleton, &out, &error));
    condyle_transform all[LEG_JOINTS], one = {{0, 0, 0, 1}, {3, 2, 1}, {1, 1, 1}};
    GOOD(condyle_pose_set(b, 2, &one, 1, &error));
    GOOD(condyle_pose_get(b, 0, all, LEG_JOINTS, &error));
    CHECK(all[2].translation[0] == 3 && all[0].translation[1] == 1);
    GOOD(condyle_pose_copy(b, out, &error));
    GOOD(condyle_pose_set_rest(it->skeleton, b, &error));
    GOOD(condyle_pose_get(b, 2, &one, 1, &error));
    CHECK(one.translation[0] == 0);
    REFUSED(CONDYLE_NOT_FOUND, "the pose has 5", condyle_pose_get(a, 3, all, 3, &error));
    REFUSED(CONDYLE_NOT_FOUND, "the pose has 5", condyle_pose_set(a, SIZE_MAX, all, 3, &error));
    NO_NULL("transforms", condyle_pose_get(a, 0, NULL, 1, &error));
    NO_NULL("transforms", condyle_pose_set(a, 0, NULL, 1, &error));
    NO_NULL("pose", condyle_pose_get(NULL, 0, all, 1, &error));
    NO_NULL("pose", condyle_pose_set(NULL, 0, all, 1, &error));
    NO_NULL("skeleton", condyle_pose_new(NULL, &a, &error));
    NO_NULL("pose", condyle_pose_new(it->skeleton, NULL, &error));
    NO_NULL("from", condyle_pose_copy(NULL, a, &error));
    NO_NULL("to", condyle_pose_copy(a, NULL, &error));
    REFUSED(CONDYLE_INVALID_POINTER, "overlap", condyle_pose_copy(a, a, &error));
    NO_NULL("skeleton", condyle_pose_set_rest(NULL, a, &error));
    NO_NULL("pose", condyle_pose_set_rest(it->skeleton, NULL, &error));

    /* Blends. */
    GOOD(condyle_sample(it->swing, it->skeleton, 0.25, b, &error));
    condyle_layer layers[CONDYLE_MAX_LAYERS + 1];
    memset(layers, 0, sizeof layers);
    for (size_t layer = 0; layer <= CONDYLE_MAX_LAYERS; ++layer) {
        layers[layer].pose = layer % 2 == 0 ? a : b;
        layers[layer].weight = 1;
    }
    GOOD(condyle_blend(it->skeleton, layers, 2, CONDYLE_MEAN_LINEAR, out, &error));
    condyle_transform low, high, mid;
    GOOD(condyle_pose_get(a, 1, &low, 1, &error));
    GOOD(condyle_pose_get(b, 1, &high, 1, &error));
    GOOD(condyle_pose_get(out, 1, &mid, 1, &error));
    CHECK(mid.rotation[0] > low.rotation[0] && mid.rotation[0] < high.rotation[0]);
    GOOD(condyle_blend(it->skeleton, layers, CONDYLE_MAX_LAYERS, CONDYLE_MEAN_EXPONENTIAL, out, &error));
    condyle_transform even;
    GOOD(condyle_pose_get(out, 1, &even, 1, &error));
    CHECK(fabsf(even.rotation[0] - mid.rotation[0]) < 1e-3f);
    GOOD(condyle_blend(it->skeleton, NULL, 0, CONDYLE_MEAN_LINEAR, out, &error));
    REFUSED(CONDYLE_MISMATCH, "at most 32",
            condyle_blend(it->skeleton, layers, CONDYLE_MAX_LAYERS + 1, CONDYLE_MEAN_LINEAR, out, &error));
    REFUSED(CONDYLE_INVALID_ARGUMENT, "mean is 9",
            condyle_blend(it->skeleton, layers, 2, (condyle_mean)9, out, &error));
    REFUSED(CONDYLE_INVALID_POINTER, "overlap",
            condyle_blend(it->skeleton, layers, 2, CONDYLE_MEAN_LINEAR, b, &error));
    layers[1].weight = NAN;
    CHECK(condyle_blend(it->skeleton, layers, 2, CONDYLE_MEAN_LINEAR, out, &error) ==
          CONDYLE_INVALID_ARGUMENT);
    layers[1].weight = 1;
    float mask[LEG_JOINTS] = {0, 0, 0, 0, 0};
    layers[1].mask = mask;
    layers[1].mask_count = 4;
    REFUSED(CONDYLE_MISMATCH, "mask", condyle_blend(it->skeleton, layers, 2, CONDYLE_MEAN_LINEAR, out, &error));
    layers[1].mask = NULL;
    NO_NULL("layers[].mask", condyle_blend(it->skeleton, layers, 2, CONDYLE_MEAN_LINEAR, out, &error));
    /* The number is refused before an element is read. */
    REFUSED(CONDYLE_MISMATCH, "at most",
            condyle_blend(it->skeleton, layers, (size_t)1 << 40, CONDYLE_MEAN_LINEAR, out, &error));
    layers[1].mask_count = 0;
    layers[1].pose = NULL;
    NO_NULL("layers[].pose", condyle_blend(it->skeleton, layers, 2, CONDYLE_MEAN_LINEAR, out, &error));
    NO_NULL("layers", condyle_blend(it->skeleton, NULL, 2, CONDYLE_MEAN_LINEAR, out, &error));
    NO_NULL("skeleton", condyle_blend(NULL, layers, 1, CONDYLE_MEAN_LINEAR, out, &error));
    NO_NULL("pose", condyle_blend(it->skeleton, layers, 1, CONDYLE_MEAN_LINEAR, NULL, &error));

    /* A difference added to its reference is the pose. */
    condyle_pose *difference = NULL;
    GOOD(condyle_pose_new(it->skeleton, &difference, &error));
    GOOD(condyle_difference(b, a, difference, &error));
    condyle_layer addition = {difference, 1, NULL, 0};
    GOOD(condyle_add(a, &addition, 1, out, &error));
    GOOD(condyle_pose_get(out, 1, &mid, 1, &error));
    CHECK(fabsf(mid.rotation[0] - high.rotation[0]) < 1e-6f);
    GOOD(condyle_pose_copy(a, out, &error));
    GOOD(condyle_add(out, &addition, 1, out, &error));
    condyle_transform again;
    GOOD(condyle_pose_get(out, 1, &again, 1, &error));
    CHECK(memcmp(&again, &mid, sizeof mid) == 0);
    REFUSED(CONDYLE_INVALID_POINTER, "overlap", condyle_difference(a, b, b, &error));
    REFUSED(CONDYLE_INVALID_POINTER, "overlap", condyle_difference(a, b, a, &error));
    NO_NULL("pose", condyle_difference(NULL, b, a, &error));
    NO_NULL("reference", condyle_difference(b, NULL, a, &error));
    NO_NULL("difference", condyle_difference(b, b, NULL, &error));
    REFUSED(CONDYLE_INVALID_POINTER, "overlap", condyle_add(a, &addition, 1, difference, &error));
    NO_NULL("differences", condyle_add(a, NULL, 1, out, &error));
    NO_NULL("pose", condyle_add(a, &addition, 1, NULL, &error));

    /* Masks and overlays. */
    condyle_joint_weight root = {2, 1};
    GOOD(condyle_joint_mask(it->skeleton, &root, 1, 0, mask, LEG_JOINTS, &error));
    CHECK(mask[0] == 0 && mask[1] == 0 && mask[2] == 1 && mask[4] == 1);
    GOOD(condyle_overlay(a, b, 1, mask, LEG_JOINTS, out, &error));
    GOOD(condyle_pose_get(out, 1, &mid, 1, &error));
    CHECK(memcmp(&mid, &low, sizeof low) == 0);
    GOOD(condyle_overlay(NULL, b, 1, NULL, 0, out, &error));
    REFUSED(CONDYLE_MISMATCH, "mask", condyle_overlay(a, b, 1, mask, 2, out, &error));
    NO_NULL("mask", condyle_overlay(a, b, 1, NULL, LEG_JOINTS, out, &error));
    REFUSED(CONDYLE_INVALID_POINTER, "overlap", condyle_overlay(a, out, 1, NULL, 0, out, &error));
    NO_NULL("over", condyle_overlay(a, NULL, 1, NULL, 0, out, &error));
    CHECK(condyle_overlay(a, b, NAN, NULL, 0, out, &error) == CONDYLE_INVALID_ARGUMENT);
    root.joint = 99;
    REFUSED(CONDYLE_MISMATCH, "99", condyle_joint_mask(it->skeleton, &root, 1, 0, mask, LEG_JOINTS, &error));
    root.joint = 0;
    REFUSED(CONDYLE_MISMATCH, "mask", condyle_joint_mask(it->skeleton, &root, 1, 0, mask, 2, &error));
    NO_NULL("mask", condyle_joint_mask(it->skeleton, &root, 1, 0, NULL, LEG_JOINTS, &error));
    condyle_joint_weight roots[LEG_JOINTS] = {{0, 0}};
    REFUSED(CONDYLE_INVALID_POINTER, "overlap",
            condyle_joint_mask(it->skeleton, roots, 4, 0, &roots[1].weight, LEG_JOINTS, &error));
    NO_NULL("roots", condyle_joint_mask(it->skeleton, NULL, 1, 0, mask, LEG_JOINTS, &error));

    condyle_pose_free(difference);
    condyle_pose_free(a);
    condyle_pose_free(b);
    condyle_pose_free(out);
    condyle_pose_free(NULL);
}

static void matrices(leg *it) {
    condyle_error error;
    condyle_pose *pose = NULL;
    GOOD(condyle_pose_new(it->skeleton, &pose, &error));
    condyle_matrix model[LEG_JOINTS + 1];
    GOOD(condyle_local_to_model(it->skeleton, pose, model, LEG_JOINTS, &error));
    CHECK(fabsf(model[3].rows[1][3] - 0.05f) < 1e-6f);
    condyle_transform foot;
    GOOD(condyle_pose_get(pose, 3, &foot, 1, &error));
    foot.translation[1] = -0.4f;
    GOOD(condyle_pose_set(pose, 3, &foot, 1, &error));
    GOOD(condyle_local_to_model_below(it->skeleton, pose, 3, model, LEG_JOINTS, &error));
    CHECK(fabsf(model[4].rows[1][3] - 0.06f) < 1e-6f);
    condyle_columns columns[LEG_JOINTS];
    GOOD(condyle_matrices_to_columns(model, columns, LEG_JOINTS, &error));
    CHECK(columns[4].columns[13] == model[4].rows[1][3] && columns[4].columns[15] == 1);
    condyle_matrix *odd = (condyle_matrix *)((char *)model + 4);
    REFUSED(CONDYLE_INVALID_POINTER, "multiple of 16",
            condyle_local_to_model(it->skeleton, pose, odd, LEG_JOINTS, &error));
    REFUSED(CONDYLE_MISMATCH, "model", condyle_local_to_model(it->skeleton, pose, model, 4, &error));
    NO_NULL("matrices", condyle_local_to_model(it->skeleton, pose, NULL, LEG_JOINTS, &error));
    NO_NULL("skeleton", condyle_local_to_model(NULL, pose, model, LEG_JOINTS, &error));
    NO_NULL("pose", condyle_local_to_model(it->skeleton, NULL, model, LEG_JOINTS, &error));
    REFUSED(CONDYLE_MISMATCH, "", condyle_local_to_model_below(it->skeleton, pose, 77, model, LEG_JOINTS, &error));
    NO_NULL("matrices", condyle_local_to_model_below(it->skeleton, pose, 0, NULL, LEG_JOINTS, &error));
    NO_NULL("columns", condyle_matrices_to_columns(model, NULL, LEG_JOINTS, &error));
    NO_NULL("matrices", condyle_matrices_to_columns(NULL, columns, LEG_JOINTS, &error));
    REFUSED(CONDYLE_INVALID_POINTER, "overlap",
            condyle_matrices_to_columns(model, (condyle_columns *)model, 2, &error));
    condyle_pose_free(pose);
}

/* A transition begins at the pose that was shown, and ends at the target. */
static void transitions(leg *it) {
    condyle_error error;
    condyle_pose *shown = NULL, *target = NULL, *pose = NULL;
    condyle_inertialization *transition = NULL;
    GOOD(condyle_pose_new(it->skeleton, &shown, &error));
    GOOD(condyle_pose_new(it->skeleton, &target, &error));
    GOOD(condyle_pose_new(it->skeleton, &pose, &error));
    condyle_transform root;
    GOOD(condyle_pose_get(shown, 0, &root, 1, &error));
    root.translation[0] = 2;
    GOOD(condyle_pose_set(shown, 0, &root, 1, &error));
    GOOD(condyle_inertialization_new(it->skeleton, &transition, &error));
    GOOD(condyle_inertialization_apply(transition, 0, pose, &error));
    GOOD(condyle_inertialization_start(transition, shown, shown, target, target, 0.02f, 0.5f, &error));
    const float elapsed[3] = {0, 0.25f, 0.5f};
    float x[3];
    for (int moment = 0; moment < 3; ++moment) {
        GOOD(condyle_pose_copy(target, pose, &error));
        GOOD(condyle_inertialization_apply(transition, elapsed[moment], pose, &error));
        GOOD(condyle_pose_get(pose, 0, &root, 1, &error));
        x[moment] = root.translation[0];
    }
    CHECK(x[0] == 2 && x[1] < 2 && x[1] > 0 && x[2] == 0);
    CHECK(condyle_inertialization_start(transition, shown, shown, target, target, NAN, 1, &error) ==
          CONDYLE_INVALID_ARGUMENT);
    CHECK(condyle_inertialization_apply(transition, NAN, pose, &error) == CONDYLE_INVALID_ARGUMENT);
    NO_NULL("previous", condyle_inertialization_start(transition, NULL, shown, target, target, 1, 1, &error));
    NO_NULL("current", condyle_inertialization_start(transition, shown, NULL, target, target, 1, 1, &error));
    NO_NULL("target", condyle_inertialization_start(transition, shown, shown, NULL, target, 1, 1, &error));
    NO_NULL("next", condyle_inertialization_start(transition, shown, shown, target, NULL, 1, 1, &error));
    NO_NULL("transition", condyle_inertialization_start(NULL, shown, shown, target, target, 1, 1, &error));
    NO_NULL("transition", condyle_inertialization_apply(NULL, 0, pose, &error));
    NO_NULL("pose", condyle_inertialization_apply(transition, 0, NULL, &error));
    NO_NULL("skeleton", condyle_inertialization_new(NULL, &transition, &error));
    NO_NULL("transition", condyle_inertialization_new(it->skeleton, NULL, &error));
    condyle_model *other = open_test("two_joints.glb");
    const condyle_skeleton *two = NULL;
    condyle_pose *short_pose = NULL;
    GOOD(condyle_model_get_skeleton(other, &two, &error));
    GOOD(condyle_pose_new(two, &short_pose, &error));
    REFUSED(CONDYLE_MISMATCH, "pose", condyle_inertialization_apply(transition, 0, short_pose, &error));
    condyle_pose_free(short_pose);
    condyle_model_free(other);
    condyle_inertialization_free(transition);
    condyle_inertialization_free(NULL);
    condyle_pose_free(pose);
    condyle_pose_free(target);
    condyle_pose_free(shown);
}

/* Two arms exchange their movements, by their names and by a list. */
static void mirrors(void) {
    condyle_error error;
    const condyle_transform up = {{0, 0, 0, 1}, {0, 1, 0}, {1, 1, 1}};
    condyle_joint joints[3] = {{"hip", CONDYLE_NO_JOINT, up}, {"hand.L", 0, up}, {"hand.R", 0, up}};
    joints[1].rest.translation[0] = 0.5f, joints[2].rest.translation[0] = -0.5f;
    condyle_skeleton *skeleton = NULL;
    condyle_pose *pose = NULL, *mirrored = NULL;
    GOOD(condyle_skeleton_new(joints, 3, &skeleton, &error));
    GOOD(condyle_pose_new(skeleton, &pose, &error));
    GOOD(condyle_pose_new(skeleton, &mirrored, &error));
    condyle_transform raised = joints[1].rest, found;
    raised.translation[1] = 1.75f;
    GOOD(condyle_pose_set(pose, 1, &raised, 1, &error));
    const condyle_joint_pair pairs[2] = {{1, 2}, {1, 2}};
    const float normal[3] = {1, 0, 0}, none[3] = {0, 0, 0};
    condyle_mirror *mirror = NULL;
    for (int by_name = 0; by_name < 2; ++by_name) {
        GOOD(condyle_mirror_new(skeleton, by_name ? NULL : pairs, by_name ? 0 : 1, by_name ? NULL : normal,
                                &mirror, &error));
        GOOD(condyle_mirror_pose(mirror, pose, mirrored, &error));
        GOOD(condyle_pose_get(mirrored, 2, &found, 1, &error));
        CHECK(found.translation[0] == -0.5f && found.translation[1] == 1.75f);
        GOOD(condyle_mirror_pose(mirror, mirrored, mirrored, &error));
        GOOD(condyle_pose_get(mirrored, 1, &found, 1, &error));
        CHECK(found.translation[0] == 0.5f && found.translation[1] == 1.75f);
        if (!by_name) condyle_mirror_free(mirror);
    }
    condyle_mirror *bad = NULL;
    const condyle_joint_pair missing = {1, 9};
    CHECK(condyle_mirror_new(skeleton, pairs, 2, NULL, &bad, &error) == CONDYLE_INVALID_ARGUMENT);
    CHECK(condyle_mirror_new(skeleton, &missing, 1, NULL, &bad, &error) == CONDYLE_MISMATCH);
    REFUSED(CONDYLE_INVALID_ARGUMENT, "normal", condyle_mirror_new(skeleton, NULL, 0, none, &bad, &error));
    NO_NULL("pairs", condyle_mirror_new(skeleton, NULL, 1, NULL, &bad, &error));
    NO_NULL("skeleton", condyle_mirror_new(NULL, NULL, 0, NULL, &bad, &error));
    NO_NULL("mirror", condyle_mirror_new(skeleton, NULL, 0, NULL, NULL, &error));
    NO_NULL("mirror", condyle_mirror_pose(NULL, pose, mirrored, &error));
    NO_NULL("mirrored", condyle_mirror_pose(mirror, pose, NULL, &error));
    CHECK(bad == NULL);
    condyle_mirror_free(mirror);
    condyle_mirror_free(NULL);
    condyle_pose_free(mirrored);
    condyle_pose_free(pose);
    condyle_skeleton_free(skeleton);
}

void test_poses(void) {
    leg it = leg_new();
    poses(&it);
    transitions(&it);
    mirrors();
    matrices(&it);
    leg_free(&it);
}
