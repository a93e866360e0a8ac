// Root-mean-square normalisation (Zhang and Sennrich, 2019), of a whole vector or of each head.
#pragma once

#include <span>

#include "kernels/format.hpp"

namespace qfs {

/// y[i] = gain[i] * x[i] / sqrt(mean(x^2) + epsilon); the mean is summed in fp64. x, gain and y
/// have one size, at least 1; y may be x.
void rms_norm(std::span<const float> x, std::span<const Bf16> gain, double epsilon,
              std::span<float> y);
/// Query/key norm: every head of gain.size() values of `heads`, in place. heads.size() is a
/// multiple of gain.size().
void head_norm(std::span<float> heads, std::span<const Bf16> gain, double epsilon);

void rms_norm_reference(std::span<const double> x, std::span<const Bf16> gain, double epsilon,
                        std::span<double> y);
void head_norm_reference(std::span<double> heads, std::span<const Bf16> gain, double epsilon);

}  // namespace qfs
