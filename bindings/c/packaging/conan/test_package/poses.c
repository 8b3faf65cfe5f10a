/* Poses a chain of two joints, and checks a model matrix. */
#include <condyle.h>

#include <stdio.h>

int main(void) {
    condyle_error error;
    const condyle_transform up = { { 0, 0, 0, 1 }, { 0, 1, 0 }, { 1, 1, 1 } };
    const condyle_joint joints[2] = { { "hip", CONDYLE_NO_JOINT, up }, { "knee", 0, up } };
    condyle_skeleton *skeleton = NULL;
    condyle_pose *pose = NULL;
    condyle_matrix matrices[2];
    if (condyle_abi_version() != CONDYLE_ABI_VERSION) {
        fprintf(stderr, "the library has another version than the header\n");
        return 1;
    }
    if (condyle_skeleton_new(joints, 2, &skeleton, &error) != CONDYLE_OK ||
        condyle_pose_new(skeleton, &pose, &error) != CONDYLE_OK ||
        condyle_local_to_model(skeleton, pose, matrices, 2, &error) != CONDYLE_OK) {
        fprintf(stderr, "%s\n", error.text);
        return 1;
    }
    condyle_pose_free(pose);
    condyle_skeleton_free(skeleton);
    printf("condyle %s: the knee is at a height of %g\n", condyle_version(), matrices[1].rows[1][3]);
    return matrices[1].rows[1][3] == 2.0f ? 0 : 1;
}
