// The native modules executed: 002's staged dense algorithm as loops over real numbers, which count
// every multiply-accumulate and, stage by stage, every distinct element that they read or write.
// Shares no formula with analysis/estimate.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <set>
#include <vector>

#include "analysis/estimate/modules.hpp"
#include "base/random.hpp"

namespace qfs::test {

/// Rows of a width; a token of a batch is row b * length + t.
struct Matrix {
  std::size_t rows = 0;
  std::size_t width = 0;
  std::vector<double> values;
};

class NativeMachine {
 public:
  explicit NativeMachine(std::uint64_t seed) : random_(31, seed) {}

  /// Inputs of a call, drawn anew: later draws do not change earlier ones.
  Matrix* draw(std::size_t rows, std::size_t width);

  Matrix* run(const native::Attention& a, Matrix* query, Matrix* key, Matrix* value);
  Matrix* run(const native::FeedForward& f, Matrix* x);
  Matrix* run(const native::NormModule& n, Matrix* x);
  Matrix* run(const native::Encoder& encoder, Matrix* source);
  Matrix* run(const native::Decoder& decoder, Matrix* target, Matrix* memory);
  Matrix* run(const native::Transformer& transformer, Matrix* source, Matrix* target);

  std::int64_t macs = 0;
  std::int64_t accesses = 0;

 private:
  struct Heads;
  double read(const Matrix& from, std::size_t row, std::size_t column);
  void write(Matrix& to, std::size_t row, std::size_t column, double value);
  void multiply(double& sum, double a, double b);
  void end_stage();
  Matrix* make(std::size_t rows, std::size_t width);

  Matrix* linear(Matrix* x, std::size_t out, bool bias);
  Matrix* scale(Matrix* x, double factor);
  Matrix* add(Matrix* a, Matrix* b);
  Matrix* activate(Matrix* x, native::Activation activation);
  Matrix* scores(const Heads& h, Matrix* query, Matrix* key);
  Matrix* masked(const Heads& h, Matrix* scores, const native::Masks& masks);
  Matrix* padded(const Heads& h, Matrix* scores, native::PaddingValues values);
  Matrix* softmax(Matrix* scores);
  Matrix* weighted(const Heads& h, Matrix* weights, Matrix* value);
  void average(const Heads& h, Matrix* weights);
  Matrix* norm(const native::Norm& norm, Matrix* x);
  Matrix* affine(const native::Norm& norm, Matrix* x);
  double mask_value(native::MaskValues values, std::size_t query, std::size_t key);

  Random random_;
  std::uint64_t draws_ = 0;
  std::deque<Matrix> matrices_;  // kept: an address stands for one element
  std::set<const double*> touched_;
  std::set<const double*> made_;
};

}  // namespace qfs::test
