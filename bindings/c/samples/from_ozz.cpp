// ozz-animation's playback and blending samples with condyle. The comments name the calls of ozz-animation that each
// line replaces. `from_ozz CHARACTER.glb`
#define CONDYLE_EXCEPTIONS
#include <cstdio>
#include <vector>

#include "condyle.hpp"

class PlaybackSample {
public:
    // ozz: LoadSkeleton(), LoadAnimation(): archives that gltf2ozz has converted. Here the file itself.
    explicit PlaybackSample(const char *path) : model_(condyle::open(path)), skeleton_(model_.skeleton()) {
        // ozz: AnimationBuilder, AnimationOptimizer, with a tolerance that is local to each joint. Here the bound
        // holds for every vertex.
        condyle_encode_options options = CONDYLE_ENCODE_OPTIONS;
        options.error_bound = 0.001f;
        animation_ = condyle::encode(model_, model_.clip(0), &options);
        // ozz: locals_.resize(num_soa_joints), models_.resize(num_joints), context_.Resize(num_joints). Sampling
        // takes the same time at any moment and needs no context.
        locals_ = condyle::make_pose(skeleton_);
        models_.resize(condyle::info(skeleton_).joint_count);
        // ozz: PlaybackController.
        controller_ = condyle::make_player(CONDYLE_WRAP);
        rest_ = condyle::make_pose(skeleton_);
        blended_ = condyle::make_pose(skeleton_);
    }

    // ozz: OnUpdate(dt, time)
    void update(float dt) {
        // ozz: controller_.Update(animation_, dt)
        condyle::advance(controller_, dt);
        // ozz: SamplingJob job; job.animation, job.context, job.ratio, job.output = ...; job.Run()
        condyle::sample(controller_, animation_, skeleton_, locals_);
        // ozz: BlendingJob job; job.layers, job.rest_pose, job.threshold, job.output = ...; job.Run()
        condyle_layer layers[] = {condyle::layer(locals_, 0.8f), condyle::layer(rest_, 0.2f)};
        condyle::blend(skeleton_, layers, blended_);
        // ozz: LocalToModelJob job; job.skeleton, job.input, job.output = ...; job.Run()
        condyle::local_to_model(skeleton_, blended_, models_);
    }

    // ozz: DrawPosture(skeleton, models, transform). ozz::math::Float4x4 has columns, and so has condyle_columns.
    void draw() const {
        std::vector<condyle_columns> columns(models_.size());
        condyle_error error;
        if (condyle_matrices_to_columns(models_.data(), columns.data(), columns.size(), &error) != CONDYLE_OK) {
            throw condyle::error(error);
        }
        condyle_skeleton_info info = condyle::info(skeleton_);
        for (std::size_t joint = 0; joint < columns.size(); ++joint) {
            const float *m = columns[joint].columns;
            std::printf("%-12s %7.3f %7.3f %7.3f\n", info.names[joint], m[12], m[13], m[14]);
        }
    }

private:
    condyle::model model_;
    const condyle_skeleton *skeleton_;
    condyle::clip animation_;
    condyle::player controller_;
    condyle::pose locals_, rest_, blended_;
    std::vector<condyle_matrix> models_;
};

int main(int argc, char **argv) {
    if (argc != 2) {
        std::fprintf(stderr, "usage: from_ozz CHARACTER.glb\n");
        return 2;
    }
    try {
        PlaybackSample sample(argv[1]);
        for (int frame = 0; frame < 30; ++frame) sample.update(1.0f / 60);
        sample.draw();
    } catch (const condyle::error &error) {
        std::fprintf(stderr, "%s\n", error.what());
        return 1;
    }
    return 0;
}
