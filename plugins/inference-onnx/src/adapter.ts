import { join } from 'node:path'
import { invalidAdapter } from './adapters/invalid-adapter.ts'
import { exists, fileMissing, readOptionalJsonObject } from './files.ts'
import { readSafetensors, type TensorEntry } from './safetensors.ts'

const ADAPTER_FILE = 'candle_qlora_adapter.safetensors'
/** Names of the metadata file, newest first; older training runs wrote the others. */
const METADATA_FILES = ['adapter_manifest.json', 'populi_adapter_manifest_v3.json', 'adapter_meta_v2.json', 'meta.json']

export interface AdapterMetadata {
  readonly file: string
  readonly rank: number
  readonly alpha: number
  /** Folder of the base model's weights, or an identifier that is not a local folder. */
  readonly baseModel: string | null
  /** Name of the base tensor that a label changes, by label. */
  readonly baseKeys: ReadonlyMap<string, string>
  /** Labels that the adapter must contain. */
  readonly labels: readonly string[]
}

/** Low-rank update of a weight W, which becomes W + scale * B * A, with A `[rank, in]` and B `[out, rank]`. */
export interface LowRankFactors {
  readonly label: string
  readonly a: TensorEntry
  readonly b: TensorEntry
  readonly scale: number
}

export interface Adapter {
  readonly rank: number
  readonly alpha: number
  /** Kinds of projection that the adapter changes, for example `q` and `lm_head`. */
  readonly targets: readonly string[]
  /** By label, for example `l0.q`. If `baseKeys` lacks the label, the model decides which tensor it changes. */
  readonly factors: ReadonlyMap<string, LowRankFactors>
  readonly baseKeys: ReadonlyMap<string, string>
  readonly files: readonly string[]
}

/** Reads the first metadata file that exists; null if there is none. Throws `INF_ADAPTER_INVALID`. */
export async function findAdapterMetadata(folder: string): Promise<AdapterMetadata | null> {
  for (const name of METADATA_FILES) {
    const file = join(folder, name)
    const value = await readOptionalJsonObject(file)
    // Other tools write a meta.json too; one without a rank is not adapter metadata.
    if (value !== null && (name !== 'meta.json' || 'rank' in value)) return parseMetadata(file, value)
  }
  return null
}

/**
 * Reads the adapter of a run directory; null if it has neither adapter nor metadata.
 *
 * Labels whose base tensor is in `merged` are omitted, because the merged tensors already include them.
 */
export async function readAdapter(
  folder: string,
  metadata: AdapterMetadata | null,
  merged: ReadonlyMap<string, TensorEntry>
): Promise<Adapter | null> {
  const file = join(folder, ADAPTER_FILE)
  if (!(await exists(file))) {
    if (metadata === null || merged.size > 0) return null
    throw fileMissing(
      file,
      `${metadata.file} describes an adapter: add the file, or load the model without the adapter.`
    )
  }
  if (metadata === null) {
    throw fileMissing(join(folder, METADATA_FILES[0] as string), `Add it: ${ADAPTER_FILE} needs its rank and alpha.`)
  }
  const { tensors } = await readSafetensors(file)
  const factors = new Map<string, LowRankFactors>()
  for (const label of labelsOf(file, tensors, metadata)) {
    const base = metadata.baseKeys.get(label)
    if (base === undefined || !merged.has(base)) factors.set(label, readFactors(file, tensors, metadata, label))
  }
  return {
    rank: metadata.rank,
    alpha: metadata.alpha,
    targets: [...new Set([...factors.keys()].map(label => label.replace(/^l\d+\./, '')))],
    factors,
    baseKeys: metadata.baseKeys,
    files: [file, metadata.file]
  }
}

function labelsOf(
  file: string,
  tensors: ReadonlyMap<string, TensorEntry>,
  metadata: AdapterMetadata
): ReadonlySet<string> {
  const labels = new Set(metadata.labels)
  for (const name of tensors.keys()) {
    const [, label] = /^(.+)\.lora_[ab](?:\.weight)?$/.exec(name) ?? []
    if (label === undefined) {
      throw invalidAdapter(file, `tensor ${name} is not named <label>.lora_a.weight or <label>.lora_b.weight`)
    }
    labels.add(label)
  }
  return labels
}

function readFactors(
  file: string,
  tensors: ReadonlyMap<string, TensorEntry>,
  metadata: AdapterMetadata,
  label: string
): LowRankFactors {
  const find = (half: string) => tensors.get(`${label}.${half}.weight`) ?? tensors.get(`${label}.${half}`)
  const [a, b] = [find('lora_a'), find('lora_b')]
  if (a === undefined || b === undefined) {
    throw invalidAdapter(file, `${label}.${a === undefined ? 'lora_a' : 'lora_b'}.weight is missing`)
  }
  for (const [entry, axis] of [
    [a, 0],
    [b, 1]
  ] as const) {
    if (entry.dtype !== 'F32') throw invalidAdapter(file, `${entry.name} is ${entry.dtype}; adapters must be F32`)
    if (entry.shape.length !== 2 || entry.shape[axis] !== metadata.rank) {
      throw invalidAdapter(
        file,
        `${entry.name} is [${entry.shape.join(', ')}], but ${metadata.file} states rank ${metadata.rank}`
      )
    }
  }
  return { label, a, b, scale: metadata.alpha / metadata.rank }
}

function parseMetadata(file: string, value: Record<string, unknown>): AdapterMetadata {
  const { format, version, rank, alpha, base_key_map: baseKeys = {}, layer_order: labels = [] } = value
  if (format !== undefined && format !== 'vox_mens_adapter') {
    throw invalidAdapter(file, `format is ${JSON.stringify(format)}, expected "vox_mens_adapter"`)
  }
  if (version !== undefined && version !== 3 && version !== 2) {
    throw invalidAdapter(file, `version is ${JSON.stringify(version)}, expected 2 or 3`)
  }
  if (typeof rank !== 'number' || !Number.isSafeInteger(rank) || rank < 1) {
    throw invalidAdapter(file, `rank is ${JSON.stringify(rank)}, not a whole number above 0`)
  }
  if (typeof alpha !== 'number' || !Number.isFinite(alpha)) throw invalidAdapter(file, 'alpha is not a number')
  if (!isStringMap(baseKeys))
    throw invalidAdapter(file, 'base_key_map is not an object that maps labels to tensor names')
  if (!Array.isArray(labels) || !labels.every(label => typeof label === 'string')) {
    throw invalidAdapter(file, 'layer_order is not a list of labels')
  }
  const baseModel = value.base_model
  if (baseModel !== undefined && baseModel !== null && typeof baseModel !== 'string') {
    throw invalidAdapter(file, 'base_model is not a string')
  }
  return { file, rank, alpha, baseModel: baseModel || null, baseKeys: new Map(Object.entries(baseKeys)), labels }
}

function isStringMap(value: unknown): value is Record<string, string> {
  return (
    typeof value === 'object' &&
    value !== null &&
    !Array.isArray(value) &&
    Object.values(value).every(entry => typeof entry === 'string')
  )
}
