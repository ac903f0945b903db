#!/bin/sh
# Prepares the tests that use Chromium; scripts/check-dashboard and scripts/check-pages source this file in the root of
# the repository. Sets LARDER, the executable to test, and "environment", the folder of Python with the packages.

say() {
    echo "${0##*/}: $*" >&2
}

scripts/bootstrap --check-dashboard
environment=.build-dashboard/environment
wanted=Tests/Browser/requirements.txt
if ! cmp -s "$wanted" "$environment/requirements.txt"; then
    say "installing the packages of Python"
    rm -rf "$environment"
    mkdir -p "$environment"
    python3 -m venv "$environment"
    # requirements.txt lists all packages, including indirect dependencies.
    "$environment/bin/pip" install --quiet --disable-pip-version-check --no-deps --requirement "$wanted" >&2
    cp "$wanted" "$environment/requirements.txt"
fi
if [ -z "${LARDER:-}" ]; then
    say "building"
    swift build --quiet --product larder >&2
    LARDER="$PWD/.build/debug/larder"
fi
export LARDER
# Selenium gets the path of the browser and must not search or download one.
export PYTHONDONTWRITEBYTECODE=1 SE_OFFLINE=true SE_AVOID_STATS=true
# Both folders of tests import the helpers beside this file.
export PYTHONPATH="$PWD/Tests/Browser"
