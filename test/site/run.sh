#!/usr/bin/env bash
# Reads pages of the site of the documentation in Chromium: their look in light and dark and on a phone, the search by keyboard,
# the menu of versions; and checks each page with axe. The arguments are the site and the version. Screenshots are in .cache/site.
set -euo pipefail
cd "$(dirname "$0")/../.."

for program in chromium node npm; do
  if ! command -v "$program" >/dev/null; then
    echo "test-site needs $program: install it first (Debian: apt-get install chromium nodejs npm)" >&2
    exit 1
  fi
done

out=$PWD/.cache/site
mkdir -p "$out"
cp test/site/package.json test/site/site.mjs "$out"
cd "$out"
npm install --no-audit --no-fund --silent
node site.mjs "$1" "$2"
