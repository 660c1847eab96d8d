import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import type { ErrorSpec, Operation } from '@svc/plugin-sdk'

export const ROOT = join(import.meta.dirname, '..', '..')

export interface DefinedCode {
  readonly code: string
  readonly spec: ErrorSpec
  /** Name of the package whose error table or operation defines the code. */
  readonly owner: string
  /** Path from the root, for messages. */
  readonly file: string
}

interface Package {
  readonly name: string
  /** Path from the root. */
  readonly folder: string
}

/** Returns the packages whose errors are documented in docs/errors.md; examples document their own. */
export function packages(): Package[] {
  const plugins = readdirSync(join(ROOT, 'plugins')).map(name => `plugins/${name}`)
  return ['config', 'contracts', 'kernel', 'plugin-sdk', ...plugins].flatMap(folder => {
    try {
      const { name } = JSON.parse(readFileSync(join(ROOT, folder, 'package.json'), 'utf8')) as { name: string }
      return [{ name, folder }]
    } catch {
      return []
    }
  })
}

/** Returns the TypeScript sources of a package, relative to the root. */
export function sourcesOf({ folder }: Package): string[] {
  return readdirSync(join(ROOT, folder, 'src'), { recursive: true, encoding: 'utf8' })
    .filter(path => path.endsWith('.ts'))
    .map(path => join(folder, 'src', path))
    .sort()
}

/** Returns every code that an `errors.ts` or an operation defines, once per definition. */
export async function definedCodes(): Promise<DefinedCode[]> {
  const found: DefinedCode[] = []
  for (const each of packages()) {
    const sources = sourcesOf(each)
    const tables = sources.filter(path => path.endsWith('/errors.ts'))
    const codes = (specs: Readonly<Record<string, ErrorSpec>>, file: string): DefinedCode[] =>
      Object.entries(specs).map(([code, spec]) => ({ code, spec, owner: each.name, file }))
    for (const file of tables) {
      for (const specs of (await exportsOf(file)).filter(hasSpecs)) found.push(...codes(specs.specs, file))
    }
    // An operation may declare a code of a table; it then uses the entry of that table.
    const known = new Map(found.map(({ code, spec }) => [code, spec]))
    for (const file of sources.filter(path => readFileSync(join(ROOT, path), 'utf8').includes('defineOperation({'))) {
      for (const { errors } of (await exportsOf(file)).filter(isOperation)) {
        found.push(...codes(errors, file).filter(({ code, spec }) => known.get(code) !== spec))
        for (const { code, spec } of codes(errors, file)) known.set(code, spec)
      }
    }
  }
  return found
}

async function exportsOf(file: string): Promise<unknown[]> {
  return Object.values((await import(pathToFileURL(join(ROOT, file)).href)) as object)
}

function hasSpecs(value: unknown): value is { readonly specs: Readonly<Record<string, ErrorSpec>> } {
  return typeof value === 'object' && value !== null && 'specs' in value
}

function isOperation(value: unknown): value is Operation {
  return (value as Operation | null)?.kind === 'operation'
}
