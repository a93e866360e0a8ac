// Token dependencies against what the executed modules do: one input token is changed, and the
// output tokens that differ in any bit are those that depend on it. And the relations that 002
// names.
#include <functional>
#include <map>
#include <string>

#include "analysis/estimate/module_rules.hpp"
#include "tests/analysis/estimate_draw.hpp"
#include "tests/analysis/estimate_machine.hpp"
#include "tests/support/catch.hpp"

namespace qfs {
namespace {

using native::RelationKind;
using native::TokenRelation;
using test::Matrix;
using test::NativeDraw;
using test::NativeMachine;

constexpr std::uint64_t cases_of_a_kind = 40;

bool depends(const TokenRelation& r, std::size_t output, std::size_t input) {
  if (output < r.first_position) {
    return false;
  }
  switch (r.kind) {
    case RelationKind::all:
      return input < r.limit;
    case RelationKind::same_position:
      return input == output;
    case RelationKind::prefix:
      return input <= output && input < r.limit;
    case RelationKind::none:
      break;
  }
  return false;
}

/// The token at a position of every request, in one of several inputs.
struct Change {
  std::string argument;
  std::size_t position = 0;
};

using Run = std::function<Matrix(const Change&)>;

void change(Matrix& input, std::size_t length, const Change& change) {
  for (std::size_t row = 0; row < input.rows; ++row) {
    if (row % length == change.position) {
      for (std::size_t c = 0; c < input.width; ++c) {
        input.values[row * input.width + c] += 0.3 * static_cast<double>(c + 1);
      }
    }
  }
}

bool differs(const Matrix& a, const Matrix& b, std::size_t length, std::size_t position) {
  for (std::size_t i = 0; i < a.values.size(); ++i) {
    if (i / a.width % length == position && a.values[i] != b.values[i]) {
      return true;
    }
  }
  return false;
}

/// Every output against every token of every argument, which `run` changes alone or, if they are
/// one tensor, with the others of its group.
template <class Module>
void check_dependencies(const Module& module, const Run& run) {
  const native::ModuleEstimate estimate = native::estimate(module);
  REQUIRE(estimate.dependencies);
  const Matrix plain = run({});
  for (const native::TokenDependency& dependency : *estimate.dependencies) {
    const TokenRelation& relation = dependency.relation;
    for (std::size_t input = 0; input < relation.inputs; ++input) {
      const Matrix changed = run({dependency.arguments.front(), input});
      for (std::size_t output = 0; output < relation.outputs; ++output) {
        CAPTURE(dependency.arguments.front(), input, output, name_of(relation.kind));
        CHECK(differs(plain, changed, relation.outputs, output) ==
              depends(relation, output, input));
      }
    }
  }
}

Matrix attention_output(const native::Attention& a, std::uint64_t seed, const Change& by) {
  using native::Sharing;
  NativeMachine machine(seed);
  std::map<std::string, Matrix*> inputs{
      {"query", machine.draw(a.call.batch * a.target_length, a.embed_dim)},
      {"key", machine.draw(a.call.batch * a.source_length, a.kdim)},
      {"value", machine.draw(a.call.batch * a.source_length, a.vdim)}};
  const Sharing s = a.sharing;
  if (s == Sharing::all || s == Sharing::query_key) {
    inputs["key"] = inputs["query"];
  }
  if (s == Sharing::all || s == Sharing::query_value) {
    inputs["value"] = inputs["query"];
  }
  if (s == Sharing::key_value) {
    inputs["value"] = inputs["key"];
  }
  if (!by.argument.empty()) {
    change(*inputs[by.argument], by.argument == "query" ? a.target_length : a.source_length, by);
  }
  return *machine.run(a, inputs["query"], inputs["key"], inputs["value"]);
}

TEST_CASE("attentions depend on the tokens that change them") {
  std::map<native::Sharing, std::size_t> seen;
  for (std::uint64_t number = 0; number < 2 * cases_of_a_kind; ++number) {
    CAPTURE(number);
    const native::Attention a = NativeDraw(1000 + number).attention(true);
    ++seen[a.sharing];
    check_dependencies(a, [&](const Change& by) { return attention_output(a, number, by); });
  }
  CHECK(seen.size() == 5);
}

TEST_CASE("encoders depend on the tokens that change them") {
  for (std::uint64_t number = 0; number < cases_of_a_kind; ++number) {
    CAPTURE(number);
    native::Encoder encoder = NativeDraw(1100 + number).encoder(true);
    encoder.settings.activation = native::Activation::gelu;
    check_dependencies(encoder, [&](const Change& by) {
      NativeMachine machine(number);
      const native::LayerSettings& s = encoder.settings;
      Matrix* x = machine.draw(s.call.batch * encoder.length, s.embed_dim);
      if (!by.argument.empty()) {
        change(*x, encoder.length, by);
      }
      return *machine.run(encoder, x);
    });
  }
}

TEST_CASE("decoders depend on the tokens that change them") {
  for (std::uint64_t number = 0; number < cases_of_a_kind; ++number) {
    CAPTURE(number);
    native::Decoder decoder = NativeDraw(1200 + number).decoder(true);
    decoder.settings.activation = native::Activation::gelu;
    check_dependencies(decoder, [&](const Change& by) {
      NativeMachine machine(number);
      const native::LayerSettings& s = decoder.settings;
      Matrix* x = machine.draw(s.call.batch * decoder.target_length, s.embed_dim);
      Matrix* memory = machine.draw(s.call.batch * decoder.source_length, s.embed_dim);
      if (by.argument == "tgt") {
        change(*x, decoder.target_length, by);
      } else if (by.argument == "memory") {
        change(*memory, decoder.source_length, by);
      }
      return *machine.run(decoder, x, memory);
    });
  }
}

TEST_CASE("whole transformers depend on the tokens that change them") {
  for (std::uint64_t number = 0; number < cases_of_a_kind; ++number) {
    CAPTURE(number);
    native::Transformer transformer = NativeDraw(1300 + number).transformer(true);
    transformer.encoder.settings.activation = native::Activation::gelu;
    transformer.decoder.settings.activation = native::Activation::gelu;
    const std::size_t sources = transformer.encoder.length;
    const std::size_t targets = transformer.decoder.target_length;
    check_dependencies(transformer, [&](const Change& by) {
      NativeMachine machine(number);
      const native::LayerSettings& s = transformer.encoder.settings;
      Matrix* source = machine.draw(s.call.batch * sources, s.embed_dim);
      Matrix* target = machine.draw(s.call.batch * targets, s.embed_dim);
      if (by.argument == "src") {
        change(*source, sources, by);
      } else if (by.argument == "tgt") {
        change(*target, targets, by);
      }
      return *machine.run(transformer, source, target);
    });
  }
}

TEST_CASE("feed-forwards and norms are token-local") {
  native::FeedForward f = NativeDraw(1400).feed_forward();
  f.length = 4;
  CHECK(native::dependencies_of(f)->front().relation == native::same_position(4));
  native::NormModule n = NativeDraw(1401).norm_module();
  n.length = 5;
  CHECK(native::dependencies_of(n)->front().relation == native::same_position(5));
}

native::Attention attention(std::size_t targets, std::size_t sources, native::Sharing sharing,
                            native::MaskValues mask = native::MaskValues::none) {
  native::Attention a;
  a.target_length = targets;
  a.source_length = sources;
  a.embed_dim = a.kdim = a.vdim = 4;
  a.heads = 2;
  a.masks.attention = mask;
  a.sharing = sharing;
  return a;
}

TEST_CASE("the first row of a causal attention has one key") {
  const auto separate =
      native::dependencies_of(attention(4, 4, native::Sharing::none, native::MaskValues::causal));
  CHECK(separate->at(0).relation == native::same_position(4, 1));
  CHECK(separate->at(1).relation == native::prefix_of(4, 4, 4, 1));
  CHECK(separate->at(2).relation == native::prefix_of(4, 4, 4));
  const auto shared = native::dependencies_of(
      attention(4, 4, native::Sharing::key_value, native::MaskValues::causal));
  CHECK(shared->at(0).relation == native::same_position(4, 1));
  CHECK(shared->at(1).relation == native::prefix_of(4, 4, 4));
  const auto one = native::dependencies_of(attention(3, 1, native::Sharing::none));
  CHECK(one->at(0).relation == native::no_relation(3, 3));
  CHECK(one->at(1).relation == native::no_relation(3, 1));
  CHECK(one->at(2).relation == native::all_of(3, 1, 1));
}

TEST_CASE("self-attention is one relation of one tensor") {
  const auto plain = native::dependencies_of(attention(3, 3, native::Sharing::all));
  REQUIRE(plain->size() == 1);
  CHECK(plain->front().arguments == std::vector<std::string>{"query", "key", "value"});
  CHECK(plain->front().relation == native::all_of(3, 3, 3));
  const auto causal =
      native::dependencies_of(attention(3, 3, native::Sharing::all, native::MaskValues::causal));
  CHECK(causal->front().relation == native::prefix_of(3, 3, 3));
}

native::Decoder causal_memory_decoder(std::size_t targets, std::size_t sources,
                                      std::size_t layers) {
  native::Decoder decoder;
  decoder.settings.embed_dim = 4;
  decoder.settings.heads = 2;
  decoder.settings.ffn_dim = 8;
  decoder.target_length = targets;
  decoder.source_length = sources;
  decoder.memory_masks.attention = native::MaskValues::causal;
  decoder.layers = layers;
  return decoder;
}

TEST_CASE("later layers of a decoder mix the memory prefixes of the first") {
  const auto memory = [](std::size_t targets, std::size_t sources, std::size_t layers) {
    return native::dependencies_of(causal_memory_decoder(targets, sources, layers))->at(1).relation;
  };
  CHECK(memory(3, 5, 1) == native::prefix_of(3, 5, 5));
  CHECK(memory(3, 5, 2) == native::all_of(3, 5, 3));
  CHECK(memory(3, 5, 9) == native::all_of(3, 5, 3));
  CHECK(memory(5, 3, 2) == native::all_of(5, 3, 3));
}

TEST_CASE("an unmasked encoder spans every source token of a transformer") {
  native::Transformer transformer;
  transformer.decoder = causal_memory_decoder(3, 5, 1);
  transformer.encoder.settings = transformer.decoder.settings;
  transformer.encoder.length = 5;
  CHECK(native::dependencies_of(transformer)->at(0).relation == native::all_of(3, 5, 5));
  transformer.encoder.masks.attention = native::MaskValues::causal;
  CHECK(native::dependencies_of(transformer)->at(0).relation == native::prefix_of(3, 5, 5));
  transformer.decoder.layers = 2;
  CHECK(native::dependencies_of(transformer)->at(0).relation == native::all_of(3, 5, 3));
}

}  // namespace
}  // namespace qfs
