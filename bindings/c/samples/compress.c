/* Compresses all clips of a file into a .condyle container. `compress CHARACTER.glb OUTPUT.condyle` */
#include <stdio.h>
#include <stdlib.h>

#include "condyle.h"

static condyle_error error;

static void check(condyle_status status) {
    if (status != CONDYLE_OK) {
        fprintf(stderr, "%s\n", error.text);
        exit(1);
    }
}

int main(int argc, char **argv) {
    if (argc != 3) {
        fprintf(stderr, "usage: compress CHARACTER.glb OUTPUT.condyle\n");
        return 2;
    }
    condyle_model *model = NULL;
    const condyle_skeleton *skeleton = NULL;
    condyle_model_info info = {0};
    info.size = sizeof info;
    check(condyle_open(argv[1], NULL, &model, &error));
    check(condyle_model_get_info(model, &info, &error));
    check(condyle_model_get_skeleton(model, &skeleton, &error));
    for (size_t i = 0; i < info.problem_count; ++i) {
        condyle_problem problem;
        check(condyle_model_get_problem(model, i, &problem, &error));
        fprintf(stderr, "%s: %s; %s\n", problem.place, problem.what, problem.action);
    }

    condyle_writer *writer = NULL;
    size_t added = 0;
    check(condyle_writer_new(&writer, &error));
    check(condyle_writer_add_skeleton(writer, "character", skeleton, (float)info.unit, &added, &error));
    for (size_t i = 0; i < info.mesh_count; ++i) {
        const condyle_mesh *mesh = NULL;
        condyle_mesh_info shape = {0};
        shape.size = sizeof shape;
        check(condyle_model_get_mesh(model, i, &mesh, &error));
        check(condyle_mesh_get_info(mesh, &shape, &error));
        check(condyle_writer_add_mesh(writer, added, shape.name, mesh, &error));
    }
    for (size_t i = 0; i < info.clip_count; ++i) {
        const condyle_clip *raw = NULL;
        condyle_clip *clip = NULL;
        condyle_clip_info properties = {0};
        condyle_encode_options options = CONDYLE_ENCODE_OPTIONS;
        condyle_encode_info encoded = {0};
        properties.size = sizeof properties, encoded.size = sizeof encoded;
        options.best = 1;
        check(condyle_model_get_clip(model, i, &raw, &error));
        check(condyle_encode(model, raw, &options, &clip, &encoded, &error));
        check(condyle_clip_get_info(clip, &properties, &error));
        printf("%s: %zu bytes of %zu, error %.3f mm\n", properties.name, encoded.bytes, encoded.raw_bytes,
               encoded.error_max * 1000);
        check(condyle_writer_add_clip(writer, added, clip, &error));
        condyle_clip_free(clip);
    }

    const uint8_t *bytes = NULL;
    size_t count = 0;
    check(condyle_writer_finish(writer, &bytes, &count, &error));
    FILE *file = fopen(argv[2], "wb");
    if (file == NULL || fwrite(bytes, 1, count, file) != count || fclose(file) != 0) {
        fprintf(stderr, "%s cannot be written\n", argv[2]);
        return 1;
    }
    printf("%s: %zu bytes\n", argv[2], count);
    condyle_writer_free(writer);
    condyle_model_free(model);
    return 0;
}
