/* condyle.hpp: condyle.h for C++17. Header only.
 *
 * Handles free themselves. Functions take spans instead of pointers and counts, and return `condyle::result`:
 *
 *     auto model = condyle::open("character.glb");
 *     if (!model) return fail(model.error().text());
 *     auto clip = model->find_clip("walk");
 *
 * Define CONDYLE_EXCEPTIONS before including this header, and the functions return the value itself and throw
 * `condyle::error`:
 *
 *     condyle::model model = condyle::open("character.glb");
 *
 * The rules of condyle.h on threads, units and lifetimes apply, and its comments describe the arguments: each of its
 * functions has one here. Handles convert to the pointers of condyle.h, so every function of it can be called with
 * them. `put()` receives what such a function makes:
 *
 *     condyle::pose pose;
 *     condyle_pose_new(skeleton, pose.put(), &error);
 *
 * Files with and without CONDYLE_EXCEPTIONS can be linked into one program.
 */
#ifndef CONDYLE_HPP
#define CONDYLE_HPP

#if defined(_MSVC_LANG) ? _MSVC_LANG < 201703L : __cplusplus < 201703L
#error "condyle.hpp needs C++17: -std=c++17, /std:c++17, or CMAKE_CXX_STANDARD 17"
#endif

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <initializer_list>
#include <iterator>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "condyle.h"

namespace condyle {

/* Reason of a failure: a status and its text. */
class error : public std::exception {
public:
    explicit error(const condyle_error &of) : status_(of.status), text_(of.text) {}
    condyle_status status() const noexcept { return status_; }
    const std::string &text() const noexcept { return text_; }
    const char *what() const noexcept override { return text_.c_str(); }

private:
    condyle_status status_;
    std::string text_;
};

/* A value or an error, like std::expected of C++23. */
template <class T>
class [[nodiscard]] result {
public:
    result(T of) : it_(std::in_place_index<0>, std::move(of)) {}
    result(condyle::error why) : it_(std::in_place_index<1>, std::move(why)) {}
    bool has_value() const noexcept { return it_.index() == 0; }
    explicit operator bool() const noexcept { return has_value(); }
    /* Check the result first: without a value these throw std::bad_variant_access, or end the program with
     * -fno-exceptions. */
    T &operator*() & { return std::get<0>(it_); }
    const T &operator*() const & { return std::get<0>(it_); }
    T &&operator*() && { return std::get<0>(std::move(it_)); }
    /* Not for temporaries: what a value owns ends with it. */
    T *operator->() & { return &std::get<0>(it_); }
    const T *operator->() const & { return &std::get<0>(it_); }
    T *operator->() && = delete;
    const condyle::error &error() const { return std::get<1>(it_); }

private:
    std::variant<T, condyle::error> it_;
};

/* Success or an error. */
template <>
class [[nodiscard]] result<void> {
public:
    result() = default;
    result(condyle::error why) : it_(std::make_unique<condyle::error>(std::move(why))) {}
    bool has_value() const noexcept { return it_ == nullptr; }
    explicit operator bool() const noexcept { return has_value(); }
    const condyle::error &error() const { return *it_; }

private:
    std::unique_ptr<condyle::error> it_;
};

/* Everything below has another type with exceptions, hence another name for the linker. */
#ifdef CONDYLE_EXCEPTIONS
inline namespace throwing {
template <class T>
using outcome = T;
#else
inline namespace returning {
template <class T>
using outcome = result<T>;
#endif

namespace detail {

/* Throws or returns an error. */
template <class T>
outcome<T> fail(const condyle_error &error) {
#ifdef CONDYLE_EXCEPTIONS
    throw condyle::error(error);
#else
    return condyle::error(error);
#endif
}

/* Calls `function(arguments..., &error)`. */
template <class Function, class... Arguments>
outcome<void> call(Function function, Arguments... arguments) {
    condyle_error error;
    if (function(arguments..., &error) == CONDYLE_OK) return outcome<void>();
    return fail<void>(error);
}

/* Calls a function that writes its result to the argument before the error. */
template <class T, class Out, class Function, class... Arguments>
outcome<T> make(Function function, Arguments... arguments) {
    condyle_error error;
    Out out{};
    if (function(arguments..., &out, &error) == CONDYLE_OK) return T(out);
    return fail<T>(error);
}

/* Calls a function that fills a structure with a size. */
template <class Info, class Function, class Object>
outcome<Info> info(Function function, Object object) {
    condyle_error error;
    Info out{};
    out.size = sizeof out;
    if (function(object, &out, &error) == CONDYLE_OK) return out;
    return fail<Info>(error);
}

/* NULL for no elements: an empty container can have memory. */
template <class Span>
auto pointer(const Span &span) noexcept {
    return span.size() == 0 ? nullptr : span.data();
}

/* Error for two arrays of different lengths, of which condyle.h takes one count. */
inline condyle_error mismatch(const char *what, std::size_t found, std::size_t needed) {
    condyle_error error;
    error.status = CONDYLE_MISMATCH;
    std::snprintf(error.text, sizeof error.text, "%s: %zu elements, expected %zu", what, found, needed);
    return error;
}

}  // namespace detail

/* Elements of the caller. Converts from arrays and from everything with data() and size(): std::vector,
 * std::array, std::span. */
template <class T>
class span {
public:
    constexpr span() noexcept = default;
    constexpr span(T *data, std::size_t size) noexcept : data_(data), size_(size) {}
    template <std::size_t N>
    constexpr span(T (&array)[N]) noexcept : data_(array), size_(N) {}
    template <class Container,
              class = std::enable_if_t<std::is_convertible_v<
                  std::remove_pointer_t<decltype(std::data(std::declval<Container &>()))> (*)[], T (*)[]>>>
    constexpr span(Container &&container) noexcept : data_(std::data(container)), size_(std::size(container)) {}
    constexpr T *data() const noexcept { return data_; }
    constexpr std::size_t size() const noexcept { return size_; }
    constexpr T *begin() const noexcept { return data_; }
    constexpr T *end() const noexcept { return data_ + size_; }
    constexpr T &operator[](std::size_t index) const noexcept { return data_[index]; }

private:
    T *data_ = nullptr;
    std::size_t size_ = 0;
};

/* Pointer that frees what it owns, and converts to the pointer of condyle.h. */
template <class T, void (*Free)(T *)>
class handle {
public:
    handle() noexcept = default;
    explicit handle(T *owned) noexcept : it_(owned) {}
    handle(handle &&other) noexcept : it_(other.release()) {}
    handle &operator=(handle &&other) noexcept {
        if (this != &other) reset(other.release());
        return *this;
    }
    ~handle() { reset(); }
    operator T *() const & noexcept { return it_; }
    /* The pointer of a temporary handle is freed before it can be used. */
    operator T *() && = delete;
    T *get() const & noexcept { return it_; }
    T *get() && = delete;
    /* Gives up what it owns, for the caller to free. */
    T *release() noexcept { return std::exchange(it_, nullptr); }
    void reset(T *owned = nullptr) noexcept {
        T *old = std::exchange(it_, owned);
        if (old) Free(old);
    }
    /* Frees what it owns, and returns the place for what a function of condyle.h makes. */
    T **put() noexcept {
        reset();
        return &it_;
    }

private:
    T *it_ = nullptr;
};

using clip = handle<condyle_clip, condyle_clip_free>;
using frames = handle<condyle_frames, condyle_frames_free>;
using mesh = handle<condyle_mesh, condyle_mesh_free>;
using palette = handle<condyle_palette, condyle_palette_free>;
using player = handle<condyle_player, condyle_player_free>;
using pose = handle<condyle_pose, condyle_pose_free>;
using skeleton = handle<condyle_skeleton, condyle_skeleton_free>;
using bounds = handle<condyle_bounds, condyle_bounds_free>;
using tree = handle<condyle_tree, condyle_tree_free>;
using hitboxes = handle<condyle_hitboxes, condyle_hitboxes_free>;
using posed_hitboxes = handle<condyle_posed_hitboxes, condyle_posed_hitboxes_free>;
using feet = handle<condyle_feet, condyle_feet_free>;
using feet_state = handle<condyle_feet_state, condyle_feet_state_free>;
using contacts = handle<condyle_contacts, condyle_contacts_free>;
using springs = handle<condyle_springs, condyle_springs_free>;
using spring_state = handle<condyle_spring_state, condyle_spring_state_free>;
using writer = handle<condyle_writer, condyle_writer_free>;
using inertialization = handle<condyle_inertialization, condyle_inertialization_free>;
using mirror = handle<condyle_mirror, condyle_mirror_free>;

/* Version of the binary interface of the library, which equals CONDYLE_ABI_VERSION, and of the library. */
inline std::uint32_t abi_version() noexcept { return condyle_abi_version(); }
inline const char *version() noexcept { return condyle_version(); }

/* Three numbers of any vector with operator[], such as glm::vec3 or Eigen::Vector3f. */
template <class Vector>
void assign(float (&to)[3], const Vector &from) {
    for (int axis = 0; axis < 3; ++axis) to[axis] = from[axis];
}

/* Properties: `info(clip)` returns a condyle_clip_info, whose duration is `end - start`. */
inline outcome<condyle_skeleton_info> info(const condyle_skeleton *it) {
    return detail::info<condyle_skeleton_info>(condyle_skeleton_get_info, it);
}
inline outcome<condyle_clip_info> info(const condyle_clip *it) {
    return detail::info<condyle_clip_info>(condyle_clip_get_info, it);
}
inline outcome<condyle_mesh_info> info(const condyle_mesh *it) {
    return detail::info<condyle_mesh_info>(condyle_mesh_get_info, it);
}
inline outcome<condyle_frames_info> info(const condyle_frames *it) {
    return detail::info<condyle_frames_info>(condyle_frames_get_info, it);
}
inline outcome<condyle_model_info> info(const condyle_model *it) {
    return detail::info<condyle_model_info>(condyle_model_get_info, it);
}

/* Contents of a file. The pointers that its functions return live as long as it, so a temporary has none. */
class model : public handle<condyle_model, condyle_model_free> {
public:
    using handle::handle;
    outcome<const condyle_skeleton *> skeleton() const & {
        return detail::make<const condyle_skeleton *, const condyle_skeleton *>(condyle_model_get_skeleton, get());
    }
    outcome<const condyle_skeleton *> skeleton() && = delete;
    outcome<const condyle_clip *> clip(std::size_t index) const & {
        return detail::make<const condyle_clip *, const condyle_clip *>(condyle_model_get_clip, get(), index);
    }
    outcome<const condyle_clip *> clip(std::size_t) && = delete;
    outcome<const condyle_clip *> find_clip(const char *name) const & {
        return detail::make<const condyle_clip *, const condyle_clip *>(condyle_model_find_clip, get(), name);
    }
    outcome<const condyle_clip *> find_clip(const char *) && = delete;
    outcome<const condyle_mesh *> mesh(std::size_t index) const & {
        return detail::make<const condyle_mesh *, const condyle_mesh *>(condyle_model_get_mesh, get(), index);
    }
    outcome<const condyle_mesh *> mesh(std::size_t) && = delete;
    outcome<condyle_problem> problem(std::size_t index) const & {
        return detail::make<condyle_problem, condyle_problem>(condyle_model_get_problem, get(), index);
    }
    outcome<condyle_problem> problem(std::size_t) && = delete;
};

inline outcome<model> open(const char *path, const condyle_open_options *options = nullptr) {
    return detail::make<model, condyle_model *>(condyle_open, path, options);
}
inline outcome<model> open(const char *name, span<const std::uint8_t> bytes,
                           const condyle_open_options *options = nullptr) {
    return detail::make<model, condyle_model *>(condyle_open_memory, name, bytes.data(), bytes.size(), options);
}

/* Objects for characters. */
inline outcome<pose> make_pose(const condyle_skeleton *skeleton) {
    return detail::make<pose, condyle_pose *>(condyle_pose_new, skeleton);
}
inline outcome<palette> make_palette(const condyle_mesh *mesh) {
    return detail::make<palette, condyle_palette *>(condyle_palette_new, mesh);
}
inline outcome<player> make_player(condyle_looping looping) {
    return detail::make<player, condyle_player *>(condyle_player_new, looping);
}
inline outcome<clip> load_clip(const char *name, span<const std::uint8_t> bytes) {
    return detail::make<clip, condyle_clip *>(condyle_clip_load, name, bytes.data(), bytes.size());
}
/* Reads the bytes in place: they must live as long as the clip. */
inline outcome<clip> view_clip(const char *name, span<const std::uint8_t> bytes) {
    return detail::make<clip, condyle_clip *>(condyle_clip_view, name, bytes.data(), bytes.size());
}
/* For engines that have an importer: data of their own. `transforms` has the joints of each frame. */
inline outcome<clip> make_clip(const char *name, const condyle_skeleton *skeleton,
                               span<const condyle_transform> transforms, std::size_t frame_count,
                               double frame_rate) {
    condyle_skeleton_info joints{};
    joints.size = sizeof joints;
    condyle_error error;
    if (condyle_skeleton_get_info(skeleton, &joints, &error) != CONDYLE_OK) return detail::fail<clip>(error);
    const std::size_t needed = frame_count * joints.joint_count;
    if (transforms.size() != needed)
        return detail::fail<clip>(detail::mismatch("transforms", transforms.size(), needed));
    return detail::make<clip, condyle_clip *>(condyle_clip_new, name, skeleton, transforms.data(), frame_count,
                                              frame_rate);
}
inline outcome<skeleton> make_skeleton(span<const condyle_joint> joints) {
    return detail::make<skeleton, condyle_skeleton *>(condyle_skeleton_new, joints.data(), joints.size());
}
inline outcome<mesh> make_mesh(const condyle_skeleton *skeleton, const condyle_mesh_options &options) {
    return detail::make<mesh, condyle_mesh *>(condyle_mesh_new, skeleton, &options);
}
inline outcome<frames> make_frames(const condyle_clip *clip, const condyle_skeleton *skeleton, float error_bound,
                                   float radius) {
    return detail::make<frames, condyle_frames *>(condyle_frames_new, clip, skeleton, error_bound, radius);
}
inline outcome<tree> make_tree(const condyle_mesh *mesh) {
    return detail::make<tree, condyle_tree *>(condyle_tree_new, mesh);
}
inline outcome<bounds> make_bounds(const condyle_mesh *mesh) {
    return detail::make<bounds, condyle_bounds *>(condyle_bounds_new, mesh);
}
inline outcome<hitboxes> fit_hitboxes(span<const condyle_mesh *const> meshes, float coverage = 1) {
    return detail::make<hitboxes, condyle_hitboxes *>(condyle_hitboxes_fit, meshes.data(), meshes.size(), coverage);
}
inline outcome<hitboxes> fit_hitboxes(const condyle_mesh *mesh, float coverage = 1) {
    return detail::make<hitboxes, condyle_hitboxes *>(condyle_hitboxes_fit, &mesh, std::size_t{1}, coverage);
}
inline outcome<posed_hitboxes> make_posed(const condyle_hitboxes *hitboxes) {
    return detail::make<posed_hitboxes, condyle_posed_hitboxes *>(condyle_posed_hitboxes_new, hitboxes);
}
inline outcome<hitboxes> make_hitboxes(span<const condyle_hitbox> list) {
    return detail::make<hitboxes, condyle_hitboxes *>(condyle_hitboxes_new, list.data(), list.size());
}
inline outcome<feet> make_feet(const condyle_skeleton *skeleton, std::uint16_t pelvis, span<const condyle_leg> legs) {
    return detail::make<feet, condyle_feet *>(condyle_feet_new, skeleton, pelvis, legs.data(), legs.size());
}
inline outcome<contacts> make_contacts(const condyle_clip *clip, const condyle_skeleton *skeleton,
                                       const condyle_feet *feet, condyle_looping looping) {
    return detail::make<contacts, condyle_contacts *>(condyle_contacts_new, clip, skeleton, feet, looping);
}
inline outcome<springs> make_springs(const condyle_skeleton *skeleton, span<const condyle_spring> chains,
                                     span<const condyle_collider> colliders = {}) {
    return detail::make<springs, condyle_springs *>(condyle_springs_new, skeleton, chains.data(), chains.size(),
                                                    colliders.data(), colliders.size());
}
inline outcome<springs> springs_of(const condyle_model *model) {
    return detail::make<springs, condyle_springs *>(condyle_springs_of_model, model);
}
inline outcome<spring_state> make_state(const condyle_springs *springs) {
    return detail::make<spring_state, condyle_spring_state *>(condyle_spring_state_new, springs);
}
inline outcome<feet_state> make_state(const condyle_feet *feet) {
    return detail::make<feet_state, condyle_feet_state *>(condyle_feet_state_new, feet);
}
inline outcome<clip> encode(const condyle_model *model, const condyle_clip *raw,
                            const condyle_encode_options *options = nullptr,
                            condyle_encode_info *info = nullptr) {
    condyle_error error;
    condyle_clip *out = nullptr;
    if (info) info->size = sizeof *info;
    if (condyle_encode(model, raw, options, &out, info, &error) == CONDYLE_OK) return clip(out);
    return detail::fail<clip>(error);
}
inline outcome<clip> encode(const condyle_skeleton *skeleton, span<const condyle_mesh *const> meshes,
                            const condyle_clip *raw, const condyle_encode_options *options = nullptr,
                            condyle_encode_info *info = nullptr) {
    condyle_error error;
    condyle_clip *out = nullptr;
    if (info) info->size = sizeof *info;
    if (condyle_encode_for_meshes(skeleton, meshes.data(), meshes.size(), raw, options, &out, info, &error) ==
        CONDYLE_OK)
        return clip(out);
    return detail::fail<clip>(error);
}

/* Files: `finish` returns bytes of the writer. */
inline outcome<writer> make_writer() { return detail::make<writer, condyle_writer *>(condyle_writer_new); }
inline outcome<std::size_t> add_skeleton(condyle_writer *writer, const char *name, const condyle_skeleton *skeleton,
                                         float unit = 0) {
    return detail::make<std::size_t, std::size_t>(condyle_writer_add_skeleton, writer, name, skeleton, unit);
}
inline outcome<void> add_mesh(condyle_writer *writer, std::size_t model, const char *name,
                              const condyle_mesh *mesh) {
    return detail::call(condyle_writer_add_mesh, writer, model, name, mesh);
}
inline outcome<void> add_clip(condyle_writer *writer, std::size_t model, const condyle_clip *clip) {
    return detail::call(condyle_writer_add_clip, writer, model, clip);
}
inline outcome<span<const std::uint8_t>> finish(condyle_writer *writer) {
    const std::uint8_t *bytes = nullptr;
    using bytes_of = span<const std::uint8_t>;
    condyle_error error;
    std::size_t count = 0;
    if (condyle_writer_finish(writer, &bytes, &count, &error) == CONDYLE_OK) return bytes_of(bytes, count);
    return detail::fail<span<const std::uint8_t>>(error);
}

/* Poses. */
inline outcome<void> set_rest(const condyle_skeleton *skeleton, condyle_pose *pose) {
    return detail::call(condyle_pose_set_rest, skeleton, pose);
}
inline outcome<void> copy(const condyle_pose *from, condyle_pose *to) {
    return detail::call(condyle_pose_copy, from, to);
}
/* Transforms of joints, from the joint `first` on. */
inline outcome<void> get(const condyle_pose *pose, std::size_t first, span<condyle_transform> transforms) {
    return detail::call(condyle_pose_get, pose, first, transforms.data(), transforms.size());
}
inline outcome<void> set(condyle_pose *pose, std::size_t first, span<const condyle_transform> transforms) {
    return detail::call(condyle_pose_set, pose, first, transforms.data(), transforms.size());
}
inline outcome<void> sample_weights(const condyle_clip *clip, const condyle_mesh *mesh, double seconds,
                                    span<float> weights) {
    return detail::call(condyle_sample_weights, clip, mesh, seconds, weights.data(), weights.size());
}
inline outcome<void> sample(const condyle_clip *clip, const condyle_skeleton *skeleton, double seconds,
                            condyle_pose *pose) {
    return detail::call(condyle_sample, clip, skeleton, seconds, pose);
}
inline outcome<void> sample(const condyle_player *player, const condyle_clip *clip,
                            const condyle_skeleton *skeleton, condyle_pose *pose) {
    return detail::call(condyle_player_sample, player, clip, skeleton, pose);
}
inline outcome<void> sample(const condyle_skeleton *skeleton, span<const condyle_frame_layer> layers,
                            condyle_pose *pose) {
    return detail::call(condyle_sample_frames, skeleton, layers.data(), layers.size(), pose);
}
inline outcome<void> advance(condyle_player *player, double seconds) {
    return detail::call(condyle_player_advance, player, seconds);
}
inline outcome<void> set(condyle_player *player, double speed, condyle_looping looping) {
    return detail::call(condyle_player_set, player, speed, looping);
}
inline outcome<void> seek(condyle_player *player, double seconds) {
    return detail::call(condyle_player_seek, player, seconds);
}
inline outcome<double> clock(const condyle_player *player) {
    return detail::make<double, double>(condyle_player_get_clock, player);
}
/* Key time of a clip at a value of the clock. */
inline outcome<double> moment(const condyle_clip *clip, condyle_looping looping, double clock) {
    return detail::make<double, double>(condyle_clip_moment, clip, looping, clock);
}
inline outcome<std::uint16_t> find_joint(const condyle_skeleton *skeleton, const char *name) {
    return detail::make<std::uint16_t, std::uint16_t>(condyle_skeleton_find_joint, skeleton, name);
}
inline outcome<condyle_event> event(const condyle_clip *clip, std::size_t index) {
    return detail::make<condyle_event, condyle_event>(condyle_clip_get_event, clip, index);
}
/* Number of events that the last advance has passed; those that fit are written. */
inline outcome<std::size_t> events(const condyle_player *player, const condyle_clip *clip,
                                   span<condyle_event> events) {
    return detail::make<std::size_t, std::size_t>(condyle_player_get_events, player, clip, events.data(),
                                                  events.size());
}
inline outcome<condyle_rigid> motion(const condyle_clip *clip, condyle_looping looping, double from, double to) {
    return detail::make<condyle_rigid, condyle_rigid>(condyle_clip_motion, clip, looping, from, to);
}
inline outcome<condyle_rigid> motion(const condyle_player *player, const condyle_clip *clip) {
    return detail::make<condyle_rigid, condyle_rigid>(condyle_player_get_motion, player, clip);
}
inline outcome<condyle_rigid> multiply(const condyle_rigid &a, const condyle_rigid &b) {
    return detail::make<condyle_rigid, condyle_rigid>(condyle_rigid_multiply, &a, &b);
}
/* Motions with the weights of their poses: as many of both. */
inline outcome<condyle_rigid> blend(span<const condyle_rigid> motions, span<const float> weights) {
    if (weights.size() != motions.size())
        return detail::fail<condyle_rigid>(detail::mismatch("weights", weights.size(), motions.size()));
    return detail::make<condyle_rigid, condyle_rigid>(condyle_motion_blend, motions.data(), weights.data(),
                                                      motions.size());
}
inline outcome<void> blend(const condyle_skeleton *skeleton, span<const condyle_layer> layers, condyle_pose *pose,
                           condyle_mean mean = CONDYLE_MEAN_LINEAR) {
    return detail::call(condyle_blend, skeleton, layers.data(), layers.size(), mean, pose);
}
inline outcome<void> blend(const condyle_skeleton *skeleton, std::initializer_list<condyle_layer> layers,
                           condyle_pose *pose, condyle_mean mean = CONDYLE_MEAN_LINEAR) {
    return blend(skeleton, span<const condyle_layer>(layers.begin(), layers.size()), pose, mean);
}
inline outcome<void> add(const condyle_pose *base, span<const condyle_layer> differences, condyle_pose *pose) {
    return detail::call(condyle_add, base, differences.data(), differences.size(), pose);
}
inline outcome<void> add(const condyle_pose *base, std::initializer_list<condyle_layer> differences,
                         condyle_pose *pose) {
    return add(base, span<const condyle_layer>(differences.begin(), differences.size()), pose);
}
inline outcome<void> difference(const condyle_pose *pose, const condyle_pose *reference, condyle_pose *out) {
    return detail::call(condyle_difference, pose, reference, out);
}
inline outcome<void> overlay(const condyle_pose *base, const condyle_pose *over, float amount,
                             span<const float> mask, condyle_pose *pose) {
    return detail::call(condyle_overlay, base, over, amount, detail::pointer(mask), mask.size(), pose);
}
inline outcome<void> joint_mask(const condyle_skeleton *skeleton, span<const condyle_joint_weight> roots,
                                std::uint16_t feather, span<float> mask) {
    return detail::call(condyle_joint_mask, skeleton, roots.data(), roots.size(), feather, mask.data(), mask.size());
}
inline outcome<void> joint_mask(const condyle_skeleton *skeleton, std::initializer_list<condyle_joint_weight> roots,
                                std::uint16_t feather, span<float> mask) {
    return joint_mask(skeleton, span<const condyle_joint_weight>(roots.begin(), roots.size()), feather, mask);
}
inline outcome<inertialization> make_inertialization(const condyle_skeleton *skeleton) {
    return detail::make<inertialization, condyle_inertialization *>(condyle_inertialization_new, skeleton);
}
inline outcome<void> start(condyle_inertialization *transition, const condyle_pose *previous,
                           const condyle_pose *current, const condyle_pose *target, const condyle_pose *next,
                           float step, float duration) {
    return detail::call(condyle_inertialization_start, transition, previous, current, target, next, step, duration);
}
inline outcome<void> apply(const condyle_inertialization *transition, float elapsed, condyle_pose *pose) {
    return detail::call(condyle_inertialization_apply, transition, elapsed, pose);
}
inline outcome<mirror> make_mirror(const condyle_skeleton *skeleton, span<const condyle_joint_pair> pairs = {}) {
    return detail::make<mirror, condyle_mirror *>(condyle_mirror_new, skeleton, pairs.data(), pairs.size(), nullptr);
}
inline outcome<void> mirror_pose(const condyle_mirror *mirror, const condyle_pose *pose, condyle_pose *mirrored) {
    return detail::call(condyle_mirror_pose, mirror, pose, mirrored);
}
inline condyle_layer layer(const condyle_pose *pose, float weight, span<const float> mask = {}) {
    return {pose, weight, detail::pointer(mask), mask.size()};
}

/* Matrices and vertices. */
inline outcome<void> local_to_model(const condyle_skeleton *skeleton, const condyle_pose *pose,
                                    span<condyle_matrix> matrices) {
    return detail::call(condyle_local_to_model, skeleton, pose, matrices.data(), matrices.size());
}
inline outcome<void> local_to_model_below(const condyle_skeleton *skeleton, const condyle_pose *pose,
                                          std::uint16_t joint, span<condyle_matrix> matrices) {
    return detail::call(condyle_local_to_model_below, skeleton, pose, joint, matrices.data(), matrices.size());
}
/* `columns` has an element per matrix. `Columns` is any type of 16 floats. */
template <class Columns>
outcome<void> to_columns(span<const condyle_matrix> matrices, Columns *columns) {
    static_assert(sizeof(Columns) == sizeof(condyle_columns), "a matrix of four columns of four floats");
    return detail::call(condyle_matrices_to_columns, matrices.data(), reinterpret_cast<condyle_columns *>(columns),
                        matrices.size());
}
inline outcome<void> fill(const condyle_mesh *mesh, span<const condyle_matrix> matrices, condyle_palette *palette,
                          condyle_skinning skinning = CONDYLE_SKIN_LINEAR) {
    return detail::call(condyle_palette_fill, mesh, matrices.data(), matrices.size(), skinning, palette);
}
/* `Columns` is any type of 16 floats: condyle_columns, glm::mat4, Eigen::Matrix4f. */
template <class Columns>
outcome<void> palette_columns(const condyle_mesh *mesh, span<const condyle_matrix> matrices, Columns *columns,
                              std::size_t palette_count) {
    static_assert(sizeof(Columns) == sizeof(condyle_columns), "a matrix of four columns of four floats");
    return detail::call(condyle_palette_columns, mesh, matrices.data(), matrices.size(),
                        reinterpret_cast<condyle_columns *>(columns), palette_count);
}
inline outcome<void> palette_rows(const condyle_mesh *mesh, span<const condyle_matrix> matrices,
                                  span<condyle_matrix> rows) {
    return detail::call(condyle_palette_rows, mesh, matrices.data(), matrices.size(), rows.data(), rows.size());
}
/* Arrays and containers of any vectors of three floats; tangents of four. Empty ones are absent. If one has fewer
 * elements than the positions, the vertices are as many, which functions refuse as the wrong number. */
template <class Positions, class Normals, class Tangents>
condyle_vertices vertices(Positions &&positions, Normals &&normals, Tangents &&tangents) {
    static_assert(sizeof(*std::data(positions)) == 3 * sizeof(float), "positions are vectors of three floats");
    static_assert(sizeof(*std::data(normals)) == 3 * sizeof(float), "normals are vectors of three floats");
    static_assert(sizeof(*std::data(tangents)) == 4 * sizeof(float), "tangents are vectors of four floats");
    std::size_t count = std::size(positions);
    for (std::size_t other : {std::size(normals), std::size(tangents)})
        if (other != 0 && other < count) count = other;
    const auto floats = [](auto &all) {
        return std::size(all) == 0 ? nullptr : reinterpret_cast<float *>(std::data(all));
    };
    return {count, floats(positions), floats(normals), floats(tangents)};
}
template <class Positions, class Normals>
condyle_vertices vertices(Positions &&positions, Normals &&normals) {
    span<float[4]> tangents;
    return vertices(positions, normals, tangents);
}
template <class Positions>
condyle_vertices vertices(Positions &&positions) {
    span<float[3]> normals;
    return vertices(positions, normals);
}
inline outcome<void> skin(const condyle_mesh *mesh, const condyle_palette *palette, const condyle_vertices &posed,
                          const condyle_const_vertices *bind = nullptr) {
    return detail::call(condyle_skin, mesh, palette, bind, &posed);
}
inline outcome<void> skin(const condyle_mesh *mesh, const condyle_palette *palette,
                          const condyle_vertex_buffer &posed, const condyle_const_vertex_buffer *bind = nullptr) {
    return detail::call(condyle_skin_interleaved, mesh, palette, bind, &posed);
}
inline outcome<void> morph(const condyle_mesh *mesh, span<const float> weights, const condyle_vertices &morphed) {
    return detail::call(condyle_morph, mesh, weights.data(), weights.size(), &morphed);
}
/* Output of `morph` as the input `bind` of `skin`. */
inline condyle_const_vertices read_only(const condyle_vertices &it) {
    return {it.vertex_count, it.positions, it.normals, it.tangents};
}

/* Solvers and queries. */
inline outcome<void> two_bone(const condyle_skeleton *skeleton, span<const condyle_matrix> matrices,
                              const condyle_two_bone_options &options, condyle_pose *pose,
                              condyle_reached *reached = nullptr) {
    return detail::call(condyle_two_bone, skeleton, matrices.data(), matrices.size(), &options, pose, reached);
}
inline outcome<void> aim(const condyle_skeleton *skeleton, span<const condyle_matrix> matrices,
                         const condyle_aim_options &options, condyle_pose *pose,
                         condyle_reached *reached = nullptr) {
    return detail::call(condyle_aim, skeleton, matrices.data(), matrices.size(), &options, pose, reached);
}
inline outcome<void> chain(const condyle_skeleton *skeleton, span<const condyle_matrix> matrices,
                           const condyle_chain_options &options, condyle_pose *pose,
                           condyle_reached *reached = nullptr) {
    return detail::call(condyle_chain, skeleton, matrices.data(), matrices.size(), &options, pose, reached);
}
inline outcome<void> place(const condyle_skeleton *skeleton, span<const condyle_matrix> matrices,
                           const condyle_feet *feet, const condyle_feet_frame &frame, condyle_feet_state *state,
                           condyle_pose *pose, condyle_reached *reached = nullptr) {
    return detail::call(condyle_feet_place, skeleton, matrices.data(), matrices.size(), feet, &frame, state, pose,
                        reached);
}
inline outcome<void> reset(condyle_spring_state *state) { return detail::call(condyle_spring_state_reset, state); }
inline outcome<void> swing(const condyle_skeleton *skeleton, span<const condyle_matrix> matrices,
                           const condyle_springs *springs, const condyle_spring_frame &frame,
                           condyle_spring_state *state, condyle_pose *pose) {
    return detail::call(condyle_springs_swing, skeleton, matrices.data(), matrices.size(), springs, &frame, state,
                        pose);
}
/* `positions` is an array or a container of vectors of three floats. */
template <class Positions>
outcome<void> refit(condyle_tree *tree, const Positions &positions) {
    static_assert(sizeof(*std::data(positions)) == 3 * sizeof(float), "positions are vectors of three floats");
    return detail::call(condyle_tree_refit, tree, reinterpret_cast<const float *>(std::data(positions)),
                        std::size(positions));
}
inline outcome<condyle_hit> first_hit(const condyle_tree *tree, const condyle_ray &ray) {
    return detail::make<condyle_hit, condyle_hit>(condyle_tree_first_hit, tree, &ray);
}
/* `point` is any vector with operator[]. */
template <class Vector>
outcome<condyle_hit> closest_point(const condyle_tree *tree, const Vector &point, float max) {
    float at[3];
    assign(at, point);
    return detail::make<condyle_hit, condyle_hit>(condyle_tree_closest_point, tree, static_cast<const float *>(at),
                                                  max);
}
inline outcome<condyle_hitbox_hit> first_hit(const condyle_posed_hitboxes *posed, const condyle_ray &ray) {
    return detail::make<condyle_hitbox_hit, condyle_hitbox_hit>(condyle_hitboxes_first_hit, posed, &ray);
}
inline outcome<condyle_aabb> box(const condyle_bounds *bounds, span<const condyle_matrix> matrices) {
    return detail::make<condyle_aabb, condyle_aabb>(condyle_bounds_box, bounds, matrices.data(), matrices.size());
}
inline outcome<condyle_aabb> box(const condyle_posed_hitboxes *posed) {
    return detail::make<condyle_aabb, condyle_aabb>(condyle_hitboxes_box, posed);
}
/* Shapes, which live as long as the hitboxes. */
inline outcome<span<const condyle_hitbox>> list(const condyle_hitboxes *hitboxes) {
    using shapes = span<const condyle_hitbox>;
    condyle_error error;
    const condyle_hitbox *first = nullptr;
    std::size_t count = 0;
    if (condyle_hitboxes_get(hitboxes, &first, &count, &error) == CONDYLE_OK) return shapes(first, count);
    return detail::fail<span<const condyle_hitbox>>(error);
}
inline outcome<void> place(const condyle_hitboxes *hitboxes, span<const condyle_matrix> matrices,
                           condyle_posed_hitboxes *posed) {
    return detail::call(condyle_hitboxes_place, hitboxes, matrices.data(), matrices.size(), posed);
}

}  // namespace throwing, or returning
}  // namespace condyle

#endif
