// Fuzzes the attention kernels: any shape, format, thread count and cut, with NaN, infinities,
// zeros and numbers of extreme size among the values. No input may crash or read out of bounds;
// sane numbers come out within the rounding bounds of the fp64 reference, and whatever is not a
// number there is none here. Built by the preset `fuzz`; run with -max_total_time=300.
#include "kernels/simd/targets.hpp"
//
#include <hwy/targets.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <iterator>
#include <limits>
#include <span>
#include <utility>
#include <vector>

#include "kernels/attention.hpp"
#include "tests/kernels/cache.hpp"

using namespace qfs;
using namespace qfs::test;

namespace {

constexpr float infinity = std::numeric_limits<float>::infinity();
constexpr double unit = 0x1p-24;  // roundoff of fp32
// Beyond these, sums of fp32 may overflow though fp64 does not.
constexpr double largest_score = 1e36;
constexpr double largest_value = 1e35;
// Beyond this error of a score, weights are off by more than a first-order bound can say.
constexpr double largest_score_error = 0.1;
constexpr std::size_t most_work = 150'000;  // multiplications of a sweep: many small runs find more

constexpr std::array<float, 14> specials{std::numeric_limits<float>::quiet_NaN(),
                                         infinity,
                                         -infinity,
                                         0.0F,
                                         -0.0F,
                                         std::numeric_limits<float>::denorm_min(),
                                         -0x1p-130F,
                                         std::numeric_limits<float>::max(),
                                         -std::numeric_limits<float>::max(),
                                         1e30F,
                                         -1e19F,
                                         1e-30F,
                                         448.0F,
                                         -65504.0F};

void require(bool right, const char* what) {
  if (!right) {
    std::fprintf(stderr, "violated: %s\n", what);
    std::abort();
  }
}

/// The fuzzer's bytes as numbers; zeros once they are used up.
class Bytes {
 public:
  Bytes(const std::uint8_t* data, std::size_t size) : data_(data, size) {}

  std::uint32_t below(std::uint32_t count) {
    std::uint32_t value = 0;
    for (std::size_t i = 0; i < 2 && at_ < data_.size(); ++i) {
      value = value << 8U | data_[at_++];
    }
    return value % count;
  }

 private:
  std::span<const std::uint8_t> data_;
  std::size_t at_ = 0;
};

/// Uniform in [-1, 1); cheap, since most of the fuzzer's time would go into anything better.
class Noise {
 public:
  explicit Noise(std::uint32_t seed) : state_(seed * 2654435769U + 1) {}

  float next() {
    state_ ^= state_ << 13U;
    state_ ^= state_ >> 17U;
    state_ ^= state_ << 5U;
    return static_cast<float>(static_cast<std::int32_t>(state_)) * 0x1p-31F;
  }

 private:
  std::uint32_t state_;
};

std::vector<float> drawn(Bytes& bytes, std::size_t size) {
  constexpr std::array<float, 8> scales{1, 1, 1, 8, 64, 0, 1e-20F, 1e10F};
  const float scale = scales[bytes.below(scales.size())];
  const bool constant = bytes.below(8) == 7;
  Noise noise(bytes.below(65'536));
  std::vector<float> values(size, scale * noise.next());
  if (!constant) {
    std::ranges::generate(values, [&] { return scale * noise.next(); });
  }
  return values;
}

/// Has Highway take any of the instruction sets that it was compiled for and this machine knows.
void choose_instructions(Bytes& bytes) {
  static const std::vector<std::int64_t> targets = hwy::SupportedAndGeneratedTargets();
  const std::uint32_t at = bytes.below(static_cast<std::uint32_t>(targets.size()));
  hwy::GetChosenTarget().Update(targets[at]);
}

struct Case {
  Shape shape;
  std::size_t queries = 1;
  std::size_t threads = 1;
  std::vector<float> q;
  Cache cache;  // its k and v as kept
};

Case make_case(Bytes& bytes) {
  Case c;
  c.shape.kv_heads = 1 + bytes.below(4);
  c.shape.heads = c.shape.kv_heads * (1 + bytes.below(9));
  c.shape.head_dim = 1 + bytes.below(130);
  c.queries = 1 + bytes.below(3);
  c.threads = 1 + bytes.below(2);
  const std::size_t width = c.shape.heads * c.queries * c.shape.head_dim;
  c.shape.positions = std::min<std::size_t>(bytes.below(601), most_work / width);
  const auto& [format, name] = enum_names<Format>[bytes.below(6)];
  const std::size_t spare = bytes.below(2) * 3;

  const std::size_t rows = c.shape.kv_heads * c.shape.positions * c.shape.head_dim;
  c.q = drawn(bytes, width);
  std::vector<float> k = drawn(bytes, rows);
  std::vector<float> v = drawn(bytes, rows);
  for (std::uint32_t left = bytes.below(7); left > 0; --left) {
    std::vector<float>& values = *std::array{&c.q, &k, &v}[bytes.below(3)];
    const std::uint32_t at = bytes.below(65'536);
    const float special = specials[bytes.below(specials.size())];
    if (!values.empty()) {
      values[at % values.size()] = special;
    }
  }
  c.cache = make_cache(c.shape, std::move(k), std::move(v), format, spare);
  return c;
}

/// What fp32 may lose, per state: by the worst case of sums in any order (Higham, Accuracy and
/// Stability, section 3.1: n roundoffs of the sum of magnitudes for n terms).
struct Bounds {
  bool sane = false;  // the rest means something
  double score = 0;   // the largest sum of |q_c k_c| / sqrt(d); NaN if any is
  double value = 0;   // the largest |v|
  double o = 0;
  double lse = 0;
};

double largest(std::span<const float> values) {
  double most = 0;
  for (const float value : values) {
    most = std::max(most, std::isnan(value) ? HUGE_VAL : std::abs(double{value}));
  }
  return most;
}

Bounds bounds_of(const Case& c, std::size_t state) {
  const std::size_t d = c.shape.head_dim;
  const std::size_t block = c.shape.positions * d;
  const std::size_t kv_head = state % c.shape.heads * c.shape.kv_heads / c.shape.heads;
  const std::span<const float> k = std::span(c.cache.k).subspan(kv_head * block, block);
  const std::span<const float> v = std::span(c.cache.v).subspan(kv_head * block, block);
  const std::span<const float> q = std::span(c.q).subspan(state * d, d);
  Bounds bounds;
  for (std::size_t t = 0; t < c.shape.positions; ++t) {
    double sum = 0;
    for (std::size_t i = 0; i < d; ++i) {
      sum += std::abs(double{q[i]} * double{k[t * d + i]});
    }
    bounds.score = std::isnan(bounds.score) || sum <= bounds.score ? bounds.score : sum;
  }
  bounds.score /= std::sqrt(static_cast<double>(d));
  bounds.value = largest(v);
  // The product; then its scale, the difference from the maximum, and those of the merges of lse.
  const double score_error = (static_cast<double>(d) + 32) * unit * bounds.score;
  const double sum_error = (static_cast<double>(c.shape.positions) + 64) * unit;
  bounds.o = bounds.value * (std::expm1(2 * score_error) + sum_error) + 1e-37;
  bounds.lse = score_error + sum_error + 8 * unit * bounds.score + 1e-37;
  bounds.sane = bounds.score <= largest_score && bounds.value <= largest_value &&
                largest(k) <= largest_score && largest(q) <= largest_score;
  return bounds;
}

void check_number(double fast, double truth, const Bounds& bounds, double bound, const char* what) {
  if (!std::isfinite(truth)) {
    require(!std::isfinite(fast), "what is no number in fp64 is none in fp32");
    return;
  }
  if (!bounds.sane) {
    return;
  }
  require(std::isfinite(fast), "finite inputs give finite outputs");
  if (std::expm1(2 * bounds.lse) <= largest_score_error) {
    require(std::abs(fast - truth) <= bound, what);
  }
}

void check_states(const Case& c, const States<float>& fast, const States<double>& truth,
                  const char* what) {
  const std::size_t d = c.shape.head_dim;
  for (std::size_t state = 0; state < fast.lse.size(); ++state) {
    if (c.shape.positions == 0) {
      require(fast.lse[state] == -infinity, "no positions, no weight");
      continue;
    }
    const Bounds bounds = bounds_of(c, state);
    if (fast.lse[state] == -infinity) {  // every score is: as if empty, o is not for reading
      require(!bounds.sane && !std::isnan(bounds.score), "only overflow leaves a cache no weight");
      continue;
    }
    check_number(fast.lse[state], truth.lse[state], bounds, bounds.lse, what);
    for (std::size_t i = state * d; i < (state + 1) * d; ++i) {
      check_number(fast.o[i], truth.o[i], bounds, bounds.o, what);
      // A mean, whatever the scores: also where they are too large to be compared.
      const double slack = bounds.value * (static_cast<double>(c.shape.positions) + 64) * unit;
      require(!bounds.sane || std::abs(double{fast.o[i]}) <= bounds.value + slack + 1e-37,
              "o is a mean of values");
    }
  }
}

void require_same(std::span<const float> a, std::span<const float> b, const char* what) {
  for (std::size_t i = 0; i < a.size(); ++i) {
    const bool same = std::bit_cast<std::uint32_t>(a[i]) == std::bit_cast<std::uint32_t>(b[i]);
    require(same || (std::isnan(a[i]) && std::isnan(b[i])), what);
  }
}

KvRows part(const KvRows& rows, std::size_t first, std::size_t last) {
  KvRows cut = rows;
  const std::size_t skipped = first * rows.head_dim * bytes_per_value(rows.format);
  cut.positions = last - first;
  if (cut.positions != 0) {
    cut.k += skipped;
    cut.v += skipped;
    cut.k_scales = rows.k_scales == nullptr ? nullptr : rows.k_scales + first;
    cut.v_scales = rows.v_scales == nullptr ? nullptr : rows.v_scales + first;
  }
  return cut;
}

void merge_into(States<float>& into, const States<float>& other, std::size_t d) {
  for (std::size_t state = 0; state < into.lse.size(); ++state) {
    into.lse[state] = merge(std::span(into.o).subspan(state * d, d), into.lse[state],
                            std::span(other.o).subspan(state * d, d), other.lse[state]);
  }
}

/// The sweep in four parts, some of them perhaps empty and holding NaN, merged in any order.
States<float> swept_in_parts(const Case& c, Bytes& bytes) {
  const KvRows rows = c.cache.rows();
  std::array<std::size_t, 5> cuts{0, 0, 0, 0, rows.positions};
  for (std::size_t i = 1; i < 4; ++i) {
    cuts[i] = bytes.below(static_cast<std::uint32_t>(rows.positions) + 1);
  }
  std::ranges::sort(cuts);
  std::vector<States<float>> states;
  for (std::size_t i = 0; i < 4; ++i) {
    states.push_back(swept(c.q, part(rows, cuts[i], cuts[i + 1]), {c.queries, c.threads}));
    if (cuts[i] == cuts[i + 1]) {
      std::ranges::fill(states.back().o, std::numeric_limits<float>::quiet_NaN());
    }
  }
  while (states.size() > 1) {
    const auto left = static_cast<std::uint32_t>(states.size());
    std::swap(states.back(), states[bytes.below(left)]);
    const States<float> other = std::move(states.back());
    states.pop_back();
    merge_into(states[bytes.below(left - 1)], other, rows.head_dim);
  }
  return states[0];
}

/// The first query over all positions but the last, which is folded in.
States<float> folded(const Case& c) {
  const std::size_t d = c.shape.head_dim;
  const std::size_t last = c.shape.positions - 1;
  std::vector<float> k;
  std::vector<float> v;
  for (std::size_t h = 0; h < c.shape.kv_heads; ++h) {
    const auto at = static_cast<std::ptrdiff_t>((h * c.shape.positions + last) * d);
    std::copy_n(c.cache.k.begin() + at, d, std::back_inserter(k));
    std::copy_n(c.cache.v.begin() + at, d, std::back_inserter(v));
  }
  const std::span<const float> q = std::span(c.q).first(c.shape.heads * d);
  States<float> states = swept(q, part(c.cache.rows(), 0, last), {1, c.threads});
  fold(q, k, v, d, states.o, states.lse);
  return states;
}

void fuzz(Bytes bytes) {
  choose_instructions(bytes);
  const Case c = make_case(bytes);
  const KvRows rows = c.cache.rows();
  const SweepOptions options{c.queries, c.threads};
  const States<float> fast = swept(c.q, rows, options);
  const States<double> truth = swept_reference(to_doubles(c.q), rows, c.queries);
  check_states(c, fast, truth, "the sweep");

  const States<float> other_threads = swept(c.q, rows, {c.queries, 3 - c.threads});
  require_same(fast.o, other_threads.o, "o does not depend on threads");
  require_same(fast.lse, other_threads.lse, "lse does not depend on threads");

  States<float> three_step = fast;
  std::vector<float> scratch(fast.lse.size() * c.shape.positions);
  sweep_three_step(c.q, rows, scratch, three_step.o, three_step.lse, options);
  check_states(c, three_step, truth, "the sweep in three steps");
  check_states(c, swept_in_parts(c, bytes), truth, "the merge of parts");
  if (c.shape.positions > 0) {
    check_states(c, folded(c), truth, "the fold of the last position");
  }
}

}  // namespace

// NOLINTNEXTLINE(readability-identifier-naming): libFuzzer's name
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  fuzz(Bytes(data, size));
  return 0;
}
