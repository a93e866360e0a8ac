#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <optional>

#include "base/error.hpp"
#include "sim/calibrate/calibration_report.hpp"
#include "sim/cli/commands.hpp"
#include "sim/cli/options.hpp"
#include "sim/config/complaint.hpp"

namespace qfs {
namespace {

namespace fs = std::filesystem;
namespace po = boost::program_options;

CommandLine command_line() {
  CommandLine line{
      "calibrate",
      "qfsim calibrate --attention CSV --gemm CSV --device NAME [--out FILE.yaml]\n"
      "       qfsim calibrate --evaluate PRESET --attention CSV --gemm CSV [--json]",
      "Fits a device to measured kernels, with errors on rows that the fit has not seen; or tells "
      "the\nerrors of an existing preset of configs/fitted (or FILE.yaml) on any rows. One of the "
      "two CSV\nfiles may be left out. In --json, errors are shares (0.05 is 5 %), attention "
      "counts "
      "both cache\nformats, and gemm counts bf16 products alone; the text shows fp8 products too.",
      {},
      {},
      0};
  const auto text = [] { return po::value<std::string>(); };
  line.options.add_options()  //
      ("attention", text(),
       "rows: device,batch,heads,kv_heads,head_dim,kv_dtype,context,latency_us")  //
      ("gemm", text(), "rows: device,dtype,m,n,k,latency_us")                     //
      ("device", text(), "whose rows are fitted: a100, h100, h200, b200, l40s")   //
      ("out", text(), "writes the fitted device there, a preset")                 //
      ("source", text(), "one line for that preset: where the rows come from")    //
      ("evaluate", text(), "a preset or FILE.yaml whose errors are told")         //
      ("json", "print one JSON object; with --evaluate");
  return line;
}

std::optional<std::string> given(const OptionValues& values, const char* option) {
  return values.count(option) == 0 ? std::nullopt : std::optional(values[option].as<std::string>());
}

/// Options that belong to the other of the two uses.
void refuse_misplaced(const OptionValues& values) {
  const bool evaluates = values.count("evaluate") != 0;
  const auto refuse = [&](const char* option) {
    if (values.count(option) != 0) {
      config::complain({"qfsim calibrate"}, fmt::format("--{}", option), "given",
                       evaluates ? "nothing here: --evaluate takes the device from its preset"
                                 : "nothing here: it belongs to --evaluate");
    }
  };
  if (evaluates) {
    refuse("device");
    refuse("out");
    refuse("source");
    return;
  }
  refuse("json");
  if (values.count("source") != 0 && values.count("out") == 0) {
    config::complain({"qfsim calibrate"}, "--source", "given without --out",
                     "both, or neither: it is written into the preset");
  }
  if (values.count("device") == 0) {
    throw ConfigError(
        "qfsim calibrate: --device is missing (or --evaluate); see qfsim calibrate --help");
  }
}

MeasuredDevice read_rows(const OptionValues& values, const std::string& device) {
  MeasuredDevice measured;
  if (const auto file = given(values, "attention")) {
    measured.attention_file = *file;
    measured.attention = read_attention(*file, device);
  }
  if (const auto file = given(values, "gemm")) {
    measured.gemm_file = *file;
    measured.gemm = read_gemm(*file, device);
  }
  if (measured.attention.empty() && measured.gemm.empty()) {
    throw ConfigError(
        "qfsim calibrate: --attention or --gemm is missing; see qfsim calibrate --help");
  }
  return measured;
}

/// A place for a preset: nothing is there yet, or an earlier fitted preset.
void check_out(const fs::path& file) {
  const auto refuse = [&](const std::string& why, const char* legal) {
    config::complain({"qfsim calibrate"}, "--out", fmt::format("{} {}", file.string(), why), legal);
  };
  const fs::path folder = file.has_parent_path() ? file.parent_path() : fs::path(".");
  if (file.extension() != ".yaml") {
    refuse("does not end in .yaml", "FILE.yaml");
  }
  if (!fs::is_directory(folder)) {
    refuse("lies in no folder that exists", "a file in an existing folder");
  }
  if (::access(folder.c_str(), W_OK) != 0) {
    refuse("lies in a folder that cannot be written", "a file in a folder of yours");
  }
  if (fs::exists(file)) {
    try {
      load_fitted(file);
    } catch (const ConfigError&) {
      refuse("is no fitted device and is left as it is", "a new file, or an earlier fitted device");
    }
  }
}

std::string one_line(const std::string& source) {
  if (source.find_first_of("\r\n") != std::string::npos) {
    config::complain({"qfsim calibrate"}, "--source", "several lines", "one line");
  }
  return source;
}

/// The file appears whole or not at all.
void write_whole(const fs::path& file, const std::string& text) {
  const fs::path scratch = fmt::format("{}.{}.new", file.string(), ::getpid());
  std::FILE* stream = std::fopen(scratch.c_str(), "wbx");
  bool written = stream != nullptr;
  if (written) {
    written = std::fwrite(text.data(), 1, text.size(), stream) == text.size() &&
              std::fflush(stream) == 0 && ::fsync(::fileno(stream)) == 0;
    written = std::fclose(stream) == 0 && written;
  }
  if (!written || std::rename(scratch.c_str(), file.c_str()) != 0) {
    const std::string why = std::strerror(errno);
    std::remove(scratch.c_str());
    throw RunError(fmt::format("{} cannot be written: {}", file.string(), why));
  }
}

int evaluate(const OptionValues& values, const std::string& preset) {
  const FittedDevice device = load_fitted_named(preset);
  const Evaluation evaluation = evaluated(device, read_rows(values, device.device));
  fmt::print("{}", values.count("json") != 0 ? to_json(evaluation) : to_text(device, evaluation));
  return exit_done;
}

}  // namespace

int calibrate_command(const Arguments& arguments) {
  OptionValues values;
  if (!parse(command_line(), arguments, values)) {
    return exit_done;
  }
  refuse_misplaced(values);
  if (const auto preset = given(values, "evaluate")) {
    return evaluate(values, *preset);
  }
  const DeviceFacts& facts = facts_of(*given(values, "device"));
  const std::optional<std::string> out = given(values, "out");
  if (out) {
    check_out(*out);
  }
  const MeasuredDevice measured = read_rows(values, facts.name);
  const std::string source = one_line(given(values, "source").value_or("source not given"));
  const Calibration calibration = calibrate(facts, measured);
  fmt::print("{}", to_text(calibration));
  if (out) {
    write_whole(*out, to_preset(calibration, source));
    fmt::print("\nwrote {}\n", *out);
  }
  return exit_done;
}

}  // namespace qfs
