import { readFile, stat } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { errorMessage } from '@svc/plugin-sdk'
import { isGguf } from '../catalogue/model-files.ts'
import { parseMessages, type WrittenDefaults } from './written-defaults.ts'

/** Maximum size of a layer with defaults, in bytes. */
export const MAX_LAYER_BYTES = 1 << 20

/** File in the folder of a pulled model that records what it was pulled from. */
export const PULL_RECORD = '.svc-pull.json'

const TYPE = 'application/vnd.ollama.image.'

/** Files in the folder of a pulled model, by the type of the layer in the Ollama registry. */
export const LAYER_FILES: ReadonlyMap<unknown, string> = new Map([
  [`${TYPE}template`, 'ollama-template.txt'],
  [`${TYPE}params`, 'ollama-params.json'],
  [`${TYPE}system`, 'ollama-system.txt'],
  [`${TYPE}messages`, 'ollama-messages.json'],
  [`${TYPE}license`, 'ollama-license.txt']
])

/** Maximum licenses of a model. */
export const MAX_LICENSES = 9

/** Returns the name of the file of the license with a number from 0. */
export function licenseFile(index: number): string {
  return index === 0 ? 'ollama-license.txt' : `ollama-license-${index + 1}.txt`
}

/**
 * Reads the defaults that were pulled with a model, with a note for each file that cannot be used. There are none in a
 * folder that was not pulled.
 */
export async function readLayerFiles(
  path: string
): Promise<{ readonly written: WrittenDefaults; readonly notes: readonly string[] }> {
  const folder = isGguf(path) ? dirname(path) : path
  if ((await stat(join(folder, PULL_RECORD)).catch(() => null)) === null) return { written: {}, notes: [] }
  const notes: string[] = []
  const text = async <A>(name: string, parse: (text: string) => A): Promise<A | undefined> => {
    try {
      const file = join(folder, name)
      if ((await stat(file)).size > MAX_LAYER_BYTES) throw new Error(`it has more than ${MAX_LAYER_BYTES} bytes`)
      return parse(await readFile(file, 'utf8'))
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ENOENT') notes.push(`${name} is not used: ${errorMessage(error)}`)
      return undefined
    }
  }
  const same = (content: string): string => content
  const licenses = Array.from({ length: MAX_LICENSES }, (_, index) => text(licenseFile(index), same))
  const written = {
    template: await text('ollama-template.txt', same),
    parameters: await text('ollama-params.json', parseObject),
    system: await text('ollama-system.txt', same),
    messages: await text('ollama-messages.json', parseMessages),
    license: (await Promise.all(licenses)).filter(each => each !== undefined)
  }
  const used = Object.entries(written).filter(([, value]) => value !== undefined && value.length !== 0)
  return { written: Object.fromEntries(used), notes }
}

function parseObject(text: string): Record<string, unknown> {
  const value: unknown = JSON.parse(text)
  if (typeof value !== 'object' || value === null || Array.isArray(value)) throw new Error('it is not a JSON object')
  return value as Record<string, unknown>
}
