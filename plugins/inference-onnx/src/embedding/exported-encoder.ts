import { readFile } from 'node:fs/promises'
import { dirname } from 'node:path'
import { ConfigFields } from '../config-fields.ts'
import { inferenceErrors } from '../errors.ts'
import { checkWeightFiles, readParts } from '../exported/exported-model.ts'
import type { GraphValue } from '../exported/onnx-parts.ts'
import { fileError } from '../files.ts'
import { elementType } from '../onnx/graph.ts'
import type { Tensor } from '../ort/runtime.ts'
import { fillTexts, type PrepareRun, rowsOf } from './encoder-model.ts'
import { type Pooling, poolWeights } from './pooling.ts'

const TOKENS = 'input_ids'
const MASK = 'attention_mask'
const TYPES = 'token_type_ids'
const POSITIONS = 'position_ids'
/** Outputs that are used, the best first. */
const OUTPUTS = ['sentence_embedding', 'logits', 'last_hidden_state', 'token_embeddings'] as const

export interface ExportedEncoder {
  readonly model: Uint8Array
  /** Base folder of weights outside of the graph. */
  readonly folder: string
  /** Numbers of a row; 1 for a reranker. */
  readonly size: number
  readonly isReranker: boolean
  readonly parameters: number
  readonly files: readonly string[]
  readonly prepare: PrepareRun
}

/**
 * Reads an encoder that was exported to ONNX. `hiddenSize`: size of a token's vector, if the graph does not state it.
 *
 * Throws `INF_ARCHITECTURE_UNSUPPORTED` for inputs and outputs that are not those of an encoder, and `INF_RUN_DIR_*`.
 */
export async function readExportedEncoder(
  root: string,
  file: string,
  hiddenSize: number | null,
  pooling: Pooling
): Promise<ExportedEncoder> {
  const parts = await readParts(file)
  const fields = new ConfigFields(file, {})
  const inputs = parts.inputs.map(({ name }) => name)
  const known = [TOKENS, MASK, TYPES, POSITIONS]
  const other = parts.inputs.find(({ name, elementType: type }) => !known.includes(name) || type !== elementType.int64)
  if (other !== undefined) throw fields.unsupported('input', other.name, `int64 ${known.join(', ')}`)
  for (const needed of [TOKENS, MASK]) if (!inputs.includes(needed)) throw lacks(file, 'input', needed, inputs)
  const output = OUTPUTS.map(name => parts.outputs.find(each => each.name === name)).find(each => each !== undefined)
  if (output === undefined) {
    throw lacks(
      file,
      'output',
      OUTPUTS.join(' or '),
      parts.outputs.map(({ name }) => name)
    )
  }
  if (output.elementType !== elementType.float32) {
    throw fields.unsupported(`output ${output.name}: element type`, output.elementType, 'float32 (1)')
  }
  const size = sizeOf(fields, output, hiddenSize)
  const weightFiles = await checkWeightFiles(root, dirname(file), file, parts)
  const model = await readFile(file).catch(error => Promise.reject(fileError(error, file)))
  return {
    model,
    folder: dirname(file),
    size,
    isReranker: output.name === 'logits',
    parameters: parts.weights.reduce((sum, { elements }) => sum + elements, 0),
    files: [file, ...weightFiles],
    prepare: exportedRuns(inputs, output.name, size, pooling)
  }
}

function sizeOf(fields: ConfigFields, { name, shape }: GraphValue, hiddenSize: number | null): number {
  if (name === 'logits') {
    const labels = shape.at(-1)
    if (shape.length === 2 && labels === 1) return 1
    throw fields.unsupported('output logits: shape', shape, '[batch, 1], of a reranker')
  }
  const size = shape.at(-1) ?? hiddenSize
  if (size === null) throw fields.refuse(`output ${name}`, 'neither the graph nor config.json states its size')
  return size
}

/** Returns a function that prepares runs; rows of tokens are pooled after the run. */
function exportedRuns(inputs: readonly string[], output: string, size: number, pooling: Pooling): PrepareRun {
  const isPooled = output === 'sentence_embedding' || output === 'logits'
  return (runtime, texts, length) => {
    const count = texts.length
    const matrix = () => runtime.host('int64', [count, length])
    const [tokens, mask, types, positions] = [matrix(), matrix(), matrix(), matrix()]
    fillTexts(texts, length, tokens.data as BigInt64Array, types.data as BigInt64Array)
    for (const [row, text] of texts.entries()) mask.data.fill(1n, row * length, row * length + text.tokens.length)
    for (let at = 0; at < positions.data.length; at++) positions.data[at] = BigInt(at % length)
    const all: Readonly<Record<string, Tensor>> = {
      [TOKENS]: tokens,
      [MASK]: mask,
      [TYPES]: types,
      [POSITIONS]: positions
    }
    for (const [name, tensor] of Object.entries(all)) if (!inputs.includes(name)) tensor.release()
    const result = runtime.host('float32', isPooled ? [count, size] : [count, length, size])
    return {
      inputs: Object.fromEntries(Object.entries(all).filter(([name]) => inputs.includes(name))),
      outputs: { [output]: result },
      rows: () => {
        const rows = rowsOf(result.data, isPooled ? size : length * size)
        return isPooled ? rows : rows.map((row, index) => pool(row, texts[index]?.tokens.length ?? 0, size, pooling))
      }
    }
  }
}

/** Returns the weighted sum of a text's tokens: `[tokens, size]` to `[size]`. */
function pool(row: Float32Array, count: number, size: number, pooling: Pooling): Float32Array {
  const weights = new Float32Array(count)
  poolWeights(pooling, count, weights)
  const sum = new Float32Array(size)
  for (const [token, weight] of weights.entries()) {
    if (weight === 0) continue
    for (let at = 0; at < size; at++) sum[at] = (sum[at] as number) + weight * (row[token * size + at] as number)
  }
  return sum
}

function lacks(file: string, kind: string, name: string, present: readonly string[]) {
  return inferenceErrors.create(
    'INF_ARCHITECTURE_UNSUPPORTED',
    `${file}: ${kind} ${name} is missing; ${kind}s: ${present.join(', ') || 'none'}`,
    {
      at: { file },
      data: { field: kind, value: name, present },
      hint: 'Export the model for feature extraction or text classification, for example with Optimum.'
    }
  )
}
