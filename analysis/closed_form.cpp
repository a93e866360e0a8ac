#include "analysis/closed_form.hpp"

#include <algorithm>

#include "analysis/step_graph.hpp"

namespace qfs {

AnalyticTimes analytic_times(AnalyticArrangement arrangement,
                             const AnalyticParameters& parameters) {
  StepGraph graph = step_graph(arrangement, parameters);
  const std::vector<double> end_of = graph.schedule.run();
  const auto last = [&](const ListSchedule::Tasks& tasks) {
    double end = 0;
    for (const ListSchedule::Task task : tasks) {
      end = std::max(end, end_of[task]);
    }
    return end;
  };
  AnalyticTimes times{Seconds(last(graph.first_outputs)), {}, {}};
  for (const std::vector<ListSchedule::Tasks>& wave : graph.ends) {
    times.wave_step_ends.emplace_back();
    for (const ListSchedule::Tasks& step : wave) {
      times.wave_step_ends.back().emplace_back(last(step));
    }
  }
  Seconds start(0);
  for (const Seconds end : times.wave_step_ends.front()) {
    times.step_times.push_back(end - start);
    start = end;
  }
  return times;
}

AnalyticTimes two_device_times(const AnalyticParameters& parameters) {
  return analytic_times(AnalyticArrangement::two_device, parameters);
}

AnalyticTimes colocated_times(const AnalyticParameters& parameters) {
  return analytic_times(AnalyticArrangement::colocated, parameters);
}

AnalyticTimes pooled_times(const AnalyticParameters& parameters) {
  return analytic_times(AnalyticArrangement::pooled, parameters);
}

AnalyticTimes tensor_parallel_times(const AnalyticParameters& parameters) {
  return analytic_times(AnalyticArrangement::tensor_parallel, parameters);
}

}  // namespace qfs
