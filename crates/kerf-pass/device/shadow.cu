// Shadow memory of a reference execution that runs as device code: what `kerf_pass::shadow` links into the kernels that
// it instruments for a device.
//
// Every granule of memory (2, 4 or 8 bytes: the narrowest float of the program) has an entry of 16 bytes: the high word
// of the shadow, and the low word with a tag in its three lowest bits. A tag of 0 is an empty entry, so memory that was
// filled with zeros has no shadows: the value in memory is exact. Tags 1 to 4 are the format of the value that the entry
// belongs to, plus one; tag 5 marks bytes that were written as an integer and may hide a float. A value whose entry has
// another format's tag has lost its shadow: it is counted, and the caller decides what that is worth.
//
// Entries of global memory lie in one range beside the arena that holds the buffers. Those of shared memory lie in global
// memory too, one slot for each block that is resident; blocks take a slot when they start and give it back when their
// last thread ends. Those of local arrays lie beside the arrays (the pass does that).
//
// With KERF_FLAT all memory of a program lies in one arena, as it does on the CPU executor.
#define API extern "C" __attribute__((device, always_inline))
#define INLINE static inline __attribute__((device, always_inline))

typedef double dd __attribute__((ext_vector_type(2)));
typedef unsigned long long u64;
typedef unsigned int u32;

// Where everything lies; the host fills it before a launch.
struct ShadowSpace {
    u64 arena, arena_bytes; // memory that has entries
    u64 entries;            // their first one
    u64 shared_entries;     // those of shared memory: the first slot
    u64 slot_bytes;         // of one block
    u64 locks, slots;       // one u32 for each slot
    u64 flips;              // one u64 for each comparison
    u64 lost;               // u64: loads, stores, local memory behind a pointer
};

extern "C" {
__attribute__((constant)) ShadowSpace kerf_shadow_space;
}

enum Lost { LOST_LOAD, LOST_STORE, LOST_LOCAL };
enum { TAG_HIDDEN = 5, TAG_BITS = 7 };

// How the pass describes an access: log2 of the granule, whether floats of several widths are in memory, whether other
// threads write meanwhile, and the address space.
enum { GRANULE = 15, MIXED = 16, VOLATILE = 32, SPACE = 8 };
enum { ANY = 0, GLOBAL = 1, SHARED = 3 };

INLINE u64 bits(double x) { return __builtin_bit_cast(u64, x); }
INLINE double number(u64 x) { return __builtin_bit_cast(double, x); }

// A GPU that knows the memory needs fewer instructions, and there is such code behind every load.
#ifdef KERF_FLAT
#define IN_GLOBAL
#else
#define IN_GLOBAL __attribute__((address_space(1)))
#endif

INLINE void count(u64 array, u64 at) { __atomic_fetch_add((IN_GLOBAL u64 *)array + at, 1ull, __ATOMIC_RELAXED); }
INLINE void lost(Lost why) { count(kerf_shadow_space.lost, why); }

INLINE dd *entry_of_arena(u64 address, u32 layout)
{
    u64 at = address - kerf_shadow_space.arena;
    if (at >= kerf_shadow_space.arena_bytes) return 0;
    return (dd *)(IN_GLOBAL dd *)(kerf_shadow_space.entries + ((at >> (layout & GRANULE)) << 4));
}

#ifdef KERF_FLAT
API dd *kerf_shadow_entry(const void *p, u32 layout) { return entry_of_arena((u64)p, layout); }
API void kerf_shadow_enter() {}
API void kerf_shadow_leave() {}
#else
static __attribute__((shared)) u64 block_slot;
static __attribute__((shared)) u32 threads_left;

INLINE u32 threads_of_block()
{
    return __nvvm_read_ptx_sreg_ntid_x() * __nvvm_read_ptx_sreg_ntid_y() * __nvvm_read_ptx_sreg_ntid_z();
}

INLINE bool is_first_thread()
{
    return (__nvvm_read_ptx_sreg_tid_x() | __nvvm_read_ptx_sreg_tid_y() | __nvvm_read_ptx_sreg_tid_z()) == 0;
}

// A block takes a slot for its shared memory. There are as many as blocks can be resident.
API void kerf_shadow_enter()
{
    if (is_first_thread()) {
        u64 n = kerf_shadow_space.slots;
        u64 i = (u64)__nvvm_read_ptx_sreg_smid() * 37 % n;
        while (__atomic_exchange_n((u32 *)kerf_shadow_space.locks + i, 1u, __ATOMIC_ACQUIRE)) i = i + 1 < n ? i + 1 : 0;
        block_slot = kerf_shadow_space.shared_entries + i * kerf_shadow_space.slot_bytes;
        threads_left = threads_of_block();
    }
    __syncthreads();
}

// The last thread to end gives the slot back.
API void kerf_shadow_leave()
{
    __nvvm_membar_gl();
    if (__atomic_fetch_sub(&threads_left, 1u, __ATOMIC_RELAXED) == 1) {
        u64 i = (block_slot - kerf_shadow_space.shared_entries) / kerf_shadow_space.slot_bytes;
        __nvvm_membar_gl();
        __atomic_store_n((u32 *)kerf_shadow_space.locks + i, 0u, __ATOMIC_RELEASE);
    }
}

INLINE dd *entry_of_shared(const void *p, u32 layout)
{
    u32 at = (u32)(u64)(__attribute__((address_space(3))) const char *)p;
    dd *e = (dd *)(IN_GLOBAL dd *)(block_slot + ((u64)(at >> (layout & GRANULE)) << 4));
    __builtin_assume(e != 0);
    return e;
}

// The entry of an address; none outside of what has entries.
API dd *kerf_shadow_entry(const void *p, u32 layout)
{
    u32 space = layout >> SPACE;
    if (space == GLOBAL) return entry_of_arena((u64)p, layout);
    if (space == SHARED || __nvvm_isspacep_shared(p)) return entry_of_shared(p, layout);
    if (__nvvm_isspacep_local(p)) {
        lost(LOST_LOCAL);
        return 0;
    }
    return entry_of_arena((u64)p, layout);
}
#endif

// Not by a conditional expression: both of its sides would be volatile, and a GPU's volatile loads pass its caches by.
INLINE dd read(const dd *e, u32 layout)
{
    if (layout & VOLATILE) return *(volatile const dd *)e;
    return *e;
}
INLINE void write(dd *e, dd x, u32 layout)
{
    if (layout & VOLATILE) *(volatile dd *)e = x;
    else *e = x;
}

INLINE u32 bytes_of(u32 format) { return format == 0 ? 8 : format == 1 ? 4 : 2; }

// The shadow of a float `v` that was read from memory.
API dd kerf_shadow_load(const dd *e, double v, u32 format, u32 layout)
{
    if (!e) return dd{v, 0};
    dd x = read(e, layout);
    u64 low = bits(x.y);
    u32 tag = low & TAG_BITS;
    bool own = tag == format + 1;
    if (__builtin_expect(tag && !own, 0)) lost(LOST_LOAD);
    return own ? dd{x.x, number(low & ~(u64)TAG_BITS)} : dd{v, 0};
}

// An entry of a wider float that begins before `p` no longer holds when bytes at `p` are written.
INLINE void end_wider(const void *p, dd *e, u32 bytes, u32 layout)
{
    u32 granule = layout & GRANULE;
    for (u32 wide = 8; wide > bytes; wide >>= 1) {
        u32 before = (u32)(u64)p & (wide - 1);
        if (before == 0) continue;
        dd *w = e - (before >> granule);
        u32 tag = bits(w->y) & TAG_BITS;
        if (tag >= 1 && tag <= 4 && bytes_of(tag - 1) > before) *w = dd{0, number(TAG_HIDDEN)};
    }
}

INLINE void set(const void *p, dd *e, dd x, u32 bytes, u32 layout)
{
    write(e, x, layout);
    for (u32 k = 1; k << (layout & GRANULE) < bytes; k++) write(e + k, dd{0, 0}, layout);
    if (layout & MIXED) end_wider(p, e, bytes, layout);
}

// A float is written, and with it its shadow.
API void kerf_shadow_store(const void *p, dd *e, u32 format, double hi, double lo, u32 layout)
{
    if (!e) {
        lost(LOST_STORE);
        return;
    }
    u64 low = (bits(lo) & ~(u64)TAG_BITS) | (format + 1);
    set(p, e, dd{hi, number(low)}, bytes_of(format), layout);
}

// Bytes are written that are no float: exact, or an integer that may hide one.
API void kerf_shadow_overwrite(const void *p, dd *e, u64 bytes, u32 hidden, u32 layout)
{
    if (!e || bytes == 0) return;
    u32 granule = layout & GRANULE;
    dd x = {0, hidden ? number(TAG_HIDDEN) : 0.0};
    if (layout & MIXED) end_wider(p, e, 1, layout);
    u64 last = (((u64)p & ((1u << granule) - 1)) + bytes - 1) >> granule;
    for (u64 k = 0; k <= last; k++) {
        // Most memory of integers never has a shadow, and need not be written.
        if (hidden || bits(read(e + k, layout).y)) write(e + k, x, layout);
    }
}

// An integer is read whose bits become a float: was there one?
API void kerf_shadow_check_word(const dd *e, u64 bytes, u32 layout)
{
    if (!e) return;
    for (u64 k = 0; k << (layout & GRANULE) < bytes; k++)
        if (bits(read(e + k, layout).y) & TAG_BITS) {
            lost(LOST_LOAD);
            return;
        }
}

// An entry that is copied with so many bytes from where it begins: a float of which only a part is copied is hidden.
INLINE dd whole(dd x, u64 bytes)
{
    u32 tag = bits(x.y) & TAG_BITS;
    bool is_part = tag >= 1 && tag <= 4 && bytes_of(tag - 1) > bytes;
    return is_part ? dd{0, number(TAG_HIDDEN)} : x;
}

// The entries of an integer that is read here and written elsewhere as it is; `bytes` are those from the entry on.
API dd kerf_shadow_get(const dd *e, u32 layout) { return e ? read(e, layout) : dd{0, 0}; }
API void kerf_shadow_put(const void *p, dd *e, dd x, u32 bytes, u32 layout)
{
    x = whole(x, bytes);
    if (e) {
        write(e, x, layout);
        if (layout & MIXED) end_wider(p, e, 1u << (layout & GRANULE), layout);
    } else if (bits(x.y)) lost(LOST_STORE);
}

// Bytes are copied; their shadows go along. Entries of an object follow each other as its bytes do.
API void kerf_shadow_copy(const void *p, dd *to, const dd *from, u64 bytes, u32 layout)
{
    if (bytes == 0) return;
    if (to && (layout & MIXED)) end_wider(p, to, 1, layout);
    u64 n = (bytes + (1ull << (layout & GRANULE)) - 1) >> (layout & GRANULE);
    for (u64 i = 0; i < n; i++) {
        u64 k = to <= from ? i : n - 1 - i;
        dd x = from ? whole(from[k], bytes - (k << (layout & GRANULE))) : dd{0, 0};
        if (to) to[k] = x;
        else if (bits(x.y)) lost(LOST_STORE);
    }
}

// A comparison that came out as `original` in the program; predicates are numbered as LLVM does: 1 equal, 2 greater,
// 4 less, 8 unordered.
API void kerf_shadow_compare(u32 site, u32 predicate, u32 original, dd a, dd b)
{
    u32 order = a.x != b.x ? (a.x > b.x ? 2 : a.x < b.x ? 4 : 8)
                           : (a.y > b.y ? 2 : a.y < b.y ? 4 : a.x == b.x ? 1 : 8);
    if (((predicate & order) != 0) != (original & 1)) count(kerf_shadow_space.flips, site);
}

INLINE double decoded(const char *p, u32 format)
{
    if (format == 0) return *(const double *)p;
    if (format == 1) return *(const float *)p;
    if (format == 2) return *(const _Float16 *)p;
    u32 high = (u32) * (const unsigned short *)p << 16;
    return __builtin_bit_cast(float, high);
}

struct Scalars {
    u64 buffer, elements; // where, and how many
    u32 element_bytes, offset, format, layout;
    u32 values_of_element, number; // scalars of this format in an element, and which of them this is
};

// The shadows of one scalar of every element of a buffer, as pairs.
extern "C" __attribute__((global)) void kerf_shadow_values(dd *out, Scalars s)
{
    u64 step = (u64)__nvvm_read_ptx_sreg_nctaid_x() * __nvvm_read_ptx_sreg_ntid_x();
    u64 i = (u64)__nvvm_read_ptx_sreg_ctaid_x() * __nvvm_read_ptx_sreg_ntid_x() + __nvvm_read_ptx_sreg_tid_x();
    for (; i < s.elements; i += step) {
        const char *p = (const char *)s.buffer + i * s.element_bytes + s.offset;
        const dd *e = kerf_shadow_entry(p, s.layout);
        out[i * s.values_of_element + s.number] = kerf_shadow_load(e, decoded(p, s.format), s.format, s.layout);
    }
}
