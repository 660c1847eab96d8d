import { isSvcError } from '@svc/plugin-sdk'
import { type BuildOptions, buildGraph, type WantedGraph } from '../decoder-graph.ts'
import { digestFiles } from '../digest.ts'
import { inferenceErrors } from '../errors.ts'
import type { DecoderConfig } from '../model-config.ts'
import type { Runtime, WeightShare } from '../ort/runtime.ts'
import { readRunDirectory } from '../run-directory.ts'
import { TensorNames } from '../weights/tensor-names.ts'
import type { OpenBase } from './hot-adapters.ts'
import { type LowRankSite, openToAdapters } from './sites.ts'

export interface OpenBaseOptions {
  readonly config: DecoderConfig
  /** Graph options that the model was loaded with. */
  readonly wanted: WantedGraph
  readonly prepare: Omit<BuildOptions, 'report' | 'open' | 'signal'>
  /** Runtime of the session. */
  readonly runtime: Runtime
  /** Weights of the first decoder; null if they cannot be shared. */
  readonly share: WeightShare | null
}

/**
 * Opens the second decoder of a loaded model: the base model, whose projections have adapter factors as inputs.
 *
 * It shares all weights that adapters have not changed with the first decoder: on disk, and if the runtime supports
 * that, in memory. Otherwise it has a separate copy, because ONNX Runtime reorders weights for every session. Throws
 * `INF_OUT_OF_MEMORY` if that does not fit.
 */
export async function openBase({ config, wanted, prepare, runtime, share }: OpenBaseOptions): Promise<OpenBase> {
  const { directory, digest } = await baseOf(prepare)
  const names = new TensorNames(name => directory.tensors.has(name))
  let sites: readonly LowRankSite[] = []
  const graph = await buildGraph(
    config,
    { ...wanted, slots: 1, isLoaded: share !== null && prepare.directory.plain },
    {
      ...prepare,
      directory,
      digest,
      report: () => () => undefined,
      open: weights => {
        const opened = openToAdapters(config, names, weights)
        sites = opened.sites
        return opened.weights
      }
    }
  ).catch((error: unknown) => {
    if (!isSvcError(error, 'INF_OUT_OF_MEMORY')) throw error
    throw inferenceErrors.create(
      'INF_OUT_OF_MEMORY',
      `Adapters need the base model in addition to the loaded one. ${error.message}`,
      {
        cause: error,
        data: error.data,
        hint: 'Free memory, or load the model with fewer bits per weight.'
      }
    )
  })
  const { model, weights, weightBytes, uncapturable } = graph
  const session = await runtime.createSession({ model, weights, threads: prepare.threads, uncapturable, share })
  return { session, sites, weightBytes }
}

async function baseOf({ directory, digest, cacheDirectory }: OpenBaseOptions['prepare']) {
  if (directory.plain) return { directory, digest }
  const base = await readRunDirectory(directory.path, { adapter: false })
  const found = await digestFiles(base.root, base.files, { cacheDirectory, onProgress: () => undefined })
  return { directory: base, digest: found.digest }
}
