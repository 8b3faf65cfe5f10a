/* condyle.hpp with the types of glm. */
#include <glm/glm.hpp>

#include "poses.hpp"

int main() {
    condyle::span<const condyle_matrix> model(poses::model);
    return poses::check<glm::mat4, glm::vec3>(model, [](const glm::mat4 &m) { return glm::vec3(m[3]); });
}
