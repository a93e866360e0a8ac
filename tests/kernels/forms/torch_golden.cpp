// Attention as PyTorch computed it (tests/golden/make_torch_golden.py), against the forms of
// decode, the sweeps and the fp64 references. Only the files are needed, neither PyTorch nor
// Python.
#include <bit>
#include <cstring>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "kernels/attention.hpp"
#include "kernels/forms/decode_tables.hpp"
#include "tests/kernels/cache.hpp"
#include "tests/kernels/forms/form_run.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/program.hpp"

using namespace qfs;
using namespace qfs::test;

namespace {

constexpr double fp32_worst = 2e-6;
constexpr double fp64_worst = 1e-13;

const std::string folder = test::source_dir() + "/tests/golden/";

struct Golden {
  std::string name;
  FormShape shape;
  bool causal = false;
  FormData data;  // of a causal case, q holds `positions` rows a head
  std::vector<float> out;
  std::vector<double> out_fp64;
};

template <class Value>
std::vector<Value> read_array(const std::string& bytes, const nlohmann::json& entry) {
  static_assert(std::endian::native == std::endian::little);
  std::size_t size = 1;
  for (const std::size_t extent : entry.at("shape")) {
    size *= extent;
  }
  const std::size_t at = entry.at("at");
  REQUIRE(at + size * sizeof(Value) <= bytes.size());
  std::vector<Value> values(size);
  std::memcpy(values.data(), bytes.data() + at, size * sizeof(Value));
  return values;
}

Golden read_case(const std::string& bytes, const nlohmann::json& entry) {
  const nlohmann::json& arrays = entry.at("arrays");
  const std::size_t dim = entry.at("head_dim");
  const std::size_t positions = entry.at("positions");
  return {entry.at("name"),
          {entry.at("heads"), entry.at("kv_heads"), dim, dim, positions},
          entry.at("causal"),
          {read_array<float>(bytes, arrays.at("q")), read_array<float>(bytes, arrays.at("k")),
           read_array<float>(bytes, arrays.at("v")), positions},
          read_array<float>(bytes, arrays.at("out")),
          read_array<double>(bytes, arrays.at("out_fp64"))};
}

std::vector<Golden> read_goldens(bool causal) {
  std::ifstream data(folder + "attention.bin", std::ios::binary);
  const std::string bytes{std::istreambuf_iterator<char>(data), {}};
  std::ifstream index_file(folder + "attention.json");
  const nlohmann::json index = nlohmann::json::parse(index_file);
  REQUIRE(bytes.size() == index.at("bytes"));
  std::vector<Golden> goldens;
  for (const nlohmann::json& entry : index.at("cases")) {
    if (entry.at("causal") == causal) {
      goldens.push_back(read_case(bytes, entry));
    }
  }
  return goldens;
}

Cache cache_of(const Golden& golden) {
  const FormShape& shape = golden.shape;
  return make_cache({shape.heads, shape.kv_heads, shape.key_dim, shape.positions}, golden.data.k,
                    golden.data.v);
}

}  // namespace

TEST_CASE("PyTorch's attention, in every form of decode") {
  std::size_t checked = 0;
  for (const Golden& golden : read_goldens(false)) {
    for (const auto& [form, name] : enum_names<AttentionForm>) {
      CAPTURE(golden.name, name);
      const FormResult result = run_form(form, golden.shape, golden.data);
      CHECK(max_difference(result.out, golden.out) <= fp32_worst);
      CHECK(max_difference(result.out, golden.out_fp64) <= fp32_worst);
      ++checked;
    }
  }
  CHECK(checked == 8 * 4);
}

TEST_CASE("PyTorch's attention, in the sweeps") {
  std::size_t checked = 0;
  for (const Golden& golden : read_goldens(false)) {
    CAPTURE(golden.name);
    const FormShape& shape = golden.shape;
    const Cache cache = cache_of(golden);
    std::vector<float> o(golden.out.size(), NAN);
    std::vector<float> lse(shape.heads, NAN);
    sweep(golden.data.q, cache.rows(), o, lse);
    CHECK(max_difference(o, golden.out) <= fp32_worst);
    CHECK(max_difference(o, golden.out_fp64) <= fp32_worst);
    CHECK(max_difference(lse, reference_form(shape, golden.data).lse) <= fp32_worst);
    std::vector<float> scratch(shape.heads * shape.positions);
    std::vector<float> three_step(golden.out.size(), NAN);
    sweep_three_step(golden.data.q, cache.rows(), scratch, three_step, lse);
    CHECK(max_difference(three_step, golden.out) <= fp32_worst);
    ++checked;
  }
  CHECK(checked == 8);
}

TEST_CASE("PyTorch's attention in fp64, in the references") {
  std::size_t checked = 0;
  for (const Golden& golden : read_goldens(false)) {
    CAPTURE(golden.name);
    CHECK(max_difference(reference_form(golden.shape, golden.data).out, golden.out_fp64) <=
          fp64_worst);
    std::vector<double> o(golden.out.size(), NAN);
    std::vector<double> lse(golden.shape.heads, NAN);
    const Cache cache = cache_of(golden);
    sweep_reference(to_doubles(golden.data.q), cache.rows(), o, lse);
    CHECK(max_difference(o, golden.out_fp64) <= fp64_worst);
    ++checked;
  }
  CHECK(checked == 8);
}

TEST_CASE("PyTorch's causal attention, as a score matrix and as a decode run") {
  std::size_t checked = 0;
  for (const Golden& golden : read_goldens(true)) {
    CAPTURE(golden.name);
    const FormShape& shape = golden.shape;
    const FormResult matrix =
        run_form_rows(AttentionForm::score_matrix, shape, golden.data, golden.data.q);
    CHECK(max_difference(matrix.out, golden.out) <= fp32_worst);
    const std::size_t size = shape.positions * shape.key_dim;
    for (std::size_t g = 0; g < shape.heads; ++g) {
      const auto slab = [size](const auto& values, std::size_t head) {
        const auto first = values.begin() + static_cast<std::ptrdiff_t>(head * size);
        return std::vector(first, first + static_cast<std::ptrdiff_t>(size));
      };
      const DecodeRunInputs inputs{shape.key_dim, slab(golden.data.q, g),
                                   slab(golden.data.k, g / shape.group()),
                                   slab(golden.data.v, g / shape.group())};
      const DecodeRun run = decode_run(inputs, CacheGrowth::in_place);
      CHECK(max_difference(run.out, slab(golden.out, g)) <= fp32_worst);
      CHECK(max_difference(causal_attention(inputs), slab(golden.out_fp64, g)) <= fp64_worst);
      ++checked;
    }
  }
  CHECK(checked == 4);
}

TEST_CASE("the golden cases are those that the script lists") {
  std::vector<std::string> names;
  for (const Golden& golden : read_goldens(false)) {
    names.push_back(golden.name);
    CHECK(golden.out.size() == golden.shape.heads * golden.shape.value_dim);
  }
  CHECK(names == std::vector<std::string>{"mha_1", "mha_64", "gqa_64", "gqa_257", "mqa_257",
                                          "mqa_5", "odd_head_5", "odd_head_1"});
}
