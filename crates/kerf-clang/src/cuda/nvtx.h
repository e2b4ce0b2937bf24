// NVTX for programs that mark ranges for a profiler: every call is there and does nothing.
#ifndef KERF_NVTX_H
#define KERF_NVTX_H
#include <stddef.h>
#include <stdint.h>
#ifdef __cplusplus
extern "C" {
#endif
#define NVTX_VERSION 3
#define NVTX_API
#define NVTX_NO_PUSH_POP_TRACKING ((int)-2)
#define KERF_NVTX static inline __attribute__((unused))
typedef uint64_t nvtxRangeId_t;
typedef struct nvtxDomainRegistration_st *nvtxDomainHandle_t;
typedef struct nvtxStringRegistration_st *nvtxStringHandle_t;
typedef enum nvtxColorType_t { NVTX_COLOR_UNKNOWN = 0, NVTX_COLOR_ARGB = 1 } nvtxColorType_t;
typedef enum nvtxMessageType_t {
  NVTX_MESSAGE_UNKNOWN = 0, NVTX_MESSAGE_TYPE_ASCII = 1, NVTX_MESSAGE_TYPE_UNICODE = 2, NVTX_MESSAGE_TYPE_REGISTERED = 3
} nvtxMessageType_t;
typedef enum nvtxPayloadType_t {
  NVTX_PAYLOAD_UNKNOWN = 0, NVTX_PAYLOAD_TYPE_UNSIGNED_INT64 = 1, NVTX_PAYLOAD_TYPE_INT64 = 2,
  NVTX_PAYLOAD_TYPE_DOUBLE = 3, NVTX_PAYLOAD_TYPE_UNSIGNED_INT32 = 4, NVTX_PAYLOAD_TYPE_INT32 = 5,
  NVTX_PAYLOAD_TYPE_FLOAT = 6
} nvtxPayloadType_t;
typedef union nvtxMessageValue_t { const char *ascii; const wchar_t *unicode; nvtxStringHandle_t registered; } nvtxMessageValue_t;
typedef struct nvtxEventAttributes_v2 {
  uint16_t version, size;
  uint32_t category;
  int32_t colorType;
  uint32_t color;
  int32_t payloadType, reserved0;
  union payload_t { uint64_t ullValue; int64_t llValue; double dValue; uint32_t uiValue; int32_t iValue; float fValue; } payload;
  int32_t messageType;
  nvtxMessageValue_t message;
} nvtxEventAttributes_t;
#define NVTX_EVENT_ATTRIB_STRUCT_SIZE ((uint16_t)sizeof(nvtxEventAttributes_t))
KERF_NVTX int nvtxRangePushA(const char *m) { (void)m; return 0; }
KERF_NVTX int nvtxRangePushW(const wchar_t *m) { (void)m; return 0; }
KERF_NVTX int nvtxRangePushEx(const nvtxEventAttributes_t *a) { (void)a; return 0; }
KERF_NVTX int nvtxRangePop(void) { return 0; }
KERF_NVTX nvtxRangeId_t nvtxRangeStartA(const char *m) { (void)m; return 1; }
KERF_NVTX nvtxRangeId_t nvtxRangeStartW(const wchar_t *m) { (void)m; return 1; }
KERF_NVTX nvtxRangeId_t nvtxRangeStartEx(const nvtxEventAttributes_t *a) { (void)a; return 1; }
KERF_NVTX void nvtxRangeEnd(nvtxRangeId_t i) { (void)i; }
KERF_NVTX void nvtxMarkA(const char *m) { (void)m; }
KERF_NVTX void nvtxMarkW(const wchar_t *m) { (void)m; }
KERF_NVTX void nvtxMarkEx(const nvtxEventAttributes_t *a) { (void)a; }
KERF_NVTX void nvtxNameOsThreadA(uint32_t t, const char *m) { (void)t; (void)m; }
KERF_NVTX void nvtxNameOsThreadW(uint32_t t, const wchar_t *m) { (void)t; (void)m; }
KERF_NVTX void nvtxNameCategoryW(uint32_t c, const wchar_t *m) { (void)c; (void)m; }
KERF_NVTX void nvtxNameCategoryA(uint32_t c, const char *m) { (void)c; (void)m; }
KERF_NVTX void nvtxInitialize(const void *r) { (void)r; }
KERF_NVTX nvtxDomainHandle_t nvtxDomainCreateA(const char *m) { (void)m; return 0; }
KERF_NVTX nvtxDomainHandle_t nvtxDomainCreateW(const wchar_t *m) { (void)m; return 0; }
KERF_NVTX void nvtxDomainDestroy(nvtxDomainHandle_t d) { (void)d; }
KERF_NVTX int nvtxDomainRangePushEx(nvtxDomainHandle_t d, const nvtxEventAttributes_t *a) { (void)d; (void)a; return 0; }
KERF_NVTX int nvtxDomainRangePop(nvtxDomainHandle_t d) { (void)d; return 0; }
KERF_NVTX nvtxRangeId_t nvtxDomainRangeStartEx(nvtxDomainHandle_t d, const nvtxEventAttributes_t *a) { (void)d; (void)a; return 1; }
KERF_NVTX void nvtxDomainRangeEnd(nvtxDomainHandle_t d, nvtxRangeId_t i) { (void)d; (void)i; }
KERF_NVTX void nvtxDomainMarkEx(nvtxDomainHandle_t d, const nvtxEventAttributes_t *a) { (void)d; (void)a; }
KERF_NVTX nvtxStringHandle_t nvtxDomainRegisterStringA(nvtxDomainHandle_t d, const char *m) { (void)d; (void)m; return 0; }
KERF_NVTX nvtxStringHandle_t nvtxDomainRegisterStringW(nvtxDomainHandle_t d, const wchar_t *m) { (void)d; (void)m; return 0; }
KERF_NVTX void nvtxDomainNameCategoryW(nvtxDomainHandle_t d, uint32_t c, const wchar_t *m) { (void)d; (void)c; (void)m; }
KERF_NVTX void nvtxDomainNameCategoryA(nvtxDomainHandle_t d, uint32_t c, const char *m) { (void)d; (void)c; (void)m; }
#undef KERF_NVTX
#define nvtxRangePush nvtxRangePushA
#define nvtxRangeStart nvtxRangeStartA
#define nvtxMark nvtxMarkA
#define nvtxNameOsThread nvtxNameOsThreadA
#define nvtxNameCategory nvtxNameCategoryA
#define nvtxDomainCreate nvtxDomainCreateA
#define nvtxDomainRegisterString nvtxDomainRegisterStringA
#ifdef __cplusplus
}
#endif
#endif
