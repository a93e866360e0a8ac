#include "tests/analysis/estimate_machine.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace qfs::test {

using namespace native;

struct NativeMachine::Heads {
  std::size_t batch;
  std::size_t heads;
  std::size_t targets;
  std::size_t sources;
  std::size_t dim;
  /// Of a matrix of scores, which has a row for each head and query.
  [[nodiscard]] std::size_t row(std::size_t b, std::size_t h, std::size_t t) const {
    return (b * heads + h) * targets + t;
  }
};

namespace {

/// Calls f(b, h, t, s).
template <class F>
void for_each_score(const auto& n, const F& f) {
  for (std::size_t b = 0; b < n.batch; ++b) {
    for (std::size_t h = 0; h < n.heads; ++h) {
      for (std::size_t t = 0; t < n.targets; ++t) {
        for (std::size_t s = 0; s < n.sources; ++s) {
          f(b, h, t, s);
        }
      }
    }
  }
}

template <class F>
void for_each(const Matrix& x, const F& f) {
  for (std::size_t row = 0; row < x.rows; ++row) {
    for (std::size_t column = 0; column < x.width; ++column) {
      f(row, column);
    }
  }
}

}  // namespace

Matrix* NativeMachine::make(std::size_t rows, std::size_t width) {
  matrices_.push_back({rows, width, std::vector<double>(rows * width)});
  return &matrices_.back();
}

Matrix* NativeMachine::draw(std::size_t rows, std::size_t width) {
  Matrix* drawn = make(rows, width);
  for (double& value : drawn->values) {
    value = random_.uniform(draws_++, -1, 1);
  }
  return drawn;
}

double NativeMachine::read(const Matrix& from, std::size_t row, std::size_t column) {
  const double& value = from.values.at(row * from.width + column);
  touched_.insert(&value);
  return value;
}

void NativeMachine::write(Matrix& to, std::size_t row, std::size_t column, double value) {
  double& place = to.values.at(row * to.width + column);
  made_.insert(&place);
  place = value;
}

void NativeMachine::multiply(double& sum, double a, double b) {
  sum += a * b;
  ++macs;
}

void NativeMachine::end_stage() {
  accesses += static_cast<std::int64_t>(touched_.size() + made_.size());
  touched_.clear();
  made_.clear();
}

Matrix* NativeMachine::linear(Matrix* x, std::size_t out, bool bias) {
  const Matrix* weight = draw(out, x->width);
  const Matrix* offset = bias ? draw(1, out) : nullptr;
  Matrix* y = make(x->rows, out);
  for_each(*y, [&](std::size_t row, std::size_t column) {
    double sum = bias ? read(*offset, 0, column) : 0;
    for (std::size_t k = 0; k < x->width; ++k) {
      multiply(sum, read(*x, row, k), read(*weight, column, k));
    }
    write(*y, row, column, sum);
  });
  end_stage();
  return y;
}

Matrix* NativeMachine::scale(Matrix* x, double factor) {
  Matrix* y = make(x->rows, x->width);
  for_each(*x, [&](std::size_t r, std::size_t c) { write(*y, r, c, factor * read(*x, r, c)); });
  end_stage();
  return y;
}

Matrix* NativeMachine::add(Matrix* a, Matrix* b) {
  Matrix* y = make(a->rows, a->width);
  for_each(*a,
           [&](std::size_t r, std::size_t c) { write(*y, r, c, read(*a, r, c) + read(*b, r, c)); });
  end_stage();
  return y;
}

Matrix* NativeMachine::activate(Matrix* x, Activation activation) {
  Matrix* y = make(x->rows, x->width);
  for_each(*x, [&](std::size_t r, std::size_t c) {
    const double value = read(*x, r, c);
    const double gelu = value * 0.5 * std::erfc(-value / std::sqrt(2.0));
    write(*y, r, c, activation == Activation::relu ? std::max(value, 0.0) : gelu);
  });
  end_stage();
  return y;
}

Matrix* NativeMachine::scores(const Heads& n, Matrix* query, Matrix* key) {
  Matrix* y = make(n.batch * n.heads * n.targets, n.sources);
  for_each_score(n, [&](std::size_t b, std::size_t h, std::size_t t, std::size_t s) {
    double sum = 0;
    for (std::size_t d = h * n.dim; d < (h + 1) * n.dim; ++d) {
      multiply(sum, read(*query, b * n.targets + t, d), read(*key, b * n.sources + s, d));
    }
    write(*y, n.row(b, h, t), s, sum);
  });
  end_stage();
  return y;
}

double NativeMachine::mask_value(MaskValues values, std::size_t query, std::size_t key) {
  constexpr double excluded = -std::numeric_limits<double>::infinity();
  switch (values) {
    case MaskValues::causal:
      return key > query ? excluded : 0;
    case MaskValues::finite:
      return random_.uniform(draws_++, -1, 1);
    case MaskValues::arbitrary:
      return key % 3 == 1 ? excluded : 0;  // never all
    default:
      return 0;
  }
}

Matrix* NativeMachine::masked(const Heads& n, Matrix* scores, const Masks& masks) {
  const bool per_head = masks.shape == MaskShape::per_head;
  Matrix* mask = make(per_head ? scores->rows : n.targets, n.sources);
  for_each(*mask, [&](std::size_t r, std::size_t s) {
    mask->values[r * n.sources + s] = mask_value(masks.attention, r % n.targets, s);
  });
  Matrix* y = make(scores->rows, n.sources);
  for_each_score(n, [&](std::size_t b, std::size_t h, std::size_t t, std::size_t s) {
    const std::size_t row = n.row(b, h, t);
    write(*y, row, s, read(*scores, row, s) + read(*mask, per_head ? row : t, s));
  });
  end_stage();
  return y;
}

Matrix* NativeMachine::padded(const Heads& n, Matrix* scores, PaddingValues values) {
  Matrix* mask = make(n.batch, n.sources);
  for_each(*mask, [&](std::size_t b, std::size_t s) {
    const MaskValues as = values == PaddingValues::padding  ? MaskValues::arbitrary
                          : values == PaddingValues::finite ? MaskValues::finite
                                                            : MaskValues::all_allowed;
    mask->values[b * n.sources + s] = mask_value(as, 0, s);
  });
  Matrix* y = make(scores->rows, n.sources);
  for_each_score(n, [&](std::size_t b, std::size_t h, std::size_t t, std::size_t s) {
    const std::size_t row = n.row(b, h, t);
    write(*y, row, s, read(*scores, row, s) + read(*mask, b, s));
  });
  end_stage();
  return y;
}

Matrix* NativeMachine::softmax(Matrix* scores) {
  Matrix* maxima = make(scores->rows, 1);
  for_each(*maxima, [&](std::size_t r, std::size_t) {
    double most = -std::numeric_limits<double>::infinity();
    for (std::size_t s = 0; s < scores->width; ++s) {
      most = std::max(most, read(*scores, r, s));
    }
    write(*maxima, r, 0, most);
  });
  end_stage();
  Matrix* shifted = make(scores->rows, scores->width);
  for_each(*scores, [&](std::size_t r, std::size_t s) {
    write(*shifted, r, s, read(*scores, r, s) - read(*maxima, r, 0));
  });
  end_stage();
  Matrix* exponentials = make(scores->rows, scores->width);
  for_each(*scores, [&](std::size_t r, std::size_t s) {
    write(*exponentials, r, s, std::exp(read(*shifted, r, s)));
  });
  end_stage();
  Matrix* sums = make(scores->rows, 1);
  for_each(*sums, [&](std::size_t r, std::size_t) {
    double sum = 0;
    for (std::size_t s = 0; s < scores->width; ++s) {
      sum += read(*exponentials, r, s);
    }
    write(*sums, r, 0, sum);
  });
  end_stage();
  Matrix* weights = make(scores->rows, scores->width);
  for_each(*scores, [&](std::size_t r, std::size_t s) {
    write(*weights, r, s, read(*exponentials, r, s) / read(*sums, r, 0));
  });
  end_stage();
  return weights;
}

Matrix* NativeMachine::weighted(const Heads& n, Matrix* weights, Matrix* value) {
  Matrix* y = make(n.batch * n.targets, n.heads * n.dim);
  for_each(*y, [&](std::size_t row, std::size_t column) {
    const std::size_t b = row / n.targets;
    double sum = 0;
    for (std::size_t s = 0; s < n.sources; ++s) {
      multiply(sum, read(*weights, n.row(b, column / n.dim, row % n.targets), s),
               read(*value, b * n.sources + s, column));
    }
    write(*y, row, column, sum);
  });
  end_stage();
  return y;
}

void NativeMachine::average(const Heads& n, Matrix* weights) {
  Matrix* y = make(n.batch * n.targets, n.sources);
  for_each(*y, [&](std::size_t row, std::size_t s) {
    double sum = 0;
    for (std::size_t h = 0; h < n.heads; ++h) {
      sum += read(*weights, n.row(row / n.targets, h, row % n.targets), s);
    }
    write(*y, row, s, sum / static_cast<double>(n.heads));
  });
  end_stage();
}

Matrix* NativeMachine::affine(const Norm& norm, Matrix* x) {
  const Matrix* weight = norm.weight ? draw(1, x->width) : nullptr;
  const Matrix* bias = norm.bias ? draw(1, x->width) : nullptr;
  Matrix* y = make(x->rows, x->width);
  for_each(*x, [&](std::size_t r, std::size_t c) {
    double value = norm.bias ? read(*bias, 0, c) : 0;
    if (norm.weight) {
      multiply(value, read(*x, r, c), read(*weight, 0, c));
    } else {
      value += read(*x, r, c);
    }
    write(*y, r, c, value);
  });
  end_stage();
  return y;
}

Matrix* NativeMachine::norm(const Norm& norm, Matrix* x) {
  if (norm.kind == NormKind::none) {
    return x;
  }
  const auto width = static_cast<double>(x->width);
  Matrix* means = make(x->rows, 1);
  for_each(*x, [&](std::size_t r, std::size_t c) { means->values[r] += read(*x, r, c) / width; });
  for_each(*means, [&](std::size_t r, std::size_t) { write(*means, r, 0, means->values[r]); });
  end_stage();
  Matrix* variances = make(x->rows, 1);
  for_each(*variances, [&](std::size_t r, std::size_t) {
    double sum = 0;
    for (std::size_t c = 0; c < x->width; ++c) {
      const double deviation = read(*x, r, c) - read(*means, r, 0);
      multiply(sum, deviation, deviation);
    }
    write(*variances, r, 0, sum / width);
  });
  end_stage();
  Matrix* epsilon = make(1, 1);
  epsilon->values[0] = 1e-5;
  Matrix* y = make(x->rows, x->width);
  for_each(*x, [&](std::size_t r, std::size_t c) {
    const double deviation = read(*x, r, c) - read(*means, r, 0);
    write(*y, r, c, deviation / std::sqrt(read(*variances, r, 0) + read(*epsilon, 0, 0)));
  });
  end_stage();
  return norm.weight || norm.bias ? affine(norm, y) : y;
}

Matrix* NativeMachine::run(const Attention& a, Matrix* query, Matrix* key, Matrix* value) {
  const Heads n{a.call.batch, a.heads, a.target_length, a.source_length, a.embed_dim / a.heads};
  Matrix* q = linear(query, a.embed_dim, a.bias);
  Matrix* k = linear(key, a.embed_dim, a.bias);
  Matrix* v = linear(value, a.embed_dim, a.bias);
  Matrix* s = scores(n, scale(q, 1 / std::sqrt(static_cast<double>(n.dim))), k);
  if (a.masks.attention != MaskValues::none) {
    s = masked(n, s, a.masks);
  }
  if (a.masks.padding != PaddingValues::none) {
    s = padded(n, s, a.masks.padding);
  }
  Matrix* weights = softmax(s);
  Matrix* output = linear(weighted(n, weights, v), a.embed_dim, a.bias);
  if (a.need_weights && a.average_weights) {
    average(n, weights);
  }
  return output;
}

Matrix* NativeMachine::run(const FeedForward& f, Matrix* x) {
  return linear(activate(linear(x, f.ffn_dim, f.bias), f.activation), f.embed_dim, f.bias);
}

Matrix* NativeMachine::run(const NormModule& n, Matrix* x) { return norm(n.norm, x); }

namespace {

Attention attention_of(const LayerSettings& s, std::size_t targets, std::size_t sources,
                       const Masks& masks) {
  return {s.call, targets, sources, s.embed_dim, s.heads, s.embed_dim, s.embed_dim, s.bias, masks};
}

FeedForward feed_forward_of(const LayerSettings& s, std::size_t length) {
  return {s.call, length, s.embed_dim, s.ffn_dim, s.ffn_bias, s.activation};
}

}  // namespace

Matrix* NativeMachine::run(const Encoder& encoder, Matrix* x) {
  const LayerSettings& s = encoder.settings;
  const Attention self = attention_of(s, encoder.length, encoder.length, encoder.masks);
  const auto around = [&](Matrix* at, const auto& sub_layer) {
    if (s.norm_first) {
      return add(at, sub_layer(norm(s.norm, at)));
    }
    return norm(s.norm, add(at, sub_layer(at)));
  };
  for (std::size_t layer = 0; layer < encoder.layers; ++layer) {
    x = around(x, [&](Matrix* in) { return run(self, in, in, in); });
    x = around(x, [&](Matrix* in) { return run(feed_forward_of(s, encoder.length), in); });
  }
  return norm(encoder.final_norm, x);
}

Matrix* NativeMachine::run(const Decoder& decoder, Matrix* x, Matrix* memory) {
  const LayerSettings& s = decoder.settings;
  const std::size_t targets = decoder.target_length;
  const Attention self = attention_of(s, targets, targets, decoder.target_masks);
  const Attention cross = attention_of(s, targets, decoder.source_length, decoder.memory_masks);
  const auto around = [&](Matrix* at, const auto& sub_layer) {
    if (s.norm_first) {
      return add(at, sub_layer(norm(s.norm, at)));
    }
    return norm(s.norm, add(at, sub_layer(at)));
  };
  for (std::size_t layer = 0; layer < decoder.layers; ++layer) {
    x = around(x, [&](Matrix* in) { return run(self, in, in, in); });
    x = around(x, [&](Matrix* in) { return run(cross, in, memory, memory); });
    x = around(x, [&](Matrix* in) { return run(feed_forward_of(s, targets), in); });
  }
  return norm(decoder.final_norm, x);
}

Matrix* NativeMachine::run(const Transformer& transformer, Matrix* source, Matrix* target) {
  Matrix* memory = run(transformer.encoder, source);
  return run(transformer.decoder, target, memory);
}

}  // namespace qfs::test
