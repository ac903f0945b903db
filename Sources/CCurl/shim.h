#pragma once
#include <curl/curl.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

// Swift cannot call curl_easy_setopt, curl_easy_getinfo and curl_multi_setopt, because they are variadic. Each type of
// argument has a wrapper here.

static inline CURLcode larder_curl_setopt_long(CURL *handle, CURLoption option, long value) {
    return curl_easy_setopt(handle, option, value);
}

static inline CURLcode larder_curl_setopt_string(CURL *handle, CURLoption option, const char *value) {
    return curl_easy_setopt(handle, option, value);
}

static inline CURLcode larder_curl_setopt_pointer(CURL *handle, CURLoption option, void *value) {
    return curl_easy_setopt(handle, option, value);
}

static inline CURLcode larder_curl_setopt_off_t(CURL *handle, CURLoption option, curl_off_t value) {
    return curl_easy_setopt(handle, option, value);
}

static inline CURLcode larder_curl_setopt_slist(CURL *handle, CURLoption option, struct curl_slist *value) {
    return curl_easy_setopt(handle, option, value);
}

// Sets CURLOPT_WRITEFUNCTION or CURLOPT_HEADERFUNCTION, which have the same type.
static inline CURLcode larder_curl_setopt_write(CURL *handle, CURLoption option, curl_write_callback value) {
    return curl_easy_setopt(handle, option, value);
}

static inline CURLcode larder_curl_setopt_read(CURL *handle, curl_read_callback value) {
    return curl_easy_setopt(handle, CURLOPT_READFUNCTION, value);
}

static inline CURLcode larder_curl_setopt_opensocket(CURL *handle, curl_opensocket_callback value) {
    return curl_easy_setopt(handle, CURLOPT_OPENSOCKETFUNCTION, value);
}

static inline CURLcode larder_curl_setopt_closesocket(CURL *handle, curl_closesocket_callback value) {
    return curl_easy_setopt(handle, CURLOPT_CLOSESOCKETFUNCTION, value);
}

static inline CURLcode larder_curl_setopt_prereq(CURL *handle, curl_prereq_callback value) {
    return curl_easy_setopt(handle, CURLOPT_PREREQFUNCTION, value);
}

static inline CURLcode larder_curl_getinfo_off_t(CURL *handle, CURLINFO info, curl_off_t *value) {
    return curl_easy_getinfo(handle, info, value);
}

static inline CURLcode larder_curl_getinfo_slist(CURL *handle, CURLINFO info, struct curl_slist **value) {
    return curl_easy_getinfo(handle, info, value);
}

static inline CURLMcode larder_curl_multi_setopt_long(CURLM *handle, CURLMoption option, long value) {
    return curl_multi_setopt(handle, option, value);
}

// Returns the address at the end of struct curl_sockaddr. Swift imports the field as a struct sockaddr, and a copy of
// the field would cut off the end of a longer address.
static inline const struct sockaddr *larder_curl_address(const struct curl_sockaddr *address) {
    return &address->addr;
}

struct larder_tcp_count { bool is_known; uint64_t bytes; };

// Returns the total number of payload bytes that a TCP socket has received: tcpi_bytes_received, the 17th 64-bit word
// of the kernel's struct tcp_info since Linux 4.1. glibc's struct ends before this field, and the kernel's header
// conflicts with glibc's header.
static inline struct larder_tcp_count larder_tcp_received(int socket) {
    uint64_t words[64];
    socklen_t length = sizeof words;
    const int tcp_info = 11;
    struct larder_tcp_count count = { false, 0 };
    if (getsockopt(socket, IPPROTO_TCP, tcp_info, words, &length) == 0 && length >= 17 * sizeof words[0]) {
        count.is_known = true;
        count.bytes = words[16];
    }
    return count;
}
