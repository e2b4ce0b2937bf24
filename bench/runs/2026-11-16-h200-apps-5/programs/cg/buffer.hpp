#pragma once
#include <cuda_runtime.h>
#include <cstdio>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace solver {

class cuda_error : public std::runtime_error {
 public:
  cuda_error(cudaError_t code, const char *file, int line)
      : std::runtime_error(std::string(file) + ":" + std::to_string(line) + ": " + cudaGetErrorName(code) + ": " + cudaGetErrorString(code)), code_(code) {}
  cudaError_t code() const noexcept { return code_; }
 private:
  cudaError_t code_;
};

#define CU(x)                                                          \
  do {                                                                 \
    if (auto e_ = (x); e_ != cudaSuccess) throw solver::cuda_error(e_, __FILE__, __LINE__); \
  } while (false)

template <typename T>
class device_buffer {
 public:
  device_buffer() = default;
  explicit device_buffer(std::size_t n) : size_(n) {
    if (n) CU(cudaMalloc(reinterpret_cast<void **>(&data_), n * sizeof(T)));
  }
  explicit device_buffer(const std::vector<T> &v) : device_buffer(v.size()) { upload(v); }
  device_buffer(const device_buffer &) = delete;
  device_buffer &operator=(const device_buffer &) = delete;
  device_buffer(device_buffer &&o) noexcept : data_(std::exchange(o.data_, nullptr)), size_(std::exchange(o.size_, 0)) {}
  device_buffer &operator=(device_buffer &&o) noexcept {
    if (this != &o) { release(); data_ = std::exchange(o.data_, nullptr); size_ = std::exchange(o.size_, 0); }
    return *this;
  }
  ~device_buffer() { release(); }
  void upload(const std::vector<T> &v, cudaStream_t s = nullptr) { CU(cudaMemcpyAsync(data_, v.data(), v.size() * sizeof(T), cudaMemcpyHostToDevice, s)); }
  std::vector<T> download() const {
    std::vector<T> v(size_);
    CU(cudaMemcpy(v.data(), data_, size_ * sizeof(T), cudaMemcpyDefault));
    return v;
  }
  void zero(cudaStream_t s = nullptr) { CU(cudaMemsetAsync(data_, 0, size_ * sizeof(T), s)); }
  T *get() noexcept { return data_; }
  const T *get() const noexcept { return data_; }
  std::size_t size() const noexcept { return size_; }
 private:
  void release() noexcept { if (data_) cudaFree(data_); data_ = nullptr; }
  T *data_ = nullptr;
  std::size_t size_ = 0;
};

struct stream_deleter { void operator()(CUstream_st *s) const { cudaStreamDestroy(s); } };
using unique_stream = std::unique_ptr<CUstream_st, stream_deleter>;
inline unique_stream make_stream() { cudaStream_t s; CU(cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking)); return unique_stream(s); }

class timer {
 public:
  timer() { CU(cudaEventCreate(&a_)); CU(cudaEventCreate(&b_)); }
  ~timer() { cudaEventDestroy(a_); cudaEventDestroy(b_); }
  void start(cudaStream_t s) { CU(cudaEventRecord(a_, s)); }
  float stop(cudaStream_t s) { float ms; CU(cudaEventRecord(b_, s)); CU(cudaEventSynchronize(b_)); CU(cudaEventElapsedTime(&ms, a_, b_)); return ms; }
 private:
  cudaEvent_t a_{}, b_{};
};

}  // namespace solver
