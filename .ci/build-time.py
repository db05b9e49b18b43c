"""Reports of `./dev build-time`.

`--report FILE TITLE USER WALL FOLDER` writes what a build into FOLDER cost to FILE.
Otherwise the arguments are such files, and their figures are printed.
"""

import json
import pathlib
import re
import sys

DEAREST = 10


def units(folder):
    """The units that cargo compiled or ran, from its timings page."""
    pages = sorted((folder / "cargo-timings").glob("cargo-timing-*.html"))
    if not pages:
        sys.exit(f"build-time: cargo left no timings in `{folder}`")
    found = re.search(r"UNIT_DATA = (\[.*?\]);\n", pages[-1].read_text(), re.DOTALL)
    if not found:
        sys.exit(f"build-time: `{pages[-1]}` has no UNIT_DATA")
    return json.loads(found.group(1))


def report(title, user, wall, folder):
    seconds = {}
    for unit in units(folder):
        crate = f"{unit['name']} {unit['version']}"
        # A crate and its build script count together.
        seconds[crate] = seconds.get(crate, 0.0) + unit["duration"]
    dearest = sorted(seconds.items(), key=lambda crate: -crate[1])[:DEAREST]
    size = (folder / "release" / "loreloom").stat().st_size
    return {
        "title": title,
        "user": float(user),
        "wall": float(wall),
        "crates": len(seconds),
        "megabytes": size / 1e6,
        "dearest": dearest,
    }


def show(reports):
    print(f"{'revision':<18} {'user s':>8} {'wall s':>8} {'crates':>7} {'binary MB':>10}")
    for one in reports:
        figures = f"{one['user']:8.0f} {one['wall']:8.0f} {one['crates']:7} {one['megabytes']:10.1f}"
        print(f"{one['title']:<18} {figures}")
    if len(reports) == 2:
        before, after = reports
        print(f"user seconds of {after['title']}: {after['user'] / before['user']:.2f} of {before['title']}")
    for one in reports:
        print(f"\ndearest crates of {one['title']}, wall seconds")
        for crate, seconds in one["dearest"]:
            print(f"{seconds:8.1f}  {crate}")


def main(words):
    if words[:1] == ["--report"]:
        _, file, title, user, wall, folder = words
        made = report(title, user, wall, pathlib.Path(folder))
        pathlib.Path(file).write_text(json.dumps(made))
    else:
        show([json.loads(pathlib.Path(file).read_text()) for file in words])


main(sys.argv[1:])
