#include "tests/support/random_cases.hpp"

#include "tests/support/draw.hpp"

namespace qfs::test {
namespace {

double rate(Draw& draw, double low, double high) {
  return draw.one_in(6) ? unlimited : draw.log_uniform(low, high);
}

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
  device.bandwidth = BytesPerSecond(rate(draw, 1e9, 1e11));
  device.mac_rate = MacsPerSecond(rate(draw, 1e9, 1e12));
  device.exp_rate = ExpsPerSecond(rate(draw, 1e8, 1e11));
  device.launch_overhead = Seconds(draw.one_in(2) ? 0 : draw.log_uniform(1e-9, 1e-6));
  return device;
}

}  // namespace

AnalyticParameters random_case(std::uint64_t number) {
  Draw draw(20, number);
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
  parameters.link_bandwidth = BytesPerSecond(rate(draw, 1e8, 1e11));
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
