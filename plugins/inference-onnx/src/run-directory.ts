import { readFile, stat } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import type { ExternalServingHandoff } from '@svc/contracts'
import { type Adapter, type AdapterMetadata, findAdapterMetadata, readAdapter } from './adapter.ts'
import { inferenceErrors } from './errors.ts'
import { findExported } from './exported/exported-model.ts'
import { exists, fileError, fileMissing, readJsonObject, readOptionalJsonObject } from './files.ts'
import { readHandoff } from './handoff.ts'
import { readSafetensors, type TensorEntry } from './safetensors.ts'
import { readShards, type Shards } from './shards.ts'

/** Contents of a run directory. The syntax was checked; later code checks that the tensors fit the model. */
export interface RunDirectory {
  readonly path: string
  /** `config.json`. */
  readonly configuration: Record<string, unknown>
  /** `generation_config.json`. */
  readonly generation: Record<string, unknown> | null
  readonly tokenizer: Record<string, unknown>
  readonly tokenizerConfiguration: Record<string, unknown> | null
  /** `chat_template.jinja`, which newer exports write instead of a field in `tokenizer_config.json`. */
  readonly chatTemplate: string | null
  /** Path of an exported decoder graph; then there are no tensors. Null otherwise. */
  readonly exported: string | null
  readonly tensors: ReadonlyMap<string, TensorEntry>
  /** True to apply the adapter and merged weights, if any. */
  readonly adapted: boolean
  readonly adapter: Adapter | null
  /** True if the tensors are the base model's, without an adapter or merged tensors. */
  readonly plain: boolean
  readonly handoff: ExternalServingHandoff | null
  /** Absolute paths of all files that determine the model. */
  readonly files: readonly string[]
}

/**
 * Reads a run directory, except the weight data.
 *
 * If `adapter` is false, skips the adapter, and uses base tensors in preference to merged ones.
 * Throws `INF_RUN_DIR_*` or `INF_ADAPTER_INVALID`, naming the file.
 */
export async function readRunDirectory(path: string, options: { readonly adapter: boolean }): Promise<RunDirectory> {
  await requireDirectory(path)
  const files = new Set<string>()
  const required = async (name: string) => {
    const value = await readJsonObject(join(path, name))
    files.add(join(path, name))
    return value
  }
  const optional = async (name: string) => {
    const value = await readOptionalJsonObject(join(path, name))
    if (value !== null) files.add(join(path, name))
    return value
  }
  const exported = await findExported(path)
  const configuration = exported === null ? await required('config.json') : ((await optional('config.json')) ?? {})
  const tokenizer = await required('tokenizer.json')
  const generation = await optional('generation_config.json')
  const tokenizerConfiguration = await optional('tokenizer_config.json')
  const chatTemplate = await readOptionalText(join(path, 'chat_template.jinja'))
  if (chatTemplate !== null) files.add(join(path, 'chat_template.jinja'))
  const handoff = await readHandoff(join(path, 'external_serving_handoff_v1.json'))
  if (handoff !== null) files.add(join(path, 'external_serving_handoff_v1.json'))

  const metadata = await findAdapterMetadata(path)
  if (exported !== null && metadata !== null && options.adapter) throw notMergeable(exported, metadata.file)
  const found = exported === null ? await readWeights(path, metadata, options) : null
  for (const file of found?.files ?? []) files.add(file)
  return {
    path,
    configuration,
    generation,
    tokenizer,
    tokenizerConfiguration,
    chatTemplate,
    exported,
    tensors: found?.tensors ?? new Map(),
    adapted: options.adapter,
    adapter: found?.adapter ?? null,
    plain: found?.plain ?? true,
    handoff,
    files: [...files]
  }
}

/** Reads the base tensors, the merged tensors and the adapter. */
async function readWeights(
  path: string,
  metadata: AdapterMetadata | null,
  options: { readonly adapter: boolean }
): Promise<Pick<RunDirectory, 'tensors' | 'adapter' | 'plain' | 'files'>> {
  const base = await readBase(path, metadata?.baseModel ?? null)
  const merged = await readMerged(path)
  if (base === null && merged === null) throw noWeights(path, metadata?.baseModel ?? null)
  const adapter = options.adapter ? await readAdapter(path, metadata, merged?.tensors ?? new Map()) : null
  const baseTensors = base?.tensors ?? []
  const mergedTensors = merged?.tensors ?? []
  return {
    tensors: new Map(options.adapter ? [...baseTensors, ...mergedTensors] : [...mergedTensors, ...baseTensors]),
    adapter,
    plain: !options.adapter || (adapter === null && (base === null || merged === null)),
    files: [...(base?.files ?? []), ...(merged?.files ?? []), ...(adapter?.files ?? [])]
  }
}

function notMergeable(graph: string, metadata: string) {
  return inferenceErrors.create(
    'INF_ADAPTER_INVALID',
    `${metadata} describes an adapter, but ${graph} is an exported graph, which cannot use it`,
    {
      at: { file: metadata },
      data: { file: metadata },
      hint: 'Merge the adapter before the export, load the model without the adapter, or serve the weights.'
    }
  )
}

async function requireDirectory(path: string): Promise<void> {
  const found = await stat(path).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT' || error.code === 'ENOTDIR') return null
    throw fileError(error, path)
  })
  if (found?.isDirectory()) return
  const reason = found === null ? 'does not exist' : 'is not a directory'
  throw inferenceErrors.create('INF_RUN_DIR_NOT_FOUND', `The run directory ${path} ${reason}`, {
    at: { file: path },
    hint: 'Name the folder that contains config.json, tokenizer.json and the weights.'
  })
}

async function readBase(path: string, baseModel: string | null): Promise<Shards | null> {
  const own = await readShards(path)
  if (own !== null || baseModel === null) return own
  const folder = resolve(path, baseModel)
  const isFolder = await stat(folder).then(
    found => found.isDirectory(),
    () => false
  )
  return isFolder ? readShards(folder) : null
}

async function readMerged(path: string): Promise<Shards | null> {
  const file = join(path, 'merged.safetensors')
  return (await exists(file)) ? { tensors: (await readSafetensors(file)).tensors, files: [file] } : null
}

function noWeights(path: string, baseModel: string | null) {
  const folder = baseModel === null ? null : resolve(path, baseModel)
  return fileMissing(
    join(path, 'model.safetensors'),
    folder === null
      ? 'Put the weight shards (*model*.safetensors) into the run directory, or name their folder as base_model in the adapter metadata.'
      : `base_model is ${JSON.stringify(baseModel)} but ${folder} contains no weight shards either: download the base model there.`
  )
}

async function readOptionalText(file: string): Promise<string | null> {
  try {
    return await readFile(file, 'utf8')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null
    throw fileError(error, file)
  }
}
