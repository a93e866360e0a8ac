#include "sim/sweep/digest.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <fstream>
#include <vector>

#include "base/error.hpp"

namespace qfs {
namespace {

// FIPS 180-4, section 4.2.2: of the cube roots of the first 64 primes.
constexpr std::array<std::uint32_t, 64> round_constants{
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

constexpr std::size_t block_bytes = 64;

/// Section 6.2.2, step 1.
std::array<std::uint32_t, 64> schedule_of(const unsigned char* block) {
  std::array<std::uint32_t, 64> w{};
  for (std::size_t t = 0; t < 16; ++t) {
    for (std::size_t byte = 0; byte < 4; ++byte) {
      w[t] = w[t] << 8U | block[4 * t + byte];
    }
  }
  for (std::size_t t = 16; t < w.size(); ++t) {
    const std::uint32_t a = w[t - 15];
    const std::uint32_t b = w[t - 2];
    w[t] = (std::rotr(b, 17) ^ std::rotr(b, 19) ^ b >> 10U) + w[t - 7] +
           (std::rotr(a, 7) ^ std::rotr(a, 18) ^ a >> 3U) + w[t - 16];
  }
  return w;
}

}  // namespace

void Sha256::compress(const unsigned char* block) {
  const std::array<std::uint32_t, 64> w = schedule_of(block);
  auto [a, b, c, d, e, f, g, h] = state_;
  for (std::size_t t = 0; t < w.size(); ++t) {
    const std::uint32_t t1 = h + (std::rotr(e, 6) ^ std::rotr(e, 11) ^ std::rotr(e, 25)) +
                             ((e & f) ^ (~e & g)) + round_constants[t] + w[t];
    const std::uint32_t t2 =
        (std::rotr(a, 2) ^ std::rotr(a, 13) ^ std::rotr(a, 22)) + ((a & b) ^ (a & c) ^ (b & c));
    h = g;
    g = f;
    f = e;
    e = d + t1;
    d = c;
    c = b;
    b = a;
    a = t1 + t2;
  }
  const std::array<std::uint32_t, 8> round{a, b, c, d, e, f, g, h};
  for (std::size_t i = 0; i < round.size(); ++i) {
    state_[i] += round[i];
  }
}

void Sha256::add(std::string_view bytes) {
  length_ += bytes.size();
  for (const char byte : bytes) {
    pending_[pending_count_++] = static_cast<unsigned char>(byte);
    if (pending_count_ == block_bytes) {
      compress(pending_.data());
      pending_count_ = 0;
    }
  }
}

std::string Sha256::hex() {
  const std::uint64_t bits = 8 * length_;
  const std::size_t zeros = (block_bytes + 55 - pending_count_) % block_bytes;
  std::string padding(1 + zeros, '\0');
  padding.front() = '\x80';
  for (unsigned shift = 64; shift > 0; shift -= 8) {
    padding += static_cast<char>(bits >> (shift - 8) & 0xffU);
  }
  add(padding);
  std::string text;
  for (const std::uint32_t word : state_) {
    text += fmt::format("{:08x}", word);
  }
  return text;
}

std::string digest_of(std::string_view text) {
  Sha256 digest;
  digest.add(text);
  return digest.hex();
}

std::string digest_of_file(const std::filesystem::path& file) {
  std::ifstream stream(file, std::ios::binary);
  Sha256 digest;
  std::vector<char> buffer(std::size_t{1} << 16U);
  while (stream) {
    stream.read(buffer.data(), static_cast<std::streamsize>(buffer.size()));
    digest.add({buffer.data(), static_cast<std::size_t>(stream.gcount())});
  }
  if (!stream.eof()) {
    throw RunError(fmt::format("cannot read {}", file.string()));
  }
  return digest.hex();
}

const std::string& program_digest() {
  static const std::string digest = digest_of_file("/proc/self/exe");
  return digest;
}

}  // namespace qfs
