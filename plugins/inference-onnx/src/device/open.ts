import { copyFile, rename, rm } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { exists } from '../files.ts'
import { type Koffi, OrtApi, preload } from '../ort/api.ts'
import { cudaTarget } from '../ort/cuda-target.ts'
import { DeviceRuntime, type DeviceRuntimeOptions } from '../ort/device-runtime.ts'
import { skipExitHandlers } from '../ort/process-end.ts'
import type { Runtime } from '../ort/runtime.ts'
import { webgpuTarget } from '../ort/webgpu-target.ts'
import type { CudaProvider } from './cuda-provider.ts'

export interface OpenOptions extends DeviceRuntimeOptions {
  readonly require: NodeJS.Require
  /** Path of ONNX Runtime's library. */
  readonly core: string | null
}

/** Opens ONNX Runtime on an NVIDIA GPU. Throws the error of the loader or the provider. */
export async function openCuda(options: OpenOptions, provider: CudaProvider, index: number): Promise<Runtime> {
  const koffi = options.require('koffi') as Koffi
  const core = coreOf(options)
  for (const { found } of provider.needs) {
    if (found !== null && !found.onLoaderPath) preload(koffi, found.path)
  }
  const library = provider.form === 'plugin' ? core : await coreBeside(core, provider.folder)
  const runtime = await DeviceRuntime.open(new OrtApi(koffi, library), cudaTarget(provider, index), options)
  if (provider.form === 'bundled') skipExitHandlers(koffi)
  return runtime
}

/** Opens ONNX Runtime on the GPU that WebGPU selects. */
export async function openWebgpu(options: OpenOptions): Promise<Runtime> {
  return DeviceRuntime.open(new OrtApi(options.require('koffi') as Koffi, coreOf(options)), webgpuTarget, options)
}

/**
 * Copies ONNX Runtime's library into the folder of the bundled provider, and returns its path: ONNX Runtime looks for
 * the provider in its own folder. A link does not work: the loader treats it as the library that is already loaded.
 */
async function coreBeside(core: string, folder: string): Promise<string> {
  const path = join(folder, basename(core))
  if (dirname(core) === folder || (await exists(path))) return path
  const part = `${path}.${process.pid}.part`
  try {
    await copyFile(core, part)
    await rename(part, path)
  } finally {
    await rm(part, { force: true })
  }
  return path
}

function coreOf({ core }: OpenOptions): string {
  if (core === null) throw new Error('ONNX Runtime is not installed for this machine')
  return core
}
