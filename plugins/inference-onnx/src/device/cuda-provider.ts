import { basename, join } from 'node:path'
import { exists } from '../files.ts'
import { neededLibraries } from './elf.ts'
import type { FoundLibrary, SharedLibraries } from './shared-libraries.ts'

/** File names of ONNX Runtime's CUDA provider. */
export const providerFiles = {
  /** Plug-in, which any recent ONNX Runtime accepts. */
  plugin: 'libonnxruntime_providers_cuda_plugin.so',
  /** Part of one ONNX Runtime release; must be in the same folder as its library. */
  bundled: 'libonnxruntime_providers_cuda.so',
  shared: 'libonnxruntime_providers_shared.so'
} as const

export interface CudaProvider {
  readonly form: 'plugin' | 'bundled'
  readonly path: string
  readonly folder: string
  /** Required libraries of CUDA and its driver, with their locations. */
  readonly needs: readonly { readonly name: string; readonly found: FoundLibrary | null }[]
}

/** Names of CUDA libraries; all others come with every system and are not searched. */
const CUDA_LIBRARY = /^lib(cu|nv)/

/** Returns the CUDA provider in the first of `folders` that contains one; null if none does. */
export async function findCudaProvider(
  folders: readonly string[],
  libraries: SharedLibraries
): Promise<CudaProvider | null> {
  for (const folder of folders) {
    for (const form of ['plugin', 'bundled'] as const) {
      const path = join(folder, providerFiles[form])
      if (!(await exists(path))) continue
      if (form === 'bundled' && !(await exists(join(folder, providerFiles.shared)))) continue
      const names = ((await neededLibraries(path)) ?? []).filter(name => CUDA_LIBRARY.test(name))
      const needs = await Promise.all(names.map(async name => ({ name, found: await libraries.find(name) })))
      return { form, path, folder, needs }
    }
  }
  return null
}

/** PyPI packages of CUDA libraries; packages for CUDA 13 have no version in their names. */
const packages: Readonly<Record<string, string>> = {
  libcudart: 'nvidia-cuda-runtime',
  libcublas: 'nvidia-cublas',
  libcublasLt: 'nvidia-cublas',
  libcurand: 'nvidia-curand',
  libcufft: 'nvidia-cufft',
  libcudnn: 'nvidia-cudnn',
  libnvrtc: 'nvidia-cuda-nvrtc',
  libnvJitLink: 'nvidia-nvjitlink'
}

/** Returns the command that installs missing CUDA libraries into `folder`; null if no package contains them. */
export function libraryCommand(missing: readonly string[], folder: string): string | null {
  const major = missing.some(name => /^lib(cudart|cublas(Lt)?)\.so\.12/.test(name)) ? 12 : 13
  const wanted = missing.flatMap(name => {
    const stem = basename(name).replace(/\.so.*$/, '')
    const found = packages[stem]
    if (found === undefined) return []
    return major === 12 || stem === 'libcudnn' ? `${found}-cu${major}` : found
  })
  return wanted.length === 0 ? null : `pip install --target ${folder} ${[...new Set(wanted)].join(' ')}`
}
