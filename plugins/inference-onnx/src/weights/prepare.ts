import { createHash } from 'node:crypto'
import { realpath } from 'node:fs/promises'
import { join } from 'node:path'
import type { Quantization } from '@svc/contracts'
import { makePrivateFolder } from '@svc/plugin-sdk/folders'
import type { DecoderConfig } from '../model-config.ts'
import type { DecoderWeights } from '../onnx/decoder.ts'
import type { ExternalWeights, Runtime } from '../ort/runtime.ts'
import type { RunDirectory } from '../run-directory.ts'
import { isCached, isUnwritable, memorySink, writeCached } from './cache.ts'
import { checkFinite } from './check-tensors.ts'
import { locateFiles } from './locations.ts'
import { LowRankMerger } from './low-rank.ts'
import { type PackedPlan, type PackSink, packWeights } from './pack.ts'
import { planWeights, type WeightPlan } from './plan.ts'
import { lockForWriting } from './writer-lock.ts'

/** Version in the name of a packed file; increment it if the arithmetic changes. */
const PACK_VERSION = 6

const extensions: Readonly<Record<Quantization, string>> = { none: 'f32', q8: 'q8', q4: 'q4' }

export interface PrepareOptions {
  readonly directory: RunDirectory
  readonly config: DecoderConfig
  /** Digest of all relevant files in the run directory; part of the packed file's name. */
  readonly digest: string
  readonly quantization: Quantization
  /** See {@link PlanOptions.keepStored}. */
  readonly keepStored?: boolean
  /** See {@link PlanOptions.keepHalf}. */
  readonly keepHalf?: boolean
  /** See {@link PlanOptions.onDevice}. */
  readonly onDevice?: boolean
  readonly runtime: Runtime
  readonly threads: number
  readonly cacheDirectory: string
  readonly signal?: AbortSignal | undefined
  onProgress(fraction: number): void
  /** Called if the cache cannot be written and the packed weights stay in memory. */
  onUncached(reason: Error): void
}

export type PackToCacheOptions = Pick<PrepareOptions, 'runtime' | 'threads' | 'signal' | 'onProgress' | 'onUncached'>

export interface PreparedWeights {
  readonly weights: DecoderWeights
  readonly external: ExternalWeights
  readonly parameters: number
  readonly precision: string
}

/** Makes all weights of a model available to the runtime: in the shards, in the cache, or in memory. */
export async function prepareWeights(options: PrepareOptions): Promise<PreparedWeights> {
  const { directory, config } = options
  const shards = [...new Set([...directory.tensors.values()].map(entry => entry.file))]
  const folder = await cacheFolder(options.cacheDirectory)
  const planFor = async (packedFile: string) => {
    const locations = await locateFiles(shards, packedFile)
    const packedLocation = locations.of(packedFile) as string
    const plan = planWeights(config, {
      runDirectory: directory.path,
      tensors: directory.tensors,
      adapter: directory.adapter,
      quantization: options.quantization,
      keepStored: options.keepStored === true,
      keepHalf: options.keepHalf === true,
      onDevice: options.onDevice === true,
      locate: file => locations.of(file),
      packedLocation
    })
    return { locations, packedLocation, plan }
  }
  // The name of the packed file depends on its layout, which does not depend on the name.
  const draft = await planFor(join(folder, 'weights'))
  const packedFile = join(folder, `${packedName(options, draft.plan)}.${extensions[options.quantization]}`)
  const { locations, packedLocation, plan } = await planFor(packedFile)
  await checkFinite(plan.inPlace, options)
  const bytes = await packToCache(plan, packedFile, options)
  const inMemory = new Map(bytes === null ? [] : [[packedLocation, bytes]])
  return {
    weights: plan.weights,
    external: { folder: locations.folder, inMemory, version: options.digest },
    parameters: plan.parameters,
    precision: plan.precision
  }
}

/** Writes the packed weights to the cache, unless it has them. Returns the bytes if the cache is not writable. */
export async function packToCache(
  plan: PackedPlan,
  packedFile: string,
  options: PackToCacheOptions
): Promise<Uint8Array | null> {
  const isComplete = () => isCached(packedFile, plan.packedByteLength, options.signal)
  if (plan.packed.length === 0 || (await isComplete())) return null
  const lock = await lockForWriting(packedFile, options.signal)
  try {
    return lock.waited && (await isComplete()) ? null : await packOnce(plan, packedFile, options)
  } finally {
    await lock.release()
  }
}

async function packOnce(plan: PackedPlan, packedFile: string, options: PackToCacheOptions): Promise<Uint8Array | null> {
  const merger = new LowRankMerger(options.runtime, options.threads)
  const fill = (sink: PackSink) => packWeights(plan, sink, { ...options, merger })
  try {
    await writeCached(packedFile, plan.packedByteLength, fill, options.signal)
    return null
  } catch (error) {
    if (!isUnwritable(error)) throw error
    options.onUncached(error as Error)
    const sink = memorySink(plan.packedByteLength)
    await fill(sink)
    return sink.bytes
  } finally {
    await merger.close()
  }
}

/** Creates the cache folder, and returns its real path. */
export async function cacheFolder(cacheDirectory: string): Promise<string> {
  try {
    makePrivateFolder(cacheDirectory)
  } catch {
    // The process that writes the file reports the error.
  }
  return realpath(cacheDirectory).catch(() => cacheDirectory)
}

/** Returns a digest of everything that the contents of the packed file depend on. */
function packedName({ digest, directory, quantization }: PrepareOptions, { packed }: WeightPlan): string {
  const layout = packed.map(({ sources, ...place }) => [sources.map(({ entry }) => entry.name), place])
  return createHash('sha256')
    .update([PACK_VERSION, digest, directory.adapted, quantization, JSON.stringify(layout)].join('\0'))
    .digest('hex')
}
