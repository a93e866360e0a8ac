// SHA-256 (FIPS 180-4), by which a sweep knows configurations and the program that simulated them.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

namespace qfs {

class Sha256 {
 public:
  void add(std::string_view bytes);
  /// 64 hexadecimal digits. Nothing can be added afterwards.
  std::string hex();

 private:
  void compress(const unsigned char* block);

  std::array<std::uint32_t, 8> state_{0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                                      0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
  std::array<unsigned char, 64> pending_{};
  std::size_t pending_count_ = 0;
  std::uint64_t length_ = 0;
};

std::string digest_of(std::string_view text);
/// Of a file's bytes. RunError if it cannot be read.
std::string digest_of_file(const std::filesystem::path& file);
/// Of the program that runs: another build has another one. The libraries that it loads have no
/// part in it.
const std::string& program_digest();

}  // namespace qfs
