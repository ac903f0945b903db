# Larder in an image, with everything it needs and nothing else; deploy/README.md goes on from there.
#
#   docker build --tag larder .
#   docker run --rm larder    # says how to make a token, without which it does not start
#
# Unpacked it has 165 MB, as scripts/check-image measures it: 76 are Debian, 15 the packages that the executable needs,
# and 75 the executable, of which 25 are code, and 34 what ICU, a part of Swift's Foundation, knows of all languages.
#
# For a build that can be repeated, pin what it is made from:
#
#   digest() { docker buildx imagetools inspect "$1" --format '{{.Manifest.Digest}}'; }
#   docker build --build-arg "SWIFT_DIGEST=$(digest swift:6.3-bookworm)" \
#       --build-arg "DEBIAN_DIGEST=$(digest debian:bookworm-slim)" --tag larder .
ARG SWIFT_DIGEST=
ARG DEBIAN_DIGEST=

FROM swift:6.3-bookworm${SWIFT_DIGEST:+@${SWIFT_DIGEST}} AS build
WORKDIR /src
# First what changes seldom: what the image lacks, and the dependencies' sources.
COPY scripts/bootstrap scripts/
RUN scripts/bootstrap && rm -rf /var/lib/apt/lists/*
COPY Package.swift ./
RUN swift package resolve
# Tests and benchmarks are not built, but the package does not load without their folders.
COPY openapi.yaml ./
COPY Sources Sources
COPY Tests Tests
COPY Benchmarks Benchmarks
RUN swift build -c release --static-swift-stdlib --product larder \
    && strip -o /larder .build/release/larder

FROM debian:bookworm-slim${DEBIAN_DIGEST:+@${DEBIAN_DIGEST}} AS runtime
# What "ldd" says of the executable, by its Debian names, and the certificate authorities that origins are signed by.
# scripts/check-image holds this list against the executable. Debian's security updates replace versions: pinned ones
# could not be installed for long.
# hadolint ignore=DL3008
RUN apt-get update \
    && apt-get install -y --no-install-recommends \
        ca-certificates \
        libbrotli1 \
        libcurl4 \
        libgnutls30 \
        libjemalloc2 \
        libmicrohttpd12 \
        libsqlite3-0 \
        libstdc++6 \
        libzstd1 \
        zlib1g \
    && rm -rf /var/lib/apt/lists/* \
    && useradd --uid 10001 --user-group --no-create-home --home-dir /nonexistent --shell /usr/sbin/nologin larder \
    && install -d -o larder -g larder -m 0700 /var/cache/larder
COPY --from=build /larder /usr/bin/larder

ARG VERSION=0.1.0
ARG REVISION=
LABEL org.opencontainers.image.title="Larder" \
    org.opencontainers.image.description="A disk cache as a service" \
    org.opencontainers.image.licenses="Apache-2.0" \
    org.opencontainers.image.version="${VERSION}" \
    org.opencontainers.image.revision="${REVISION}" \
    org.opencontainers.image.base.name="docker.io/library/debian:bookworm-slim"

# Reached from outside of the container, so it asks for tokens. The port for probes and metrics is not published: who
# needs it is beside it. "docker stop" waits for 10 seconds before it kills, unless it is told otherwise.
ENV LARDER_HOST=0.0.0.0
ENV LARDER_ADMIN_PORT=8081
ENV LARDER_DIRECTORY=/var/cache/larder
ENV LARDER_DRAIN_TIMEOUT=8
# By its number, so that Kubernetes can see that it is not root.
USER 10001:10001
VOLUME /var/cache/larder
EXPOSE 8080
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=30s --timeout=5s --start-period=60s CMD ["larder", "check"]
ENTRYPOINT ["larder"]
CMD ["serve"]
