import { dirname, join, resolve } from 'node:path'
import { type Adapter, findAdapterMetadata, readAdapter } from '../adapter.ts'
import { readAdapterDirectory } from '../adapters/adapter-directory.ts'
import { invalidAdapter } from '../adapters/invalid-adapter.ts'
import { inferenceErrors } from '../errors.ts'
import { readSource } from '../model-source.ts'
import type { Runtime } from '../ort/runtime.ts'
import { type RunDirectory, readRunDirectory } from '../run-directory.ts'
import type { TensorEntry } from '../safetensors.ts'
import { TensorNames } from '../weights/tensor-names.ts'
import { assignUpdates } from '../weights/updates.ts'
import { refuseExperiment } from './experiment-guard.ts'
import { type MergedTensor, writeMerged } from './merged-file.ts'
import { mergedHandoff, writeHandoff } from './merged-handoff.ts'

export interface MergeOptions {
  /** Folder with the base weights, or with metadata that names their folder. */
  readonly runDirectory: string
  /** Folder of the adapter, in the format of run directories or of PEFT; default: the run directory. */
  readonly adapter?: string | undefined
  /** File to write; default: `merged.safetensors` in the run directory. */
  readonly output?: string | undefined
  /** True to merge adapters that were trained with an experimental optimizer. */
  readonly experimental: boolean
  /** True to replace an existing file. */
  readonly replace?: boolean | undefined
  readonly runtime: Runtime
  readonly threads: number
  readonly signal?: AbortSignal | undefined
  /** Called with the number of finished tensors. */
  onProgress?(done: number, total: number, tensor: string): void
}

export interface Merged {
  readonly output: string
  readonly handoff: string
  /** Names of the tensors, which are those of the base model. */
  readonly tensors: readonly string[]
  readonly bytes: number
}

const WIDENED: ReadonlySet<string> = new Set(['F32', 'BF16', 'F16'])

/**
 * Merges an adapter into the base weights that it changes: `W + (alpha / rank) * B * A`, computed and written in F32. The
 * file has only these tensors, under their names in the base model; the server uses them instead of those. A handoff file
 * next to it describes it for other servers. Nothing is left of a merge that fails or is aborted.
 *
 * Throws `INF_MERGE_EXISTS`, `INF_MERGE_UNWRITABLE`, `INF_ADAPTER_INVALID`, `INF_ARCHITECTURE_UNSUPPORTED`,
 * `INF_EXPERIMENTAL_OPTIMIZER` and `INF_RUN_DIR_*`.
 */
export async function mergeAdapter(options: MergeOptions): Promise<Merged> {
  const { runDirectory, runtime, threads, signal, replace = false, onProgress } = options
  const path = resolve(runDirectory)
  const output = resolve(options.output ?? join(path, 'merged.safetensors'))
  if (!options.experimental) await refuseExperiment(options.adapter === undefined ? path : resolve(options.adapter))
  const directory = await readRunDirectory(path, { adapter: false })
  const metadata = await findAdapterMetadata(path)
  const adapter =
    options.adapter === undefined
      ? await readAdapter(path, metadata, new Map())
      : await readAdapterDirectory(resolve(options.adapter))
  if (adapter === null) throw noAdapter(path)
  const tensors = await mergedTensors(directory, adapter)
  const bytes = await writeMerged({
    output,
    replace,
    tensors,
    runtime,
    threads,
    signal,
    onProgress: (done, tensor) => onProgress?.(done, tensors.length, tensor)
  })
  const handoff = join(dirname(output), 'external_serving_handoff_v1.json')
  await writeHandoff(handoff, mergedHandoff(directory, output, metadata?.baseModel ?? null))
  return { output, handoff, tensors: tensors.map(({ base }) => base.name), bytes }
}

/** Returns the tensors that the adapter changes, in the order of their files. */
async function mergedTensors(directory: RunDirectory, adapter: Adapter): Promise<readonly MergedTensor[]> {
  const { path } = directory
  const source = await readSource(directory)
  if (source.kind === 'exported')
    throw invalidAdapter(
      path,
      `it contains the exported graph ${directory.exported}, into which no adapter can be merged`,
      'Name the run directory with the weights, and export the graph after the merge.'
    )
  const names = new TensorNames(name => directory.tensors.has(name))
  const merged: MergedTensor[] = []
  for (const [tensor, factors] of assignUpdates(source.config, names, adapter)) {
    const base = directory.tensors.get(tensor)
    if (base === undefined)
      throw inferenceErrors.create('INF_RUN_DIR_TENSOR_MISSING', `${path}: no weight file contains ${tensor}`, {
        at: { file: path },
        data: { file: path, tensor }
      })
    merged.push({ base: requireReadable(base), factors })
  }
  if (merged.length === 0) throw noAdapter(path)
  return merged.sort((one, other) => byPlace(one.base, other.base))
}

function requireReadable(base: TensorEntry): TensorEntry {
  if (WIDENED.has(base.dtype)) return base
  throw inferenceErrors.create(
    'INF_RUN_DIR_TENSOR_INVALID',
    `${base.file}: ${base.name} is ${base.dtype}; an adapter can be merged into F32, BF16 and F16`,
    { at: { file: base.file }, data: { file: base.file, tensor: base.name } }
  )
}

function byPlace(one: TensorEntry, other: TensorEntry): number {
  return one.file === other.file ? one.offset - other.offset : one.file < other.file ? -1 : 1
}

function noAdapter(folder: string) {
  return invalidAdapter(
    folder,
    'it contains no adapter',
    'Name the folder of the adapter with --adapter, or a run directory that contains one.'
  )
}
