/* Threads share what never changes, and each has its own poses. */
#include <pthread.h>

#include "check.h"

enum { THREADS = 4, ROUNDS = 50 };

typedef struct work {
    const leg *it;
    float result;
    int failed;
} work;

static void *run(void *argument) {
    work *mine = argument;
    const leg *it = mine->it;
    condyle_pose *pose = NULL;
    condyle_palette *palette = NULL;
    condyle_matrix model[LEG_JOINTS];
    float positions[LEG_VERTICES * 3];
    condyle_vertices posed = {LEG_VERTICES, positions, NULL, NULL};
    condyle_error error;
    mine->failed |= condyle_pose_new(it->skeleton, &pose, &error);
    mine->failed |= condyle_palette_new(it->mesh, &palette, &error);
    for (int round = 0; round < ROUNDS; ++round) {
        mine->failed |= condyle_sample(it->swing, it->skeleton, 0.01 * round, pose, &error);
        mine->failed |= condyle_local_to_model(it->skeleton, pose, model, LEG_JOINTS, &error);
        mine->failed |=
            condyle_palette_fill(it->mesh, model, LEG_JOINTS, CONDYLE_SKIN_LINEAR, palette, &error);
        mine->failed |= condyle_skin(it->mesh, palette, NULL, &posed, &error);
        /* Errors of one thread do not reach another. */
        mine->failed |= condyle_skin(it->mesh, NULL, NULL, &posed, &error) != CONDYLE_INVALID_POINTER;
        mine->result += positions[3 * (LEG_VERTICES - 1) + 2];
    }
    condyle_palette_free(palette);
    condyle_pose_free(pose);
    return NULL;
}

void test_threads(void) {
    leg it = leg_new();
    pthread_t threads[THREADS];
    work all[THREADS];
    memset(all, 0, sizeof all);
    for (int thread = 0; thread < THREADS; ++thread) {
        all[thread].it = &it;
        CHECK(pthread_create(&threads[thread], NULL, run, &all[thread]) == 0);
    }
    for (int thread = 0; thread < THREADS; ++thread) {
        CHECK(pthread_join(threads[thread], NULL) == 0);
        CHECK(all[thread].failed == 0 && all[thread].result == all[0].result);
    }
    leg_free(&it);
}
