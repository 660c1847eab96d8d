// Compiles all sources once, so that concurrent test processes find them in the cache.
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { compiled } from '../test/typescript-hooks.mjs'

const root = fileURLToPath(new URL('..', import.meta.url))

function* sources(folder) {
  for (const entry of readdirSync(folder, { withFileTypes: true })) {
    const path = join(folder, entry.name)
    if (entry.isDirectory() && !/^(?:node_modules|dist|\..*)$/.test(entry.name)) yield* sources(path)
    else if (entry.isFile() && /(?<!\.d)\.ts$/.test(entry.name)) yield path
  }
}

const files = ['config', 'contracts', 'editors', 'kernel', 'plugin-sdk', 'plugins', 'test'].flatMap(name => [
  ...sources(join(root, name))
])
for (let at = 0; at < files.length; at += 64)
  await Promise.all(files.slice(at, at + 64).map(file => compiled(file, readFileSync(file, 'utf8')).catch(() => {})))
