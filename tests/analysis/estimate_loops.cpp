// Counts of native modules against loops that execute them: 25 seeded modules and calls of each
// kind, masks, widths, biases, norms and stacks drawn at random. Multiply-accumulates and accesses
// are counted while real numbers are computed; nothing of a formula is shared.
#include <cmath>

#include "analysis/estimate/module_rules.hpp"
#include "tests/analysis/estimate_draw.hpp"
#include "tests/analysis/estimate_machine.hpp"
#include "tests/support/catch.hpp"

namespace qfs {
namespace {

using test::Matrix;
using test::NativeDraw;
using test::NativeMachine;

constexpr std::uint64_t cases_of_a_kind = 25;

template <class Module>
void check_counts(const Module& module, const NativeMachine& machine, const Matrix* output) {
  const native::ModuleEstimate estimate = native::estimate(module);
  REQUIRE(estimate.stages);
  const native::ModuleWork work = native::total(*estimate.stages);
  CHECK(work.macs == machine.macs);
  CHECK(work.accesses == machine.accesses);
  for (const double value : output->values) {
    REQUIRE(std::isfinite(value));
  }
}

TEST_CASE("attentions count what their loops do") {
  for (std::uint64_t number = 0; number < 2 * cases_of_a_kind; ++number) {
    CAPTURE(number);
    const native::Attention a = NativeDraw(number).attention(false);
    NativeMachine machine(number);
    Matrix* query = machine.draw(a.call.batch * a.target_length, a.embed_dim);
    Matrix* key = machine.draw(a.call.batch * a.source_length, a.kdim);
    Matrix* value = machine.draw(a.call.batch * a.source_length, a.vdim);
    check_counts(a, machine, machine.run(a, query, key, value));
  }
}

TEST_CASE("one tensor as query, key and value is read by each projection") {
  native::Attention a = NativeDraw(1).attention(true);
  a.sharing = native::Sharing::all;
  a.source_length = a.target_length;
  a.kdim = a.vdim = a.embed_dim;
  NativeMachine machine(1);
  Matrix* x = machine.draw(a.call.batch * a.target_length, a.embed_dim);
  check_counts(a, machine, machine.run(a, x, x, x));
}

TEST_CASE("feed-forwards count what their loops do") {
  for (std::uint64_t number = 0; number < cases_of_a_kind; ++number) {
    CAPTURE(number);
    const native::FeedForward f = NativeDraw(100 + number).feed_forward();
    NativeMachine machine(number);
    Matrix* x = machine.draw(f.call.batch * f.length, f.embed_dim);
    check_counts(f, machine, machine.run(f, x));
  }
}

TEST_CASE("norms with and without weight and bias count what their loops do") {
  for (std::uint64_t number = 0; number < cases_of_a_kind; ++number) {
    CAPTURE(number);
    native::NormModule n = NativeDraw(200 + number).norm_module();
    n.norm.weight = number % 2 == 0;
    n.norm.bias = number / 2 % 2 == 0;
    NativeMachine machine(number);
    Matrix* x = machine.draw(n.call.batch * n.length, n.embed_dim);
    check_counts(n, machine, machine.run(n, x));
  }
}

TEST_CASE("encoders count what their loops do") {
  for (std::uint64_t number = 0; number < cases_of_a_kind; ++number) {
    CAPTURE(number);
    const native::Encoder encoder = NativeDraw(300 + number).encoder(false);
    NativeMachine machine(number);
    const native::LayerSettings& s = encoder.settings;
    Matrix* x = machine.draw(s.call.batch * encoder.length, s.embed_dim);
    check_counts(encoder, machine, machine.run(encoder, x));
  }
}

TEST_CASE("decoders count what their loops do") {
  for (std::uint64_t number = 0; number < cases_of_a_kind; ++number) {
    CAPTURE(number);
    const native::Decoder decoder = NativeDraw(400 + number).decoder(false);
    NativeMachine machine(number);
    const native::LayerSettings& s = decoder.settings;
    Matrix* x = machine.draw(s.call.batch * decoder.target_length, s.embed_dim);
    Matrix* memory = machine.draw(s.call.batch * decoder.source_length, s.embed_dim);
    check_counts(decoder, machine, machine.run(decoder, x, memory));
  }
}

TEST_CASE("whole transformers count what their loops do") {
  for (std::uint64_t number = 0; number < cases_of_a_kind; ++number) {
    CAPTURE(number);
    const native::Transformer transformer = NativeDraw(500 + number).transformer(false);
    NativeMachine machine(number);
    const native::LayerSettings& s = transformer.encoder.settings;
    Matrix* source = machine.draw(s.call.batch * transformer.encoder.length, s.embed_dim);
    Matrix* target = machine.draw(s.call.batch * transformer.decoder.target_length, s.embed_dim);
    check_counts(transformer, machine, machine.run(transformer, source, target));
  }
}

}  // namespace
}  // namespace qfs
