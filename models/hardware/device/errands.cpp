#include "hardware/device/errands.hpp"

#include <systemc>
#include <utility>

#include "hardware/simulated_time.hpp"

namespace qfs {

/// A method process that is used again and again.
class Errands::Errand {
 public:
  explicit Errand(std::vector<Errand*>& free) : free_(free) {}

  void begin(std::shared_ptr<Transfer> transfer, Seconds delay, std::function<void()> then) {
    transfer_ = std::move(transfer);
    delay_ = delay;
    then_ = std::move(then);
    stage_ = Stage::transfer;
    if (process_.valid()) {
      ev_begin_.notify();
      return;
    }
    sc_core::sc_spawn_options options;
    options.spawn_method();
    process_ = sc_core::sc_spawn([this] { go_on(); }, nullptr, &options);
  }

 private:
  enum class Stage { transfer, delay, end };

  void go_on() {
    switch (stage_) {
      case Stage::transfer:
        stage_ = Stage::delay;
        if (transfer_ != nullptr && !transfer_->finished) {
          sc_core::next_trigger(transfer_->done);
          return;
        }
        [[fallthrough]];
      case Stage::delay:
        stage_ = Stage::end;
        sc_core::next_trigger(to_sc_time(delay_));
        return;
      case Stage::end:
        end();
    }
  }

  void end() {
    transfer_.reset();
    std::exchange(then_, nullptr)();
    sc_core::next_trigger(ev_begin_);
    free_.push_back(this);
  }

  std::vector<Errand*>& free_;
  sc_core::sc_process_handle process_;
  sc_core::sc_event ev_begin_;
  Stage stage_ = Stage::transfer;
  std::shared_ptr<Transfer> transfer_;
  Seconds delay_;
  std::function<void()> then_;
};

Errands::Errands() = default;
Errands::~Errands() = default;

void Errands::after(std::shared_ptr<Transfer> transfer, Seconds delay, std::function<void()> then) {
  if (free_.empty()) {
    all_.push_back(std::make_unique<Errand>(free_));
    free_.push_back(all_.back().get());
  }
  Errand* errand = free_.back();
  free_.pop_back();
  errand->begin(std::move(transfer), delay, std::move(then));
}

}  // namespace qfs
