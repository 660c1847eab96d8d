import { resolve } from 'node:path'
import type { Handler, Infer } from '@svc/plugin-sdk'
import { libraryCommand } from '../device/cuda-provider.ts'
import { cudaObstacle } from '../device/obstacles.ts'
import type { OnnxEngine } from '../engine.ts'
import { inferenceErrors } from '../errors.ts'
import { withDownload } from './download.ts'
import { type InstalledProvider, installProvider } from './install.ts'
import type { doctorGpu, installGpu, installInput } from './operations.ts'

export type InstallInput = Infer<typeof installInput>

export interface ProviderOptions {
  readonly engine: OnnxEngine
  readonly projectRoot: string
  /** Target folder of the provider. */
  readonly directory: string
  /** Path and version of ONNX Runtime's library; null if it is not installed. */
  readonly core: { readonly path: string; readonly version: string } | null
}

export function doctorHandler({ engine }: ProviderOptions): Handler<typeof doctorGpu> {
  return async () => {
    const { missing, findings, ...diagnosis } = await engine.diagnose()
    return { ...diagnosis, missing: [...missing], findings: findings.map(finding => ({ ...finding })) }
  }
}

export function installHandler(options: ProviderOptions): Handler<typeof installGpu> {
  return async (input, call) => {
    if (input.without_gpu !== true && (await wouldDownloadInVain(options.engine, input))) throw gpuAbsent()
    const onProgress: InstallProgress = (done, total, message) => call.progress(done, total, message)
    return install(options, input, { signal: call.signal, onProgress })
  }
}

/** `total` is undefined for a step of unknown length. */
export type InstallProgress = (done: number, total: number | undefined, message: string) => void

/** Installs the provider, whether or not there is a GPU. */
export async function install(
  { engine, projectRoot, directory, core }: ProviderOptions,
  input: InstallInput,
  { signal, onProgress }: { readonly signal: AbortSignal; readonly onProgress: InstallProgress }
): Promise<Infer<typeof installGpu.output>> {
  if (core === null) {
    const message = 'ONNX Runtime is not installed; the provider extends it'
    throw inferenceErrors.create('INF_RUNTIME_UNAVAILABLE', message, {
      hint: 'Run npm install without --omit=optional.'
    })
  }
  const report = everyTenth(onProgress)
  const unpack = (source: string) =>
    installProvider({
      source,
      sha256: input.sha256,
      directory,
      core: core.path,
      coreVersion: core.version,
      signal,
      onProgress: report
    })
  const installed =
    input.from === undefined
      ? await withDownload(
          {
            requirement: input.package ?? `onnxruntime-gpu==${core.version}`,
            directory,
            environment: process.env,
            signal,
            onProgress: message => onProgress(0, undefined, message)
          },
          unpack
        )
      : await unpack(resolve(projectRoot, input.from))
  const { form, version, sha256 } = installed
  const files = installed.files.map(file => ({ ...file }))
  return { directory, form, version, sha256, files, text: await summary(engine, directory, installed) }
}

/** True if the input requests a download, and the machine has no NVIDIA driver and no known NVIDIA GPU. */
export async function wouldDownloadInVain(engine: OnnxEngine, input: InstallInput): Promise<boolean> {
  if (input.from !== undefined) return false
  const { card, driver } = await engine.surveyDevices()
  return driver === null && card !== true
}

export const NO_GPU = 'no NVIDIA GPU was found; the CUDA provider is a download of hundreds of megabytes'

export function gpuAbsent(): Error {
  return inferenceErrors.create('INF_GPU_ABSENT', NO_GPU, {
    hint: 'Add --without-gpu to download it anyway. svc doctor gpu shows what was found.'
  })
}

/** Describes the installed files and the next step. */
async function summary(engine: OnnxEngine, directory: string, installed: InstalledProvider): Promise<string> {
  const files = installed.files.map(({ name, bytes, sha256 }) => `  ${name}  ${bytes} bytes  sha256 ${sha256}`)
  const version = installed.version === '' ? '' : ` ${installed.version}`
  const survey = await engine.surveyDevices()
  const obstacle = cudaObstacle(survey, 0)
  // The diagnosis stops at a missing driver, so report missing libraries here.
  const libraries = (survey.provider?.needs ?? []).filter(need => need.found === null && need.name !== 'libcuda.so.1')
  const command = libraryCommand(
    libraries.map(need => need.name),
    directory
  )
  const next = [
    ...(command === null ? [] : [`Install the missing CUDA libraries: ${command}`]),
    ...(obstacle === null || obstacle.command === command || obstacle.command === null
      ? []
      : [`CUDA cannot be used yet: ${obstacle.reason}: ${obstacle.command}`])
  ]
  return [`The CUDA provider${version} is in ${directory}:`, ...files, ...next].join('\n')
}

/** Returns a reporter that passes on only every tenth of the progress. */
function everyTenth(report: (done: number, total: number, message: string) => void): typeof report {
  let last = ''
  return (done, total, message) => {
    const step = `${message} ${Math.floor((10 * done) / Math.max(1, total))}`
    if (step === last) return
    last = step
    report(done, total, message)
  }
}
