#include "tests/support/random_cases.hpp"

#include <cmath>

#include "base/random.hpp"

namespace qfs::test {
namespace {

class Draw {
 public:
  explicit Draw(std::uint64_t number) : random_(20, number) {}

  std::size_t between(std::size_t low, std::size_t high) {
    return low + static_cast<std::size_t>(random_.below(index_++, high - low + 1));
  }
  bool one_in(std::size_t chances) { return between(1, chances) == 1; }
  double log_uniform(double low, double high) {
    return std::exp(random_.uniform(index_++, std::log(low), std::log(high)));
  }
  double rate(double low, double high) { return one_in(6) ? unlimited : log_uniform(low, high); }
  template <class Enum>
  Enum one_of() {
    return enum_names<Enum>[between(0, enum_names<Enum>.size() - 1)].first;
  }

 private:
  Random random_;
  std::uint64_t index_ = 0;
};

ModelShape shape_from(Draw& draw) {
  ModelShape shape;
  shape.hidden = draw.between(1, 64);
  shape.layers = draw.between(1, 5);
  shape.kv_heads = draw.between(1, 4);
  shape.heads = shape.kv_heads * draw.between(1, 3);
  shape.head_dim = 2 * draw.between(1, 16);
  shape.ffn = draw.between(1, 128);
  shape.vocab = draw.between(1, 256);
  return shape;
}

AnalyticDevice device_from(Draw& draw) {
  AnalyticDevice device;
  device.bandwidth = BytesPerSecond(draw.rate(1e9, 1e11));
  device.mac_rate = MacsPerSecond(draw.rate(1e9, 1e12));
  device.exp_rate = ExpsPerSecond(draw.rate(1e8, 1e11));
  device.launch_overhead = Seconds(draw.one_in(2) ? 0 : draw.log_uniform(1e-9, 1e-6));
  return device;
}

}  // namespace

AnalyticParameters random_case(std::uint64_t number) {
  Draw draw(number);
  AnalyticParameters parameters;
  parameters.shape = shape_from(draw);
  parameters.block = draw.one_of<BlockOrder>();
  parameters.current_token = draw.one_of<CurrentToken>();
  parameters.accounting = draw.one_in(4) ? Accounting::weights_and_sweep : Accounting::full;
  parameters.formats = {draw.one_of<Format>(), draw.one_of<Format>(), draw.one_of<Format>(),
                        draw.one_of<Format>()};
  parameters.attention = {draw.one_of<AttentionForm>(), draw.one_of<CacheGrowth>()};
  parameters.batch = draw.between(1, 32);
  parameters.context = draw.one_in(4) ? 0 : draw.between(1, 200);
  parameters.tokens = draw.between(1, 4);
  parameters.lm_head = draw.one_in(2);
  parameters.compute = device_from(draw);
  parameters.cache = device_from(draw);
  parameters.link_latency = Seconds(draw.one_in(3) ? 0 : draw.log_uniform(1e-9, 1e-5));
  parameters.link_bandwidth = BytesPerSecond(draw.rate(1e8, 1e11));
  parameters.link_message_overhead = Seconds(draw.one_in(2) ? 0 : draw.log_uniform(1e-9, 1e-6));
  return parameters;
}

std::vector<AnalyticParameters> random_cases(std::uint64_t count) {
  std::vector<AnalyticParameters> cases;
  for (std::uint64_t number = 0; number < count; ++number) {
    cases.push_back(random_case(number));
  }
  return cases;
}

}  // namespace qfs::test
