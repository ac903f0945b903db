#pragma once
#include <brotli/decode.h>
#include <zlib.h>
#include <zstd.h>

// A macro, which Swift cannot call.
static inline int larder_inflateInit2(z_stream *stream, int window_bits) {
    return inflateInit2(stream, window_bits);
}
