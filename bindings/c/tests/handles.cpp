/* Handles and the frame of a character by condyle.hpp. `condyle_test_cpp TESTDATA`. */
#include "check.hpp"

unsigned checks;

/* Pointers of temporaries would dangle. */
static_assert(!std::is_convertible_v<condyle::pose, const condyle_pose *>);
static_assert(std::is_convertible_v<condyle::pose &, const condyle_pose *>);

int main(int argc, char **argv) {
    CHECK(argc == 2);
    std::string path = std::string(argv[1]) + "/two_joints.glb";
    condyle::model model = take(condyle::open(path.c_str()));
    condyle::model moved = std::move(model);
    model = std::move(moved);
    const condyle_skeleton *skeleton = take(model.skeleton());
    const condyle_mesh *mesh = take(model.mesh(0));
    const condyle_clip *raw = take(model.find_clip("bend"));
    CHECK(raw == take(model.clip(0)));
    CHECK(fails([&] { return model.find_clip("run"); }, CONDYLE_NOT_FOUND));
    CHECK(fails([&] { return condyle::open("missing.glb"); }, CONDYLE_UNREADABLE));

    condyle_encode_info encoded{};
    condyle::clip clip = take(condyle::encode(model, raw, nullptr, &encoded));
    CHECK(encoded.bytes == take(condyle::info(clip)).byte_count);
    condyle::player player = take(condyle::make_player(CONDYLE_WRAP));
    condyle::pose a = take(condyle::make_pose(skeleton)), b = take(condyle::make_pose(skeleton));
    RUN(condyle::advance(player, 0.25));
    RUN(condyle::sample(player, clip, skeleton, a));
    std::array<condyle_layer, 1> layers = {condyle::layer(a, 1)};
    RUN(condyle::blend(skeleton, layers, b));
    RUN(condyle::blend(skeleton, {condyle::layer(a, 0.5f), condyle::layer(a, 0.5f)}, b));
    RUN(condyle::set(player, 2, CONDYLE_WRAP));
    RUN(condyle::seek(player, 0.1));
    RUN(condyle::advance(player, 0.1));
    double clock = take(condyle::clock(player));
    CHECK(clock > 0.299 && clock < 0.301);
    CHECK(take(condyle::moment(clip, CONDYLE_WRAP, clock)) > 0.299);
    CHECK(fails([&] { return condyle::find_joint(skeleton, "none"); }, CONDYLE_NOT_FOUND));

    condyle::inertialization transition = take(condyle::make_inertialization(skeleton));
    RUN(condyle::start(transition, a, a, b, b, 0.02f, 0.5f));
    RUN(condyle::apply(transition, 0.5f, b));
    condyle::mirror mirror = take(condyle::make_mirror(skeleton));
    condyle::pose mirrored = take(condyle::make_pose(skeleton));
    RUN(condyle::mirror_pose(mirror, b, mirrored));

    std::vector<condyle_matrix> matrices(take(condyle::info(skeleton)).joint_count);
    RUN(condyle::local_to_model(skeleton, b, matrices));
    CHECK(fails([&] { return condyle::local_to_model(skeleton, b, {}); }, CONDYLE_MISMATCH));
    condyle_mesh_info shape = take(condyle::info(mesh));
    std::vector<mat4> upload(shape.palette_count);
    RUN(condyle::palette_columns(mesh, matrices, upload.data(), upload.size()));
    CHECK(upload[0].columns[3][3] == 1);
    condyle::palette palette = take(condyle::make_palette(mesh));
    RUN(condyle::fill(mesh, matrices, palette));
    std::vector<vec3> positions(shape.vertices.vertex_count);
    RUN(condyle::skin(mesh, palette, condyle::vertices(condyle::span<vec3>(positions))));
    std::vector<vec3> again(positions.size()), few(1), none;
    RUN(condyle::skin(mesh, palette, condyle::vertices(again)));
    CHECK(again[0].x == positions[0].x);
    CHECK(fails([&] { return condyle::skin(mesh, palette, condyle::vertices(again, few)); }, CONDYLE_MISMATCH));
    /* Reserved memory is not an array of normals, or a mask. */
    none.reserve(positions.size());
    CHECK(condyle::vertices(again, none).normals == nullptr);
    std::vector<float> no_mask;
    no_mask.reserve(8);
    CHECK(condyle::layer(a, 1, no_mask).mask == nullptr);

    condyle::tree tree = take(condyle::make_tree(mesh));
    RUN(condyle::refit(tree, positions));
    condyle_ray ray{{0, 0, 0}, {0, 0, 1}, 100};
    condyle::assign(ray.origin, vec3{50, 0, -10});
    CHECK(take(condyle::first_hit(tree, ray)).found == 0);
    condyle::bounds bounds = take(condyle::make_bounds(mesh));
    condyle_aabb box = take(condyle::box(bounds, matrices));
    for (const vec3 &p : positions) CHECK(p.x >= box.min[0] && p.y <= box.max[1]);
    condyle_error error;
    condyle::pose made;
    CHECK(condyle_pose_new(skeleton, made.put(), &error) == CONDYLE_OK && made);
    condyle::pose owner(made.release());
    CHECK(!made && owner);
    CHECK(condyle::abi_version() == CONDYLE_ABI_VERSION && condyle::version()[0] != 0);
    test_data();
    std::printf("%u checks\n", checks);
    return 0;
}
