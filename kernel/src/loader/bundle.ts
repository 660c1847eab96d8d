import { readFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { join, resolve } from 'node:path'
import type { BuildContext, BuildFailure, BuildOptions, BuildResult } from 'esbuild'
import { loaderErrors } from './errors.ts'
import { replaceFile } from './replace-file.ts'

/** Path of a plugin's code for `require` and `import.meta`, built or not. */
export function bundlePath(root: string): string {
  return join(root, 'dist', 'plugin.cjs')
}

/** Files of a package to compile. Paths are absolute. */
export interface BundleRequest {
  readonly root: string
  readonly source: string
  /** `svc.entries`: name to source file. */
  readonly entries: Readonly<Record<string, string>>
}

export interface Bundle {
  /** CommonJS with an inline source map. */
  readonly text: string
  /** Every file of the package that went in; absolute. */
  readonly inputs: readonly string[]
  /** Files written for `svc.entries`; absolute. */
  readonly outputs: readonly { readonly path: string; readonly text: string }[]
}

const LAZY_IMPORT = /Promise\.resolve\(\)\.then\(\(\) => __toESM\(require\(("(?:[^"\\]|\\.)*")\)(?:, 1)?\)\)/g

interface Build {
  context: BuildContext | null
  begun: boolean
  tail: Promise<unknown>
}

/** A kernel that runs from its sources inlines sources too. */
const CONDITIONS = import.meta.url.endsWith('.ts') ? ['svc-source'] : []

/** Specifiers that plugins share with the host by identity. */
export const SHARED = ['@svc/plugin-sdk', '@svc/plugin-sdk/check', '@svc/contracts'] as const

/** Modules bundled into entries of plugins, by specifier. */
const CARRIED: Readonly<Record<string, string>> = {
  '@svc/plugin-sdk/check': '@svc/plugin-sdk/check/carried',
  '@svc/plugin-sdk/folders': '@svc/plugin-sdk/folders',
  '@svc/plugin-sdk': '@svc/plugin-sdk',
  '@svc/contracts': '@svc/contracts'
}

/**
 * Compiles plugins with esbuild: relative imports are inlined, packages stay external, the output is one file.
 *
 * A plugin that needs a separate file for a worker or a child process names it in its package.json,
 * `"svc": { "entries": { "worker": "./src/worker.ts" } }`, and starts `new URL('./worker.cjs', import.meta.url)`. Such an
 * entry is written to `dist/worker.cjs` and includes the SDK and the contracts, since the host cannot inject them there.
 */
export class Bundler {
  readonly #builds = new Map<string, Map<string, Build>>()
  readonly #conditions: string[]

  /** `conditions`: export conditions for what is inlined into `svc.entries`; default: those of this kernel itself. */
  constructor(conditions: readonly string[] = CONDITIONS) {
    this.#conditions = [...conditions]
  }

  /**
   * Builds are incremental: only the first one of a package is slow.
   *
   * Throws `LDR_BUILD_FAILED` or `LDR_TOP_LEVEL_AWAIT` with file, line and column; `LDR_ESBUILD_MISSING`.
   */
  async bundle(request: BundleRequest): Promise<Bundle> {
    const { root, source, entries } = request
    const main = await this.#build(root, 'plugin', {
      entryPoints: [source],
      outfile: bundlePath(root),
      supported: { 'dynamic-import': false }
    })
    const inputs = new Set(inputsOf(root, main))
    const outputs: { path: string; text: string }[] = []
    if (Object.keys(entries).length > 0) {
      const result = await this.#build(root, 'entries', {
        entryPoints: { ...entries },
        outdir: join(root, 'dist'),
        outExtension: { '.js': '.cjs' },
        alias: carriedFiles(),
        banner: { js: "const __svc_url = require('node:url').pathToFileURL(__filename).href;" }
      })
      for (const input of inputsOf(root, result)) inputs.add(input)
      for (const { path, text } of result.outputFiles ?? []) {
        await writeIfChanged(path, text)
        outputs.push({ path, text })
      }
    }
    return { text: standalone(esmInterop(main.outputFiles?.[0]?.text ?? '')), inputs: [...inputs], outputs }
  }

  /** Frees the build context of one package. */
  async forget(root: string): Promise<void> {
    const builds = this.#builds.get(root)
    this.#builds.delete(root)
    for (const build of builds?.values() ?? []) {
      // esbuild never answers a disposal during a rebuild.
      await build.tail
      await build.context?.dispose()
    }
  }

  async dispose(): Promise<void> {
    for (const root of [...this.#builds.keys()]) await this.forget(root)
  }

  async #build(root: string, key: string, options: BuildOptions): Promise<BuildResult> {
    const builds = this.#builds.get(root) ?? new Map<string, Build>()
    this.#builds.set(root, builds)
    const build = builds.get(key) ?? { context: null, begun: false, tail: Promise.resolve() }
    builds.set(key, build)
    // A rebuild that joins a running one would miss files saved since its start.
    const turn = build.tail.then(() => this.#turn(root, build, options))
    build.tail = turn.catch(() => {})
    return turn.catch((failure: BuildFailure) => {
      throw buildError(root, failure)
    })
  }

  /** The first build uses no context, which would keep the process alive until it is disposed. */
  async #turn(root: string, build: Build, options: BuildOptions): Promise<BuildResult> {
    const esbuild = await import('esbuild').catch((cause: unknown) => {
      throw loaderErrors.create('LDR_ESBUILD_MISSING', `${root} holds TypeScript, and esbuild is not installed`, {
        hint: 'npm install esbuild, or build the plugin where esbuild is installed',
        at: { file: root },
        cause
      })
    })
    const all: BuildOptions = { ...this.#common(root), ...options }
    if (!build.begun) {
      build.begun = true
      return esbuild.build(all)
    }
    build.context ??= await esbuild.context(all)
    return build.context.rebuild()
  }

  #common(root: string): BuildOptions {
    return {
      absWorkingDir: root,
      bundle: true,
      write: false,
      metafile: true,
      format: 'cjs',
      platform: 'node',
      target: 'node20',
      packages: 'external',
      conditions: this.#conditions,
      define: {
        'import.meta.url': '__svc_url',
        'import.meta.dirname': '__dirname',
        'import.meta.filename': '__filename'
      },
      sourcemap: 'inline',
      sourcesContent: false,
      logLevel: 'silent'
    }
  }
}

function carriedFiles(): Record<string, string> {
  const { resolve } = createRequire(import.meta.url)
  return Object.fromEntries(Object.entries(CARRIED).map(([name, file]) => [name, resolve(file)]))
}

function inputsOf(root: string, result: BuildResult): string[] {
  return Object.keys(result.metafile?.inputs ?? {}).map(path => resolve(root, path))
}

/**
 * Two corrections of esbuild's imports in CommonJS output, so that they behave as in Node:
 * - the default import of a real ES module, as `require` gives it on Node >= 20.19, is its default export, not the module;
 * - `import('package')` stays asynchronous and goes to the injected `__svc_import`, so that modules which await load too.
 */
function esmInterop(text: string): string {
  const test = 'isNodeMode || !mod || !mod.__esModule'
  return text
    .replace(`${test} ?`, `mod?.[Symbol.toStringTag] !== 'Module' && (${test}) ?`)
    .replace(LAZY_IMPORT, (_, specifier: string) => `__svc_import(${specifier})`)
}

const FALLBACKS =
  "var __svc_url = typeof __svc_url === 'string' ? __svc_url : require('node:url').pathToFileURL(__filename).href, " +
  "__svc_import = typeof __svc_import === 'function' ? __svc_import : specifier => import(specifier);"

/**
 * Defines the values that the loader normally injects, for code that is loaded with `require`, as in the testing kit.
 */
function standalone(text: string): string {
  if (!/__svc_(?:url|import)\b/.test(text)) return text
  // On the first line, which keeps the lines of the source map.
  return text.replace(/^("use strict";)?/, head => head + FALLBACKS)
}

async function writeIfChanged(path: string, text: string): Promise<void> {
  if ((await readFile(path, 'utf8').catch(() => null)) !== text) await replaceFile(path, text)
}

/** Without its cause, which has the same message and a stack of esbuild. */
function buildError(root: string, failure: BuildFailure): Error {
  const first = failure.errors?.[0]
  if (first === undefined) return failure
  const more = failure.errors.length > 1 ? ` (and ${failure.errors.length - 1} more)` : ''
  const { location } = first
  if (location === null) return loaderErrors.create('LDR_BUILD_FAILED', `${root}: ${first.text}${more}`)
  const at = { file: resolve(root, location.file), line: location.line, column: location.column + 1 }
  const place = `${at.file}:${at.line}:${at.column}`
  if (first.text.startsWith('Top-level await'))
    return loaderErrors.create('LDR_TOP_LEVEL_AWAIT', `${place}: top-level await in a plugin`, {
      at,
      hint: 'a module body must not wait: await inside activate'
    })
  const gutter = `${location.line} | `
  const excerpt = `${gutter}${location.lineText}\n${' '.repeat(gutter.length + location.column)}^`
  return loaderErrors.create('LDR_BUILD_FAILED', `${place}: ${first.text}${more}\n${excerpt}`, {
    at,
    data: failure.errors.map(each => each.text)
  })
}
