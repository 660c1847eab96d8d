import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { ConfigFields } from '../config-fields.ts'
import { inferenceErrors } from '../errors.ts'
import { fileError, readJsonObject } from '../files.ts'
import { denseFiles } from './dense.ts'

/** How the vectors of a text's tokens become one vector. Each is a weighted sum over the tokens. */
export type Pooling = 'cls' | 'mean' | 'mean_sqrt_len' | 'weightedmean' | 'lasttoken'

/** Steps after the model, as sentence-transformers writes them. */
export interface SentenceModules {
  /** Folder of the model itself, relative to the model folder; empty for the folder itself. */
  readonly modelFolder: string
  readonly isStatic: boolean
  readonly pooling: Pooling
  /** Folders of matrices after the pooling, relative to the model folder. */
  readonly dense: readonly string[]
  readonly normalise: boolean
  /** Files that were read. */
  readonly files: readonly string[]
}

const MODES: Readonly<Record<string, Pooling>> = {
  pooling_mode_cls_token: 'cls',
  pooling_mode_mean_tokens: 'mean',
  pooling_mode_mean_sqrt_len_tokens: 'mean_sqrt_len',
  pooling_mode_weightedmean_tokens: 'weightedmean',
  pooling_mode_lasttoken: 'lasttoken'
}
const NAMES: readonly string[] = Object.values(MODES)

const plain = { modelFolder: '', isStatic: false, pooling: 'mean', dense: [], normalise: false } as const

/**
 * Reads `modules.json` and the configuration of its pooling. Without that file, the mean of all tokens is normalised.
 *
 * Throws `INF_ARCHITECTURE_UNSUPPORTED` for a module or a pooling that is not supported, `INF_RUN_DIR_PATH_UNSAFE` for a
 * module outside of the folder, and `INF_RUN_DIR_MALFORMED`.
 */
export async function readModules(folder: string): Promise<SentenceModules> {
  const file = join(folder, 'modules.json')
  const list = await readModuleList(file)
  if (list === null) return { ...plain, normalise: true, files: [] }
  const fields = new ConfigFields(file, {})
  const files = [file]
  let modules: SentenceModules = { ...plain, files }
  for (const [index, entry] of list.entries()) {
    const { type, path = '' } = entry as { readonly type?: unknown; readonly path?: unknown }
    if (typeof path !== 'string' || !/^[\w.-]*$/.test(path) || path === '..') {
      throw inferenceErrors.create(
        'INF_RUN_DIR_PATH_UNSAFE',
        `${file} names ${JSON.stringify(path)}, not a folder next to it`,
        {
          at: { file, path: `${index}.path` },
          data: { file, path }
        }
      )
    }
    const step = await readModule(folder, String(type).split('.').at(-1), path, index === 0, modules)
    if (step === null) {
      const order = 'Transformer or StaticEmbedding, then Pooling, Dense and Normalize'
      throw fields.unsupported(`${index}.type`, type, order)
    }
    const { files: read = [], ...changed } = step
    files.push(...read)
    modules = { ...modules, ...changed }
  }
  return modules
}

/** Returns what a module sets; null if it is not supported at that place. */
async function readModule(
  folder: string,
  kind: string | undefined,
  path: string,
  isFirst: boolean,
  { isStatic, dense, normalise }: SentenceModules
): Promise<Partial<SentenceModules> | null> {
  switch (kind) {
    case 'Transformer':
      return isFirst ? { modelFolder: path } : null
    case 'StaticEmbedding':
      return isFirst ? { modelFolder: path, isStatic: true } : null
    case 'Pooling': {
      if (isFirst || isStatic || normalise || dense.length > 0) return null
      const file = join(folder, path, 'config.json')
      return { pooling: readPooling(file, await readJsonObject(file)), files: [file] }
    }
    case 'Dense':
      if (isFirst || normalise) return null
      return { dense: [...dense, path], files: await denseFiles(join(folder, path)) }
    case 'Normalize':
      return isFirst ? null : { normalise: true }
    default:
      return null
  }
}

function readPooling(file: string, values: Record<string, unknown>): Pooling {
  const fields = new ConfigFields(file, values)
  if (!fields.boolean('include_prompt', true)) throw fields.unsupported('include_prompt', false, 'true')
  if (values.pooling_mode !== undefined) {
    const mode = values.pooling_mode
    if (typeof mode === 'string' && NAMES.includes(mode)) return mode as Pooling
    throw fields.unsupported('pooling_mode', mode, NAMES.join(', '))
  }
  const chosen = Object.entries(values).filter(([name, value]) => name.startsWith('pooling_mode_') && value === true)
  const [[mode] = ['pooling_mode']] = chosen
  if (chosen.length !== 1) {
    const names = chosen.map(([name]) => name)
    throw fields.unsupported('pooling_mode', names, `one of ${Object.keys(MODES).join(', ')}`)
  }
  const pooling = MODES[mode as string]
  if (pooling === undefined) throw fields.unsupported(mode as string, true, Object.keys(MODES).join(', '))
  return pooling
}

/** Writes the weight of each of `length` tokens to `weights`. */
export function poolWeights(pooling: Pooling, length: number, weights: Float32Array): void {
  switch (pooling) {
    case 'cls':
      weights[0] = 1
      return
    case 'lasttoken':
      weights[length - 1] = 1
      return
    case 'mean':
      weights.fill(1 / length, 0, length)
      return
    case 'mean_sqrt_len':
      weights.fill(1 / Math.sqrt(length), 0, length)
      return
    case 'weightedmean': {
      const sum = (length * (length + 1)) / 2
      for (let at = 0; at < length; at++) weights[at] = (at + 1) / sum
    }
  }
}

/** Scales a vector to length 1. A vector of zeros, of a text without known words, is unchanged. */
export function normalise(vector: Float32Array): void {
  let squares = 0
  for (const value of vector) squares += value * value
  if (squares === 0) return
  const factor = 1 / Math.sqrt(squares)
  for (let at = 0; at < vector.length; at++) vector[at] = (vector[at] as number) * factor
}

async function readModuleList(file: string): Promise<readonly unknown[] | null> {
  const list = await readJson(file)
  if (list === null) return null
  if (Array.isArray(list) && list.every(each => typeof each === 'object' && each !== null)) return list
  throw malformed(file, 'it does not contain a list of modules')
}

async function readJson(file: string): Promise<unknown> {
  let text: string
  try {
    text = await readFile(file, 'utf8')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null
    throw fileError(error, file)
  }
  try {
    return JSON.parse(text)
  } catch (error) {
    throw malformed(file, (error as Error).message)
  }
}

function malformed(file: string, reason: string) {
  return inferenceErrors.create('INF_RUN_DIR_MALFORMED', `${file} is not valid: ${reason}`, {
    at: { file },
    data: { file, offset: 0 }
  })
}
