#pragma once
#include <brotli/decode.h>
// Declares malloc_usable_size, because Swift's module of the C library lacks it.
#include <malloc.h>
#include <zlib.h>
#include <zstd.h>

// Wraps inflateInit2, because Swift cannot call a macro.
static inline int larder_inflateInit2(z_stream *stream, int window_bits) {
    return inflateInit2(stream, window_bits);
}
