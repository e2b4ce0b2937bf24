#!/usr/bin/env python3
"""The recorded tables with their times from machine code (from_code.json.gz): tables.py OUT [FOLDER] writes OUT/RECORD/NAME.json."""

import gzip
import json
import os
import sys

HERE = sys.argv[2] if len(sys.argv) > 2 else os.path.dirname(os.path.abspath(__file__))


def read(path):
    opened = gzip.open if path.endswith(".gz") else open
    with opened(path, "rt", encoding="utf-8") as f:
        return json.load(f)


for record, tables in read(os.path.join(HERE, "from_code.json.gz")).items():
    os.makedirs(os.path.join(sys.argv[1], record), exist_ok=True)
    for name, times in tables.items():
        path = os.path.join(HERE, "..", record, "tables", name + ".json")
        table = read(path if os.path.exists(path) else path + ".gz")
        table["from_code"] = times
        with open(os.path.join(sys.argv[1], record, name + ".json"), "w", encoding="utf-8") as f:
            json.dump(table, f)
