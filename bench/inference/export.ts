import { cp, mkdir, open, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Quantization } from '@svc/contracts'
import { parseModelConfig } from '../../plugins/inference-onnx/src/model-config.ts'
import { buildDecoder, type DecoderSurface } from '../../plugins/inference-onnx/src/onnx/decoder.ts'
import { elementType } from '../../plugins/inference-onnx/src/onnx/graph.ts'
import { ownRequire } from '../../plugins/inference-onnx/src/ort/library.ts'
import { openRuntime } from '../../plugins/inference-onnx/src/ort/open.ts'
import { readRunDirectory } from '../../plugins/inference-onnx/src/run-directory.ts'
import { LowRankMerger } from '../../plugins/inference-onnx/src/weights/low-rank.ts'
import { packWeights } from '../../plugins/inference-onnx/src/weights/pack.ts'
import { planWeights } from '../../plugins/inference-onnx/src/weights/plan.ts'

const DATA = 'model.onnx_data'

/** Graph interface of exports for transformers.js: a mask, and caches that grow with each run. */
const peerSurface: DecoderSurface = {
  pastName: (layer, half) => `past_key_values.${layer}.${half}`,
  presentName: (layer, half) => `present.${layer}.${half}`,
  pastDimensions: { batch: 'batch_size', length: 'past_sequence_length' },
  lengths(graph) {
    const mask = graph.input('attention_mask', 'int64', ['batch', 'total'])
    const one = graph.constant('one', 'int64', [], new Uint8Array(BigInt64Array.of(1n).buffer))
    const axis = graph.integers('mask.axis', [1])
    const lengths = graph.node('ReduceSum', [mask, axis], 'mask.lengths', { keepdims: 0 })
    const last = graph.node('Sub', [lengths, one], 'mask.last')
    const size = graph.node('Gather', [graph.node('Shape', [mask], 'mask.shape'), one], 'mask.size', { axis: 0 })
    return {
      lastPositions: graph.node('Cast', [last], 'last_positions', { to: elementType.int32 }),
      total: graph.node('Cast', [size], 'total_length', { to: elementType.int32 })
    }
  },
  selector: () => states => states,
  logitsShape: ['batch', 'sequence', 'vocabulary']
}

/**
 * Exports a run directory in the layout of transformers.js: the same graph and packed weights, with the adapter merged.
 * Removes end tokens, so that both engines generate the requested number of tokens.
 */
export async function exportForPeer(
  runDirectory: string,
  target: string,
  quantization: Quantization = 'none'
): Promise<void> {
  const directory = await readRunDirectory(runDirectory, { adapter: true })
  const config = parseModelConfig(join(runDirectory, 'config.json'), directory.configuration, null)
  const plan = planWeights(config, {
    runDirectory,
    tensors: directory.tensors,
    adapter: directory.adapter,
    quantization,
    locate: () => null,
    packedLocation: DATA
  })
  await mkdir(join(target, 'onnx'), { recursive: true })
  const merger = new LowRankMerger(
    openRuntime('native', ownRequire(), () => {}),
    1
  )
  const handle = await open(join(target, 'onnx', DATA), 'w')
  await packWeights(
    plan,
    { write: async (bytes, position) => void (await handle.write(bytes, 0, bytes.byteLength, position)) },
    { merger, onProgress: () => {} }
  )
  await handle.close()
  await merger.close()
  await writeFile(
    join(target, 'onnx', 'model.onnx'),
    buildDecoder(config, plan.weights, config.contextLength, { surface: peerSurface })
  )
  for (const name of ['tokenizer.json', 'tokenizer_config.json']) await cp(join(runDirectory, name), join(target, name))
  const configuration = JSON.parse(await readFile(join(runDirectory, 'config.json'), 'utf8'))
  await writeFile(join(target, 'config.json'), JSON.stringify({ ...configuration, eos_token_id: null }))
  await writeFile(join(target, 'generation_config.json'), '{}')
}
