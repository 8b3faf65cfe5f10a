/* Bounds, hitboxes and rays. */
#include "check.h"

void test_query(void) {
    condyle_error error;
    leg it = leg_new();
    condyle_pose *pose = NULL;
    condyle_palette *palette = NULL;
    condyle_matrix model[LEG_JOINTS];
    GOOD(condyle_pose_new(it.skeleton, &pose, &error));
    GOOD(condyle_palette_new(it.mesh, &palette, &error));
    GOOD(condyle_sample(it.swing, it.skeleton, 0.25, pose, &error));
    GOOD(condyle_local_to_model(it.skeleton, pose, model, LEG_JOINTS, &error));
    GOOD(condyle_palette_fill(it.mesh, model, LEG_JOINTS, CONDYLE_SKIN_LINEAR, palette, &error));
    float positions[LEG_VERTICES * 3];
    condyle_vertices posed = {LEG_VERTICES, positions, NULL, NULL};
    GOOD(condyle_skin(it.mesh, palette, NULL, &posed, &error));

    condyle_bounds *bounds = NULL;
    condyle_aabb box;
    GOOD(condyle_bounds_new(it.mesh, &bounds, &error));
    GOOD(condyle_bounds_box(bounds, model, LEG_JOINTS, &box, &error));
    for (int number = 0; number < LEG_VERTICES * 3; ++number) {
        CHECK(positions[number] >= box.min[number % 3] && positions[number] <= box.max[number % 3]);
    }
    CHECK(condyle_bounds_box(bounds, model, 1, &box, &error) == CONDYLE_MISMATCH);
    NO_NULL("bounds", condyle_bounds_box(NULL, model, LEG_JOINTS, &box, &error));
    NO_NULL("matrices", condyle_bounds_box(bounds, NULL, LEG_JOINTS, &box, &error));
    NO_NULL("posed", condyle_bounds_box(bounds, model, LEG_JOINTS, NULL, &error));
    NO_NULL("mesh", condyle_bounds_new(NULL, &bounds, &error));
    NO_NULL("bounds", condyle_bounds_new(it.mesh, NULL, &error));

    condyle_tree *tree = NULL;
    condyle_hit hit;
    GOOD(condyle_tree_new(it.mesh, &tree, &error));
    GOOD(condyle_tree_refit(tree, positions, LEG_VERTICES, &error));
    float corner[3];
    for (int axis = 0; axis < 3; ++axis) {
        corner[axis] = (positions[axis] + positions[3 + axis] + positions[12 + axis]) / 3;
    }
    GOOD(condyle_tree_closest_point(tree, corner, 1, &hit, &error));
    CHECK(hit.found == 1 && hit.distance < 1e-5f);
    condyle_ray ray = {{0, 0, 0}, {0, 0, 0}, INFINITY};
    for (int axis = 0; axis < 3; ++axis) {
        ray.origin[axis] = hit.position[axis] + hit.normal[axis];
        ray.direction[axis] = -hit.normal[axis];
    }
    GOOD(condyle_tree_first_hit(tree, &ray, &hit, &error));
    CHECK(hit.found == 1 && hit.front == 1 && fabsf(hit.distance - 1) < 1e-4f);
    ray.origin[0] = 100;
    GOOD(condyle_tree_first_hit(tree, &ray, &hit, &error));
    CHECK(hit.found == 0);
    GOOD(condyle_tree_closest_point(tree, ray.origin, 1, &hit, &error));
    CHECK(hit.found == 0);
    REFUSED(CONDYLE_MISMATCH, "", condyle_tree_refit(tree, positions, 3, &error));
    NO_NULL("positions", condyle_tree_refit(tree, NULL, LEG_VERTICES, &error));
    NO_NULL("tree", condyle_tree_refit(NULL, positions, LEG_VERTICES, &error));
    positions[0] = NAN;
    CHECK(condyle_tree_refit(tree, positions, LEG_VERTICES, &error) == CONDYLE_INVALID_ARGUMENT);
    NO_NULL("tree", condyle_tree_first_hit(NULL, &ray, &hit, &error));
    NO_NULL("ray", condyle_tree_first_hit(tree, NULL, &hit, &error));
    NO_NULL("hit", condyle_tree_first_hit(tree, &ray, NULL, &error));
    NO_NULL("point", condyle_tree_closest_point(tree, NULL, 1, &hit, &error));
    NO_NULL("hit", condyle_tree_closest_point(tree, corner, 1, NULL, &error));
    NO_NULL("mesh", condyle_tree_new(NULL, &tree, &error));
    NO_NULL("tree", condyle_tree_new(it.mesh, NULL, &error));

    condyle_hitboxes *boxes = NULL, *own = NULL;
    condyle_posed_hitboxes *placed = NULL;
    condyle_hitbox_hit struck;
    const condyle_hitbox *list = NULL;
    size_t count = 0;
    const condyle_mesh *const meshes[1] = {it.mesh};
    GOOD(condyle_hitboxes_fit(meshes, 1, 1, &boxes, &error));
    GOOD(condyle_hitboxes_get(boxes, &list, &count, &error));
    CHECK(count == 2 && list[0].joint == 1 && list[1].joint == 2);
    GOOD(condyle_hitboxes_new(list, count, &own, &error));
    GOOD(condyle_posed_hitboxes_new(own, &placed, &error));
    GOOD(condyle_hitboxes_place(own, model, LEG_JOINTS, placed, &error));
    GOOD(condyle_hitboxes_box(placed, &box, &error));
    CHECK(box.min[1] < 0.3f && box.max[1] > 0.8f);
    condyle_ray forward = {{model[2].rows[0][3], model[2].rows[1][3] - 0.1f, -5}, {0, 0, 1}, INFINITY};
    GOOD(condyle_hitboxes_first_hit(placed, &forward, &struck, &error));
    CHECK(struck.found == 1 && struck.hitbox < 2);
    forward.origin[0] = 50;
    GOOD(condyle_hitboxes_first_hit(placed, &forward, &struck, &error));
    CHECK(struck.found == 0);
    CHECK(condyle_hitboxes_place(own, model, 1, placed, &error) == CONDYLE_MISMATCH);
    NO_NULL("hitboxes", condyle_hitboxes_place(NULL, model, LEG_JOINTS, placed, &error));
    NO_NULL("matrices", condyle_hitboxes_place(own, NULL, LEG_JOINTS, placed, &error));
    NO_NULL("posed", condyle_hitboxes_place(own, model, LEG_JOINTS, NULL, &error));
    NO_NULL("posed", condyle_hitboxes_first_hit(NULL, &forward, &struck, &error));
    NO_NULL("ray", condyle_hitboxes_first_hit(placed, NULL, &struck, &error));
    NO_NULL("hit", condyle_hitboxes_first_hit(placed, &forward, NULL, &error));
    NO_NULL("posed", condyle_hitboxes_box(NULL, &box, &error));
    NO_NULL("bounds", condyle_hitboxes_box(placed, NULL, &error));
    NO_NULL("list", condyle_hitboxes_get(own, NULL, &count, &error));
    NO_NULL("count", condyle_hitboxes_get(own, &list, NULL, &error));
    NO_NULL("hitboxes", condyle_posed_hitboxes_new(NULL, &placed, &error));
    NO_NULL("posed", condyle_posed_hitboxes_new(own, NULL, &error));
    const condyle_mesh *no_mesh = NULL;
    NO_NULL("meshes", condyle_hitboxes_fit(NULL, 1, 1, &boxes, &error));
    NO_NULL("meshes[]", condyle_hitboxes_fit(&no_mesh, 1, 1, &boxes, &error));
    REFUSED(CONDYLE_INVALID_ARGUMENT, "mesh_count is 0", condyle_hitboxes_fit(meshes, 0, 1, &boxes, &error));
    CHECK(condyle_hitboxes_fit(meshes, 1, NAN, &boxes, &error) == CONDYLE_INVALID_ARGUMENT);
    condyle_hitbox bad = list[0];
    bad.kind = (condyle_shape_kind)3;
    condyle_hitboxes *none = NULL;
    REFUSED(CONDYLE_INVALID_ARGUMENT, "kind is 3", condyle_hitboxes_new(&bad, 1, &none, &error));
    bad.kind = CONDYLE_SHAPE_SPHERE;
    bad.radius = -1;
    CHECK(condyle_hitboxes_new(&bad, 1, &none, &error) == CONDYLE_INVALID_ARGUMENT);
    NO_NULL("list", condyle_hitboxes_new(NULL, 1, &none, &error));
    NO_NULL("hitboxes", condyle_hitboxes_new(&bad, 1, NULL, &error));

    condyle_posed_hitboxes_free(placed);
    condyle_posed_hitboxes_free(NULL);
    condyle_hitboxes_free(own);
    condyle_hitboxes_free(boxes);
    condyle_hitboxes_free(NULL);
    condyle_tree_free(tree);
    condyle_tree_free(NULL);
    condyle_bounds_free(bounds);
    condyle_bounds_free(NULL);
    condyle_palette_free(palette);
    condyle_pose_free(pose);
    leg_free(&it);
}
