import { createHash } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

const root = new URL('../../../../', import.meta.url).pathname

/** Returns the beginning of the SHA-256 of a text. */
export const hash = (text: string): string => createHash('sha256').update(text).digest('hex').slice(0, 16)

/** Returns the programs of the examples and of the documentation, by their place. */
export function programs(): Map<string, string> {
  const found = new Map<string, string>()
  const files = (folder: string, suffix: string): string[] =>
    readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
      .filter(name => name.endsWith(suffix) && !name.includes('node_modules'))
      .sort()
      .map(name => join(folder, name))
  for (const path of files('examples', '.vox')) found.set(path, readFileSync(join(root, path), 'utf8'))
  for (const path of files('docs', '.md')) {
    const blocks = readFileSync(join(root, path), 'utf8').matchAll(/^```vox\n([\s\S]*?)^```$/gm)
    for (const [index, match] of [...blocks].entries()) found.set(`${path} ${index + 1}`, match[1] as string)
  }
  return found
}
