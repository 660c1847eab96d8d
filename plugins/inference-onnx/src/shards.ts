import { readdir } from 'node:fs/promises'
import { isAbsolute, join, resolve, sep } from 'node:path'
import { inferenceErrors } from './errors.ts'
import { fileError, fileMissing, readOptionalJsonObject } from './files.ts'
import { readSafetensors, type TensorEntry } from './safetensors.ts'

const INDEX = 'model.safetensors.index.json'

export interface Shards {
  readonly tensors: ReadonlyMap<string, TensorEntry>
  /** All files that were read, including the index. */
  readonly files: readonly string[]
}

/**
 * Reads the tensors of the weight files in a folder: those that `model.safetensors.index.json` names, else every
 * `*model*.safetensors`. Null if the folder has none.
 *
 * Throws `INF_RUN_DIR_FILE_MISSING` for a missing shard, and `INF_RUN_DIR_PATH_UNSAFE` for a path outside the folder.
 */
export async function readShards(folder: string): Promise<Shards | null> {
  const indexFile = join(folder, INDEX)
  const index = await readOptionalJsonObject(indexFile)
  return index === null ? readLooseShards(folder) : readIndexedShards(folder, indexFile, index)
}

async function readIndexedShards(folder: string, indexFile: string, index: Record<string, unknown>): Promise<Shards> {
  const map = index.weight_map
  if (typeof map !== 'object' || map === null || Array.isArray(map)) {
    throw inferenceErrors.create('INF_RUN_DIR_MALFORMED', `${indexFile} is not valid: weight_map is not an object`, {
      at: { file: indexFile, path: 'weight_map' },
      data: { file: indexFile, offset: 0 }
    })
  }
  const tensors = new Map<string, TensorEntry>()
  const shards = new Map<string, ReadonlyMap<string, TensorEntry>>()
  for (const [name, target] of Object.entries(map)) {
    const file = insideFolder(folder, indexFile, name, target)
    const shard = shards.get(file) ?? (await readSafetensors(file)).tensors
    shards.set(file, shard)
    const entry = shard.get(name)
    if (entry === undefined) {
      throw inferenceErrors.create(
        'INF_RUN_DIR_TENSOR_MISSING',
        `${indexFile} places ${name} in ${file}, which does not contain it`,
        {
          at: { file: indexFile, path: `weight_map.${name}` },
          data: { file, tensor: name },
          hint: 'Download the index and the shards again, both from the same revision.'
        }
      )
    }
    tensors.set(name, entry)
  }
  return { tensors, files: [indexFile, ...shards.keys()] }
}

function insideFolder(folder: string, indexFile: string, name: string, target: unknown): string {
  const file = typeof target === 'string' ? resolve(folder, target) : ''
  if (typeof target === 'string' && !isAbsolute(target) && !target.includes('\0') && file.startsWith(folder + sep)) {
    return file
  }
  throw inferenceErrors.create(
    'INF_RUN_DIR_PATH_UNSAFE',
    `${indexFile} places ${name} in ${JSON.stringify(target)}, which is not a file inside ${folder}`,
    { at: { file: indexFile, path: `weight_map.${name}` }, data: { file: indexFile, target } }
  )
}

async function readLooseShards(folder: string): Promise<Shards | null> {
  const names = (await readdir(folder).catch(error => Promise.reject(fileError(error, folder)))).filter(isShard).sort()
  if (names.length === 0) return null
  checkNumbering(folder, names)
  const tensors = new Map<string, TensorEntry>()
  for (const name of names) {
    const file = join(folder, name)
    for (const entry of (await readSafetensors(file)).tensors.values()) {
      const other = tensors.get(entry.name)
      if (other !== undefined) {
        throw inferenceErrors.create(
          'INF_RUN_DIR_MALFORMED',
          `tensor ${entry.name} is in both ${other.file} and ${file} at byte ${entry.offset}`,
          {
            at: { file },
            data: { file, offset: entry.offset },
            hint: `Remove one of the two, or add ${INDEX} to select one.`
          }
        )
      }
      tensors.set(entry.name, entry)
    }
  }
  return { tensors, files: names.map(name => join(folder, name)) }
}

function isShard(name: string): boolean {
  return name.endsWith('.safetensors') && name.includes('model') && !name.startsWith('adapter_')
}

/** Throws for the first missing shard: names such as `model-00002-of-00003.safetensors` contain the total. */
function checkNumbering(folder: string, names: readonly string[]): void {
  for (const name of names) {
    const [, stem, digits, total] = /^(.*-)(\d+)-of-(\d+)\.safetensors$/.exec(name) ?? []
    if (stem === undefined || digits === undefined || total === undefined) continue
    for (let number = 1; number <= Math.min(Number(total), names.length + 1); number++) {
      const expected = `${stem}${String(number).padStart(digits.length, '0')}-of-${total}.safetensors`
      if (!names.includes(expected)) throw fileMissing(join(folder, expected))
    }
  }
}
