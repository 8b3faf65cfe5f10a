/* condyle.hpp with the types of Eigen. */
#include <Eigen/Core>

#include "poses.hpp"

int main() {
    condyle::span<const condyle_matrix> model(poses::model);
    return poses::check<Eigen::Matrix4f, Eigen::Vector3f>(
        model, [](const Eigen::Matrix4f &m) { return Eigen::Vector3f(m.block<3, 1>(0, 3)); });
}
