import { readFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { join, resolve } from 'node:path'
import type { BuildContext, BuildFailure, BuildOptions, BuildResult } from 'esbuild'
import { loaderErrors } from './errors.ts'
import { type BundledPage, type PageRequest, pageError, pageOf, pageOptions } from './page-module.ts'
import { replaceFile } from './replace-file.ts'

/** Returns the path of a plugin's code, for `require` and `import.meta`. The file may not exist. */
export function bundlePath(root: string): string {
  return join(root, 'dist', 'plugin.cjs')
}

/** Files of a package to compile, as absolute paths. */
export interface BundleRequest {
  readonly root: string
  readonly source: string
  /** Source files of `svc.entries` by name. */
  readonly entries: Readonly<Record<string, string>>
}

export interface Bundle {
  /** CommonJS with an inline source map. */
  readonly text: string
  /** Absolute paths of all compiled files of the package. */
  readonly inputs: readonly string[]
  /** Files written for `svc.entries`, with absolute paths. */
  readonly outputs: readonly { readonly path: string; readonly text: string }[]
}

const LAZY_IMPORT = /Promise\.resolve\(\)\.then\(\(\) => __toESM\(require\(("(?:[^"\\]|\\.)*")\)(?:, 1)?\)\)/g

interface Build {
  context: BuildContext | null
  begun: boolean
  tail: Promise<unknown>
}

/** A kernel that runs from sources also compiles shared packages from sources. */
const CONDITIONS = import.meta.url.endsWith('.ts') ? ['svc-source'] : []

/** Packages that plugins share with the host: both use the same module instance. */
export const SHARED = ['@svc/plugin-sdk', '@svc/plugin-sdk/check', '@svc/contracts'] as const

/** Replacements for modules that are bundled into entries of plugins, by specifier. */
const CARRIED: Readonly<Record<string, string>> = {
  '@svc/plugin-sdk/check': '@svc/plugin-sdk/check/carried',
  '@svc/plugin-sdk/folders': '@svc/plugin-sdk/folders',
  '@svc/plugin-sdk': '@svc/plugin-sdk',
  '@svc/contracts': '@svc/contracts'
}

/**
 * Compiles plugins with esbuild: relative imports are inlined, packages stay external, the output is one file.
 *
 * A plugin declares separate files for workers or child processes in its package.json: `"svc": { "entries": { "worker":
 * "./src/worker.ts" } }`. It starts them with `new URL('./worker.cjs', import.meta.url)`. Such an entry is written to
 * `dist/worker.cjs`. It includes the SDK and the contracts, since the host cannot inject them.
 */
export class Bundler {
  readonly #builds = new Map<string, Map<string, Build>>()
  readonly #conditions: string[]

  /** `conditions`: export conditions for packages that `svc.entries` include. Default: those of this kernel. */
  constructor(conditions: readonly string[] = CONDITIONS) {
    this.#conditions = [...conditions]
  }

  /**
   * Compiles a package. Incremental: only the first build of a package is slow.
   *
   * Throws `LDR_BUILD_FAILED` or `LDR_TOP_LEVEL_AWAIT` with file, line and column, or `LDR_ESBUILD_MISSING`.
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

  /**
   * Compiles a page module: one ES module for browsers. Incremental as {@link Bundler.bundle}.
   *
   * Throws `LDR_BUILD_FAILED` or `LDR_ESBUILD_MISSING`; the message begins with the name of the page.
   */
  async page(request: PageRequest): Promise<BundledPage> {
    const { root, name, debug } = request
    try {
      const options = pageOptions(request, this.#conditions)
      return pageOf(request, await this.#build(root, `page ${name} ${debug}`, options))
    } catch (error) {
      throw pageError(name, error)
    }
  }

  /** Frees the build context of one package. */
  async forget(root: string): Promise<void> {
    const builds = this.#builds.get(root)
    this.#builds.delete(root)
    for (const build of builds?.values() ?? []) {
      // esbuild's dispose() never resolves if it is called during a rebuild.
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
    // Builds are queued: esbuild would join a running build, which may have read the files before the last save.
    const turn = build.tail.then(() => this.#turn(root, build, options))
    build.tail = turn.catch(() => {})
    return turn.catch((failure: BuildFailure) => {
      throw buildError(root, failure)
    })
  }

  /** Runs one build. The first one uses no esbuild context, which would keep the process alive until its disposal. */
  async #turn(root: string, build: Build, options: BuildOptions): Promise<BuildResult> {
    const esbuild = await import('esbuild').catch((cause: unknown) => {
      throw loaderErrors.create('LDR_ESBUILD_MISSING', `${root} contains TypeScript, but esbuild is not installed`, {
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
 * Corrects esbuild's imports in CommonJS output, so that they behave as in Node:
 * - The default import of an ES module, which Node >= 20.19 can `require`, is its default export, not the module.
 * - `import('package')` calls the injected `__svc_import`. It stays asynchronous, so modules with top-level await work.
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
 * Adds definitions of the values that the loader normally injects, for code that is loaded with `require`.
 */
function standalone(text: string): string {
  if (!/__svc_(?:url|import)\b/.test(text)) return text
  // Inserted in the first line, so that the line numbers of the source map stay correct.
  return text.replace(/^("use strict";)?/, head => head + FALLBACKS)
}

async function writeIfChanged(path: string, text: string): Promise<void> {
  if ((await readFile(path, 'utf8').catch(() => null)) !== text) await replaceFile(path, text)
}

/** Converts a build failure to an error without cause, since esbuild's error has the same message. */
function buildError(root: string, failure: BuildFailure): Error {
  const first = failure.errors?.[0]
  if (first === undefined) return failure
  const more = failure.errors.length > 1 ? ` (and ${failure.errors.length - 1} more)` : ''
  const { location } = first
  if (location === null) return loaderErrors.create('LDR_BUILD_FAILED', `${root}: ${first.text}${more}`)
  const at = { file: resolve(root, location.file), line: location.line, column: location.column + 1 }
  const place = `${at.file}:${at.line}:${at.column}`
  if (first.text.startsWith('Top-level await'))
    return loaderErrors.create('LDR_TOP_LEVEL_AWAIT', `${place}: a plugin's module body cannot use top-level await`, {
      at,
      hint: 'move the await into activate'
    })
  const gutter = `${location.line} | `
  const excerpt = `${gutter}${location.lineText}\n${' '.repeat(gutter.length + location.column)}^`
  return loaderErrors.create('LDR_BUILD_FAILED', `${place}: ${first.text}${more}\n${excerpt}`, {
    at,
    data: failure.errors.map(each => each.text)
  })
}
