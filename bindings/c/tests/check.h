/* Checks and data that the tests share. */
#ifndef CHECK_H
#define CHECK_H

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "condyle.h"

/* Number of checks, and the folder testdata. Written by the main thread only. */
extern unsigned checks;
extern const char *testdata;

#define CHECK(condition)                                                                                     \
    do {                                                                                                     \
        ++checks;                                                                                            \
        if (!(condition)) {                                                                                  \
            fprintf(stderr, "%s:%d: failed: %s\n", __FILE__, __LINE__, #condition);                          \
            exit(1);                                                                                         \
        }                                                                                                    \
    } while (0)

/* A call that succeeds. `error` is a local variable. */
#define GOOD(call)                                                                                           \
    do {                                                                                                     \
        ++checks;                                                                                            \
        condyle_status got_ = (call);                                                                        \
        if (got_ != CONDYLE_OK) {                                                                            \
            fprintf(stderr, "%s:%d: %s: status %d, %s\n", __FILE__, __LINE__, #call, (int)got_, error.text); \
            exit(1);                                                                                         \
        }                                                                                                    \
    } while (0)

/* A call that fails with a status, and a text that contains `part`. */
#define REFUSED(wanted, part, call)                                                                          \
    do {                                                                                                     \
        ++checks;                                                                                            \
        memset(&error, 0xA5, sizeof error);                                                                  \
        condyle_status got_ = (call);                                                                        \
        if (got_ != (wanted) || error.status != (wanted) || strstr(error.text, part) == NULL) {              \
            fprintf(stderr, "%s:%d: %s: status %d, expected %d and \"%s\": %s\n", __FILE__, __LINE__, #call, \
                    (int)got_, (int)(wanted), part, got_ == CONDYLE_OK ? "" : error.text);                   \
            exit(1);                                                                                         \
        }                                                                                                    \
    } while (0)

/* A call that refuses a null pointer for the argument `what`. */
#define NO_NULL(what, call) REFUSED(CONDYLE_INVALID_POINTER, what " is null", call)

/* A leg: pelvis, thigh, shin, foot and toe, with a mesh that follows thigh and shin, and two clips. */
typedef struct leg {
    condyle_skeleton *skeleton;
    condyle_mesh *mesh;
    condyle_clip *rest;
    condyle_clip *swing;
} leg;

enum { LEG_JOINTS = 5, LEG_VERTICES = 16 };

leg leg_new(void);
void leg_free(leg *it);
condyle_model *open_test(const char *name);
unsigned char *read_file(const char *path, size_t *byte_count);

void test_open(void);
void test_clips(void);
void test_poses(void);
void test_skin(void);
void test_player(void);
void test_encode(void);
void test_solve(void);
void test_query(void);
void test_threads(void);

#endif
