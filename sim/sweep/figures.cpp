#include "sim/sweep/figures.hpp"

#include <algorithm>
#include <array>
#include <limits>

namespace qfs {
namespace {

constexpr double none = std::numeric_limits<double>::quiet_NaN();

template <double PointFigures::*figure>
double number(const SweepPoint& point) {
  return point.ran() ? point.figures.*figure : none;
}

double error(const SweepPoint& point, double PointErrors::*figure) {
  return point.ran() && point.figures.errors ? *point.figures.errors.*figure : none;
}

double of_ran(const SweepPoint& point, double value) { return point.ran() ? value : none; }

constexpr std::array<Figure, 14> all{{
    {"step_us", false, number<&PointFigures::step_us>},
    {"tpot_us", false, number<&PointFigures::tpot_us>},
    {"worst_tpot_us", false, number<&PointFigures::worst_tpot_us>},
    {"tokens_per_s", true, number<&PointFigures::tokens_per_s>},
    {"exposed_sweep_us", false, number<&PointFigures::exposed_sweep_us>},
    {"exposed_link_us", false, number<&PointFigures::exposed_link_us>},
    {"wire_bytes", false,
     [](const SweepPoint& point) {
       return of_ran(point, static_cast<double>(point.figures.wire_bytes.value()));
     }},
    {"tail_fetch_us", false, number<&PointFigures::tail_fetch_us>},
    {"resident_requests", true,
     [](const SweepPoint& point) {
       return of_ran(point, static_cast<double>(point.facts.batch * point.facts.in_flight));
     }},
    {"resident_kv_bytes", false,
     [](const SweepPoint& point) {
       return of_ran(point, static_cast<double>(point.facts.resident_kv.value()));
     }},
    {"devices", false,
     [](const SweepPoint& point) {
       return of_ran(point, static_cast<double>(point.facts.devices));
     }},
    {"operation_error", false,
     [](const SweepPoint& point) { return error(point, &PointErrors::operation); }},
    {"end_to_end_error", false,
     [](const SweepPoint& point) { return error(point, &PointErrors::end_to_end); }},
    {"softmax_error", false,
     [](const SweepPoint& point) {
       return point.ran() && point.figures.errors ? point.figures.errors->softmax.value_or(none)
                                                  : none;
     }},
}};

}  // namespace

std::span<const Figure> figures() { return all; }

const Figure* figure_named(std::string_view name) {
  const auto* found = std::find_if(all.begin(), all.end(),
                                   [&](const Figure& figure) { return figure.name == name; });
  return found == all.end() ? nullptr : found;
}

std::vector<std::string> figure_names() {
  std::vector<std::string> names;
  names.reserve(all.size());
  for (const Figure& figure : all) {
    names.emplace_back(figure.name);
  }
  return names;
}

}  // namespace qfs
