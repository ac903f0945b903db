#pragma once

#include <dlfcn.h>
#include <gnutls/abstract.h>
#include <gnutls/gnutls.h>
#include <gnutls/x509.h>
#include <microhttpd.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

/* GnuTLS implements TLS below libmicrohttpd, which gives access to its sessions. These shims wrap functions with
   GnuTLS's data types, enums and macros, or with memory that only GnuTLS frees. */

/* Fails. libmicrohttpd does not start without a certificate callback, but does not need one: each session gets its own
   credentials before its handshake (cmhd_tls_use). If that failed, GnuTLS calls this function, and the handshake fails
   here. */
static inline int cmhd_no_certificate(
    gnutls_session_t session, const gnutls_datum_t *names, int name_count, const gnutls_pk_algorithm_t *algorithms,
    int algorithm_count, gnutls_pcert_st **certificates, unsigned int *certificate_count, gnutls_privkey_t *key) {
    (void)session;
    (void)names;
    (void)name_count;
    (void)algorithms;
    (void)algorithm_count;
    (void)certificates;
    (void)certificate_count;
    (void)key;
    return -1;
}

/* The session of a connection; NULL without TLS. Call it while the connection is served, because the session ends
   before the connection is reported closed. */
static inline gnutls_session_t cmhd_tls_session(struct MHD_Connection *connection) {
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(connection, MHD_CONNECTION_INFO_GNUTLS_SESSION);
    return info ? (gnutls_session_t)info->tls_session : NULL;
}

/* Gives a session its credentials before its handshake. With `asks_client`, GnuTLS ends the handshake of a client
   without a certificate, and calls `verify` to check the certificate of a client; `verify` finds `context` as the
   session's pointer. libmicrohttpd's own HTTPS_MEM_TRUST only asks for a certificate, and serves clients without one.
   */
static inline bool cmhd_tls_use(
    gnutls_session_t session, gnutls_certificate_credentials_t credentials, bool asks_client,
    int (*verify)(gnutls_session_t session), void *context) {
    if (asks_client) {
        gnutls_session_set_ptr(session, context);
        gnutls_certificate_server_set_request(session, GNUTLS_CERT_REQUIRE);
        gnutls_session_set_verify_function(session, verify);
    }
    return gnutls_credentials_set(session, GNUTLS_CRD_CERTIFICATE, credentials) == GNUTLS_E_SUCCESS;
}

/* Whether the certificate of a client is valid now, and permitted for clients. If not, the client gets an alert, which
   libmicrohttpd does not send, and `reason` gets GnuTLS's text. */
static inline bool cmhd_tls_verify_client(gnutls_session_t session, char *reason, size_t size) {
    gnutls_typed_vdata_st purpose = {GNUTLS_DT_KEY_PURPOSE_OID, (unsigned char *)GNUTLS_KP_TLS_WWW_CLIENT, 0};
    unsigned int status = 0;
    const int code = gnutls_certificate_verify_peers(session, &purpose, 1, &status);
    if (code == GNUTLS_E_SUCCESS && status == 0) return true;
    gnutls_alert_description_t alert = GNUTLS_A_BAD_CERTIFICATE;
    gnutls_datum_t text = {NULL, 0};
    if (code != GNUTLS_E_SUCCESS) {
        snprintf(reason, size, "%s", gnutls_strerror(code));
    } else if (gnutls_certificate_verification_status_print(status, GNUTLS_CRT_X509, &text, 0) == GNUTLS_E_SUCCESS) {
        snprintf(reason, size, "%s", (const char *)text.data);
        gnutls_free(text.data);
    } else {
        snprintf(reason, size, "the certificate is invalid");
    }
    if (status & GNUTLS_CERT_SIGNER_NOT_FOUND) alert = GNUTLS_A_UNKNOWN_CA;
    if (status & GNUTLS_CERT_EXPIRED) alert = GNUTLS_A_CERTIFICATE_EXPIRED;
    gnutls_alert_send(session, GNUTLS_AL_FATAL, alert);
    return false;
}

/* Sends bytes within TLS without libmicrohttpd. Call it on the connection's thread. Returns false if GnuTLS cannot send
   all bytes at once. */
static inline bool cmhd_tls_send(gnutls_session_t session, const void *bytes, size_t count) {
    for (size_t sent = 0; sent < count;) {
        const ssize_t step = gnutls_record_send(session, (const char *)bytes + sent, count - sent);
        if (step <= 0) return false;
        sent += (size_t)step;
    }
    return true;
}

/* The socket of a session. */
static inline int cmhd_tls_descriptor(gnutls_session_t session) { return gnutls_transport_get_int(session); }

/* GnuTLS's own gnutls_record_recv, looked up because the executable defines that name: see
   ConnectionDriver+Receiving.swift. (void *)-1 is RTLD_NEXT, which glibc declares for GNU C only. */
static inline ssize_t (*cmhd_tls_receive(void))(gnutls_session_t session, void *target, size_t count) {
    return (ssize_t (*)(gnutls_session_t, void *, size_t))dlsym((void *)-1, "gnutls_record_recv");
}

/* Empty credentials; NULL if there is no memory. */
static inline gnutls_certificate_credentials_t cmhd_tls_new(void) {
    gnutls_certificate_credentials_t credentials = NULL;
    return gnutls_certificate_allocate_credentials(&credentials) == GNUTLS_E_SUCCESS ? credentials : NULL;
}

static inline gnutls_datum_t cmhd_datum(const void *bytes, size_t count) {
    gnutls_datum_t datum = {(unsigned char *)bytes, (unsigned int)count};
    return datum;
}

/* Checks that a PEM text contains certificates. Returns GnuTLS's code: 0, or less than 0 for an error. */
static inline int cmhd_tls_check_certificates(const void *pem, size_t count) {
    const gnutls_datum_t datum = cmhd_datum(pem, count);
    gnutls_x509_crt_t *list = NULL;
    unsigned int size = 0;
    const int code = gnutls_x509_crt_list_import2(&list, &size, &datum, GNUTLS_X509_FMT_PEM, 0);
    if (code < 0) return code;
    for (unsigned int index = 0; index < size; index++) gnutls_x509_crt_deinit(list[index]);
    gnutls_free(list);
    return size > 0 ? GNUTLS_E_SUCCESS : GNUTLS_E_NO_CERTIFICATE_FOUND;
}

/* Checks that a PEM text contains a key that can be read without a passphrase. Returns GnuTLS's code: 0, or less than 0
   for an error. */
static inline int cmhd_tls_check_key(const void *pem, size_t count) {
    const gnutls_datum_t datum = cmhd_datum(pem, count);
    gnutls_x509_privkey_t key = NULL;
    int code = gnutls_x509_privkey_init(&key);
    if (code < 0) return code;
    code = gnutls_x509_privkey_import2(key, &datum, GNUTLS_X509_FMT_PEM, NULL, 0);
    gnutls_x509_privkey_deinit(key);
    return code;
}

/* Adds a chain of certificates, and the key of its first certificate, to the credentials. Returns GnuTLS's code, less
   than 0 for an error, also if the key belongs to another certificate. */
static inline int cmhd_tls_set_certificate(
    gnutls_certificate_credentials_t credentials, const void *chain, size_t chain_count, const void *key,
    size_t key_count) {
    const gnutls_datum_t chain_datum = cmhd_datum(chain, chain_count);
    const gnutls_datum_t key_datum = cmhd_datum(key, key_count);
    return gnutls_certificate_set_x509_key_mem2(
        credentials, &chain_datum, &key_datum, GNUTLS_X509_FMT_PEM, NULL, 0);
}

/* Adds authorities for clients' certificates to the credentials. Returns their number, or GnuTLS's code, less than 0,
   for an error. */
static inline int cmhd_tls_set_authorities(
    gnutls_certificate_credentials_t credentials, const void *pem, size_t count) {
    const gnutls_datum_t datum = cmhd_datum(pem, count);
    return gnutls_certificate_set_x509_trust_mem(credentials, &datum, GNUTLS_X509_FMT_PEM);
}

/* The validity and the serial number of the certificate in credentials; times in seconds since 1970. */
struct cmhd_certificate {
    int64_t not_before;
    int64_t not_after;
    unsigned char serial[64];
    size_t serial_count;
};

static inline bool cmhd_tls_describe(
    gnutls_certificate_credentials_t credentials, struct cmhd_certificate *certificate) {
    gnutls_x509_crt_t *list = NULL;
    unsigned int size = 0;
    if (gnutls_certificate_get_x509_crt(credentials, 0, &list, &size) != GNUTLS_E_SUCCESS) return false;
    bool is_described = false;
    if (size > 0) {
        certificate->not_before = gnutls_x509_crt_get_activation_time(list[0]);
        certificate->not_after = gnutls_x509_crt_get_expiration_time(list[0]);
        certificate->serial_count = sizeof certificate->serial;
        is_described = gnutls_x509_crt_get_serial(list[0], certificate->serial, &certificate->serial_count) >= 0;
    }
    for (unsigned int index = 0; index < size; index++) gnutls_x509_crt_deinit(list[index]);
    gnutls_free(list);
    return is_described;
}
