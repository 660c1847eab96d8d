import { readdir, readFile, stat } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { runDirectoryState } from '../run-directory.ts'

/** Properties of a model that its files show without being loaded. */
export interface ModelFiles {
  /** Size of the weights, in bytes. */
  readonly sizeBytes: number
  readonly modifiedAt: Date
  readonly format: 'safetensors' | 'onnx' | 'gguf'
  /** Architecture of `config.json`, such as `llama`; empty if unknown. */
  readonly family: string
  /** SHA-256 over names, sizes and times of the files, hex. */
  readonly digest: string
}

const WEIGHTS = /\.(safetensors|onnx|onnx_data|onnx\.data|gguf)$/
/** A larger configuration is not read. */
const MAX_CONFIGURATION_BYTES = 4 << 20

/** Reads the files of a run directory, or of one GGUF file. Throws `MSV_RUN_DIRECTORY`. */
export async function readModelFiles(path: string): Promise<ModelFiles> {
  const { fingerprint, modifiedAt } = await runDirectoryState(path)
  const names = isGguf(path) ? [] : (await readdir(path)).filter(name => WEIGHTS.test(name))
  const files = isGguf(path) ? await partsOfGguf(path) : names.map(name => join(path, name))
  const sizes = await Promise.all(files.map(async file => (await stat(file)).size))
  const format = files.some(isGguf) ? 'gguf' : names.some(name => name.includes('.onnx')) ? 'onnx' : 'safetensors'
  return {
    sizeBytes: sizes.reduce((sum, size) => sum + size, 0),
    modifiedAt,
    format,
    family: isGguf(path) ? '' : await familyOf(join(path, 'config.json')),
    digest: fingerprint
  }
}

/** Returns the files of a set such as `NAME-00001-of-00003.gguf` that exist, or the file itself. */
export async function partsOfGguf(path: string): Promise<readonly string[]> {
  const [, stem, total] = /^(.*)-\d{5}-of-(\d{5})\.gguf$/.exec(basename(path)) ?? []
  if (stem === undefined) return [path]
  const folder = dirname(path)
  const names = await readdir(folder)
  const parts = names.filter(name => name.startsWith(`${stem}-`) && name.endsWith(`-of-${total}.gguf`))
  return parts.sort().map(name => join(folder, name))
}

export function isGguf(path: string): boolean {
  return path.endsWith('.gguf')
}

async function familyOf(path: string): Promise<string> {
  try {
    if ((await stat(path)).size > MAX_CONFIGURATION_BYTES) return ''
    const { model_type } = JSON.parse(await readFile(path, 'utf8')) as { readonly model_type?: unknown }
    return typeof model_type === 'string' ? model_type : ''
  } catch {
    return ''
  }
}
