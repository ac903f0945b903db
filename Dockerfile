# The image of Larder with its dependencies only. deploy/README.md shows its use.
#
#   docker build --tag larder .
#   docker run --rm larder    # shows how to create a token, which the server requires
#   docker build --target browser --tag larder-browser .    # the same with Chromium, which captures pages
#
# The unpacked image has 165 MB, as scripts/check-image measures: 76 for Debian, 15 for the packages that the executable
# needs, and 75 for the executable. Of these, 25 are code, and 34 are the data of ICU, a part of Swift's Foundation, for
# all languages.
#
# For a reproducible build, pin the base images:
#
#   digest() { docker buildx imagetools inspect "$1" --format '{{.Manifest.Digest}}'; }
#   docker build --build-arg "SWIFT_DIGEST=$(digest swift:6.3-bookworm)" \
#       --build-arg "DEBIAN_DIGEST=$(digest debian:bookworm-slim)" --tag larder .
ARG SWIFT_DIGEST=
ARG DEBIAN_DIGEST=

FROM swift:6.3-bookworm${SWIFT_DIGEST:+@${SWIFT_DIGEST}} AS build
WORKDIR /src
# The rarely changing layers come first: missing packages, and the sources of the dependencies.
COPY scripts/bootstrap scripts/
RUN scripts/bootstrap && rm -rf /var/lib/apt/lists/*
COPY Package.swift ./
RUN swift package resolve
# Tests and benchmarks are not built, but SwiftPM does not load the package without their folders.
COPY openapi.yaml ./
COPY Sources Sources
COPY Tests Tests
COPY Benchmarks Benchmarks
RUN swift build -c release --static-swift-stdlib --product larder \
    && strip -o /larder .build/release/larder

FROM debian:bookworm-slim${DEBIAN_DIGEST:+@${DEBIAN_DIGEST}} AS runtime
# The Debian packages of the libraries that "ldd" lists for the executable, and the certificate authorities for origins.
# scripts/check-image compares the list with the executable. The versions are not pinned, because Debian's security
# updates soon remove pinned versions.
# hadolint ignore=DL3008
RUN apt-get update \
    && apt-get install -y --no-install-recommends \
        ca-certificates \
        libbrotli1 \
        libcurl4 \
        libexpat1 \
        libgnutls30 \
        libjemalloc2 \
        libmicrohttpd12 \
        libsqlite3-0 \
        libstdc++6 \
        libzstd1 \
        zlib1g \
    && rm -rf /var/lib/apt/lists/* \
    && useradd --uid 10001 --user-group --no-create-home --home-dir /nonexistent --shell /usr/sbin/nologin larder \
    && install -d -o larder -g larder -m 0700 /var/cache/larder /var/lib/larder
COPY --from=build /larder /usr/bin/larder

ARG VERSION=0.1.0
ARG REVISION=
LABEL org.opencontainers.image.title="Larder" \
    org.opencontainers.image.description="A disk cache as a service" \
    org.opencontainers.image.licenses="Apache-2.0" \
    org.opencontainers.image.version="${VERSION}" \
    org.opencontainers.image.revision="${REVISION}" \
    org.opencontainers.image.base.name="docker.io/library/debian:bookworm-slim"

# The server listens beyond the container, so it requires tokens. The port for probes and metrics is not published,
# because its clients run in the same network. By default "docker stop" kills the server after 10 seconds.
ENV LARDER_HOST=0.0.0.0
ENV LARDER_ADMIN_PORT=8081
ENV LARDER_DIRECTORY=/var/cache/larder
ENV LARDER_STATE_DIRECTORY=/var/lib/larder
ENV LARDER_DRAIN_TIMEOUT=8
# A number, so that Kubernetes can check that the user is not root.
USER 10001:10001
VOLUME /var/cache/larder /var/lib/larder
EXPOSE 8080
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=30s --timeout=5s --start-period=60s CMD ["larder", "check"]
ENTRYPOINT ["larder"]
CMD ["serve"]

# The image with Chromium and a font for its pictures of pages. util-linux has "unshare" and "setpriv", with which Larder
# confines the browser. deploy/README.md names the rights that the container needs.
FROM runtime AS browser
USER 0:0
# hadolint ignore=DL3008
RUN apt-get update \
    && apt-get install -y --no-install-recommends chromium fonts-liberation util-linux \
    && rm -rf /var/lib/apt/lists/*
ENV LARDER_BROWSER=/usr/lib/chromium/chromium
USER 10001:10001

# The default target comes last: the image without Chromium.
FROM runtime
