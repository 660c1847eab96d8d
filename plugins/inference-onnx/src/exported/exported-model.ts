import { readFile, stat } from 'node:fs/promises'
import { dirname, isAbsolute, join, relative, resolve } from 'node:path'
import type { ModelInfo } from '@svc/contracts'
import { ConfigFields } from '../config-fields.ts'
import { inferenceErrors } from '../errors.ts'
import { exists, fileError, readOptionalJsonObject } from '../files.ts'
import { type ServedConfig, tokenIds } from '../model-config.ts'
import { elementType, type Precision, storedType } from '../onnx/graph.ts'
import { adaptGraph, type ExportedNames, writesInPlace } from './adapt.ts'
import { readNames } from './names.ts'
import { type OnnxParts, readOnnx } from './onnx-parts.ts'

const GENAI = 'genai_config.json'
/** Minimum version of the operator set. */
const MIN_OPSET = 13

/** Decoder that was exported to ONNX, adapted to the engine's interface. */
export interface ExportedModel {
  readonly config: ServedConfig
  /** ONNX model with the engine's interface. */
  readonly model: Uint8Array
  /** Base folder of its weights. */
  readonly folder: string
  /** True if several sequences can be computed in one run. */
  readonly batches: boolean
  /** Element type of keys and values. */
  readonly cachePrecision: Precision
  /** Soft cap of attention scores; null if there is none. */
  readonly attentionSoftcap: number | null
  readonly parameters: number
  readonly precision: string
  readonly quantization: ModelInfo['quantization']
  /** All files that were read. */
  readonly files: readonly string[]
}

/** Returns the path of the exported graph in a run directory; null if there is none. */
export async function findExported(directory: string): Promise<string | null> {
  const genai = await readOptionalJsonObject(join(directory, GENAI))
  const model = genai?.model as { decoder?: { filename?: unknown } } | undefined
  const file = join(directory, typeof model?.decoder?.filename === 'string' ? model.decoder.filename : 'model.onnx')
  return genai !== null || (await exists(file)) ? file : null
}

/**
 * Reads a decoder exported by onnxruntime-genai or Optimum.
 *
 * Throws `INF_ARCHITECTURE_UNSUPPORTED`, naming the unsupported or missing part, and `INF_RUN_DIR_*` for files that are
 * missing, broken or outside the run directory.
 */
export async function readExported(
  directory: string,
  file: string,
  configuration: Record<string, unknown>,
  generation: Record<string, unknown> | null
): Promise<ExportedModel> {
  const genaiFile = join(directory, GENAI)
  const genai = await readOptionalJsonObject(genaiFile)
  const parts = await readParts(file)
  const genaiModel = genai === null ? null : new ConfigFields(genaiFile, genai).section('model')
  const names = readNames(file, parts, genaiModel?.section('decoder') ?? null)
  const root = new ConfigFields(join(directory, 'config.json'), configuration)
  const config = readConfig(parts, names, genaiModel, root.section('text_config') ?? root, generation)
  const folder = dirname(file)
  const weightFiles = await checkWeightFiles(directory, folder, file, parts)
  return {
    config,
    model: adaptGraph(parts, names, config),
    folder,
    batches: writesInPlace(parts, names),
    cachePrecision: names.precision,
    attentionSoftcap: parts.nodes.map(({ numbers }) => numbers.get('softcap')).find(Boolean) ?? null,
    ...describe(parts),
    files: [file, ...(genai === null ? [] : [genaiFile]), ...weightFiles]
  }
}

export async function readParts(file: string): Promise<OnnxParts> {
  const bytes = await readFile(file).catch(error => Promise.reject(fileError(error, file)))
  let parts: OnnxParts
  try {
    parts = readOnnx(bytes)
  } catch (cause) {
    throw inferenceErrors.create('INF_RUN_DIR_MALFORMED', `${file} is not an ONNX model: ${(cause as Error).message}`, {
      at: { file },
      data: { file, offset: 0 },
      cause
    })
  }
  if (parts.opset >= MIN_OPSET) return parts
  throw new ConfigFields(file, {}).unsupported('opset', parts.opset, `${MIN_OPSET} or later`)
}

/** Reads the configuration; metadata of the graph takes precedence over `config.json`. */
function readConfig(
  parts: OnnxParts,
  { caches, logits }: ExportedNames,
  genai: ConfigFields | null,
  config: ConfigFields,
  generation: Record<string, unknown> | null
): ServedConfig {
  const decoder = genai?.section('decoder') ?? null
  const shapeOf = (name: string) => [...parts.inputs, ...parts.outputs].find(value => value.name === name)?.shape ?? []
  const past = shapeOf(caches[0]?.key.past ?? '')
  const count = (known: number | null | undefined, field: string, inDecoder: boolean, inConfig = field) => {
    const section = inDecoder ? decoder : genai
    if (typeof known === 'number') return known
    return section === null ? config.count(inConfig) : section.count(field)
  }
  const headSize = () => Math.floor(config.count('hidden_size') / config.count('num_attention_heads'))
  const type = genai?.values.type ?? config.values.model_type
  return {
    family: typeof type === 'string' ? type : 'onnx',
    layers: caches.length,
    layerKinds: caches.map(() => 'full' as const),
    linear: null,
    keyValueHeads: count(past[1], 'num_key_value_heads', true),
    headSize: past[3] ?? (decoder === null ? config.count('head_dim', headSize()) : decoder.count('head_size')),
    vocabularySize: count(shapeOf(logits)[2], 'vocab_size', false),
    contextLength: count(null, 'context_length', false, 'max_position_embeddings'),
    endTokens: [genai?.values.eos_token_id, config.values.eos_token_id, generation?.eos_token_id].flatMap(tokenIds)
  }
}

/** Checks that the weight files exist inside the run directory. */
export async function checkWeightFiles(
  directory: string,
  folder: string,
  graph: string,
  { weights }: OnnxParts
): Promise<string[]> {
  const locations = new Set(weights.flatMap(({ location }) => (location === null ? [] : [location])))
  const files: string[] = []
  for (const location of locations) {
    const file = resolve(folder, location)
    const inside = relative(directory, file)
    if (isAbsolute(location) || isAbsolute(inside) || inside.startsWith('..')) {
      throw inferenceErrors.create(
        'INF_RUN_DIR_PATH_UNSAFE',
        `${graph} reads weights from ${location}, which is outside the run directory`,
        { at: { file: graph }, data: { file: graph, path: location } }
      )
    }
    await stat(file).catch(error => Promise.reject(fileError(error, file)))
    files.push(file)
  }
  return files
}

function describe({ nodes, weights }: OnnxParts): Pick<ExportedModel, 'parameters' | 'precision' | 'quantization'> {
  const packed = nodes.filter(({ operator }) => operator === 'MatMulNBits')
  const scales = new Set(packed.flatMap(({ inputs }) => inputs.slice(1)))
  const floats = weights.filter(({ name, elementType }) => elementType in floatNames && !scales.has(name))
  const count = floats.reduce((sum, { elements }) => sum + elements, 0)
  const packedCount = packed.reduce((sum, { numbers }) => sum + (numbers.get('K') ?? 0) * (numbers.get('N') ?? 0), 0)
  const bits = packed[0]?.numbers.get('bits') ?? 4
  const quantization = packed.length === 0 ? 'none' : bits > 4 ? 'q8' : 'q4'
  const largest = floats.reduce((a, b) => (b.elements > (a?.elements ?? 0) ? b : a), floats[0])
  return {
    parameters: count + packedCount,
    precision:
      quantization === 'none' ? (floatNames[largest?.elementType ?? elementType.float32] ?? 'F32') : quantization,
    quantization
  }
}

const floatNames: Readonly<Record<number, string>> = {
  [storedType.float32]: 'F32',
  [storedType.float16]: 'F16',
  [storedType.bfloat16]: 'BF16'
}
