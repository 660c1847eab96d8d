"""Computes vectors with fastembed or model2vec: reads a JSON question from each line, and writes a JSON answer to another.

usage: peer.py fastembed|model2vec FOLDER THREADS
"""
import json
import sys
import time


def open_fastembed(folder, threads):
    from fastembed import TextEmbedding
    from fastembed.common.model_description import ModelSource, PoolingType

    TextEmbedding.add_custom_model(
        model="bench",
        pooling=PoolingType.MEAN,
        normalization=True,
        sources=ModelSource(url="file:///not-used"),
        dim=384,
        model_file="onnx/model.onnx",
    )
    model = TextEmbedding("bench", threads=threads, specific_model_path=folder)
    return lambda texts: list(model.embed(texts, batch_size=len(texts)))


def open_model2vec(folder, _threads):
    from model2vec import StaticModel

    model = StaticModel.from_pretrained(folder)
    return lambda texts: model.encode(texts, use_multiprocessing=False)


def main():
    name, folder, threads = sys.argv[1:4]
    try:
        embed = {"fastembed": open_fastembed, "model2vec": open_model2vec}[name](folder, int(threads))
    except ImportError as error:
        print(json.dumps({"missing": str(error)}), flush=True)
        return
    print(json.dumps({"ready": True}), flush=True)
    for line in sys.stdin:
        question = json.loads(line)
        texts, batch = question["texts"], question["batch"]
        vectors = []
        start, cpu = time.perf_counter(), time.process_time()
        for at in range(0, len(texts), batch):
            vectors.extend(embed(texts[at : at + batch]))
        answer = {"ms": (time.perf_counter() - start) * 1000, "cpuMs": (time.process_time() - cpu) * 1000}
        print(json.dumps({**answer, "vectors": [[float(x) for x in vector] for vector in vectors]}), flush=True)


main()
