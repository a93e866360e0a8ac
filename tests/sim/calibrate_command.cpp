// `qfsim calibrate` as a user runs it, and everything that can be wrong with its rows.
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>
#include <string>

#include "tests/sim/calibrate_support.hpp"
#include "tests/sim/scratch.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/program.hpp"

namespace qfs::test {
namespace {

const std::string attention_header =
    "device,batch,heads,kv_heads,head_dim,kv_dtype,context,latency_us\n";

std::string both_samples(const std::string& device) {
  return " --attention " + sample("attention", device).string() + " --gemm " +
         sample("gemm", device).string();
}

/// What the program says of a file of attention rows; it must end with status 2.
std::string complaint_of(const std::string& rows) {
  const Scratch scratch;
  std::ofstream(scratch / "rows.csv") << rows;
  const Outcome outcome =
      qfsim("calibrate --device h100 --attention " + (scratch / "rows.csv").string(), "2>&1");
  CHECK(outcome.status == 2);
  CHECK(std::count(outcome.text.begin(), outcome.text.end(), '\n') == 1);
  return outcome.text;
}

std::string refused(const std::string& arguments) {
  const Outcome outcome = qfsim("calibrate " + arguments, "2>&1");
  CHECK(outcome.status == 2);
  return outcome.text;
}

}  // namespace

TEST_CASE("calibrate --evaluate --json gives two kernels with four numbers each") {
  const Outcome outcome = qfsim("calibrate --evaluate h100 --json" + both_samples("h100"));
  REQUIRE(outcome.status == 0);
  const nlohmann::json json = nlohmann::json::parse(outcome.text);
  CHECK(json.size() == 2);
  for (const char* kernel : {"attention", "gemm"}) {
    std::set<std::string> keys;
    for (const auto& item : json.at(kernel).items()) {
      keys.insert(item.key());
    }
    CHECK(keys == std::set<std::string>{"median", "p90", "worst", "rows"});
    CHECK(json[kernel]["median"] <= json[kernel]["p90"]);
    CHECK(json[kernel]["p90"] <= json[kernel]["worst"]);
  }
  CHECK(json["attention"]["rows"] == 300);
  CHECK(json["gemm"]["rows"] < 240);  // bf16 alone
  CHECK(json["attention"]["median"] < 0.05);
}

TEST_CASE("calibrate writes a preset that evaluate reads, the same bytes each time") {
  const Scratch scratch;
  const std::string file = (scratch / "mine.yaml").string();
  const std::string command = "calibrate --device a100" + both_samples("a100");
  const Outcome first = qfsim(command + " --source 'a test' --out " + file);
  REQUIRE(first.status == 0);
  CHECK(lacking(first.text,
                {"half of the rows", "whole contexts", "whole head counts", "line: median"}) == "");
  const std::string preset = content(file);
  CHECK(lacking(preset, {"Rows: a test.", "# fitted:"}) == "");
  CHECK(scratch.entries() == 1);
  const Outcome second = qfsim(command + " --source 'a test' --out " + file);
  CHECK(second.text == first.text);
  CHECK(content(file) == preset);
  const Outcome errors = qfsim("calibrate --json --evaluate " + file + both_samples("a100"));
  REQUIRE(errors.status == 0);
  CHECK(nlohmann::json::parse(errors.text)["attention"]["median"] < 0.08);
}

TEST_CASE("calibrate leaves other files alone") {
  const Scratch scratch;
  std::ofstream(scratch / "notes.yaml") << "mine: true\n";
  const std::string command = "--device a100" + both_samples("a100") + " --out ";
  CHECK(lacking(refused(command + (scratch / "notes.yaml").string()), {"left as it is"}) == "");
  CHECK(content(scratch / "notes.yaml") == "mine: true\n");
  CHECK(lacking(refused(command + (scratch / "fit.txt").string()), {"FILE.yaml"}) == "");
  CHECK(lacking(refused(command + (scratch / "none/fit.yaml").string()), {"folder"}) == "");
  CHECK(scratch.entries() == 1);
}

TEST_CASE("calibrate says what is wrong with its arguments") {
  CHECK(lacking(refused(""), {"--device is missing"}) == "");
  CHECK(lacking(refused("--device h100"), {"--attention or --gemm is missing"}) == "");
  CHECK(lacking(refused("--device h10" + both_samples("h100")), {"did you mean 'h100'"}) == "");
  CHECK(lacking(refused("--device h100 --json" + both_samples("h100")), {"--evaluate"}) == "");
  CHECK(lacking(refused("--evaluate h100 --device h100" + both_samples("h100")),
                {"takes the device from its preset"}) == "");
  CHECK(lacking(refused("--evaluate h10" + both_samples("h100")),
                {"no preset of configs/fitted", "did you mean"}) == "");
  CHECK(lacking(refused("--evaluate h100" + both_samples("l40s")), {"no row of 'h100'"}) == "");
  CHECK(lacking(refused("--device h100 --source x" + both_samples("h100")), {"--out"}) == "");
}

TEST_CASE("measured rows are read strictly") {
  const std::string row = "h100_sxm,1,8,8,128,bfloat16,64,11.5\n";
  CHECK(lacking(complaint_of(""), {"is empty"}) == "");
  CHECK(lacking(complaint_of("device,batch\n"), {"rows.csv:1: heads: no such column"}) == "");
  CHECK(lacking(complaint_of(attention_header), {"no row of 'h100'"}) == "");
  CHECK(lacking(complaint_of(attention_header + "h100_sxm,1,8\n"), {"3 fields"}) == "");
  CHECK(lacking(complaint_of(attention_header + row + "h100_sxm,0,8,8,128,bfloat16,64,11\n"),
                {"rows.csv:3: batch: '0'"}) == "");
  CHECK(lacking(complaint_of(attention_header + "h100_sxm,1,8,3,128,bfloat16,64,11\n"),
                {"kv_heads: '3'", "a divisor of heads, 8"}) == "");
  CHECK(lacking(complaint_of(attention_header + "h100_sxm,1,8,8,128,int4,64,11\n"),
                {"kv_dtype: 'int4'", "bfloat16, fp8"}) == "");
  CHECK(lacking(complaint_of(attention_header + "h100_sxm,1,8,8,128,fp8,64,-3\n"),
                {"latency_us: '-3'"}) == "");
  CHECK(lacking(complaint_of(attention_header + "h100_sxm,1,8,8,128,fp8,64,nan\n"),
                {"latency_us: 'nan'"}) == "");
  CHECK(lacking(complaint_of(attention_header + row), {"cannot be identified"}) == "");
  CHECK(lacking(refused("--device h100 --attention /nonexistent.csv"), {"cannot be read"}) == "");
}

TEST_CASE("columns in another order and further ones give the same rows") {
  const Scratch scratch;
  std::ofstream(scratch / "rows.csv")
      << "latency_us,note,context,kv_dtype,head_dim,kv_heads,heads,batch,device\r\n"
         "11.5,x,64,fp8,128,8,32,4,h100\r\n5,x,64,fp8,128,8,32,4,h1000_x\r\n";
  const std::vector<MeasuredKernel> rows = read_attention(scratch / "rows.csv", "h100");
  REQUIRE(rows.size() == 1);
  const auto& work = std::get<SweepWork>(rows[0].work);
  CHECK(work.batch == 4);
  CHECK(work.query_heads == 32);
  CHECK(work.kv_heads == 8);
  CHECK(work.context == 64);
  CHECK(work.element_bytes == 1);
  CHECK(rows[0].latency.value() == Approx(11.5e-6));
}

TEST_CASE("without numbers of their own, fp8 products cost what the others say of their bytes") {
  const Scratch scratch;
  std::ofstream(scratch / "d.yaml")
      << "device: h100\nproduct: {units: 1, launch: 3 us, bandwidth: 1 TB/s}\n";
  const FittedDevice device = load_fitted(scratch / "d.yaml");
  const ProductWork work{.m = 1, .n = 1000, .k = 1000, .element_bytes = 1};
  CHECK(launch_time(device.cost, work) == Seconds(3e-6) + bytes_of(work) / BytesPerSecond(1e12));
  CHECK(launch_time(device.cost, SweepWork{.context = 1000}) == Seconds(0));
}

TEST_CASE("a fitted device's file is read strictly") {
  const Scratch scratch;
  const auto complaint = [&](const std::string& text) {
    std::ofstream(scratch / "d.yaml") << text;
    return refused("--evaluate " + (scratch / "d.yaml").string() + both_samples("h100"));
  };
  CHECK(lacking(complaint("device: h100\nsweep: {units: 132, lanch: 3 us}\n"),
                {"d.yaml:2: sweep.lanch", "did you mean 'launch'"}) == "");
  CHECK(lacking(complaint("device: h100\nsweep: {units: 132, launch: 3}\n"), {"sweep.launch"}) ==
        "");
  CHECK(lacking(complaint("device: h100\nsweep: {launch: 3 us}\n"), {"sweep.units: missing"}) ==
        "");
  CHECK(lacking(complaint("device: h100\nsweep: {units: 132, serial: 2}\n"), {"sweep.serial"}) ==
        "");
  CHECK(lacking(complaint("device: h100\nsweep: {units: 132, tiling: {split: evn}}\n"),
                {"sweep.tiling.split", "did you mean 'even'"}) == "");
}

}  // namespace qfs::test
