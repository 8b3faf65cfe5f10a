/* Checks that the tests of condyle.hpp share, without and with exceptions. */
#ifndef CHECK_HPP
#define CHECK_HPP

#include <array>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "condyle.hpp"

/* Number of checks. */
extern unsigned checks;

#define CHECK(condition)                                                                   \
    do {                                                                                   \
        ++checks;                                                                          \
        if (!(condition)) {                                                                \
            std::fprintf(stderr, "%s:%d: failed: %s\n", __FILE__, __LINE__, #condition);   \
            std::exit(1);                                                                  \
        }                                                                                  \
    } while (0)

/* Types of other libraries. */
struct vec3 {
    float x, y, z;
    float operator[](int axis) const { return (&x)[axis]; }
};
struct mat4 {
    float columns[4][4];
};

#ifdef CONDYLE_EXCEPTIONS
template <class T>
T take(T value) {
    return value;
}
template <class T>
bool fails(T function, condyle_status status) {
    try {
        function();
    } catch (const condyle::error &error) {
        return error.status() == status && !error.text().empty();
    }
    return false;
}
#define RUN(call) call
#else
template <class T>
T take(condyle::result<T> result) {
    if (!result) std::fprintf(stderr, "%s\n", result.error().what());
    CHECK(result.has_value());
    return *std::move(result);
}
template <class T>
bool fails(T function, condyle_status status) {
    auto result = function();
    return !result && result.error().status() == status && !result.error().text().empty();
}
#define RUN(call) CHECK((call).has_value())
#endif

/* Data of the caller: skeleton, mesh, clip, file, feet, springs and hitboxes. */
void test_data();

#endif
