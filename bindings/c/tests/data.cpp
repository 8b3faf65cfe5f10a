/* Data of the caller by condyle.hpp: an importer, a file, and the rest of the frame. */
#include "check.hpp"

/* A leg: pelvis, thigh, shin and foot, a triangle around the shin with a morph target, and a clip. */
struct leg {
    condyle::skeleton skeleton;
    condyle::mesh mesh;
    condyle::clip raw, clip;
};

static condyle_transform at(float y) { return {{0, 0, 0, 1}, {0, y, 0}, {1, 1, 1}}; }

static condyle::mesh make_mesh(const condyle_skeleton *skeleton) {
    const vec3 corners[3] = {{0.1f, 0.5f, 0}, {0, 0.3f, 0.1f}, {-0.1f, 0.1f, 0}}, moved[3] = {{0, 0, 1}};
    const std::uint16_t joints[3] = {0, 0, 0}, palette[1] = {2};
    const std::uint32_t triangle[3] = {0, 1, 2};
    const float weights[3] = {1, 1, 1}, morph_weights[1] = {0};
    const condyle_matrix inverse{{{1, 0, 0, 0}, {0, 1, 0, -0.5f}, {0, 0, 1, 0}}};
    condyle_morph_target target{};
    target.positions = &moved[0].x;
    condyle_mesh_options options = CONDYLE_MESH_OPTIONS;
    options.vertices.vertex_count = 3;
    options.vertices.positions = &corners[0].x;
    options.indices = triangle;
    options.index_count = 3;
    options.influence_joints = joints;
    options.influence_weights = weights;
    options.influences_per_vertex = 1;
    options.palette_joints = palette;
    options.inverse_bind = &inverse;
    options.palette_count = 1;
    options.morph_targets = &target;
    options.morph_weights = morph_weights;
    options.morph_target_count = 1;
    return take(condyle::make_mesh(skeleton, options));
}

static leg make_leg() {
    leg it;
    const condyle_joint joints[] = {
        {"pelvis", CONDYLE_NO_JOINT, at(1)}, {"thigh", 0, at(0)}, {"shin", 1, at(-0.5f)}, {"foot", 2, at(-0.45f)}};
    it.skeleton = take(condyle::make_skeleton(joints));
    it.mesh = make_mesh(it.skeleton);
    /* The leg stands for half a second, and is lifted in the next half. */
    std::vector<condyle_transform> transforms;
    for (int frame = 0; frame < 21; ++frame) {
        const float lift = frame > 10 ? 0.4f * std::sin(static_cast<float>(frame - 10) * 0.314159265f) : 0;
        for (const condyle_joint &joint : joints) transforms.push_back(joint.rest);
        float(&thigh)[4] = transforms[transforms.size() - 3].rotation;
        thigh[0] = -std::sin(lift);
        thigh[3] = std::cos(lift);
    }
    it.raw = take(condyle::make_clip("lift", it.skeleton, transforms, 21, 20));
    CHECK(fails([&] { return condyle::make_clip("lift", it.skeleton, transforms, 20, 20); }, CONDYLE_MISMATCH));
    CHECK(fails([&] { return condyle::make_clip("lift", nullptr, transforms, 21, 20); }, CONDYLE_INVALID_POINTER));
    const condyle_new_event steps[] = {{0.25, "step"}};
    condyle_encode_options options = CONDYLE_ENCODE_OPTIONS;
    options.events = steps;
    options.event_count = 1;
    const condyle_mesh *const meshes[] = {it.mesh};
    it.clip = take(condyle::encode(it.skeleton, meshes, it.raw, &options));
    return it;
}

/* A file of the leg, and its clip read in place. */
static void file(const leg &it) {
    condyle::writer writer = take(condyle::make_writer());
    const std::size_t model = take(condyle::add_skeleton(writer, "leg", it.skeleton, 1));
    RUN(condyle::add_mesh(writer, model, "skin", it.mesh));
    RUN(condyle::add_clip(writer, model, it.clip));
    CHECK(fails([&] { return condyle::add_clip(writer, 3, it.clip); }, CONDYLE_NOT_FOUND));
    const condyle::span<const std::uint8_t> bytes = take(condyle::finish(writer));
    CHECK(fails([&] { return condyle::finish(writer); }, CONDYLE_UNSUPPORTED));
    condyle::model read = take(condyle::open("leg.condyle", bytes));
    CHECK(take(condyle::info(read)).clip_count == 1 && take(condyle::info(read)).problem_count == 0);
    CHECK(fails([&] { return read.problem(0); }, CONDYLE_NOT_FOUND));
    const condyle_clip_info packed = take(condyle::info(it.clip));
    condyle::clip seen = take(condyle::view_clip("lift", {packed.bytes, packed.byte_count}));
    CHECK(take(condyle::info(seen)).bytes == packed.bytes);
}

/* Joints, masks, events and motion. */
static void poses(const leg &it) {
    condyle::pose a = take(condyle::make_pose(it.skeleton)), b = take(condyle::make_pose(it.skeleton));
    condyle_transform two[2];
    RUN(condyle::sample(it.clip, it.skeleton, 0.75, a));
    RUN(condyle::copy(a, b));
    RUN(condyle::get(b, 1, two));
    CHECK(two[0].rotation[0] < -0.3f && two[1].translation[1] == -0.5f);
    RUN(condyle::set_rest(it.skeleton, b));
    RUN(condyle::set(b, 1, two));
    CHECK(fails([&] { return condyle::set(b, 3, two); }, CONDYLE_NOT_FOUND));
    float mask[4], weights[1] = {1}, pair[2] = {1, 3};
    RUN(condyle::joint_mask(it.skeleton, {{1, 1.0f}}, 0, mask));
    CHECK(mask[0] == 0 && mask[3] == 1);
    RUN(condyle::sample_weights(it.clip, it.mesh, 0.5, weights));
    CHECK(weights[0] == 0);

    CHECK(take(condyle::event(it.clip, 0)).seconds == 0.25);
    condyle::player player = take(condyle::make_player(CONDYLE_WRAP));
    condyle_event passed[2];
    RUN(condyle::advance(player, 1.5));
    CHECK(take(condyle::events(player, it.clip, passed)) == 2 && std::string(passed[1].name) == "step");
    condyle_rigid motions[2] = {take(condyle::motion(it.clip, CONDYLE_WRAP, 0, 1)), {{0, 0, 0, 1}, {4, 0, 0}}};
    CHECK(take(condyle::blend(motions, pair)).translation[0] == 3);
    CHECK(fails([&] { return condyle::blend(motions, weights); }, CONDYLE_MISMATCH));
}

static std::uint32_t flat(void *, const double *, condyle_ground_point *point) {
    *point = {0, {0, 1, 0}};
    return 1;
}

/* Solvers: the foot on the ground, and a spring at it. */
static void solvers(const leg &it) {
    condyle::pose pose = take(condyle::make_pose(it.skeleton));
    std::vector<condyle_matrix> matrices(4);
    const condyle_leg legs[] = {{1, 2, 3, CONDYLE_NO_JOINT}};
    condyle::feet feet = take(condyle::make_feet(it.skeleton, 0, legs));
    condyle::feet_state state = take(condyle::make_state(feet));
    condyle::contacts contacts = take(condyle::make_contacts(it.clip, it.skeleton, feet, CONDYLE_WRAP));
    condyle_feet_frame frame = CONDYLE_FEET_FRAME;
    frame.ground = flat;
    frame.contacts = contacts;
    frame.placement.translation[1] = 0.2;
    frame.seconds = 0.02f;
    RUN(condyle::sample(it.clip, it.skeleton, 0.25, pose));
    RUN(condyle::local_to_model(it.skeleton, pose, matrices));
    RUN(condyle::place(it.skeleton, matrices, feet, frame, state, pose));
    RUN(condyle::local_to_model(it.skeleton, pose, matrices));
    CHECK(matrices[3].rows[1][3] < 0);

    const condyle_spring_joint joints[] = {{3, 1, {0, -1, 0}, 0.4f, 0.02f}};
    const condyle_spring chains[] = {{joints, 1, {0, 0, 0.15f}, CONDYLE_NO_JOINT, nullptr, 0}};
    condyle::springs springs = take(condyle::make_springs(it.skeleton, chains));
    condyle::spring_state swinging = take(condyle::make_state(springs));
    condyle_spring_frame step = CONDYLE_SPRING_FRAME;
    step.seconds = 0.02f;
    RUN(condyle::reset(swinging));
    RUN(condyle::swing(it.skeleton, matrices, springs, step, swinging, pose));
}

/* Matrices for shaders, morphed vertices and queries. */
static void vertices(const leg &it) {
    condyle::pose pose = take(condyle::make_pose(it.skeleton));
    std::vector<condyle_matrix> matrices(4), rows(1);
    std::vector<mat4> columns(4);
    RUN(condyle::local_to_model(it.skeleton, pose, matrices));
    const float before = matrices[3].rows[1][3];
    RUN(condyle::local_to_model_below(it.skeleton, pose, 2, matrices));
    RUN(condyle::to_columns(matrices, columns.data()));
    CHECK(matrices[3].rows[1][3] == before && columns[3].columns[3][1] == before);
    RUN(condyle::palette_rows(it.mesh, matrices, rows));
    CHECK(std::fabs(rows[0].rows[1][3]) < 1e-6f);

    condyle::palette palette = take(condyle::make_palette(it.mesh));
    RUN(condyle::fill(it.mesh, matrices, palette));
    std::vector<vec3> morphed(3), posed(3);
    const float weights[1] = {0.5f};
    RUN(condyle::morph(it.mesh, weights, condyle::vertices(morphed)));
    CHECK(morphed[0].z == 0.5f);
    const condyle_const_vertices bind = condyle::read_only(condyle::vertices(morphed));
    RUN(condyle::skin(it.mesh, palette, condyle::vertices(posed), &bind));
    CHECK(std::fabs(posed[0].z - 0.5f) < 1e-6f);

    condyle::tree tree = take(condyle::make_tree(it.mesh));
    RUN(condyle::refit(tree, posed));
    CHECK(take(condyle::closest_point(tree, vec3{0.1f, 0.5f, 0.6f}, 1)).found == 1);
    condyle_hitbox sphere{};
    sphere.joint = 2;
    sphere.kind = CONDYLE_SHAPE_SPHERE;
    sphere.radius = 0.1f;
    condyle::hitboxes hitboxes = take(condyle::make_hitboxes(condyle::span<const condyle_hitbox>(&sphere, 1)));
    CHECK(take(condyle::list(hitboxes)).size() == 1 && take(condyle::list(hitboxes))[0].joint == 2);
    condyle::posed_hitboxes placed = take(condyle::make_posed(hitboxes));
    RUN(condyle::place(hitboxes, matrices, placed));
    CHECK(std::fabs(take(condyle::box(placed)).max[1] - 0.6f) < 1e-5f);
}

void test_data() {
    const leg it = make_leg();
    file(it);
    poses(it);
    solvers(it);
    vertices(it);
}
