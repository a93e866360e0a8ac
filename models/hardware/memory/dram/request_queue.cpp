#include "hardware/memory/dram/request_queue.hpp"

#include <algorithm>
#include <cassert>

namespace qfs::dram {

void Candidates::insert(const Candidate& candidate) {
  std::size_t i = items_.size();
  items_.push_back(candidate);
  for (; i > 0 && items_[i - 1].order > candidate.order; --i) {
    items_[i] = items_[i - 1];
  }
  items_[i] = candidate;
}

std::size_t Candidates::find(std::int64_t order) const {
  std::size_t i = 0;
  while (items_[i].order != order) {
    ++i;
    assert(i < items_.size());
  }
  return i;
}

void Candidates::erase(std::int64_t order) {
  items_.erase(items_.begin() + static_cast<std::ptrdiff_t>(find(order)));
}

void Candidates::replace(std::int64_t order, const Candidate& younger) {
  std::size_t i = find(order);
  for (; i + 1 < items_.size() && items_[i + 1].order < younger.order; ++i) {
    items_[i] = items_[i + 1];
  }
  items_[i] = younger;
}

RequestQueue::RequestQueue(std::size_t banks, std::size_t reads, std::size_t writes)
    : room_{reads, writes},
      pool_(reads + writes + banks),
      lanes_(2 * banks),
      open_row_(banks, no_row),
      aside_of_(banks, nobody),
      hits_{Candidates(banks), Candidates(banks)},
      misses_{Candidates(banks), Candidates(banks)},
      aside_(banks) {
  free_.reserve(pool_.size());
  free_all();
}

void RequestQueue::free_all() {
  free_.clear();
  for (std::size_t i = pool_.size(); i-- > 0;) {
    free_.push_back(static_cast<std::int32_t>(i));
  }
}

bool RequestQueue::has_others(std::span<const std::uint32_t> transactions,
                              const Others& which) const {
  const auto is_other = [&](std::int32_t i, bool writes_count) {
    return (writes_count || request(i).direction == Direction::read) &&
           std::ranges::find(transactions, request(i).transaction) == transactions.end();
  };
  for (const Lane& lane : lanes_) {
    for (std::int32_t i = lane.first; i != nobody; i = request(i).next) {
      if (is_other(i, which.queued_writes)) {
        return true;
      }
    }
  }
  return std::ranges::any_of(aside(), [&](const Candidate& candidate) {
    return is_other(candidate.request, which.writes_aside);
  });
}

std::vector<Request> RequestQueue::take_all() {
  std::vector<Request> requests;
  for (const Lane& lane : lanes_) {
    for (std::int32_t i = lane.first; i != nobody; i = request(i).next) {
      requests.push_back(request(i));
    }
  }
  for (const Candidate& candidate : aside()) {
    requests.push_back(request(candidate.request));
  }
  std::ranges::sort(requests, {}, &Request::order);
  free_all();
  lanes_.assign(lanes_.size(), Lane{});
  aside_of_.assign(aside_of_.size(), nobody);
  for (Candidates* list : {&hits_[0], &hits_[1], &misses_[0], &misses_[1], &aside_}) {
    list->clear();
  }
  size_ = {};
  return requests;
}

std::uint64_t RequestQueue::waiting(std::uint32_t transaction) const {
  std::uint64_t count = 0;
  for (const Lane& lane : lanes_) {
    for (std::int32_t i = lane.first; i != nobody; i = request(i).next) {
      count += request(i).transaction == transaction ? 1 : 0;
    }
  }
  for (const Candidate& candidate : aside()) {
    count += request(candidate.request).transaction == transaction ? 1 : 0;
  }
  return count;
}

void RequestQueue::put_forward(Candidates& list, std::int32_t& slot, std::int32_t index) {
  if (slot == index) {
    return;
  }
  if (slot != nobody) {
    list.erase(at(slot).order);
  }
  slot = index;
  if (index != nobody) {
    list.insert({at(index).order, index, at(index).bank, 0});
  }
}

void RequestQueue::push(Direction direction, std::uint32_t bank, std::uint32_t row,
                        std::uint32_t transaction) {
  assert(has_room(direction));
  const std::int32_t index = free_.back();
  free_.pop_back();
  Lane& lane = this->lane(direction, bank);
  at(index) = {row, bank, transaction, direction, orders_++, lane.last, nobody};
  (lane.last == nobody ? lane.first : at(lane.last).next) = index;
  lane.last = index;
  const bool is_hit = row == open_row_[bank];
  std::int32_t& oldest = is_hit ? lane.hit : lane.miss;
  if (oldest == nobody) {
    put_forward((is_hit ? hits_ : misses_)[side(direction)], oldest, index);
  }
  ++size_[side(direction)];
}

void RequestQueue::unlink(std::int32_t index) {
  const Request& request = at(index);
  Lane& lane = this->lane(request.direction, request.bank);
  (request.previous == nobody ? lane.first : at(request.previous).next) = request.next;
  (request.next == nobody ? lane.last : at(request.next).previous) = request.previous;
  --size_[side(request.direction)];
}

void RequestQueue::find_again(Direction direction, std::uint32_t bank) {
  Lane& lane = this->lane(direction, bank);
  std::int32_t hit = nobody;
  std::int32_t miss = nobody;
  for (std::int32_t i = lane.first; i != nobody && (hit == nobody || miss == nobody);
       i = at(i).next) {
    std::int32_t& oldest = at(i).row == open_row_[bank] ? hit : miss;
    oldest = oldest == nobody ? i : oldest;
  }
  put_forward(hits_[side(direction)], lane.hit, hit);
  put_forward(misses_[side(direction)], lane.miss, miss);
}

void RequestQueue::open_for(std::int32_t index) {
  const Request& request = at(index);
  assert(open_row_[request.bank] == no_row && aside_of_[request.bank] == nobody);
  unlink(index);
  open_row_[request.bank] = request.row;
  find_again(Direction::read, request.bank);
  find_again(Direction::write, request.bank);
  aside_of_[request.bank] = index;
  aside_.insert({request.order, index, request.bank, 0});
}

void RequestQueue::close(std::uint32_t bank) {
  assert(aside_of_[bank] == nobody);
  open_row_[bank] = no_row;
  for (const Direction direction : {Direction::read, Direction::write}) {
    Lane& lane = this->lane(direction, bank);
    put_forward(hits_[side(direction)], lane.hit, nobody);
    put_forward(misses_[side(direction)], lane.miss, lane.first);
  }
}

void RequestQueue::remove(std::int32_t index) {
  const Request& request = at(index);
  if (aside_of_[request.bank] == index) {
    aside_of_[request.bank] = nobody;
    aside_.erase(request.order);
  } else {
    Lane& lane = this->lane(request.direction, request.bank);
    assert(lane.hit == index);
    std::int32_t next = request.next;
    while (next != nobody && at(next).row != request.row) {
      next = at(next).next;
    }
    Candidates& hits = hits_[side(request.direction)];
    if (next == nobody) {
      hits.erase(request.order);
    } else {
      hits.replace(request.order, {at(next).order, next, request.bank, 0});
    }
    lane.hit = next;
    unlink(index);
  }
  free_.push_back(index);
}

}  // namespace qfs::dram
