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
import { withoutWarnings } from './without-warnings.ts'

/** Taken before an isolated process or worker refuses it to plugins. */
const { setFlagsFromString } = v8

const SHARED: ReadonlyMap<string, unknown> = new Map<string, unknown>([
  ['@svc/plugin-sdk', sdk],
  ['@svc/plugin-sdk/check', check],
  ['@svc/contracts', contracts]
])

/** Compiled code of a plugin, which can be evaluated any number of times. */
export interface PluginCode {
  /** Name of the plugin, as far as known; for messages. */
  readonly name: string
  /** Package folder. */
  readonly root: string
  /** Function body that runs the module. V8 keeps the same string as the source of the function. */
  readonly body: string
  /** Comment with the source map; empty if there is none, or if it is in a file next to the code cache. */
  readonly map: string
  /** Packages that `require` cannot load, by specifier; see {@link preload}. */
  readonly preloaded: ReadonlyMap<string, unknown>
  readonly cached?: CachedCode
}

/** Text of a plugin and what belongs to it. */
export interface PluginText extends Pick<PluginCode, 'name' | 'root' | 'cached'> {
  /** CommonJS with an inline source map. */
  readonly text: string
}

export interface EvaluateOptions {
  /** Modules shared with the host, by specifier. Default: the SDK, its `check` module and the contracts. */
  readonly shared?: ReadonlyMap<string, unknown>
  /**
   * True if V8 may cache the compilation. Default false, since the cache never frees sources. Use true if the host must
   * not change V8 flags at run time.
   */
  readonly compilationCache?: boolean
  /** Receives the data for a code cache after compilation. */
  readonly onCompiled?: (cached: CachedCode) => void
}

export interface Evaluated {
  readonly plugin: Plugin
  readonly guards: Guards
}

/**
 * Runs the module body and returns the plugin that it exports (`default` or `plugin`, or as `module.exports`).
 *
 * Throws `LDR_EVALUATE_FAILED` if the body throws, `LDR_NOT_A_PLUGIN` if it exports no plugin. Even then,
 * `hooks.effect` has a disposer for the resources that the body opened.
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
 * Loads packages that the code imports statically and that only `import` can load, because of their `exports`.
 * `require` loads the others, including ES modules.
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

/** Loads the packages that the module body needs and `require` cannot load. Returns the code with them. */
export async function withPackages(plugin: PluginText): Promise<PluginCode> {
  const { root, text, cached } = plugin
  if (cached === undefined) return codeOf(plugin, await preload(root, text))
  const file = bundlePath(root)
  const load = async (specifier: string) => [specifier, await importFrom(file, specifier)] as const
  return codeOf(plugin, new Map(await Promise.all(cached.imports.map(load))))
}

/**
 * Returns the code of a plugin without its text, which would stay in memory next to V8's source. The text is wrapped in a
 * block, so that it may declare names that are also parameters. The block starts on the first line, so that the source
 * map stays correct.
 */
export function codeOf({ name, root, text, cached }: PluginText, preloaded: PluginCode['preloaded']): PluginCode {
  const [code, map] = splitMap(text)
  const body = `"use strict";{${code}\n}`
  // A slice would keep the whole text in memory.
  const inline = cached === undefined ? Buffer.from(map).toString() : `//# sourceMappingURL=${MAP_FILE}`
  return { name, root, body, map: map === '' ? '' : inline, preloaded, ...defined({ cached }) }
}

/** Compiled functions by code and by the URL under which they run. */
const functions = new WeakMap<PluginCode, Map<string, ReturnType<typeof compile>>>()

/** Returns the compiled function. Code that runs again under the same URL is not compiled again. */
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
      code.body,
      parameters,
      url,
      compilationCache,
      defined({
        map: code.map,
        compiled: code.cached?.compiled,
        onCompiled: onCompiled && ((compiled: Buffer) => onCompiled({ compiled, imports: [...code.preloaded.keys()] }))
      })
    )
  known.set(url, run)
  return run
}

/** Parts of a compilation that are optional. */
interface CompileOptions {
  /** Comment with the source map. */
  readonly map?: string
  /** Code cache. */
  readonly compiled?: Buffer
  /** Receives the code cache. */
  readonly onCompiled?: (compiled: Buffer) => void
}

/** Compiles a function body; stacks show its URL. */
export function compile(
  body: string,
  parameters: readonly string[],
  url: string,
  compilationCache: boolean,
  { map = '', compiled, onCompiled }: CompileOptions = {}
): (...values: unknown[]) => unknown {
  const make = (): ReturnType<typeof compile> => {
    const run = vm.compileFunction(body, parameters, {
      filename: url,
      importModuleDynamically: vm.constants.USE_MAIN_CONTEXT_DEFAULT_LOADER,
      produceCachedData: onCompiled !== undefined,
      ...defined({ cachedData: compiled })
    }) as ReturnType<typeof compile> & { readonly cachedData?: Buffer }
    if (run.cachedData !== undefined) onCompiled?.(run.cachedData)
    if (map !== '') registerMap(map, url)
    return run
  }
  if (compilationCache) return make()
  setFlagsFromString('--no-compilation-cache')
  try {
    return make()
  } finally {
    setFlagsFromString('--compilation-cache')
  }
}

const MAP_COMMENT = '//# sourceMappingURL=data:'

/** Splits a text into the code and the comment with the source map at its end. */
function splitMap(text: string): readonly [code: string, map: string] {
  const at = text.lastIndexOf(MAP_COMMENT)
  const map = at === -1 ? '' : text.slice(at).trimEnd()
  return map === '' || /\s/.test(map.slice(MAP_COMMENT.length)) ? [text, ''] : [text.slice(0, at), map]
}

/**
 * Registers a source map with Node. Node reads maps of generated code, and for that scans the whole code. An empty
 * function with the same URL avoids the scan.
 */
function registerMap(comment: string, url: string): void {
  new Function(`${comment}\n//# sourceURL=${url}`)
}

const slots = new Map<string, Set<number>>()

/**
 * Reserves a URL for the code in V8 and in Node's source maps. Concurrent instances need different URLs; otherwise one
 * would use the source map of the other. Released URLs are reused, since the memory of each is never freed.
 */
function takeSlot(root: string): { readonly url: string; readonly release: () => void } {
  const used = slots.get(root) ?? new Set<number>()
  slots.set(root, used)
  let slot = 0
  while (used.has(slot)) slot += 1
  used.add(slot)
  const { href } = pathToFileURL(bundlePath(root))
  return { url: slot === 0 ? href : `${href}?${slot}`, release: () => used.delete(slot) }
}

/** Imports a module with Node's loader, resolved relative to a file. */
function importFrom(file: string, specifier: string): Promise<unknown> {
  const script = new vm.Script('specifier => import(specifier)', {
    filename: file,
    importModuleDynamically: vm.constants.USE_MAIN_CONTEXT_DEFAULT_LOADER
  })
  const load = script.runInThisContext() as (specifier: string) => Promise<unknown>
  // Node warns of its option for the loader. The module itself runs later.
  return withoutWarnings(() => load(specifier))
}

function evaluateError(code: PluginCode, cause: unknown): Error {
  const message = errorMessage(cause)
  const [frame] =
    cause instanceof Error ? [...framesOf(cause.stack)].filter(each => each.file.startsWith(code.root)) : []
  const hints: Record<string, string> = {
    MODULE_NOT_FOUND: `run npm install in ${code.root}`,
    ERR_REQUIRE_ASYNC_MODULE: "the package uses top-level await: import it with await import('…') inside activate"
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
  throw loaderErrors.create('LDR_NOT_A_PLUGIN', `${code.name}: the module in ${code.root} exports no plugin`, {
    plugin: code.name,
    at: { file: code.root },
    hint: 'write: export default definePlugin({ … })'
  })
}
