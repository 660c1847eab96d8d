import { resolve } from 'node:path'
import type { Handler } from '@svc/plugin-sdk'
import { libraryCommand } from '../device/cuda-provider.ts'
import { cudaObstacle } from '../device/obstacles.ts'
import type { OnnxEngine } from '../engine.ts'
import { inferenceErrors } from '../errors.ts'
import { withDownload } from './download.ts'
import { type InstalledProvider, installProvider } from './install.ts'
import type { doctorGpu, installGpu } from './operations.ts'

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
  const { engine, projectRoot, directory, core } = options
  return async (input, call) => {
    if (core === null) {
      throw inferenceErrors.create(
        'INF_RUNTIME_UNAVAILABLE',
        'onnxruntime-node is not installed; the provider extends it',
        {
          hint: 'Run npm install in the project.'
        }
      )
    }
    if (input.from === undefined && input.without_gpu !== true) await requireGpu(engine)
    const report = everyTenth((done, total, message) => call.progress(done, total, message))
    const install = (source: string) =>
      installProvider({
        source,
        sha256: input.sha256,
        directory,
        core: core.path,
        coreVersion: core.version,
        signal: call.signal,
        onProgress: report
      })
    const installed =
      input.from === undefined
        ? await withDownload(
            {
              requirement: input.package ?? `onnxruntime-gpu==${core.version}`,
              directory,
              environment: process.env,
              signal: call.signal,
              onProgress: message => call.progress(0, undefined, message)
            },
            install
          )
        : await install(resolve(projectRoot, input.from))
    const { form, version, sha256 } = installed
    const files = installed.files.map(file => ({ ...file }))
    return { directory, form, version, sha256, files, text: await summary(engine, directory, installed) }
  }
}

/** Throws `INF_GPU_ABSENT` if there is no GPU: a download of hundreds of megabytes then needs `--without-gpu`. */
async function requireGpu(engine: OnnxEngine): Promise<void> {
  const { card, driver } = await engine.surveyDevices()
  if (driver !== null || card === true) return
  throw inferenceErrors.create(
    'INF_GPU_ABSENT',
    'no NVIDIA GPU was found; the CUDA provider is a download of hundreds of megabytes',
    { hint: 'Add --without-gpu to download it anyway. svc doctor gpu shows what was found.' }
  )
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
