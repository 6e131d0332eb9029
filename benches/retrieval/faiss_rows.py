"""FAISS on the codes and queries that `--dump DIR` wrote: python faiss_rows.py DIR OUT.csv.

Binary indices of FAISS on one thread, a query at a time, in the thread's processor time; the 32 nearest by Hamming distance.
HNSW is built where that takes minutes. Needs `pip install faiss-cpu==1.15.1 numpy`.
"""

from __future__ import annotations

import argparse
import csv
import time
from pathlib import Path

import faiss
import numpy as np

NEAREST = 32
LISTS = 1024  # of an inverted file; 100 codes each at least
PROBED = 8
LINKS = 32  # of a node of HNSW
HNSW_MOST = 100_000  # codes
MEASURED = 20  # queries of a linear scan
FIELDS = ("method", "parameter", "bits", "count", "queries", "us", "found", "memory", "scaled", "recall")


def microseconds(index, queries: np.ndarray) -> tuple[float, np.ndarray]:
    """The median time of a query, and what each found."""
    times, found = [], []
    for query in queries:
        start = time.thread_time_ns()
        _, labels = index.search(query[None], NEAREST)
        times.append((time.thread_time_ns() - start) / 1e3)
        found.append(labels[0])
    return float(np.median(times)), np.array(found)


def distances(codes: np.ndarray, query: np.ndarray, labels: np.ndarray) -> np.ndarray:
    return np.bitwise_count(codes[labels[labels >= 0]] ^ query).sum(1)


def recall(codes: np.ndarray, queries: np.ndarray, found: np.ndarray, exact: np.ndarray) -> float:
    """Of what was found, the share that is no farther than the 32nd nearest."""
    shares = []
    for query, given, wanted in zip(queries, found, exact):
        farthest = distances(codes, query, wanted).max()
        shares.append((distances(codes, query, given) <= farthest).sum() / NEAREST)
    return float(np.mean(shares))


def rows(folder: Path):
    for path in sorted(folder.glob("*.codes"), key=lambda path: path.stat().st_size):
        bits, count = (int(part) for part in path.stem.split("-"))
        codes = np.fromfile(path, np.uint8).reshape(count, bits // 8)
        queries = np.fromfile(path.with_suffix(".queries"), np.uint8).reshape(-1, bits // 8)
        flat = faiss.IndexBinaryFlat(bits)
        flat.add(codes)
        us, exact = microseconds(flat, queries[:MEASURED])
        row = dict(bits=bits, count=count, queries="new", found=NEAREST, memory="", scaled="false")
        yield row | dict(method="faiss-flat", parameter="", us=us, recall="")
        quantiser = faiss.IndexBinaryFlat(bits)
        inverted = faiss.IndexBinaryIVF(quantiser, bits, min(LISTS, count // 100))
        inverted.cp.niter = 5
        inverted.train(codes[:100_000])
        inverted.add(codes)
        inverted.nprobe = PROBED
        us, found = microseconds(inverted, queries)
        share = recall(codes, queries, found[:MEASURED], exact)
        yield row | dict(method="faiss-ivf", parameter=PROBED, us=us, recall=share)
        if count <= HNSW_MOST:
            graph = faiss.IndexBinaryHNSW(bits, LINKS)
            graph.hnsw.efSearch = 64
            graph.add(codes)
            us, found = microseconds(graph, queries)
            share = recall(codes, queries, found[:MEASURED], exact)
            yield row | dict(method="faiss-hnsw", parameter=LINKS, us=us, recall=share)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("out", type=Path)
    options = parser.parse_args()
    faiss.omp_set_num_threads(1)
    with options.out.open("w", newline="") as file:
        writer = csv.DictWriter(file, FIELDS, lineterminator="\n")
        writer.writeheader()
        for row in rows(options.folder):
            print(row, flush=True)
            writer.writerow({key: f"{value:.4g}" if isinstance(value, float) else value for key, value in row.items()})


if __name__ == "__main__":
    main()
