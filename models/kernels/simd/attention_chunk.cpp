#include "kernels/simd/attention_chunk.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/simd/attention_chunk.cpp"
#include "kernels/simd/targets.hpp"
//
#include <hwy/foreach_target.h>
//
#include <hwy/contrib/math/math-inl.h>
#include <hwy/highway.h>

#include "kernels/simd/rows-inl.hpp"
#include "kernels/simd/with_format.hpp"

HWY_BEFORE_NAMESPACE();
namespace qfs::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// Rows taken together: their K and their V stay in the nearest cache while all vectors use them.
constexpr std::size_t block_rows = 64;
constexpr std::size_t scores_pitch = block_rows + lanes;
constexpr float infinity = std::numeric_limits<float>::infinity();

// Weights less than e^-80 of the largest count as zero: no sum in fp32 sees them, and sums of
// subnormal numbers are slow.
constexpr float least_exponent = -80;

/// The softmax denominator of one vector so far, in units of exp(max); its o has the same units.
struct Running {
  float max = -infinity;
  float sum = 0;
};

/// Everything that a block needs, one row a vector.
template <Format F>
struct Workspace {
  std::size_t vectors;
  std::size_t head_dim;
  std::size_t width;  // of a packed vector
  hwy::AlignedFreeUniquePtr<float[]> q;
  hwy::AlignedFreeUniquePtr<float[]> o;
  hwy::AlignedFreeUniquePtr<float[]> scores;
  hwy::AlignedFreeUniquePtr<std::byte[]> room;  // for a block that is not used in place

  Workspace(std::size_t vector_count, std::size_t dim)
      : vectors(vector_count),
        head_dim(dim),
        width(packed_width<F>(dim)),
        q(hwy::AllocateAligned<float>(vector_count * width)),
        o(hwy::AllocateAligned<float>(vector_count * width)),
        scores(hwy::AllocateAligned<float>(vector_count * scores_pitch)) {
    std::fill_n(o.get(), vectors * width, 0.0F);
    if (!used_in_place<F>(dim)) {
      room = hwy::AllocateAligned<std::byte>(block_rows * copied_pitch<F>(dim));
      std::fill_n(room.get(), block_rows * copied_pitch<F>(dim), std::byte{0});
    }
  }

  void pack_queries(const HeadVectors<const float>& queries) {
    for (std::size_t i = 0; i < vectors; ++i) {
      pack<F>({queries.at(i), head_dim}, q.get() + i * width);
    }
  }
  [[nodiscard]] FloatRows<float> score_rows() const { return {scores.get(), scores_pitch}; }
};

/// Rows [first, first + count), a block, of K or of V; the next block's are called ahead.
template <Format F>
HWY_INLINE StoredRows block_of(const HeadRows& rows, const std::byte* values, std::size_t first,
                               std::size_t count, const Workspace<F>& work) {
  const std::size_t width = rows.head_dim * bytes_per_value(F);
  return ready<F>(values + first * width, rows.head_dim, count, count, work.room.get());
}

/// Multiplies `count` numbers, and those beyond up to a whole vector, by `scale` and each by its
/// own of `scales`, if any.
void scale_numbers(float* numbers, std::size_t count, float scale, const float* scales) {
  if (scales == nullptr) {
    for (std::size_t t = 0; t < count; t += lanes) {
      const Vector scaled = hn::Mul(hn::LoadU(Floats(), numbers + t), hn::Set(Floats(), scale));
      hn::StoreU(scaled, Floats(), numbers + t);
    }
    return;
  }
  for (std::size_t t = 0; t < count; ++t) {
    numbers[t] *= scale * scales[t];
  }
}

/// Scores of the block's rows for every vector, in work.score_rows().
template <Format F>
HWY_NOINLINE void score_block(const HeadRows& rows, std::size_t first, std::size_t count,
                              const Workspace<F>& work) {
  const FloatRows<float> scores = work.score_rows();
  dots<F>(block_of<F>(rows, rows.k, first, count, work), count, {work.q.get(), work.width},
          work.vectors, scores);
  const float scale = unit<F> / std::sqrt(static_cast<float>(rows.head_dim));
  const float* scales = has_scales(F) ? rows.k_scales + first : nullptr;
  for (std::size_t i = 0; i < work.vectors; ++i) {
    scale_numbers(scores.row(i), count, scale, scales);
  }
}

// Lines of memory called ahead for every vector of scores; more would wait for each other.
constexpr std::size_t weigh_lines = 4;

/// Turns scores into weights exp(score - max) under the maximum that now holds; brings o to it.
HWY_NOINLINE void weigh(float* scores, std::size_t count, Running& running, float* o,
                        std::size_t width, FarLines& later) {
  const Floats d;
  const std::size_t whole = (count + lanes - 1) / lanes * lanes;
  std::fill(scores + count, scores + whole, -infinity);
  Vector largest = hn::Set(d, running.max);
  for (std::size_t t = 0; t < whole; t += lanes) {
    largest = hn::Max(largest, hn::LoadU(d, scores + t));
    later.step(weigh_lines);
  }
  const float max = hn::GetLane(hn::MaxOfLanes(d, largest));
  const float anchor = max == -infinity ? 0 : max;  // before -inf - (-inf) is formed
  Vector sum = hn::Zero(d);
  for (std::size_t t = 0; t < whole; t += lanes) {
    const Vector exponent = hn::Sub(hn::LoadU(d, scores + t), hn::Set(d, anchor));
    const auto counts = hn::Ge(exponent, hn::Set(d, least_exponent));
    // A NaN compares as false with everything, and must come through.
    const Vector weight = hn::IfThenElse(hn::IsNaN(exponent), exponent,
                                         hn::IfThenElseZero(counts, hn::Exp(d, exponent)));
    sum = hn::Add(sum, weight);
    later.step(weigh_lines);
    hn::StoreU(weight, d, scores + t);
  }
  // 0 at the first block.
  const float rescale = running.max == anchor ? 1 : std::exp(running.max - anchor);
  if (rescale != 1) {
    for (std::size_t i = 0; i < width; i += lanes) {
      hn::Store(hn::Mul(hn::Load(d, o + i), hn::Set(d, rescale)), d, o + i);
    }
  }
  running = {max, running.sum * rescale + hn::GetLane(hn::SumOfLanes(d, sum))};
}

/// Adds the block's values under the weights in work.score_rows() to every o.
template <Format F>
HWY_NOINLINE void add_block(const HeadRows& rows, std::size_t first, std::size_t count,
                            const Workspace<F>& work) {
  const FloatRows<float> weights = work.score_rows();
  if constexpr (has_scales(F)) {
    for (std::size_t i = 0; i < work.vectors; ++i) {
      scale_numbers(weights.row(i), count, 1, rows.v_scales + first);
    }
  }
  add_rows<F>(block_of<F>(rows, rows.v, first, count, work), count, {weights.at, weights.pitch},
              work.vectors, {work.o.get(), work.width});
}

template <Format F>
void sweep_rows(const HeadRows& rows, const HeadVectors<const float>& q, float* o, float* lse) {
  Workspace<F> work(q.count(), rows.head_dim);
  work.pack_queries(q);
  std::vector<Running> running(q.count());
  for (std::size_t first = 0; first < rows.count; first += block_rows) {
    const std::size_t count = std::min(block_rows, rows.count - first);
    score_block<F>(rows, first, count, work);
    FarLines later(rows.v + (first + count) * rows.head_dim * bytes_per_value(F));
    for (std::size_t i = 0; i < q.count(); ++i) {
      weigh(work.score_rows().row(i), count, running[i], work.o.get() + i * work.width, work.width,
            later);
    }
    add_block<F>(rows, first, count, work);
  }
  for (std::size_t i = 0; i < q.count(); ++i) {
    unpack<F>(work.o.get() + i * work.width, unit<F>, running[i].sum,
              {o + i * rows.head_dim, rows.head_dim});
    lse[i] = running[i].max + std::log(running[i].sum);
  }
}

template <Format F>
void score_rows(const HeadRows& rows, const HeadVectors<const float>& q,
                const HeadVectors<float>& scores) {
  Workspace<F> work(q.count(), rows.head_dim);
  work.pack_queries(q);
  for (std::size_t first = 0; first < rows.count; first += block_rows) {
    const std::size_t count = std::min(block_rows, rows.count - first);
    score_block<F>(rows, first, count, work);
    for (std::size_t i = 0; i < q.count(); ++i) {
      std::copy_n(work.score_rows().row(i), count, scores.at(i) + first);
    }
  }
}

template <Format F>
void value_rows(const HeadRows& rows, const HeadVectors<const float>& weights, float* o) {
  const Workspace<F> work(weights.count(), rows.head_dim);
  for (std::size_t first = 0; first < rows.count; first += block_rows) {
    const std::size_t count = std::min(block_rows, rows.count - first);
    for (std::size_t i = 0; i < weights.count(); ++i) {
      std::copy_n(weights.at(i) + first, count, work.score_rows().row(i));
    }
    add_block<F>(rows, first, count, work);
  }
  for (std::size_t i = 0; i < weights.count(); ++i) {
    unpack<F>(work.o.get() + i * work.width, unit<F>, 1, {o + i * rows.head_dim, rows.head_dim});
  }
}

void sweep_any(const HeadRows& rows, const HeadVectors<const float>& q, float* o, float* lse) {
  with_format(rows.format, [&](auto format) { sweep_rows<format()>(rows, q, o, lse); });
}
void score_any(const HeadRows& rows, const HeadVectors<const float>& q,
               const HeadVectors<float>& scores) {
  with_format(rows.format, [&](auto format) { score_rows<format()>(rows, q, scores); });
}
void value_any(const HeadRows& rows, const HeadVectors<const float>& weights, float* o) {
  with_format(rows.format, [&](auto format) { value_rows<format()>(rows, weights, o); });
}

}  // namespace qfs::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace qfs {

HWY_EXPORT(sweep_any);
HWY_EXPORT(score_any);
HWY_EXPORT(value_any);

void sweep_chunk(const HeadRows& rows, const HeadVectors<const float>& q, float* o, float* lse) {
  HWY_DYNAMIC_DISPATCH(sweep_any)(rows, q, o, lse);
}

void score_chunk(const HeadRows& rows, const HeadVectors<const float>& q,
                 const HeadVectors<float>& scores) {
  HWY_DYNAMIC_DISPATCH(score_any)(rows, q, scores);
}

void value_chunk(const HeadRows& rows, const HeadVectors<const float>& weights, float* o) {
  HWY_DYNAMIC_DISPATCH(value_any)(rows, weights, o);
}

}  // namespace qfs
#endif
