#include <fmt/format.h>
#include <fmt/ranges.h>

#include "sim/report/csv.hpp"
#include "sim/report/text.hpp"
#include "sim/report/text_table.hpp"
#include "sim/sensitivity/sensitivity.hpp"

namespace qfs {
namespace {

std::string gain_text(const StepPair& steps) {
  return fmt::format("{:+.2f} %", 100 * steps.gain());
}
std::string step_text(const StepPair& steps) {
  return microseconds_text(to_microseconds(steps.own));
}

std::string title(const std::vector<Variation>& variations, const SensitivityStudy& study) {
  std::vector<std::string> parts;
  for (std::size_t i = 0; i < variations.size(); ++i) {
    parts.push_back(fmt::format("{} {}", variations[i].key, study.values[i]));
  }
  return parts.empty() ? "" : fmt::format("{}\n", fmt::join(parts, ", "));
}

std::string moved_table(const SensitivityStudy& study, double by) {
  const std::string less = fmt::format("-{:.3g} %", 100 * by);
  const std::string more = fmt::format("+{:.3g} %", 100 * by);
  TextTable table("lrrrr",
                  {"number", "gain at " + less, "at " + more, "step us at " + less, "at " + more});
  table.add({"as given", gain_text(study.given), gain_text(study.given), step_text(study.given),
             step_text(study.given)});
  for (const MovedNumber& number : study.moved) {
    table.add({number.key, gain_text(number.less), gain_text(number.more), step_text(number.less),
               step_text(number.more)});
  }
  return table.text();
}

std::string furthest_text(const SensitivityStudy& study) {
  return study.furthest ? fmt::format("{:.3f}", to_microseconds(*study.furthest)) : "";
}

}  // namespace

std::string sensitivity_table(const std::vector<Variation>& variations,
                              const std::vector<SensitivityStudy>& studies, double by,
                              double share) {
  std::string text;
  for (const SensitivityStudy& study : studies) {
    text += title(variations, study) + moved_table(study, by);
    if (study.without_effect > 0) {
      text +=
          fmt::format("  {} changed no time, as those of kernels that a device does not launch.\n",
                      counted(study.without_effect, "further number"));
    }
    text +=
        study.furthest
            ? fmt::format("  The block gains {:.3g} % up to a link latency of {} us one way.\n\n",
                          100 * share, furthest_text(study))
            : fmt::format("  The block gains {:.3g} % at no link latency, not even 0.\n\n",
                          100 * share);
  }
  return text + "  gain: step time of standard over that of the block, less 1; one token\n";
}

std::string sensitivity_csv(const std::vector<Variation>& variations,
                            const std::vector<SensitivityStudy>& studies, double by, double share) {
  std::string text;
  for (const Variation& variation : variations) {
    text += csv_field(variation.key) + ",";
  }
  text += "number,moved_by,step_us,standard_step_us,gain,gain_wanted,furthest_link_latency_us\n";
  for (const SensitivityStudy& study : studies) {
    const auto add = [&](const std::string& key, double moved, const StepPair& steps) {
      for (const std::string& value : study.values) {
        text += csv_field(value) + ",";
      }
      text += fmt::format("{},{:.6g},{:.6f},{:.6f},{:.6f},{:.6g},{}\n", key, moved,
                          to_microseconds(steps.own), to_microseconds(steps.standard), steps.gain(),
                          share, furthest_text(study));
    };
    add("as given", 0, study.given);
    for (const MovedNumber& number : study.moved) {
      add(number.key, -by, number.less);
      add(number.key, by, number.more);
    }
  }
  return text;
}

}  // namespace qfs
