import { readFile, stat } from 'node:fs/promises'
import { dirname, join, resolve } from 'node:path'
import type { ExternalServingHandoff } from '@svc/contracts'
import { type Adapter, type AdapterMetadata, findAdapterMetadata, readAdapter } from './adapter.ts'
import { inferenceErrors } from './errors.ts'
import { findExported } from './exported/exported-model.ts'
import { exists, fileError, fileMissing, readJsonObject, readOptionalJsonObject, requireFolder } from './files.ts'
import { findGguf } from './gguf/files.ts'
import { readGgufModel } from './gguf/gguf-model.ts'
import { readHandoff } from './handoff.ts'
import { readSafetensors, type TensorEntry } from './safetensors.ts'
import { readShards, type Shards } from './shards.ts'

const HANDOFF = 'external_serving_handoff_v1.json'

/** Contents of a run directory. The syntax was checked; later code checks that the tensors fit the model. */
export interface RunDirectory {
  /** Path of the folder, or of a GGUF file. */
  readonly path: string
  /** Folder to which the names of files in a digest are relative. */
  readonly root: string
  /** Files of the configuration and the tokenizer, for messages. */
  readonly configurationFile: string
  readonly tokenizerFile: string
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
  /** True if the tensors are those of a GGUF model. */
  readonly gguf: boolean
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
 * Reads a run directory or a GGUF file, except the weight data.
 *
 * If `adapter` is false, skips the adapter, and uses base tensors in preference to merged ones.
 * Throws `INF_RUN_DIR_*` or `INF_ADAPTER_INVALID`, naming the file.
 */
export async function readRunDirectory(path: string, options: { readonly adapter: boolean }): Promise<RunDirectory> {
  const gguf = (await exists(join(path, 'config.json'))) ? null : await findGguf(path)
  if (gguf !== null) return readGgufDirectory(path, gguf, options)
  await requireFolder(
    path,
    `The run directory ${path}`,
    'Name the folder that contains config.json, tokenizer.json and the weights, or a GGUF file.'
  )
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
  const handoff = await readHandoff(join(path, HANDOFF))
  if (handoff !== null) files.add(join(path, HANDOFF))

  const metadata = await findAdapterMetadata(path)
  if (exported !== null && metadata !== null && options.adapter) throw notMergeable(exported, metadata.file)
  const found = exported === null ? await readWeights(path, metadata, options) : null
  for (const file of found?.files ?? []) files.add(file)
  return {
    path,
    root: path,
    configurationFile: join(path, 'config.json'),
    tokenizerFile: join(path, 'tokenizer.json'),
    gguf: false,
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

/** Reads a GGUF file, or a folder with one. A folder may also contain an adapter and merged weights. */
async function readGgufDirectory(
  path: string,
  files: readonly string[],
  options: { readonly adapter: boolean }
): Promise<RunDirectory> {
  const { file, configuration, tokenizer, tokenizerConfiguration, tensors } = await readGgufModel(files)
  const base: Shards = { tensors, files }
  const isFile = files.includes(path)
  const metadata = isFile ? null : await findAdapterMetadata(path)
  const found = isFile
    ? { tensors, adapter: null, plain: true, files }
    : await combineWeights(path, base, metadata, options)
  const handoffFile = join(path, HANDOFF)
  const handoff = isFile ? null : await readHandoff(handoffFile)
  return {
    path,
    root: dirname(file),
    configurationFile: file,
    tokenizerFile: file,
    configuration,
    generation: null,
    tokenizer,
    tokenizerConfiguration,
    chatTemplate: null,
    exported: null,
    gguf: true,
    ...found,
    adapted: options.adapter,
    handoff,
    files: handoff === null ? found.files : [...found.files, handoffFile]
  }
}

/** Reads the base tensors, the merged tensors and the adapter. */
async function readWeights(
  path: string,
  metadata: AdapterMetadata | null,
  options: { readonly adapter: boolean }
): Promise<Pick<RunDirectory, 'tensors' | 'adapter' | 'plain' | 'files'>> {
  const base = await readBase(path, metadata?.baseModel ?? null)
  return combineWeights(path, base, metadata, options)
}

/** Adds merged tensors and the adapter, if the folder contains them. */
async function combineWeights(
  path: string,
  base: Shards | null,
  metadata: AdapterMetadata | null,
  options: { readonly adapter: boolean }
): Promise<Pick<RunDirectory, 'tensors' | 'adapter' | 'plain' | 'files'>> {
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
