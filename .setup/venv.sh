# Sourced by ./demo and ./check, which set $root: makes $root/.venv from the pinned
# constraints, or brings it up to date when they or the dependencies have changed.
# shellcheck shell=sh

venv=$root/.venv

say() { printf '%s\n' "$@" >&2; }

die() {
    say "$@"
    exit 1
}

# What the environment was made from: pins, dependencies, and its place, since an environment
# cannot be moved. Tool settings in pyproject.toml do not count.
wanted_stamp() {
    { cat "$root/constraints.txt"; sed '/^\[tool\./,$d' "$root/pyproject.toml"; } | cksum
    printf '%s\n' "$root"
}

is_current() {
    [ -f "$venv/made-from" ] && [ "$(cat "$venv/made-from")" = "$(wanted_stamp)" ] &&
        "$venv/bin/python" -c '' 2>/dev/null
}

# $PYTHON where it is set; otherwise 3.11 first, because the pins were frozen under it.
find_python() {
    if [ -n "${PYTHON:-}" ]; then
        set -- "$PYTHON"
    else
        set -- python3.11 python3 python3.12 python3.13 python3.14
    fi
    for name in "$@"; do
        if "$name" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then
            python=$name
            return
        fi
    done
    die "Python 3.11 or newer is needed, and none of these is one: $*" \
        'Install one, or name yours: PYTHON=/path/to/python3.11 ./check'
}

# Debian and Ubuntu ship Python without what makes environments.
ensure_venv_module() {
    "$python" -c 'import ensurepip, venv' 2>/dev/null && return
    package=$("$python" -c 'import sys; print("python%d.%d-venv" % sys.version_info[:2])')
    as_root=
    [ "$(id -u)" -eq 0 ] || as_root='sudo -n'
    if command -v apt-get >/dev/null 2>&1 && $as_root true 2>/dev/null; then
        say "Installing $package, which makes Python environments ..."
        { $as_root apt-get update -qq &&
            $as_root env DEBIAN_FRONTEND=noninteractive \
                apt-get install -y -qq --no-install-recommends "$package"; } >&2 || true
    fi
    "$python" -c 'import ensurepip, venv' 2>/dev/null && return
    die "$python cannot make environments: $package is missing. Run this once, then try again:" \
        "    sudo apt-get install $package"
}

pip_install() {
    "$venv/bin/python" -m pip install $quiet --disable-pip-version-check --no-compile \
        -c "$root/constraints.txt" "$@" >&2
}

# The build tool comes from the same pins, hence no isolated build.
install_packages() {
    pip_install hatchling editables &&
        pip_install --no-build-isolation -e "$root[dev]"
}

# `unfinished` outlives an interrupted set-up; the next call then starts from nothing.
make_venv() {
    say "Setting up $venv once: some minutes, 2 GB (6 GB where torch comes with CUDA) ..."
    quiet=
    rm -rf "$venv"
    mkdir "$venv"
    : >"$venv/unfinished"
    "$python" -m venv "$venv" && install_packages ||
        die 'The set-up failed; the lines above say why. The next call starts it anew.'
    rm "$venv/unfinished"
}

# A finished environment in its own place, ours or one made by hand.
can_be_updated() {
    [ ! -e "$venv/unfinished" ] && "$venv/bin/python" -m pip --version >/dev/null 2>&1 &&
        { [ ! -e "$venv/made-from" ] || [ "$(tail -n 1 "$venv/made-from")" = "$root" ]; }
}

update_venv() {
    say "Bringing $venv up to date ..."
    quiet=--quiet
    rm -f "$venv/made-from"
    install_packages
}

ensure_venv() {
    is_current && return
    if ! { can_be_updated && update_venv; }; then
        find_python
        ensure_venv_module
        make_venv
    fi
    wanted_stamp >"$venv/made-from"
}
