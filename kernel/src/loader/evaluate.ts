import { createRequire, isBuiltin } from 'node:module'
import { dirname } from 'node:path'
import { pathToFileURL } from 'node:url'
import v8 from 'node:v8'
import vm from 'node:vm'
import * as contracts from '@svc/contracts'
import type { Plugin } from '@svc/plugin-sdk'
import * as sdk from '@svc/plugin-sdk'
import { defined, errorMessage } from '@svc/plugin-sdk'
import * as check from '@svc/plugin-sdk/check'
import type { InstanceHooks } from '../core/plugin-source.ts'
import { claim, framesOf } from '../guards/attribution.ts'
import { Guards } from '../guards/guards.ts'
import { guardNode } from '../guards/modules.ts'
import { bundlePath } from './bundle.ts'
import { type CachedCode, MAP_FILE } from './code-cache.ts'
import { loaderErrors } from './errors.ts'

const SHARED: ReadonlyMap<string, unknown> = new Map<string, unknown>([
  ['@svc/plugin-sdk', sdk],
  ['@svc/plugin-sdk/check', check],
  ['@svc/contracts', contracts]
])

/** One version of a plugin's code, ready to run any number of times. */
export interface PluginCode {
  /** The plugin's name, if known; for messages. */
  readonly name: string
  /** Package folder. */
  readonly root: string
  /** CommonJS with an inline source map. */
  readonly text: string
  /** Packages that `require` cannot load, by specifier; see {@link preload}. */
  readonly preloaded: ReadonlyMap<string, unknown>
  readonly cached?: CachedCode
}

export interface EvaluateOptions {
  /** Modules that the plugin gets from the host by identity, by specifier; default: the SDK with `check`, and the contracts. */
  readonly shared?: ReadonlyMap<string, unknown>
  /**
   * Whether V8 may cache the compilation. Default false, since the cache keeps every text. Set it if the host must not
   * change V8's flags at run time.
   */
  readonly compilationCache?: boolean
  /** Receives what a cache holds of the code. */
  readonly onCompiled?: (cached: CachedCode) => void
}

export interface Evaluated {
  readonly plugin: Plugin
  readonly guards: Guards
}

/**
 * Runs the module body and returns the plugin that it exports (`default` or `plugin`, or as `module.exports`).
 *
 * Throws `LDR_EVALUATE_FAILED` when the body throws, `LDR_NOT_A_PLUGIN` when it exports none. What the body opened
 * until then is disposed through `hooks.effect` as always.
 */
export function evaluate(code: PluginCode, options: EvaluateOptions, hooks: InstanceHooks): Evaluated {
  process.setSourceMapsEnabled(true)
  claim(code.root, code.name)
  const guards = new Guards(code.name, code.root, hooks)
  const slot = takeSlot(code.root)
  hooks.effect('guards', async () => {
    await guards.dispose()
    slot.release()
  })
  const file = bundlePath(code.root)
  const real = createRequire(file)
  const { builtin, globals } = guardNode(guards)
  const shared = options.shared ?? SHARED
  const load = (specifier: string): unknown =>
    shared.get(specifier) ??
    code.preloaded.get(specifier) ??
    (isBuiltin(specifier) ? builtin(specifier) : real(specifier))
  const module: { exports: unknown } = { exports: {} }
  const variables = {
    ...globals,
    module,
    exports: module.exports,
    require: Object.assign(load, real),
    __filename: file,
    __dirname: dirname(file),
    __svc_url: pathToFileURL(file).href,
    __svc_import: async (specifier: string) =>
      shared.get(specifier) ?? (isBuiltin(specifier) ? builtin(specifier) : importFrom(file, specifier))
  }
  try {
    const run = compiled(code, Object.keys(variables), slot.url, options)
    run(...Object.values(variables))
  } catch (cause) {
    throw evaluateError(code, cause)
  }
  return { plugin: pluginOf(code, module.exports), guards }
}

/**
 * Loads packages that the code imports statically and that export only to `import`. The others are left to `require`, which
 * loads ES modules too.
 */
export async function preload(root: string, text: string): Promise<ReadonlyMap<string, unknown>> {
  const file = bundlePath(root)
  const { resolve } = createRequire(file)
  const loaded = new Map<string, unknown>()
  for (const [, specifier = ''] of text.matchAll(/\brequire\("([^".][^"]*)"\)/g)) {
    if (isBuiltin(specifier) || loaded.has(specifier)) continue
    try {
      resolve(specifier)
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ERR_PACKAGE_PATH_NOT_EXPORTED') continue
      loaded.set(specifier, await importFrom(file, specifier))
    }
  }
  return loaded
}

/** Code with the packages loaded that it needs before its body runs. */
export async function withPackages(code: Omit<PluginCode, 'preloaded'>): Promise<PluginCode> {
  const { root, text, cached } = code
  if (cached === undefined) return { ...code, preloaded: await preload(root, text) }
  const file = bundlePath(root)
  const load = async (specifier: string) => [specifier, await importFrom(file, specifier)] as const
  return { ...code, preloaded: new Map(await Promise.all(cached.imports.map(load))) }
}

/** By the names under which the code has run. */
const functions = new WeakMap<PluginCode, Map<string, ReturnType<typeof compile>>>()

/** Code that runs again under a free name, for its manifest or with other settings, is already compiled. */
function compiled(
  code: PluginCode,
  parameters: readonly string[],
  url: string,
  { compilationCache = false, onCompiled }: EvaluateOptions
): ReturnType<typeof compile> {
  const known = functions.get(code) ?? new Map<string, ReturnType<typeof compile>>()
  functions.set(code, known)
  const run =
    known.get(url) ??
    compile(
      code.text,
      parameters,
      url,
      compilationCache,
      defined({
        compiled: code.cached?.compiled,
        onCompiled: onCompiled && ((compiled: Buffer) => onCompiled({ compiled, imports: [...code.preloaded.keys()] }))
      })
    )
  known.set(url, run)
  return run
}

/**
 * Compiles a function body, known to V8 and in stacks by its URL. The text is in a separate block, so that it may declare
 * names that are also parameters. The block is on the function's first line, so that the source map applies as it is.
 */
export function compile(
  text: string,
  parameters: readonly string[],
  url: string,
  compilationCache: boolean,
  { compiled, onCompiled }: { readonly compiled?: Buffer; readonly onCompiled?: (compiled: Buffer) => void } = {}
): (...values: unknown[]) => unknown {
  const [code, map] = splitMap(text)
  const body = `"use strict";{${code}\n}`
  const make = (): ReturnType<typeof compile> => {
    const run = vm.compileFunction(body, parameters, {
      filename: url,
      importModuleDynamically: vm.constants.USE_MAIN_CONTEXT_DEFAULT_LOADER,
      produceCachedData: onCompiled !== undefined,
      ...defined({ cachedData: compiled })
    }) as ReturnType<typeof compile> & { readonly cachedData?: Buffer }
    if (run.cachedData !== undefined) onCompiled?.(run.cachedData)
    if (map !== '') registerMap(compiled === undefined ? map : `//# sourceMappingURL=${MAP_FILE}`, url)
    return run
  }
  if (compilationCache) return make()
  v8.setFlagsFromString('--no-compilation-cache')
  try {
    return make()
  } finally {
    v8.setFlagsFromString('--compilation-cache')
  }
}

const MAP_COMMENT = '//# sourceMappingURL=data:'

/** The code, and the comment at its end that holds its source map. */
function splitMap(text: string): readonly [code: string, map: string] {
  const at = text.lastIndexOf(MAP_COMMENT)
  const map = at === -1 ? '' : text.slice(at).trimEnd()
  return map === '' || /\s/.test(map.slice(MAP_COMMENT.length)) ? [text, ''] : [text.slice(0, at), map]
}

/**
 * Gives Node a source map. Node takes maps of generated code, measures every line of that code, and looks for comments in
 * it. An empty function under the same URL saves that work for the real one.
 */
function registerMap(comment: string, url: string): void {
  new Function(`${comment}\n//# sourceURL=${url}`)
}

const slots = new Map<string, Set<number>>()

/**
 * Name of the code in V8 and in Node's source maps. Concurrent instances need different names, or the map of one would
 * be applied to the other. Free names are reused, since each costs memory forever.
 */
function takeSlot(root: string): { readonly url: string; readonly release: () => void } {
  const taken = slots.get(root) ?? new Set<number>()
  slots.set(root, taken)
  let slot = 0
  while (taken.has(slot)) slot += 1
  taken.add(slot)
  const { href } = pathToFileURL(bundlePath(root))
  return { url: slot === 0 ? href : `${href}?${slot}`, release: () => taken.delete(slot) }
}

/** A real `import`, resolved from a file. */
function importFrom(file: string, specifier: string): Promise<unknown> {
  const script = new vm.Script('specifier => import(specifier)', {
    filename: file,
    importModuleDynamically: vm.constants.USE_MAIN_CONTEXT_DEFAULT_LOADER
  })
  return (script.runInThisContext() as (specifier: string) => Promise<unknown>)(specifier)
}

function evaluateError(code: PluginCode, cause: unknown): Error {
  const message = errorMessage(cause)
  const [frame] =
    cause instanceof Error ? [...framesOf(cause.stack)].filter(each => each.file.startsWith(code.root)) : []
  const hints: Record<string, string> = {
    MODULE_NOT_FOUND: `run npm install in ${code.root}`,
    ERR_REQUIRE_ASYNC_MODULE: "the package awaits while it loads: import it with `await import('…')` inside activate"
  }
  const hint = hints[(cause as NodeJS.ErrnoException | null)?.code ?? '']
  const place = frame === undefined ? code.root : `${frame.file}:${frame.line}`
  const details = defined({ plugin: code.name, at: frame ?? { file: code.root }, hint, cause })
  return loaderErrors.create('LDR_EVALUATE_FAILED', `${code.name}: ${place}: ${message.split('\n')[0]}`, details)
}

function pluginOf(code: PluginCode, exported: unknown): Plugin {
  const named = exported as { readonly default?: unknown; readonly plugin?: unknown } | null
  for (const candidate of [named?.default, named?.plugin, exported]) {
    const plugin = candidate as Partial<Plugin> | null | undefined
    if (plugin?.kind === 'plugin' && typeof plugin.activate === 'function') return plugin as Plugin
  }
  throw loaderErrors.create('LDR_NOT_A_PLUGIN', `${code.name}: ${code.root} exports no plugin`, {
    plugin: code.name,
    at: { file: code.root },
    hint: 'write `export default definePlugin({ … })`'
  })
}
