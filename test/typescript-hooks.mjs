// Compiles a TypeScript source if it has changed since the last time, and caches the result in node_modules.
import { createHash } from 'node:crypto'
import { mkdir, readFile, rename, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

const folder = fileURLToPath(new URL('../node_modules/.cache/svc-typescript', import.meta.url))
const errorDomains = new URL('error-domains.mjs', import.meta.url).href
let ready

export async function resolve(specifier, context, nextResolve) {
  if (specifier === 'async-hook-domain') return { url: errorDomains, format: 'module', shortCircuit: true }
  return nextResolve(specifier, context)
}

export async function load(url, context, nextLoad) {
  if (!url.startsWith('file:') || !/\.ts(?:\?|$)/.test(url)) return nextLoad(url, context)
  const file = fileURLToPath(url)
  const text = await readFile(file, 'utf8')
  return { format: 'module', source: await compiled(file, text), shortCircuit: true }
}

export async function compiled(file, text) {
  const path = join(folder, `${digest(file)}.mjs`)
  const mark = `//${digest(text)}\n`
  const kept = await readFile(path, 'utf8').catch(() => '')
  if (kept.startsWith(mark)) return kept.slice(mark.length)
  const { transform } = await import('esbuild')
  const options = { loader: 'ts', format: 'esm', target: 'node20.19', sourcemap: 'inline', sourcefile: file }
  const { code } = await transform(text, options)
  ready ??= mkdir(folder, { recursive: true })
  await ready
  // Renamed into place, since several processes may write the file concurrently.
  await writeFile(`${path}.${process.pid}`, `${mark}${code}`)
  await rename(`${path}.${process.pid}`, path)
  return code
}

function digest(text) {
  return createHash('sha256').update(text).digest('hex').slice(0, 32)
}
