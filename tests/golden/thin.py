#!/usr/bin/env python3
"""Makes tests/golden/data from the full golden set: every op, its smaller cases, at most 4 MB in all.

    python3 tests/golden/thin.py PATH_TO_THE_FULL_SET

Tensors are copied as bytes, so that every dtype comes through as it is.
"""
import collections, json, pathlib, struct, sys

LARGEST_CASE = 4_000  # bytes of tensors
MOST_CASES = 28  # of one op
PROGRAMS = 100



def read(path):
    data = path.read_bytes()
    (length,) = struct.unpack("<Q", data[:8])
    header = json.loads(data[8 : 8 + length])
    header.pop("__metadata__", None)
    body = data[8 + length :]
    return {name: (entry, body[entry["data_offsets"][0] : entry["data_offsets"][1]]) for name, entry in header.items()}


def write(path, tensors):
    header, body = {}, b""
    for name, (entry, data) in tensors.items():
        header[name] = entry | {"data_offsets": [len(body), len(body) + len(data)]}
        body += data
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(struct.pack("<Q", len(text)) + text + body)


full = pathlib.Path(sys.argv[1])
here = pathlib.Path(__file__).resolve().parent / "data"
by_file = collections.defaultdict(list)
for line in (full / "manifest.jsonl").read_text().splitlines():
    case = json.loads(line)
    by_file[case["file"]].append((case, line))

manifest = []
for file, cases in by_file.items():
    source, kept, tensors = read(full / file), 0, {}
    names = collections.defaultdict(list)
    for name in source:
        names[name.rsplit("/", 1)[0]].append(name)
    limit = PROGRAMS if "program" in file else MOST_CASES
    for case, line in cases[:: max(1, len(cases) // limit)]:
        values = {name: source[name] for name in names[case["id"]]}
        if kept < limit and sum(len(data) for _, data in values.values()) <= LARGEST_CASE:
            kept += 1
            tensors |= values
            manifest.append(line)
    if tensors:
        write(here / file, tensors)
(here / "manifest.jsonl").write_text("\n".join(manifest) + "\n")
print(len(manifest), "cases,", sum(p.stat().st_size for p in here.rglob("*") if p.is_file()), "bytes")
