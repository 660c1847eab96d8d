"""Prints size and SHA-256 of a run directory's files as a Markdown table. Usage: python card-facts.py DIRECTORY"""

import hashlib
import sys
from pathlib import Path

if __name__ == "__main__":
    print("| file | bytes | SHA-256 |\n|---|---|---|")
    for file in sorted(Path(sys.argv[1]).iterdir()):
        if file.name != "README.md":
            print(f"| `{file.name}` | {file.stat().st_size:,} | `{hashlib.sha256(file.read_bytes()).hexdigest()}` |")
